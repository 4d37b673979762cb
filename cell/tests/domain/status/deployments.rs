use std::sync::Arc;

use fedhub_api::conditions::find;
use fedhub_cell::domain::status::network::{Location, Network};
use fedhub_core::names::{REFERENCED_DATA_ERROR, SUSPENDED};
use fedhub_core::object::{Object, ObjectRef};
use serde_json::json;

use super::support::*;

/// What blocks a deployment; the reason and a part of the message.
type Blocked = (Object, Vec<ObjectRef>, Network, Location, &'static str, &'static str);
/// The case, the Instances and how many are wanted; status, reason and message.
type Counted = (&'static str, Vec<ObjectRef>, u32, &'static str, &'static str, &'static str);

#[test]
fn counters_count_what_they_are_named_for() {
    let programmed = Arc::new(but(ready("wd-1").as_ref().clone(), |i| {
        i.data["status"]["conditions"][2]["status"] = json!("False");
    }));
    let updated = Arc::new(but(programmed.as_ref().clone(), |i| {
        i.data["status"]["conditions"][0]["status"] = json!("Unknown");
    }));
    let outdated = Arc::new(but(ready("wd-3").as_ref().clone(), |i| {
        i.data["status"]["controller"]["observedTemplateHash"] = json!("old");
    }));
    let all = [ready("wd-0"), programmed, updated, outdated, unready("wd-4", "Pending", "")];
    let s = plain(&wd(), &all, 7);
    let counters = ["replicas", "updatedReplicas", "currentReplicas", "readyReplicas", "desiredReplicas"];
    assert_eq!(counters.map(|c| s[c].as_u64().unwrap()), [5, 3, 2, 2, 7]);
    assert_eq!(s["selector"], "compute.datumapis.com/workload-deployment-name=wd", "C13");
    assert_eq!((&s["observedGeneration"], &s["suspended"]), (&json!(3), &json!(false)));
    for condition in s["conditions"].as_array().unwrap() {
        assert!(condition.get("observedGeneration").is_none(), "F8: it would not be translated");
    }
}

#[test]
fn v9_a_wd_counts_a_stopped_instance_and_says_who_starts_it() {
    let stopped = |name: &str| unready(name, "Stopped", "The instance is stopped");
    for (instances, ready_replicas, expected) in [
        (
            vec![ready("wd-0"), stopped("wd-1")],
            1,
            [("ReplicasReady", "Stopped"), ("Available", "StableInstanceFound")],
        ),
        (vec![stopped("wd-0"), stopped("wd-1")], 0, [("ReplicasReady", "Stopped"), ("Available", "Stopped")]),
        // What is broken has the greater weight.
        (
            vec![stopped("wd-0"), unready("wd-1", "ImageUnavailable", "no such image")],
            0,
            [("ReplicasReady", "ImageUnavailable"), ("Available", "ImageUnavailable")],
        ),
        // A stage passes by itself.
        (
            vec![unready("wd-0", "Starting", "it starts"), stopped("wd-1")],
            0,
            [("ReplicasReady", "Stopped"), ("Available", "Stopped")],
        ),
    ] {
        let status = plain(&wd(), &instances, 2);
        assert_eq!(status["readyReplicas"], ready_replicas);
        assert_eq!(status["replicas"], 2);
        let stopped = instances.iter().filter(|it| it.data.to_string().contains("is stopped")).count();
        assert_eq!(status["stoppedReplicas"], stopped);
        for (kind, reason) in expected {
            let condition = find(&status, kind).unwrap();
            assert_eq!(condition["reason"], reason, "{condition}");
            let who = condition["message"].as_str().unwrap();
            assert!(
                reason != "Stopped" || who.ends_with("start the instance, when it is to run again"),
                "{who}"
            );
        }
    }
    let never_ran = Arc::new(but(stopped("wd-1").as_ref().clone(), |i| {
        i.data["status"].as_object_mut().unwrap().remove("controller");
    }));
    let status = plain(&wd(), &[ready("wd-0"), never_ran], 2);
    assert_eq!(status["updatedReplicas"], 2, "a rollout does not wait for what its user stopped");
    let before = but(wd(), |wd| wd.data["status"] = json!({"stoppedReplicas": 1}));
    assert_eq!(plain(&before, &[ready("wd-0")], 1).get("stoppedReplicas"), None, "none is stopped any more");
}

/// A WD that may have one Instance too many while a template replaces them.
fn surging() -> Object {
    but(wd(), |wd| {
        wd.data["spec"]["scaleSettings"] = json!({"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}});
    })
}

#[test]
fn c2_counters_say_that_a_rollout_is_complete_only_when_nothing_that_it_added_is_left() {
    let outdated = |name: &str| {
        Arc::new(but(ready(name).as_ref().clone(), |i| {
            i.data["status"]["controller"]["observedTemplateHash"] = json!("old");
        }))
    };
    let starting = |name: &str| {
        Arc::new(but(ready(name).as_ref().clone(), |i| {
            i.data["status"]["conditions"][2]["status"] = json!("False");
        }))
    };
    let counters = ["replicas", "updatedReplicas", "currentReplicas", "readyReplicas"];
    for (what, instances, expected) in [
        ("before it", vec![outdated("wd-0"), outdated("wd-1")], [2, 0, 0, 2]),
        ("one is added", vec![outdated("wd-0"), outdated("wd-1"), ready("wd-2")], [3, 0, 0, 3]),
        ("one is away", vec![outdated("wd-0"), ready("wd-2")], [2, 0, 0, 2]),
        ("the last is away", vec![ready("wd-1"), ready("wd-2")], [2, 1, 1, 2]),
        ("the last starts", vec![starting("wd-0"), ready("wd-1"), ready("wd-2")], [3, 1, 1, 2]),
        ("the added one is left", vec![ready("wd-0"), ready("wd-1"), ready("wd-2")], [3, 2, 2, 3]),
        ("complete", vec![ready("wd-0"), ready("wd-1")], [2, 2, 2, 2]),
        (
            "without an added one, all that have begun count",
            vec![starting("wd-0"), ready("wd-1")],
            [2, 2, 2, 1],
        ),
    ] {
        let s = plain(&surging(), &instances, 2);
        assert_eq!(counters.map(|c| s[c].as_u64().unwrap()), expected, "{what}");
        assert_eq!(s["desiredReplicas"], 2);
        let is_complete = expected[0] == 2 && expected[1] == 2 && expected[3] == 2;
        assert_eq!(is_complete, what == "complete", "{what}");
        let serves = if expected[3] >= 2 { "True" } else { "False" };
        assert_eq!(words(&s, "ReplicasReady").0, serves, "{what}: what was added serves");
    }
}

#[test]
fn c9_quota_that_holds_a_rollout_up_is_said_although_all_that_are_wanted_are_ready() {
    let denied = Arc::new(instance(
        "wd-2",
        &["Quota"],
        &[
            condition("QuotaGranted", "False", "QuotaExceeded", "used up"),
            condition("Ready", "False", "PendingQuota", "used up"),
        ],
    ));
    let s = plain(&surging(), &[ready("wd-0"), ready("wd-1"), denied], 2);
    let (status, reason, message) = words(&s, "ReplicasReady");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "QuotaExceeded"));
    let expected =
        "1 replicas that a rollout adds to the 2 desired ones by maxSurge are pending quota: used up";
    assert!(message.starts_with(expected), "{message}");
    assert_eq!(words(&s, "Available").0, "True");

    let data = Arc::new(instance(
        "wd-2",
        &["ReferencedData"],
        &[condition("ReferencedDataReady", "False", "AwaitingPropagation", "ConfigMap/a is not here")],
    ));
    let s = plain(&surging(), &[ready("wd-0"), ready("wd-1"), data], 2);
    assert_eq!(words(&s, "ReplicasReady").0, "True", "it comes by itself");
}

#[test]
fn zeros_are_said_too() {
    let s = plain(&wd(), &[], 0);
    for counter in ["replicas", "updatedReplicas", "currentReplicas", "readyReplicas", "desiredReplicas"] {
        assert_eq!(s[counter], 0, "{counter}");
    }
    assert_eq!(words(&s, "ReplicasReady").0, "True");
    assert!(words(&s, "Available").2.contains("replicas is 0"));
}

#[test]
fn c9_the_most_important_reason_is_said_on_the_deployment() {
    let quota = Arc::new(instance(
        "wd-0",
        &["Quota"],
        &[
            condition("QuotaGranted", "False", "QuotaExceeded", "40 of 40 vCPUs are used"),
            condition("Ready", "False", "PendingQuota", "40 of 40 vCPUs are used"),
        ],
    ));
    let data = Arc::new(instance(
        "wd-0",
        &["ReferencedData"],
        &[condition("ReferencedDataReady", "False", "AwaitingPropagation", "ConfigMap/a is not here")],
    ));
    let network = |n: fn(String) -> Network| n("Network \"x\": words".to_owned());
    let fine = Network::Ready;
    let unasked = Location::Unasked;
    let elsewhere = Location::Elsewhere { name: "ord-1".to_owned(), city: "ORD".to_owned() };
    let several = Location::Ambiguous(vec!["a".to_owned(), "b".to_owned()]);
    let broken = || unready("wd-0", "ImageUnavailable", "no such image");
    let odd = || unready("wd-0", "DiskFull", "no room");
    let failed = network(Network::Failed);
    let absent =
        annotated(wd(), REFERENCED_DATA_ERROR, r#"{"reason":"SourceNotFound","message":"ConfigMap a"}"#);
    let garbage = annotated(wd(), REFERENCED_DATA_ERROR, "garbage");
    let resolving = but(wd(), |wd| {
        wd.data["status"] =
            json!({"conditions": [condition("ReferencedDataReady", "Unknown", "Resolving", "reading")]});
    });
    let table: Vec<Blocked> = vec![
        (wd(), vec![], fine.clone(), unasked.clone(), "InstancesProvisioning", "No instances available yet"),
        (
            wd(),
            vec![odd()],
            fine.clone(),
            unasked.clone(),
            "InstancesProvisioning",
            "0/1 instances are ready. Instance \"wd-0\": DiskFull: no room",
        ),
        (
            wd(),
            vec![odd()],
            network(Network::Provisioning),
            unasked.clone(),
            "NetworkProvisioning",
            "Network \"x\": words",
        ),
        (wd(), vec![odd()], fine.clone(), Location::Missing, "NoMatchingLocation", "\"DFW\""),
        (
            wd(),
            vec![quota.clone()],
            network(Network::Provisioning),
            Location::Missing,
            "QuotaNotGranted",
            "1 of 2 desired replicas are pending quota: 40 of 40 vCPUs are used",
        ),
        (
            wd(),
            vec![data],
            network(Network::Provisioning),
            unasked.clone(),
            "ReferencedDataNotReady",
            "1 of 2 desired replicas are waiting for referenced data companions: ConfigMap/a is not here",
        ),
        (resolving, vec![quota.clone()], fine.clone(), unasked.clone(), "Resolving", "reading"),
        (garbage, vec![quota.clone()], fine.clone(), unasked.clone(), "ReferencedDataNotReady", "garbage"),
        (
            absent.clone(),
            vec![quota.clone()],
            fine.clone(),
            unasked.clone(),
            "SourceNotFound",
            "ConfigMap a. Action required by the user: create the ConfigMap",
        ),
        (absent, vec![broken()], fine.clone(), unasked.clone(), "SourceNotFound", "ConfigMap a"),
        (
            wd(),
            vec![broken(), quota.clone()],
            network(Network::Provisioning),
            unasked.clone(),
            "ImageUnavailable",
            "Instance \"wd-0\": no such image",
        ),
        (
            wd(),
            vec![unready("wd-0", "InstanceCrashing", "exit 1")],
            fine.clone(),
            unasked.clone(),
            "InstanceCrashing",
            "exit 1",
        ),
        (
            wd(),
            vec![unready("wd-0", "ConfigurationError", "bad port")],
            fine.clone(),
            unasked.clone(),
            "ConfigurationError",
            "bad port",
        ),
        (
            wd(),
            vec![broken()],
            network(Network::NotFound),
            unasked.clone(),
            "NetworkNotFound",
            "words. Action required by the user: create the network",
        ),
        (
            wd(),
            vec![broken()],
            failed.clone(),
            unasked.clone(),
            "NetworkFailedToCreate",
            "Network \"x\": words",
        ),
        (
            wd(),
            vec![unready("wd-0", "NetworkFailedToCreate", "full")],
            fine.clone(),
            unasked.clone(),
            "NetworkFailedToCreate",
            "full",
        ),
        (wd(), vec![broken()], failed.clone(), elsewhere, "CityCodeMismatch", "\"ord-1\" is in \"ORD\""),
        (wd(), vec![broken()], failed, several, "AmbiguousServingLocation", "a, b"),
    ];
    for (wd, instances, network, location, reason, part) in table {
        let s = deployment_status(&wd, &instances, 2, &network, &location);
        let (status, said, message) = words(&s, "Available");
        assert_eq!((status.as_str(), said.as_str()), ("False", reason), "{message}");
        assert!(message.contains(part), "{reason}: {message}");
        assert_eq!(words(&s, "ReplicasReady").0, "False", "{reason}");
    }
}

#[test]
fn replicas_are_ready_when_all_that_are_wanted_are() {
    let quota = |name| {
        Arc::new(instance(
            name,
            &["Quota"],
            &[condition("QuotaGranted", "False", "QuotaExceeded", "used up")],
        ))
    };
    let data = Arc::new(instance(
        "wd-1",
        &["ReferencedData"],
        &[condition("ReferencedDataReady", "False", "Resolving", "")],
    ));
    // C6: what has passed its gates waits for nothing.
    let denied = |kind: &str, reason: &str| {
        Arc::new(but(ready("wd-1").as_ref().clone(), |i| {
            let all = i.data["status"]["conditions"].as_array_mut().unwrap();
            all.push(condition(kind, "False", reason, "x"));
        }))
    };
    let over = denied("QuotaGranted", "QuotaExceeded");
    let lost = denied("ReferencedDataReady", "SourceNotFound");
    let table: [Counted; 8] = [
        ("over quota", vec![ready("wd-0"), over], 2, "True", "ReplicasAvailable", "2/2 replicas available"),
        ("without data", vec![ready("wd-0"), lost], 2, "True", "ReplicasAvailable", "2/2 replicas available"),
        ("all", vec![ready("wd-0"), ready("wd-1")], 2, "True", "ReplicasAvailable", "2/2 replicas available"),
        (
            "a stage",
            vec![ready("wd-0")],
            2,
            "False",
            "InstancesProvisioning",
            "1/2 replicas available. No action required",
        ),
        (
            "one broken",
            vec![ready("wd-0"), unready("wd-1", "ImageUnavailable", "no such image")],
            2,
            "False",
            "ImageUnavailable",
            "1/2 replicas available. Instance \"wd-1\": no such image. Action required by the user: check the image's name \
             and tag, and the pull secrets",
        ),
        (
            "quota",
            vec![ready("wd-0"), quota("wd-1")],
            3,
            "False",
            "QuotaExceeded",
            "1 of 3 desired replicas are pending quota: used up. Action required by the user: ask for more quota, or use \
             fewer or smaller instances",
        ),
        (
            "data",
            vec![ready("wd-0"), data],
            2,
            "False",
            "AwaitingPropagation",
            "1 of 2 desired replicas are waiting for referenced data companions. No action required",
        ),
        (
            "more than wanted",
            vec![ready("wd-0"), ready("wd-1"), ready("wd-2")],
            2,
            "True",
            "ReplicasAvailable",
            "3/2 replicas available",
        ),
    ];
    for (case, instances, desired, status, reason, message) in table {
        let s = plain(&wd(), &instances, desired);
        let expected = (status.to_owned(), reason.to_owned(), message.to_owned());
        assert_eq!(words(&s, "ReplicasReady"), expected, "{case}");
        let n = instances.len();
        assert_eq!(words(&s, "Available").0, "True", "{case}");
        assert!(words(&s, "Available").2.ends_with(&format!("/{n} instances are ready")), "{case}");
    }
}

#[test]
fn suspension_is_said_before_all_else() {
    let s = plain(&annotated(wd(), SUSPENDED, "true"), &[ready("wd-0")], 1);
    assert_eq!(s["suspended"], true);
    for kind in ["Available", "ReplicasReady"] {
        let (status, reason, _) = words(&s, kind);
        assert_eq!((status.as_str(), reason.as_str()), ("False", "Suspended"), "{kind}");
    }
    assert_eq!(plain(&annotated(wd(), SUSPENDED, "false"), &[], 1)["suspended"], false);
}

#[test]
fn i7_the_words_do_not_depend_on_the_order_of_the_list() {
    let mut all =
        vec![unready("wd-10", "ImageUnavailable", "ten"), unready("wd-9", "ImageUnavailable", "nine")];
    let one = plain(&wd(), &all, 11);
    all.reverse();
    assert_eq!(one, plain(&wd(), &all, 11));
    assert!(words(&one, "Available").2.contains("nine"));
}

#[test]
fn i1_i7_what_others_wrote_stays_and_time_moves_with_the_status_alone() {
    let old = json!({
        "odd": {"kept": [1]}, "location": {"name": "dfw-1", "namespace": "n", "odd": 1},
        "conditions": [
            condition("Odd", "False", "R", "m"),
            condition("Available", "False", "Other", "other words"),
            condition("ReplicasReady", "True", "ReplicasAvailable", ""),
        ],
    });
    let wd = but(wd(), |wd| wd.data["status"] = old.clone());
    let s = deployment_status(&wd, &[], 1, &Network::Ready, &Location::Serving("dfw-1".to_owned()));
    assert_eq!((&s["odd"], &s["location"]), (&old["odd"], &old["location"]));
    assert_eq!(s["conditions"][0], old["conditions"][0]);
    assert_eq!(s["conditions"][1]["lastTransitionTime"], LONG_AGO, "still False, for another reason");
    assert_eq!(s["conditions"][2]["lastTransitionTime"], "2026-01-01T00:00:00Z");
    for held in [Location::Missing, Location::Unasked, Location::Ambiguous(vec![])] {
        assert_eq!(deployment_status(&wd, &[], 1, &Network::Ready, &held)["location"], old["location"]);
    }
    let moved = deployment_status(&wd, &[], 1, &Network::Ready, &Location::Serving("dfw-2".to_owned()));
    assert_eq!(moved["location"], json!({"name": "dfw-2"}));
}

#[test]
fn i11_a_message_is_never_so_long_that_the_status_is_refused() {
    let s = plain(&wd(), &[unready("wd-0", "ImageUnavailable", &"ä".repeat(40_000))], 1);
    assert!(words(&s, "Available").2.len() <= 1024);
}

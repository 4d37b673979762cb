//! The pure part: what is written is what is left to say, and then nothing is.

use fedhub_api::conditions::{find, said};
use fedhub_cell::domain::status::gates::opening;
use fedhub_cell::domain::status::instance::InstanceFacts;
use fedhub_cell::domain::status::network::Network;
use fedhub_cell::instance_controller::{InstancePlan, plan};
use fedhub_core::object::{Kind, Object, ObjectView, bare};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::instance_controller::support::condition;

fn now() -> Timestamp {
    Timestamp::from_second(1_767_225_600).unwrap()
}

fn instance(age: i64, gates: &[&str], conditions: Vec<Value>) -> Object {
    let mut instance = bare(Kind::Instance, "ns-a", "wd-0");
    instance.metadata.uid = Some("uid".to_owned());
    instance.metadata.resource_version = Some("1".to_owned());
    instance.metadata.generation = Some(1);
    instance.metadata.creation_timestamp = Some(Time(now() - SignedDuration::from_secs(age)));
    let gates: Vec<_> = gates.iter().map(|g| json!({"name": g})).collect();
    instance.data = json!({
        "spec": {"controller": {"templateHash": "h", "schedulingGates": gates}},
        "status": {"conditions": conditions},
    });
    instance
}

fn verdict(status: &str, generation: i64) -> Value {
    let mut verdict = condition("QuotaGranted", status, "R", "q");
    verdict["observedGeneration"] = json!(generation);
    verdict
}

fn of(instance: &Object, quota: &Value) -> InstancePlan {
    plan(
        &InstanceFacts {
            instance,
            quota,
            data: None,
            network: &Network::Ready,
            contexts: None,
            suspended: false,
            stopped: false,
            now: now(),
        },
        None,
    )
}

#[test]
fn nothing_is_said_of_the_waiting_of_an_instance_that_is_new() {
    let fresh = |age| instance(age, &["Quota"], vec![condition("Ready", "Unknown", "Pending", "")]);
    for (age, gates, quota, said) in [
        (0, true, "Unknown", false),
        (1, true, "Unknown", false),
        (2, true, "Unknown", true),
        (-1, true, "Unknown", false),
        (-5, true, "Unknown", true), // A clock that is ahead makes no one wait.
        (0, false, "Unknown", false),
        (2, false, "Unknown", true),
        (0, true, "False", true),
        (0, true, "True", true),
    ] {
        let mut instance = fresh(age);
        if !gates {
            instance.data["spec"]["controller"]["schedulingGates"] = json!(null);
        }
        let plan = of(&instance, &verdict(quota, 1));
        assert_eq!(plan.status.is_some(), said, "{age} {gates} {quota}");
        assert!(plan.requeue_after.is_some(), "no wait is for ever");
        assert!(plan.requeue_after.is_none_or(|again| !again.is_zero()), "a wait is one");
    }
    let spoken = instance(0, &["Quota"], vec![condition("Ready", "False", "PendingQuota", "")]);
    assert!(of(&spoken, &verdict("Unknown", 1)).status.is_some(), "what was said is taken back at once");
    let granted = instance(0, &["Quota"], vec![verdict("True", 1)]);
    let revoked = of(&granted, &verdict("Unknown", 1));
    assert!(
        revoked.status.is_some() && revoked.opens.is_none(),
        "a grant that is gone is taken back at once"
    );

    let data = |status| condition("ReferencedDataReady", status, "R", "d");
    let there = instance(0, &["ReferencedData"], vec![verdict("True", 1), data("True")]);
    let quota = verdict("True", 1);
    let gone = data("False");
    let seen = InstanceFacts {
        instance: &there,
        quota: &quota,
        data: Some(&gone),
        network: &Network::Ready,
        contexts: None,
        suspended: false,
        stopped: false,
        now: now(),
    };
    let withdrawn = plan(&seen, None);
    assert!(withdrawn.status.is_some() && withdrawn.opens.is_none(), "and so is data");
}

#[test]
fn c9_passing_stages_are_not_reported_and_what_matters_is_at_once() {
    let disabled = verdict("True", 1);
    let fresh = |conditions| instance(0, &[], conditions);
    let reports = |conditions| of(&fresh(conditions), &disabled).status.is_some();
    let programmed = || condition("Programmed", "True", "Programmed", "");
    assert!(!reports(vec![]));
    assert_eq!(of(&fresh(vec![]), &disabled).requeue_after, Some(std::time::Duration::from_secs(2)));
    assert!(!reports(vec![programmed(), condition("Available", "False", "Starting", "")]));
    assert!(reports(vec![programmed(), condition("Available", "True", "Available", "")]));
    assert!(reports(vec![condition("Programmed", "False", "ImageUnavailable", "no such image")]));
    assert!(
        reports(vec![programmed(), condition("Ready", "True", "Available", "")]),
        "what was said is taken back at once"
    );
    // From one stage to the next, too.
    let stage = condition("Ready", "False", "PendingProgramming", "");
    assert!(!reports(vec![
        stage,
        programmed(),
        condition("Available", "False", "Starting", ""),
        disabled.clone()
    ]));
    let suspended = InstanceFacts {
        instance: &fresh(vec![]),
        quota: &disabled,
        data: None,
        contexts: None,
        network: &Network::Ready,
        suspended: true,
        stopped: false,
        now: now(),
    };
    assert!(plan(&suspended, None).status.is_some());
}

#[test]
fn c6_the_generation_of_a_verdict_is_news_for_as_long_as_a_gate_waits_for_it() {
    for (gates, status, news) in [
        (&["Quota"][..], "True", true),
        (&["Quota"], "False", false),
        (&["Odd"], "True", false),
        (&[], "True", false),
    ] {
        let first = of(&instance(60, gates, vec![]), &verdict(status, 1)).status.unwrap().status;
        let mut stands = instance(60, gates, vec![]);
        stands.data["status"] = first;
        stands.metadata.generation = Some(2);
        let plan = of(&stands, &verdict(status, 2));
        assert_eq!((plan.status.is_some(), plan.opens.is_some()), (news, news), "{gates:?} {status}");
    }
}

/// What a server makes of a plan, or `None` where there is nothing to do but wait.
fn carried_out(mut instance: Object, plan: InstancePlan) -> Option<Object> {
    let write = plan.status.is_some();
    if let Some(write) = plan.status {
        instance.data["status"] = write.status;
    }
    let patch = opening(&instance, plan.opens.unwrap_or_default());
    assert_eq!(plan.opens.is_some(), patch.is_some(), "the gates that it says go, go");
    if let Some(patch) = &patch {
        let gates = &patch["spec"]["controller"]["schedulingGates"];
        instance.data["spec"]["controller"]["schedulingGates"] = gates.clone();
        instance.metadata.generation = instance.metadata.generation.map(|g| g + 1);
    }
    (write || patch.is_some()).then_some(instance)
}

fn any_condition(kind: &'static str) -> impl Strategy<Value = Option<Value>> {
    let status = prop::sample::select(vec!["True", "False", "Unknown"]);
    let reason = prop::sample::select(vec!["Pending", "Available", "ImageUnavailable", "Odd", "Resolving"]);
    let one = (status, reason, prop::option::of(0..2_i64)).prop_map(move |(status, reason, generation)| {
        let mut one = condition(kind, status, reason, "m");
        if let Some(generation) = generation {
            one["observedGeneration"] = json!(generation);
        }
        one
    });
    prop::option::of(one)
}

proptest! {
    #[test]
    fn i7_what_is_carried_out_leaves_nothing_to_write(
        age in -3..700_i64,
        gates in prop::sample::subsequence(vec!["Network", "Quota", "ReferencedData", "Odd", "Suspended"], 0..=5),
        conditions in ["Programmed", "Available", "Ready", "QuotaGranted", "ReferencedDataReady"].map(any_condition),
        quota in prop::sample::select(vec!["True", "False", "Unknown"]),
        data in prop::option::of(prop::sample::select(vec!["True", "False", "Unknown"])),
        suspended: bool,
        stopped: bool,
    ) {
        let instance = instance(age, &gates, conditions.into_iter().flatten().collect());
        let after = |o: &Object| {
            let quota = verdict(quota, o.metadata.generation.unwrap());
            let data = data.map(|status| {
                let mut data = condition("ReferencedDataReady", status, "R", "d");
                data["observedGeneration"] = json!(o.metadata.generation);
                data
            });
            let network = Network::Provisioning("p".to_owned());
            plan(&InstanceFacts { instance: o, quota: &quota, data: data.as_ref(), network: &network, contexts: None, suspended, stopped, now: now() }, None)
        };
        let Some(once) = carried_out(instance.clone(), after(&instance)) else { return Ok(()) };
        let twice = after(&once);
        prop_assert!(twice.status.is_none() && twice.opens.is_none(), "{:?}\n{twice:?}", once.data);
        if let Some((status, reason, _)) = find(once.status(), "Ready").map(said) {
            prop_assert!(status != "True" || reason == "Available");
        }
        let left = fedhub_cell::domain::status::gates::of(&once);
        prop_assert!(gates.iter().filter(|g| ["Network", "Odd"].contains(g)).all(|g| left.contains(g)), "I9");
        prop_assert_eq!(left.contains(&"Quota"), gates.contains(&"Quota") && (suspended || quota != "True"));
        prop_assert_eq!(left.contains(&"Suspended"), gates.contains(&"Suspended") && suspended);
        if let Some(data) = data {
            let waits = gates.contains(&"ReferencedData") && (suspended || data != "True");
            prop_assert_eq!(left.contains(&"ReferencedData"), waits);
        }
    }
}

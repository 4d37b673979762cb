use fedhub_api::conditions::find;
use fedhub_api::reason::{AnyReason, Reason};
use fedhub_cell::domain::referenced_data::refusal;
use fedhub_cell::domain::status::blocker::{ConditionUpdate, foremost};
use fedhub_cell::domain::status::gates::{Opens, opening};
use fedhub_cell::domain::status::instance::{InstanceFacts, status};
use fedhub_cell::domain::status::network::Network;
use fedhub_core::names::FORMER_TEMPLATE_HASH;
use fedhub_core::object::{Object, ObjectView};
use serde_json::{Value, json};

use super::support::*;

/// Gates, conditions, quota, network; status, reason and a part of the message.
type Row<'a> = (&'a [&'a str], Vec<Value>, Value, Network, &'a str, &'a str, &'a str);
/// Quota's status and generation, data's, the network; the gates that are left.
type Gated<'a> = ((&'a str, i64), (&'a str, i64), bool, Option<&'a [&'a str]>);

const CLOSED: Opens = Opens { network: false, resumed: true };
const OPEN: Opens = Opens { network: true, resumed: true };

fn granted() -> Value {
    condition("QuotaGranted", "True", "QuotaAvailable", "granted")
}

fn of(instance: &Object, quota: &Value, network: &Network, suspended: bool) -> Value {
    status(&InstanceFacts {
        instance,
        quota,
        data: None,
        network,
        contexts: None,
        suspended,
        stopped: false,
        now: now(),
    })
}

/// The status of an Instance with these conditions that its user stopped.
fn stopped(gates: &[&str], conditions: &[Value], suspended: bool) -> Value {
    let instance = &instance("web-0", gates, conditions);
    status(&InstanceFacts {
        instance,
        quota: &granted(),
        data: None,
        network: &Network::Ready,
        contexts: None,
        suspended,
        stopped: true,
        now: now(),
    })
}

#[test]
fn v9_an_instance_that_its_user_stopped_says_so_and_keeps_its_providers_words() {
    let programmed = || condition("Programmed", "True", "Programmed", "");
    let available = |status: &str, reason: &str| condition("Available", status, reason, "words");
    for (gates, conditions, suspended, expected, part) in [
        (
            &[][..],
            vec![programmed(), available("False", "Stopped")],
            false,
            ("False", "Stopped"),
            "as its user asked",
        ),
        (
            &[],
            vec![programmed(), available("False", "Odd")],
            false,
            ("False", "Stopped"),
            "start the instance",
        ),
        (&[], vec![programmed(), available("True", "Available")], false, ("False", "Stopping"), "still runs"),
        // V6: a provider that does not know.
        (
            &[],
            vec![programmed(), available("Unknown", "ProviderUnknown")],
            false,
            ("Unknown", "ProviderUnknown"),
            "words",
        ),
        (&[], vec![], false, ("False", "Stopped"), "as its user asked"),
        (
            &[],
            vec![condition("Programmed", "False", "ImageUnavailable", "no such image")],
            false,
            ("False", "ImageUnavailable"),
            "no such image",
        ),
        (&["Network"], vec![], false, ("False", "SchedulingGatesPresent"), "Network"),
        (&[], vec![programmed(), available("False", "Stopped")], true, ("False", "Suspended"), "suspended"),
    ] {
        let status = stopped(gates, &conditions, suspended);
        let ready = find(&status, "Ready").unwrap();
        assert_eq!(
            (ready["status"].as_str().unwrap(), ready["reason"].as_str().unwrap()),
            expected,
            "{conditions:?}"
        );
        assert!(ready["message"].as_str().unwrap().contains(part), "{ready}");
        let provider = conditions.iter().filter(|c| !(suspended && c["type"] == "Available"));
        for condition in provider {
            assert_eq!(
                find(&status, condition["type"].as_str().unwrap()),
                Some(condition),
                "it is the provider's"
            );
        }
    }
}

#[test]
fn v9_a_provider_that_stopped_an_instance_by_itself_is_to_start_it() {
    let conditions = [
        condition("Programmed", "True", "Programmed", ""),
        condition("Available", "False", "Stopped", "powered off"),
    ];
    let status = of(&instance("web-0", &[], &conditions), &granted(), &Network::Ready, false);
    let ready = find(&status, "Ready").unwrap();
    assert_eq!(ready["reason"], "Starting");
    assert!(ready["message"].as_str().unwrap().contains("powered off"), "{ready}");
}

/// A provider that finds nothing to do for a template that has another name only writes nothing.
#[test]
fn c5_what_was_observed_under_the_former_hash_of_the_same_template_is_observed() {
    let observed = |spec: &str, former: Option<&str>, observed: Option<&str>| {
        let mut instance = instance("web-0", &[], &[]);
        instance.data["spec"]["controller"]["templateHash"] = json!(spec);
        instance.data["status"]["controller"] = json!({ "observedTemplateHash": observed });
        instance.metadata.annotations =
            former.map(|hash| [(FORMER_TEMPLATE_HASH.to_owned(), hash.to_owned())].into());
        let status = of(&instance, &granted(), &Network::Ready, false);
        status["controller"]["observedTemplateHash"].as_str().map(str::to_owned)
    };
    for (former, stands, expected) in [
        (Some("go"), Some("go"), Some("v2")),
        (Some("go"), Some("v2"), Some("v2")),
        (Some("go"), Some("older"), Some("older")),
        (Some("go"), None, None),
        (None, Some("go"), Some("go")),
    ] {
        assert_eq!(observed("v2", former, stands).as_deref(), expected, "{former:?} {stands:?}");
    }
}

#[test]
fn ready_says_the_most_important_thing() {
    let denied = || condition("QuotaGranted", "False", "QuotaExceeded", "used up");
    let unknown = || condition("QuotaGranted", "Unknown", "QuotaNoBudget", "no budget yet");
    let programmed = || condition("Programmed", "True", "Programmed", "");
    let data = |status: &str, reason: &str| condition("ReferencedDataReady", status, reason, "ConfigMap/a");
    let failed = || Network::Failed("Network \"x\": full".to_owned());
    let fine = || Network::Ready;
    let both = ["Network", "Quota"];
    let table: Vec<Row> = vec![
        (&["Quota"], vec![programmed()], denied(), fine(), "False", "PendingQuota", "used up"),
        (&["Odd"], vec![programmed()], denied(), fine(), "False", "SchedulingGatesPresent", "Odd"),
        // C6: it has passed its gate.
        (&[], vec![programmed()], denied(), fine(), "False", "Pending", "Instance is not available"),
        (
            &[],
            vec![programmed(), condition("Available", "True", "Available", "")],
            denied(),
            fine(),
            "True",
            "Available",
            "Instance is ready",
        ),
        (
            &both,
            vec![],
            granted(),
            fine(),
            "False",
            "SchedulingGatesPresent",
            "Scheduling gates present: Network, Quota",
        ),
        (
            &both,
            vec![],
            unknown(),
            fine(),
            "False",
            "SchedulingGatesPresent",
            "Scheduling gates present: Network, Quota. Quota: no budget yet",
        ),
        (
            &["Network"],
            vec![],
            granted(),
            Network::Provisioning("p".to_owned()),
            "False",
            "NetworkProvisioning",
            "p",
        ),
        (&both, vec![], denied(), Network::Provisioning("p".to_owned()), "False", "PendingQuota", "used up"),
        (&both, vec![data("Unknown", "Resolving")], denied(), fine(), "Unknown", "Resolving", "ConfigMap/a"),
        (
            &both,
            vec![data("False", "SourceNotFound")],
            denied(),
            fine(),
            "False",
            "SourceNotFound",
            "ConfigMap/a. Action required by the user: create",
        ),
        (&both, vec![data("True", "Ready")], granted(), fine(), "False", "SchedulingGatesPresent", ""),
        (
            &both,
            vec![data("False", "SourceNotFound")],
            denied(),
            Network::NotFound("n".to_owned()),
            "False",
            "NetworkNotFound",
            "n. Action required by the user: create",
        ),
        (
            &both,
            vec![data("False", "SourceNotFound")],
            denied(),
            failed(),
            "False",
            "NetworkFailedToCreate",
            "full",
        ),
        (&["Quota"], vec![], granted(), failed(), "False", "SchedulingGatesPresent", "Quota"),
        (&[], vec![], granted(), fine(), "False", "PendingProgramming", "Instance has not been programmed"),
        (
            &[],
            vec![condition("Programmed", "Unknown", "Pending", "Waiting for controller")],
            granted(),
            fine(),
            "False",
            "PendingProgramming",
            "Instance has not been programmed",
        ),
        (
            &[],
            vec![condition("Programmed", "False", "PendingProgramming", "x")],
            granted(),
            fine(),
            "False",
            "PendingProgramming",
            "Instance has not been programmed",
        ),
        (
            &[],
            vec![condition("Programmed", "False", "ProgrammingInProgress", "booting")],
            granted(),
            fine(),
            "False",
            "ProgrammingInProgress",
            "booting",
        ),
        (
            &[],
            vec![condition("Programmed", "False", "ImageUnavailable", "no such image")],
            granted(),
            fine(),
            "False",
            "ImageUnavailable",
            "no such image. Action required by the user: check",
        ),
        (
            &[],
            vec![
                condition("Programmed", "False", "ProgrammingInProgress", "booting"),
                condition("Available", "False", "InstanceCrashing", "exit 1"),
            ],
            granted(),
            fine(),
            "False",
            "InstanceCrashing",
            "exit 1. Action required by the user: look",
        ),
        (
            &[],
            vec![condition("Odd", "False", "AllIsWell", "x")],
            granted(),
            fine(),
            "False",
            "PendingProgramming",
            "",
        ),
        (&[], vec![programmed()], granted(), fine(), "False", "Pending", "Instance is not available"),
        (
            &[],
            vec![programmed(), condition("Available", "Unknown", "Starting", "soon")],
            granted(),
            fine(),
            "Unknown",
            "Starting",
            "soon",
        ),
        (
            &[],
            vec![programmed(), condition("Available", "False", "ConfigurationError", "")],
            unknown(),
            fine(),
            "False",
            "ConfigurationError",
            "correct the workload's template",
        ),
        (
            &[],
            vec![programmed(), condition("Available", "True", "Available", "")],
            unknown(),
            failed(),
            "True",
            "Available",
            "Instance is ready",
        ),
    ];
    for (gates, conditions, quota, network, expected, reason, part) in table {
        let s = of(&instance("wd-0", gates, &conditions), &quota, &network, false);
        let (status, said, message) = words(&s, "Ready");
        assert_eq!((status.as_str(), said.as_str()), (expected, reason), "{message}");
        assert!(message.contains(part), "{reason}: {message}");
    }
}

#[test]
fn what_was_said_before_is_no_reason_for_saying_it_again() {
    let conditions = [
        condition("Ready", "False", "ImageUnavailable", "no such image"),
        condition("QuotaGranted", "Unknown", "NetworkFailedToCreate", "odd"),
    ];
    let s = of(&instance("wd-0", &[], &conditions), &conditions[1], &Network::Ready, false);
    assert_eq!(words(&s, "Ready").1, "PendingProgramming");
}

#[test]
fn suspension_is_said_before_all_else_and_ends() {
    let i = instance("wd-0", &["Quota"], &[condition("Programmed", "True", "Programmed", "")]);
    let s = of(&i, &condition("QuotaGranted", "False", "QuotaExceeded", ""), &Network::Ready, true);
    assert_eq!((words(&s, "Ready").1.as_str(), &s["suspended"]), ("Suspended", &json!(true)));
    let resumed = but(i.clone(), |i| i.data["status"] = s.clone());
    assert_eq!(of(&resumed, &granted(), &Network::Ready, false)["suspended"], false);
    assert!(of(&i, &granted(), &Network::Ready, false).get("suspended").is_none(), "I7: nothing new to say");
}

#[test]
fn c6_the_gate_of_a_suspended_deployment_opens_when_it_is_resumed_and_not_before() {
    let gates = |instance: &Object, opens| {
        let patch = opening(instance, opens)?;
        let left = patch["spec"]["controller"]["schedulingGates"].as_array().cloned().unwrap_or_default();
        Some(left.iter().map(|gate| gate["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>())
    };
    let i = instance("wd-0", &["Quota", "Suspended"], &[judged("QuotaGranted", "True", 3)]);
    assert_eq!(gates(&i, Opens { network: true, resumed: false }), None, "nor does any other");
    assert_eq!(gates(&i, Opens { network: false, resumed: true }), Some(vec![]));
    let denied = instance("wd-0", &["Quota", "Suspended"], &[judged("QuotaGranted", "False", 3)]);
    assert_eq!(gates(&denied, Opens { network: true, resumed: true }), Some(vec!["Quota".to_owned()]));
}

#[test]
fn c9_what_may_not_run_says_so_in_the_providers_conditions_until_it_may() {
    let provided = || {
        [condition("Programmed", "True", "Programmed", "p"), condition("Available", "True", "Available", "a")]
    };
    let denied = condition("QuotaGranted", "False", "QuotaExceeded", "used up");
    let says = |s: &Value| ["Programmed", "Available", "Ready"].map(|kind| words(s, kind).1);
    let next = |s: &Value| but(instance("wd-0", &[], &[]), |i| i.data["status"] = s.clone());

    let i = instance("wd-0", &[], &provided());
    let suspended = of(&i, &granted(), &Network::Ready, true);
    assert_eq!(says(&suspended), ["Programmed", "Suspended", "Suspended"]);
    assert_eq!(words(&suspended, "Available").0, "False");
    assert_eq!(says(&of(&i, &denied, &Network::Ready, true)), ["Programmed", "Suspended", "Suspended"]);
    let resumed = of(&next(&suspended), &granted(), &Network::Ready, false);
    assert_eq!(says(&resumed), ["Programmed", "Pending", "Pending"], "what was said of it holds no longer");
    assert_eq!(words(&resumed, "Available").0, "Unknown");

    let s = of(&instance("wd-0", &["Quota"], &provided()), &denied, &Network::Ready, false);
    assert_eq!(says(&s), ["PendingQuota"; 3]);
    for kind in ["Programmed", "Available", "Ready"] {
        let (status, _, message) = words(&s, kind);
        assert!(status == "False" && message.starts_with("used up"), "{message}");
    }
    let s = of(&next(&s), &granted(), &Network::Ready, false);
    assert_eq!(says(&s), ["Pending", "Pending", "PendingProgramming"], "granted");
    let s = of(&i, &denied, &Network::Ready, false);
    assert_eq!(says(&s), ["Programmed", "Available", "Available"], "C6: what runs keeps running");
    let own = condition("Available", "False", "Suspended", "a word of the provider's");
    let s = of(&instance("wd-0", &[], std::slice::from_ref(&own)), &granted(), &Network::Ready, false);
    assert_eq!(fedhub_api::conditions::find(&s, "Available"), Some(&own), "I9");
}

fn judged(kind: &str, status: &str, generation: i64) -> Value {
    let mut c = condition(kind, status, "R", "");
    c["observedGeneration"] = json!(generation);
    c
}

#[test]
fn c6_a_gate_goes_only_for_what_holds_for_the_current_generation() {
    let all = ["Network", "Quota", "Odd", "ReferencedData"];
    let table: [Gated; 9] = [
        (("True", 3), ("True", 3), true, Some(&["Odd"])),
        (("True", 2), ("True", 3), false, Some(&["Network", "Quota", "Odd"])),
        (("True", 3), ("True", 2), false, Some(&["Network", "Odd", "ReferencedData"])),
        (("True", 2), ("True", 2), false, None),
        (("True", 4), ("False", 3), false, None),
        (("False", 3), ("Unknown", 3), false, None),
        (("Unknown", 3), ("True", 3), false, Some(&["Network", "Quota", "Odd"])),
        (("False", 3), ("False", 3), true, Some(&["Quota", "Odd", "ReferencedData"])),
        (("True", 3), ("Unknown", 3), true, Some(&["Odd", "ReferencedData"])),
    ];
    for (quota, data, network, left) in table {
        let conditions =
            [judged("QuotaGranted", quota.0, quota.1), judged("ReferencedDataReady", data.0, data.1)];
        let opens = Opens { network, resumed: true };
        let patch = opening(&instance("wd-0", &all, &conditions), opens);
        let expected = left.map(|left| {
            let left: Vec<_> = left.iter().map(|name| json!({"name": name})).collect();
            json!({"metadata": {"resourceVersion": "10"}, "spec": {"controller": {"schedulingGates": left}}})
        });
        assert_eq!(patch, expected, "{quota:?} {data:?} {network}");
    }
}

#[test]
fn c6_nothing_opens_without_a_generation_or_a_gate() {
    let i = || instance("wd-0", &["Quota"], &[judged("QuotaGranted", "True", 3)]);
    assert_eq!(
        opening(&i(), CLOSED).unwrap()["spec"]["controller"]["schedulingGates"],
        Value::Null,
        "the last one"
    );
    assert_eq!(opening(&but(i(), |i| i.metadata.generation = None), CLOSED), None);
    assert_eq!(opening(&but(i(), |i| i.metadata.resource_version = None), CLOSED), None);
    assert_eq!(opening(&instance("wd-0", &[], &[judged("QuotaGranted", "True", 3)]), OPEN), None);
    let unstamped = instance("wd-0", &["Quota"], &[granted()]);
    assert_eq!(opening(&unstamped, OPEN), None, "judged on no generation");
    assert_eq!(unstamped.spec()["controller"]["templateHash"], HASH);
}

#[test]
fn c9_of_equals_the_first_is_said_and_of_others_the_greatest() {
    let no = |reason: &str, message: &str| ConditionUpdate::no(AnyReason::parse(reason), message);
    let all = [no("Odd", "a"), no("PendingQuota", "b"), no("QuotaNotGranted", "c"), no("Resolving", "d")];
    assert_eq!(foremost(all[..1].to_vec()).unwrap().message, "a");
    assert_eq!(foremost(all[..3].to_vec()).unwrap().message, "b");
    assert_eq!(foremost(all.to_vec()).unwrap().message, "d");
    assert_eq!(foremost([]), None);
}

#[test]
fn c9_every_reason_of_the_projects_side_keeps_its_name_in_the_cell() {
    let faults: Vec<_> =
        Reason::all().map(Reason::as_str).filter(|reason| reason.starts_with("Source")).collect();
    assert!(faults.len() >= 6, "{faults:?}");
    for reason in faults {
        assert_eq!(refusal(reason, "in words").reason.as_str(), reason);
    }
}

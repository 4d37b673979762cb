//! What a deployment says of Instances that are being torn down.

use std::sync::Arc;

use fedhub_core::names::SUSPENDED;
use fedhub_core::object::ObjectRef;
use serde_json::{Value, json};

use super::support::*;

fn going(instance: &ObjectRef) -> ObjectRef {
    Arc::new(but(instance.as_ref().clone(), dying))
}

#[test]
fn c12_a_terminating_instance_is_neither_ready_nor_current() {
    let s = plain(&wd(), &[ready("wd-0"), going(&ready("wd-1"))], 2);
    let counters = ["replicas", "updatedReplicas", "currentReplicas", "readyReplicas", "desiredReplicas"];
    assert_eq!(counters.map(|c| s[c].as_u64().unwrap()), [1, 1, 1, 1, 2]);
    assert_eq!(words(&s, "ReplicasReady").0, "False");
    assert_eq!(words(&s, "ReplicasReady").2, "1/2 replicas available. No action required");
    assert_eq!(words(&s, "Available").2, "1/1 instances are ready");
    let s = plain(&wd(), &[going(&ready("wd-0"))], 1);
    assert_eq!((words(&s, "Available").0.as_str(), &s["readyReplicas"]), ("False", &json!(0)));
}

#[test]
fn c12_c9_what_does_not_go_is_named_whatever_else_there_is_to_say() {
    let overdue = |name| going(&unready(name, "TerminationDeadlineExceeded", "held by a/b"));
    let names = |s: &Value, kind| {
        let message = words(s, kind).2;
        message.matches("Instance \"wd-9\": held by a/b").count()
    };
    let quota = Arc::new(instance("wd-1", &["Quota"], &[condition("QuotaGranted", "False", "Q", "used up")]));
    let suspended = || annotated(wd(), SUSPENDED, "true");
    for (case, wd, others, desired, replicas_ready, available) in [
        ("all are ready", wd(), vec![ready("wd-0")], 1, "ReplicasAvailable", "StableInstanceFound"),
        (
            "one is missing",
            wd(),
            vec![ready("wd-0")],
            2,
            "TerminationDeadlineExceeded",
            "StableInstanceFound",
        ),
        ("none is there", wd(), vec![], 1, "TerminationDeadlineExceeded", "TerminationDeadlineExceeded"),
        ("quota is short", wd(), vec![quota], 2, "QuotaExceeded", "TerminationDeadlineExceeded"),
        (
            "an image is missing",
            wd(),
            vec![unready("wd-0", "ImageUnavailable", "x")],
            2,
            "ImageUnavailable",
            "ImageUnavailable",
        ),
        ("it is suspended", suspended(), vec![ready("wd-0")], 1, "Suspended", "Suspended"),
    ] {
        let all: Vec<_> = others.into_iter().chain([overdue("wd-9")]).collect();
        let s = plain(&wd, &all, desired);
        assert_eq!(words(&s, "ReplicasReady").1, replicas_ready, "{case}");
        assert_eq!(words(&s, "Available").1, available, "{case}");
        assert_eq!((names(&s, "ReplicasReady"), names(&s, "Available")), (1, 1), "{case}: {s}");
    }
}

#[test]
fn c9_a_teardown_that_lasts_is_said_where_its_ordinal_is_to_be_made_anew() {
    let lasts = |name| going(&unready(name, "Terminating", "waiting for its finalizers: a/b"));
    let s = plain(&wd(), &[ready("wd-0"), lasts("wd-1")], 2);
    let (_, reason, message) = words(&s, "ReplicasReady");
    assert_eq!(reason, "InstancesProvisioning");
    assert!(
        message.ends_with("Instance \"wd-1\": waiting for its finalizers: a/b. No action required"),
        "{message}"
    );
    let s = plain(&wd(), &[ready("wd-0"), lasts("wd-1")], 1);
    assert_eq!(words(&s, "ReplicasReady").2, "1/1 replicas available", "an extra Instance blocks nothing");
}

#[test]
fn what_is_on_its_way_out_blocks_nothing() {
    let going = Arc::new(but(unready("wd-1", "ImageUnavailable", "x").as_ref().clone(), dying));
    let s = plain(&wd(), &[ready("wd-0"), going], 1);
    assert_eq!(words(&s, "ReplicasReady").0, "True");
    let going = Arc::new(but(unready("wd-1", "ImageUnavailable", "x").as_ref().clone(), dying));
    assert_eq!(words(&plain(&wd(), &[going], 1), "Available").1, "InstancesProvisioning");
}

//! The plans for bindings and subnet claims.

use std::time::Duration;

use fedhub_core::object::{Object, ObjectView};
use fedhub_simulate::network::{Plan, SLOW, context, context_name, context_step, plan};
use fedhub_simulate::{FAULT, START_TIME, Step};
use serde_json::{Value, json};

use crate::parts::support::{NONE, START, after, condition, message, now, object, says};

const GROUP: &str = "networking.datumapis.com/v1alpha";

pub fn binding(network: &str, annotations: Value) -> Object {
    object(json!({
        "apiVersion": GROUP, "kind": "NetworkBinding",
        "metadata": {"namespace": "ns-a", "name": "web-net-0", "uid": "b-1", "annotations": annotations},
        "spec": {"network": {"name": network}, "location": {"name": "DFW_1"}},
        "status": {"conditions": [condition("Ready", "Unknown", "Pending")]},
    }))
}

fn step(plan: Plan) -> Step {
    match plan {
        Plan::Binding(step) => step,
        Plan::Create(_) => panic!("a step of the binding's own"),
    }
}

#[test]
fn a_binding_waits_then_makes_its_context_ready_and_then_is_ready() {
    let binding = binding("default", json!({}));
    let waits = Step { again: Some(START), ..Step::default() };
    assert_eq!(step(plan(&binding, None, NONE, START, now())), waits);
    let Plan::Create(made) = plan(&binding, None, START, START, now()) else { panic!() };
    assert_eq!((made.namespace(), made.name()), ("ns-a", "default-dfw-1"));
    assert_eq!(made.data["spec"], json!({"network": {"name": "default"}, "location": {"name": "DFW_1"}}));
    assert!(step(plan(&binding, Some(&made), START, START, now())).is_done(), "its context first");
    let made = after(&made, &context_step(&made, NONE, now()));
    assert_eq!(says(&made.data["status"], "Ready"), "True/Ready");

    let bound = after(&binding, &step(plan(&binding, Some(&made), START, START, now())));
    assert_eq!(says(&bound.data["status"], "Ready"), "True/NetworkContextReady");
    let place = json!({"namespace": "ns-a", "name": "default-dfw-1"});
    assert_eq!(bound.data["status"]["networkContextRef"], place);
    // In order it stays, whatever is remembered; and a context that is lost is created again at once.
    assert!(step(plan(&bound, Some(&made), NONE, START, now())).is_done());
    assert!(matches!(plan(&bound, None, NONE, START, now()), Plan::Create(_)));
}

#[test]
fn refusals_are_said_at_once_and_in_words() {
    for (network, annotations, expected) in [
        ("default", json!({FAULT: "NetworkFailedToCreate"}), "False/NetworkFailedToCreate"),
        ("default", json!({FAULT: "NetworkNotFound"}), "False/NetworkNotFound"),
        ("refused-net", json!({}), "False/NetworkFailedToCreate"),
        ("refused-net", json!({FAULT: "NetworkNotFound"}), "False/NetworkNotFound"),
    ] {
        let binding = binding(network, annotations);
        let refused = after(&binding, &step(plan(&binding, None, NONE, START, now())));
        assert_eq!(says(&refused.data["status"], "Ready"), expected);
        assert!(message(&refused.data["status"], "Ready").contains(&format!("{network:?}")));
        assert!(step(plan(&refused, None, START, START, now())).is_done());
    }
}

#[test]
fn a_slow_network_says_that_it_is_under_way_and_comes() {
    for (annotations, takes) in
        [(json!({FAULT: "Slow"}), SLOW), (json!({FAULT: "Slow", START_TIME: "3s"}), Duration::from_secs(3))]
    {
        let binding = binding("default", annotations);
        let first = step(plan(&binding, None, NONE, START, now()));
        assert_eq!(first.again, Some(takes));
        let waiting = after(&binding, &first);
        assert_eq!(says(&waiting.data["status"], "Ready"), "False/NetworkContextNotReady");
        let second = step(plan(&waiting, None, START, START, now()));
        assert_eq!(
            (second.status, second.again),
            (None, Some(takes.checked_sub(START).unwrap())),
            "said once"
        );
        assert!(matches!(plan(&waiting, None, takes, START, now()), Plan::Create(_)));
    }
    let only_late = binding("default", json!({START_TIME: "3s"}));
    let waits = Step { again: Some(Duration::from_secs(3)), ..Step::default() };
    assert_eq!(step(plan(&only_late, None, NONE, START, now())), waits);
}

#[test]
fn an_unknown_fault_is_none_and_a_deleted_binding_is_left() {
    let odd = binding("default", json!({FAULT: "ImageUnavailable"}));
    assert!(matches!(plan(&odd, None, START, START, now()), Plan::Create(_)));
    let mut leaving = binding("default", json!({}));
    leaving.metadata.deletion_timestamp = object(json!({
        "metadata": {"deletionTimestamp": "2024-01-01T00:00:00Z"}}))
    .metadata
    .deletion_timestamp;
    assert!(step(plan(&leaving, None, START, START, now())).is_done());
}

#[test]
fn contexts_have_names_that_objects_can_have() {
    let named = |network: &str, location: &str| {
        let mut binding = binding(network, json!({}));
        binding.data["spec"]["location"]["name"] = json!(location);
        assert_eq!(context(&binding).name(), context_name(&binding));
        context_name(&binding)
    };
    assert_eq!(named("default", "us-south-1"), "default-us-south-1");
    assert_eq!(named("Corp Net", "DFW"), "corp-net-dfw");
    assert_eq!(named("-x", "-"), "x");
    assert!(named(&"n".repeat(300), "dfw").len() <= 253);
}

#[test]
fn a_context_may_take_its_time_or_fail_although_its_binding_is_ready() {
    for (fault, first, later) in [
        ("ContextSlow", "False/ProgrammingInProgress", "True/Ready"),
        ("ContextFailed", "False/RoutesRefused", "False/RoutesRefused"),
        ("SubnetFailed", "True/Ready", "True/Ready"),
    ] {
        let binding = binding("default", json!({FAULT: fault, START_TIME: "3s"}));
        let Plan::Create(made) = plan(&binding, None, START, START, now()) else { panic!() };
        let soon = context_step(&made, NONE, now());
        let made = after(&made, &soon);
        assert_eq!(says(&made.data["status"], "Ready"), first);
        let bound = after(&binding, &step(plan(&binding, Some(&made), START, START, now())));
        assert_eq!(says(&bound.data["status"], "Ready"), "True/NetworkContextReady");
        let last = after(&made, &context_step(&made, Duration::from_secs(3), now()));
        assert_eq!(says(&last.data["status"], "Ready"), later);
        let mut mended = last;
        mended.metadata.annotations = None;
        let mended = after(&mended, &context_step(&mended, NONE, now()));
        assert_eq!(says(&mended.data["status"], "Ready"), "True/Ready");
    }
}

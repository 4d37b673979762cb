//! F8, I10 and section 6: the status that a user reads.

use fedhub_api::cells::CellDown;
use fedhub_api::conditions::find;
use fedhub_api::reason::Reason;
use fedhub_core::names::CITY_CODE;
use fedhub_core::object::set_field;
use fedhub_federator::refusal::{Conflict, Refusal};
use fedhub_planes::StatusWrite;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::plan::fixtures::{
    fresh, hub_wd, in_order, label, marked, seen, shared, status_of, with, writes_hub,
};
use crate::plan::observed::desired;
use crate::plan::observed::plan;
use crate::plan::states;

const COUNTERS: [&str; 5] =
    ["replicas", "currentReplicas", "updatedReplicas", "desiredReplicas", "readyReplicas"];

fn condition(kind: &str, status: &str, reason: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

/// The status that is to stand, given what stands here and what stands on the hub.
fn desired_for(here: Value, hub: Value, refusal: Option<&Refusal>) -> Option<Value> {
    let mut seen = in_order();
    seen.project = shared(status_of(marked(), here));
    seen.hub = Some(shared(status_of(hub_wd(), hub)));
    desired(&seen, refusal)
}

fn available(status: &Value) -> (&str, &str) {
    let condition = find(status, "Available").unwrap();
    (condition["status"].as_str().unwrap(), condition["reason"].as_str().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn f8_every_status_that_is_sent_has_all_counters(seen in states::observed()) {
        if let Some(StatusWrite { status, .. }) = plan(&seen).status {
            prop_assert!(COUNTERS.iter().all(|c| status[c].is_number()), "{}", status);
        }
    }

    #[test]
    fn f8_an_empty_hub_status_overwrites_nothing(here in states::status_value(), empty in prop_oneof![Just(Value::Null), Just(json!({}))]) {
        let ours = find(&here, "Available").is_some_and(|c| c["reason"] != "Stable");
        let desired_for = desired_for(here.clone(), empty, None);
        if ours {
            // Only a refusal of ours that no longer holds goes.
            let desired_for = desired_for.unwrap();
            prop_assert_eq!(&find(&desired_for, "Available").unwrap()["reason"], "Pending");
            for (key, value) in here.as_object().unwrap().iter().filter(|(k, _)| *k != "conditions") {
                prop_assert_eq!(&desired_for[key], value);
            }
        } else {
            prop_assert_eq!(desired_for, None);
        }
    }

    #[test]
    fn f8_desired_is_stable(here in states::status_value(), hub in states::status_value(), cells in 0usize..4) {
        let refusal = Refusal::of_cells("DFW", cells);
        if let Some(once) = desired_for(here, hub.clone(), refusal.as_ref()) {
            let twice = desired_for(once.clone(), hub, refusal.as_ref());
            prop_assert!(twice.is_none_or(|t| t == once));
        }
    }
}

#[test]
fn f8_the_projects_own_condition_is_kept_and_the_hubs_is_not_taken() {
    let hub = json!({"conditions": [condition("ReferencedDataReady", "False", "Cell"), condition("Available", "True", "Stable")]});
    let own = condition("ReferencedDataReady", "True", "Project");
    let with_own = desired_for(json!({"conditions": [own]}), hub.clone(), None).unwrap();
    assert_eq!(find(&with_own, "ReferencedDataReady"), Some(&own));
    let without = desired_for(json!({}), hub, None).unwrap();
    assert_eq!(find(&without, "ReferencedDataReady"), None);
    assert_eq!(available(&without), ("True", "Stable"));
}

#[test]
fn f8_refusals_stand_unless_the_cell_says_available_and_ambiguity_always() {
    let refusals = [
        Refusal::InvalidCityCode("New York".to_owned()),
        Refusal::InvalidName,
        Refusal::NoCellForCity("DFW".to_owned()),
        Refusal::FederationConflict(Conflict::Deployment),
        Refusal::AmbiguousCity("DFW".to_owned()),
    ];
    for refusal in refusals {
        let reason = refusal.reason();
        for (hub, stands) in [
            (json!({}), true),
            (json!({"replicas": 1}), true),
            (json!({"conditions": [condition("Available", "False", "Starting")]}), true),
            (json!({"conditions": [condition("Available", "Unknown", "Starting")]}), true),
            (
                json!({"conditions": [condition("Available", "True", "Stable")]}),
                reason == Reason::AmbiguousCity,
            ),
        ] {
            let status = desired_for(Value::Null, hub.clone(), Some(&refusal)).unwrap();
            let expected = if stands { ("False", reason.as_str()) } else { ("True", "Stable") };
            assert_eq!(available(&status), expected, "{reason} over {hub}");
        }
    }
}

#[test]
fn f8_what_the_project_says_of_availability_is_not_the_hubs_word() {
    let here = json!({"conditions": [condition("Available", "True", "Stable")]});
    let refusal = Refusal::NoCellForCity("DFW".to_owned());
    let status = desired_for(here, json!({}), Some(&refusal)).unwrap();
    assert_eq!(available(&status), ("False", "NoCellForCity"));
}

#[test]
fn f8_a_refusal_goes_when_its_cause_goes() {
    let here = json!({"conditions": [condition("Available", "False", "NoCellForCity"), condition("Odd", "True", "X")], "replicas": 2});
    let status = desired_for(here, json!({}), None).unwrap();
    let available = find(&status, "Available").unwrap();
    assert_eq!((&available["status"], &available["reason"]), (&json!("Unknown"), &json!("Pending")), "U1");
    assert!(find(&status, "Odd").is_some());
    assert_eq!(status["replicas"], 2);
}

#[test]
fn f8_observed_generation_is_kept_where_the_hub_leaves_it_out() {
    for (here, hub, expected) in [
        (json!({"observedGeneration": 4}), json!({"replicas": 1}), json!(4)),
        (json!({"observedGeneration": 4}), json!({"observedGeneration": 5}), json!(5)),
        (json!({"observedGeneration": 4}), json!({"observedGeneration": 3}), json!(3)),
        (json!({}), json!({"replicas": 1}), Value::Null),
    ] {
        assert_eq!(desired_for(here, hub, None).unwrap()["observedGeneration"], expected);
    }
}

#[test]
fn f8_zero_counters_are_sent() {
    let status = desired_for(Value::Null, json!({"replicas": 2}), None).unwrap();
    assert_eq!(status["replicas"], 2);
    assert!(COUNTERS[1..].iter().all(|c| status[c] == 0));
}

#[test]
fn i11_bad_input_is_answered_and_nothing_stands_on_the_hub() {
    let long = "n".repeat(64);
    for (name, city, reason) in [
        ("wd", "", "InvalidCityCode"),
        ("wd", "New York", "InvalidCityCode"),
        ("wd", "dfw-", "InvalidCityCode"),
        ("wd", "Zürich", "InvalidCityCode"),
        ("wd", &*"C".repeat(64), "InvalidCityCode"),
        ("wd", &*"\u{1}".repeat(40_000), "InvalidCityCode"),
        (&*long, "DFW", "InvalidName"),
    ] {
        let mut wd = with(fresh(), |wd| set_field(wd, "spec", json!({"cityCode": city})));
        wd.metadata.name = Some(name.to_owned());
        let plan = plan(&seen(wd, None, None, vec![]));
        assert!(!writes_hub(&plan) && plan.mark.is_none(), "{name} {city}");
        let status = plan.status.unwrap().status;
        assert_eq!(available(&status), ("False", reason), "{name} {city}");
        let message = find(&status, "Available").unwrap()["message"].as_str().unwrap();
        assert!(message.contains("63"), "the message names the rule: {message}");
        assert!(message.len() <= 1024, "{} bytes", message.len());
    }
}

#[test]
fn i11_a_city_that_is_no_text_or_missing_is_answered() {
    for spec in [json!({}), json!({"cityCode": 5}), json!({"cityCode": null}), Value::Null, json!("x")] {
        let wd = with(fresh(), |wd| set_field(wd, "spec", spec.clone()));
        let plan = plan(&seen(wd, None, None, vec![]));
        assert!(!writes_hub(&plan), "{spec}");
        assert_eq!(available(&plan.status.unwrap().status), ("False", "InvalidCityCode"), "{spec}");
    }
}

#[test]
fn i10_no_cell_is_said_and_the_wd_federated() {
    let mut seen = seen(fresh(), None, None, vec![]);
    seen.cells = 0;
    assert!(plan(&seen).mark.is_some());
    let mut seen = in_order();
    (seen.cells, seen.hub) = (0, None);
    let plan = plan(&seen);
    assert!(plan.deployment.is_some());
    assert_eq!(available(&plan.status.unwrap().status), ("False", "NoCellForCity"));
}

#[test]
fn i10_an_ambiguous_city_makes_new_ones_wait_and_leaves_the_others() {
    let mut new = seen(fresh(), None, None, vec![]);
    new.cells = 2;
    let waiting = plan(&new);
    assert!(waiting.mark.is_none() && !writes_hub(&waiting));
    assert_eq!(available(&waiting.status.unwrap().status), ("False", "AmbiguousCity"));

    let mut stands = in_order();
    stands.cells = 2;
    stands.project = shared(with(marked(), |wd| wd.data["spec"]["placementName"] = json!("q")));
    let plan_ = plan(&stands);
    assert!(plan_.deployment.is_some(), "it stays where it is, and is kept up to date");
    assert_eq!(available(&plan_.status.unwrap().status), ("False", "AmbiguousCity"));

    let mut moving = in_order();
    moving.cells = 2;
    moving.hub = Some(shared(with(hub_wd(), |wd| label(wd, CITY_CODE, "ORD"))));
    assert!(!writes_hub(&plan(&moving)), "it does not move to an unknown city");
}

#[test]
fn c11_what_a_cell_that_is_down_said_of_replicas_is_not_known_and_nothing_where_it_is_lost() {
    let reported = json!({
        "replicas": 2, "currentReplicas": 2, "updatedReplicas": 2, "desiredReplicas": 2, "readyReplicas": 2,
        "observedGeneration": 7,
        "conditions": [condition("Available", "True", "Stable"), condition("ReplicasReady", "True", "Ready")],
    });
    for (lost, expected, ready) in [(false, "Unknown", 2), (true, "False", 0)] {
        let mut seen = in_order();
        seen.hub = Some(shared(status_of(hub_wd(), reported.clone())));
        seen.cell_down = Some(CellDown { cell: "cell-1".into(), since: "2026-01-02T00:00:00Z".into(), lost });
        let desired_for = desired(&seen, None).unwrap();
        for kind in ["Available", "ReplicasReady"] {
            let condition = find(&desired_for, kind).unwrap();
            assert_eq!(
                (&condition["status"], &condition["reason"]),
                (&json!(expected), &json!("CellUnreachable"))
            );
        }
        assert_eq!(
            (&desired_for["readyReplicas"], &desired_for["currentReplicas"]),
            (&json!(ready), &json!(ready))
        );
        assert_eq!((&desired_for["replicas"], &desired_for["desiredReplicas"]), (&json!(2), &json!(2)));
    }
    let mut unready = in_order();
    unready.hub = Some(shared(status_of(
        hub_wd(),
        json!({
            "replicas": 1, "observedGeneration": 7, "conditions": [condition("ReplicasReady", "False", "Image")],
        }),
    )));
    unready.cell_down = Some(CellDown { cell: "cell-1".into(), since: String::new(), lost: false });
    let desired_for = desired(&unready, None).unwrap();
    assert_eq!(find(&desired_for, "ReplicasReady").unwrap()["reason"], "Image", "its own reason stays");
}

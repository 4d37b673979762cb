//! F5, F7: the PropagationPolicy of a city.

use fedhub_core::names::{CITY_CODE, is_object_name};
use fedhub_core::object::{Object, ObjectView};
use fedhub_engine::{Intent, Outcome};
use fedhub_federator::progress::{Failure, Progress};
use fedhub_federator::refusal::Remnant;
use fedhub_planes::Write;
use proptest::prelude::*;
use serde_json::json;

use crate::plan::fixtures::{
    Edit, body, deleting, hub_namespace, in_order, label, marked_in, policy, seen, with,
};
use crate::plan::observed::plan;
use crate::plan::states;

fn federated_in(city: &str, policies: Vec<Object>) -> crate::plan::observed::Plan {
    plan(&seen(marked_in(city), Some(hub_namespace()), None, policies))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn f5_no_hub_wd_is_made_before_its_policy(seen in states::observed()) {
        let plan = plan(&seen);
        if matches!(plan.deployment, Some(Write::Create(_))) {
            let carried = |o: &Object| o.label(CITY_CODE) == Some(seen.city()) && !o.is_terminating();
            let stands = seen.policies.iter().any(|p| carried(&p.object));
            prop_assert!(stands || plan.policy.as_ref().is_some_and(|w| carried(body(w))));
        }
    }

    #[test]
    fn f5_no_name_is_taken_twice_and_no_other_citys_policy_is_written(seen in states::observed()) {
        let plan = plan(&seen);
        let Some(write) = &plan.policy else { return Ok(()) };
        let name = body(write).name();
        prop_assert!(is_object_name(name), "{}", name);
        let there = seen.policies.iter().find(|p| p.object.name() == name);
        match write {
            Write::Create(_) => prop_assert!(there.is_none()),
            Write::Replace { .. } => {
                let there = &there.unwrap().object;
                prop_assert!(!there.is_terminating());
                prop_assert!(there.label(CITY_CODE).is_none_or(|c| c == seen.city()));
            }
        }
    }
}

#[test]
fn f5_a_policy_is_made_with_one_selector_and_one_cluster() {
    let Some(Write::Create(made)) = federated_in("DFW", vec![]).policy else { panic!("no policy") };
    assert_eq!(made.name(), "city-dfw");
    assert_eq!(made.label(CITY_CODE), Some("DFW"));
    let spec = made.spec();
    assert_eq!(spec["propagateDeps"], true);
    assert_eq!(spec["resourceSelectors"].as_array().unwrap().len(), 1);
    let selector = &spec["resourceSelectors"][0];
    assert_eq!(selector["apiVersion"], "compute.datumapis.com/v1alpha");
    assert_eq!(selector["kind"], "WorkloadDeployment");
    let labels = json!({"matchLabels": {CITY_CODE: "DFW"}});
    assert_eq!(selector["labelSelector"], labels);
    assert_eq!(spec["placement"]["clusterAffinity"]["labelSelector"], labels);
    let spread = &spec["placement"]["spreadConstraints"];
    assert_eq!(*spread, json!([{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}]));
}

#[test]
fn f5_policies_are_found_by_label_whatever_their_name() {
    let plan = federated_in("DFW", vec![policy("made-by-hand", "DFW"), policy("city-dfw", "dfw")]);
    assert!(plan.policy.is_none(), "{:?}", plan.policy);
    assert!(plan.deployment.is_some());
}

#[test]
fn f5_cities_that_differ_in_case_alone_have_policies_of_their_own() {
    let Some(Write::Create(made)) = federated_in("dfw", vec![policy("city-dfw", "DFW")]).policy else {
        panic!("no policy")
    };
    assert!(made.name().starts_with("city-dfw-"), "{}", made.name());
    let plan = federated_in("dfw", vec![policy("city-dfw", "DFW"), *made]);
    assert!(plan.policy.is_none());
}

#[test]
fn f5_odd_codes_have_valid_names() {
    for city in ["A_b.c", "x.-y", "A__B", &"Z".repeat(63), "9"] {
        let Some(Write::Create(made)) = federated_in(city, vec![]).policy else { panic!("{city}") };
        assert!(is_object_name(made.name()), "{city}: {}", made.name());
        assert_eq!(made.label(CITY_CODE), Some(city));
    }
}

#[test]
fn f5_an_edited_policy_is_restored() {
    let table: [(&str, Edit); 4] = [
        ("spec", |p| p.data["spec"]["propagateDeps"] = json!(false)),
        ("affinity", |p| p.data["spec"]["placement"]["clusterAffinity"] = json!({})),
        ("another field", |p| p.data["spec"]["suspension"] = json!({"dispatching": true})),
        ("label", |p| p.metadata.labels = None),
    ];
    for (what, edit) in table {
        let plan = federated_in("DFW", vec![with(policy("city-dfw", "DFW"), edit)]);
        let Some(Write::Replace { object, .. }) = plan.policy else { panic!("{what}") };
        assert_eq!(*object, policy("city-dfw", "DFW"), "{what}");
    }
}

#[test]
fn f5_a_policy_with_a_suffix_whose_label_was_taken_off_is_restored_too() {
    let upper = policy("city-dfw", "DFW");
    let Some(Write::Create(lower)) = federated_in("dfw", vec![upper.clone()]).policy else {
        panic!("no policy")
    };
    let bald = with(*lower.clone(), |p| p.metadata.labels = None);
    let Some(Write::Replace { object, .. }) = federated_in("dfw", vec![upper, bald]).policy else {
        panic!("not restored")
    };
    assert_eq!(object.label(CITY_CODE), Some("dfw"));
    assert_eq!(object.name(), lower.name());
}

#[test]
fn f5_a_policy_that_was_given_another_citys_label_is_replaced_by_a_new_one() {
    let lost = with(policy("city-dfw", "DFW"), |p| label(p, CITY_CODE, "ORD"));
    let Some(Write::Create(made)) = federated_in("DFW", vec![lost]).policy else { panic!("no policy") };
    assert_ne!(made.name(), "city-dfw");
}

#[test]
fn f7_a_policy_that_is_terminating_counts_as_absent_and_is_waited_for() {
    let seen = seen(marked_in("DFW"), Some(hub_namespace()), None, vec![deleting(policy("city-dfw", "DFW"))]);
    let waiting = plan(&seen);
    assert!(waiting.policy.is_none() && waiting.deployment.is_none());
    assert_eq!(waiting.then, Some(Intent::End(Outcome::AwaitChange)));
    assert_eq!(seen.progress(), Progress::Failed(Failure::Remains(Remnant::Policy)));
    let plan = federated_in("DFW", vec![deleting(policy("city-dfw", "DFW")), policy("other", "DFW")]);
    assert!(plan.policy.is_none() && plan.deployment.is_some(), "another one of the city stands");
}

#[test]
fn f5_the_policy_of_a_wd_in_order_is_left_alone() {
    assert!(plan(&in_order()).policy.is_none());
}

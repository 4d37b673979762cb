//! I7: plans come to rest and stay there, also after a restart.

use fedhub_core::object::{ObjectView, set_field};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::plan::fixtures::{FOREIGN, annotate, fresh, label};
use crate::plan::model::{Makes, Model};
use crate::plan::states;

fn nothing(_: &mut Value) {}

/// Prunes all that begins with an x, and says what was left open, as a schema does.
fn schema(value: &mut Value) {
    if let Some(map) = value.as_object_mut() {
        map.retain(|key, _| !key.starts_with('x'));
        map.entry("defaulted").or_insert(json!({"by": "the schema"}));
    }
}

/// Writes lists in another order, and numbers in another form.
fn normalised(value: &mut Value) {
    if let Some(list) = value.get_mut("conditions").and_then(Value::as_array_mut) {
        list.reverse();
    }
    if let Some(map) = value.as_object_mut() {
        map.insert("normalised".to_owned(), json!(1));
    }
}

const SERVERS: [Makes; 3] = [nothing, schema, normalised];

fn servers() -> impl Strategy<Value = [Makes; 3]> {
    let one = || (0usize..3).prop_map(|i| SERVERS[i]);
    [one(), one(), one()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn i7_a_federated_wd_rests_and_a_restart_writes_nothing(
        (project, hub) in states::federated(), makes in servers(), cells in 0usize..4,
    ) {
        let mut model = Model::new(project);
        (model.makes, model.cells) = (makes, cells);
        model.settle();
        let ambiguous = cells > 1;
        prop_assert_eq!(model.hub.is_some(), !ambiguous);
        let once = |what| model.log.iter().filter(|w| **w == what).count();
        prop_assert_eq!(once("deployment"), usize::from(!ambiguous), "{:?}", &model.log);
        prop_assert_eq!(once("policy"), usize::from(!ambiguous));
        prop_assert!(once("mark") <= 2);
        if !ambiguous {
            model.report(hub.status().clone()).forget_log().settle();
            prop_assert!(model.log.len() <= 1 && model.log.iter().all(|w| *w == "status"), "{:?}", &model.log);
        }
        model.forget_log().settle();
        prop_assert!(model.log.is_empty() && model.dry_runs == 0, "{:?}", &model.log);
        model.restart().settle();
        prop_assert!(model.log.is_empty(), "{:?}", &model.log);
        prop_assert!(model.dry_runs <= 3, "one for each thing that the servers changed");
        model.forget_log().settle();
        prop_assert!(model.log.is_empty() && model.dry_runs == 0, "what a dry run showed is remembered");
    }

    #[test]
    fn i7_any_state_comes_to_rest(seen in states::observed(), makes in servers()) {
        let mut model = Model::new(seen.project.as_ref().clone());
        model.namespace = seen.hub_namespace.as_deref().cloned();
        model.hub = seen.hub.as_deref().cloned();
        for policy in &seen.policies {
            model.policies.insert(policy.object.name().to_owned(), policy.object.as_ref().clone());
        }
        (model.makes, model.cells) = (makes, seen.cells);
        model.settle().forget_log().settle();
        prop_assert!(model.log.is_empty() && model.dry_runs == 0, "{:?}", &model.log);
        model.restart().settle();
        prop_assert!(model.log.is_empty(), "{:?}", &model.log);
    }

    #[test]
    fn i7_what_others_add_to_the_hub_wd_is_no_difference((project, _) in states::federated()) {
        let mut model = Model::new(project);
        model.settle();
        let hub = model.hub.as_mut().unwrap();
        label(hub, "propagationpolicy.karmada.io/permanent-id", "x");
        annotate(hub, "policy.karmada.io/applied-placement", "{}");
        hub.metadata.finalizers = Some(vec![FOREIGN.to_owned()]);
        model.forget_log().settle();
        prop_assert!(model.log.is_empty(), "{:?}", &model.log);
    }
}

#[test]
fn i7_an_edit_on_the_hub_is_restored_once_with_and_without_a_restart() {
    for restart in [false, true] {
        let mut model = Model::new(fresh());
        model.makes = [schema, schema, schema];
        model.settle().forget_log();
        model.hub.as_mut().unwrap().data["spec"]["placementName"] = json!("edited");
        if restart {
            model.restart();
        }
        model.settle();
        assert_eq!(model.log, ["deployment"], "restart: {restart}");
        assert_eq!(model.hub.as_ref().unwrap().spec()["placementName"], "p");
    }
}

#[test]
fn i7_a_new_generation_is_one_write() {
    let mut model = Model::new(fresh());
    model.makes = [schema, nothing, nothing];
    model.settle().forget_log();
    let project = model.project.as_mut().unwrap();
    project.data["spec"]["placementName"] = json!("q");
    project.metadata.generation = Some(8);
    model.settle();
    assert_eq!((model.log.as_slice(), model.dry_runs), (["deployment"].as_slice(), 0));
}

#[test]
fn i7_a_refusal_keeps_its_time_while_it_stands() {
    let mut model = Model::new(fresh());
    set_field(model.project.as_mut().unwrap(), "spec", json!({"cityCode": "New York"}));
    model.settle();
    let first = model.project.as_ref().unwrap().status().clone();
    assert_eq!(first["conditions"][0]["reason"], "InvalidCityCode");
    // Another refusal, the same status: another reason, the same time.
    set_field(model.project.as_mut().unwrap(), "spec", json!({"cityCode": "DFW"}));
    model.cells = 2;
    model.settle();
    let second = model.project.as_ref().unwrap().status().clone();
    assert_eq!(second["conditions"][0]["reason"], "AmbiguousCity");
    assert_eq!(first["conditions"][0]["lastTransitionTime"], second["conditions"][0]["lastTransitionTime"]);
    model.restart().settle();
    assert!(model.log.is_empty(), "{:?}", model.log);
}

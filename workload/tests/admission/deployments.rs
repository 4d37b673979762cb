//! WDs that users write: the rules of their templates and numbers, and what is asked about them (W4).

use fedhub_workload::admission::{Fault, Kind, judge_scale};
use serde_json::{Value, json};

use crate::admission::fixtures::{NONE, deployment, faults, judged, machine, object, with, workload};

fn on_update(old: &Value, new: &Value) -> Vec<String> {
    judged(Kind::WorkloadDeployment, Some(old), new).faults.iter().map(Fault::to_string).collect()
}

fn networks(old: Option<&Value>, new: &Value) -> Vec<String> {
    judged(Kind::WorkloadDeployment, old, new).networks.into_iter().map(|network| network.name).collect()
}

const CONTAINER: &str = "/spec/template/spec/runtime/sandbox/containers/0";
const NETWORK: &str = "/spec/template/spec/networkInterfaces/0/network";

#[test]
fn w4_a_template_is_held_to_the_same_rules_in_a_deployment_and_in_a_workload() {
    let template = |fault: String| fault.contains("spec.template").then_some(fault);
    for (pointer, value) in [
        ("/spec/template/spec/runtime/resources/instanceType", json!("x-large")),
        ("/spec/template/spec/runtime/class", json!("micro")),
        ("/spec/template/spec/location", json!({"name": "dfw-1"})),
        ("/spec/template/metadata", json!({"finalizers": ["example.com/a"]})),
        ("/spec/template/spec/volumes/0/configMap/name", json!("A_B")),
        (&format!("{CONTAINER}/image"), json!("")),
        (&format!("{NETWORK}/namespace"), json!("ns-0d0c6a3e-9f2b-4c55-8a1e-000000000001")),
    ] {
        let in_wd = faults(Kind::WorkloadDeployment, &with(deployment(), pointer, value.clone()));
        let in_workload = faults(Kind::Workload, &with(workload(), pointer, value));
        assert!(!in_wd.is_empty(), "{pointer}");
        assert_eq!(in_wd, in_workload.into_iter().filter_map(template).collect::<Vec<_>>(), "{pointer}");
    }
    let machine = with(deployment(), "/spec/template", machine()["spec"]["template"].clone());
    assert_eq!(faults(Kind::WorkloadDeployment, &machine), NONE);
}

#[test]
fn w4_the_numbers_of_a_deployment_are_those_that_a_cell_can_follow() {
    let at =
        |pointer: &str, value: Value| faults(Kind::WorkloadDeployment, &with(deployment(), pointer, value));
    for replicas in [0, 1, 1000] {
        assert_eq!(at("/spec/replicas", json!(replicas)), NONE);
    }
    assert_eq!(at("/spec/scaleSettings/minReplicas", json!(0)), NONE, "also where it would scale");
    assert_eq!(
        at("/spec/replicas", json!(1001)),
        ["spec.replicas: Invalid value: \"1001\": it must be a number from 0 to 1000"]
    );
    assert_eq!(
        at("/spec/scaleSettings/minReplicas", json!(-1)),
        ["spec.scaleSettings.minReplicas: Invalid value: \"-1\": it must be a number from 0 to 1000"]
    );
    assert_eq!(
        at("/spec/scaleSettings/maxReplicas", json!(1_000_000)),
        ["spec.scaleSettings.maxReplicas: Invalid value: \"1000000\": it must be a number from 1 to 1000"]
    );
}

/// It would be ignored, and nobody would know.
#[test]
fn v9_what_is_asked_of_power_can_be_read() {
    const POWER: &str = "compute.datumapis.com/instance-power";
    let asking = |value: &str| with(deployment(), "/metadata/annotations", json!({ POWER: value }));
    for (value, words) in [
        (r#"{"web-0": {"state": "Stopped", "later": true}}"#, ""),
        (r#"{"web-0": {"restartedAt": "2027-01-31T10:00:00Z"}}"#, ""),
        (
            r#"{"web-0": {"state": "Off"}}"#,
            "of instance \"web-0\": state \"Off\" is neither Running nor Stopped",
        ),
        (
            r#"{"web-0": {"restartedAt": "now"}}"#,
            "of instance \"web-0\": restartedAt is not an RFC 3339 time",
        ),
        ("Stopped", "is not a JSON object"),
    ] {
        let found = on_update(&deployment(), &asking(value));
        assert_eq!(found.len(), usize::from(!words.is_empty()), "{found:?}");
        let begins = format!("metadata.annotations[{POWER}]: Invalid value");
        assert!(found.iter().all(|it| it.starts_with(&begins) && it.contains(words)), "{found:?}");
    }
    let stored = asking("Stopped");
    let labelled = with(stored.clone(), "/metadata/labels", json!({"a": "b"}));
    assert_eq!(on_update(&stored, &labelled), NONE, "what is stored stays changeable");
}

/// Without them its Instances would run, and nobody would see them in the project.
#[test]
fn w4_a_deployment_names_its_placement_and_its_workload() {
    for (pointer, field) in [
        ("/spec/placementName", "spec.placementName"),
        ("/spec/workloadRef/name", "spec.workloadRef.name"),
        ("/spec/workloadRef/uid", "spec.workloadRef.uid"),
    ] {
        for (value, problem) in
            [("", "Required value"), ("no label", "Invalid value"), (&"x".repeat(64), "Invalid value")]
        {
            let found = faults(Kind::WorkloadDeployment, &with(deployment(), pointer, json!(value)));
            assert!(found.len() == 1 && found[0].starts_with(&format!("{field}: {problem}")), "{found:?}");
        }
    }
}

/// What is stored stays changeable, and what is not changed is not reviewed.
#[test]
fn w4_a_deployment_with_a_fault_that_is_stored_stays_changeable() {
    let old = with(deployment(), "/spec/replicas", json!(5000));
    let old = with(old, &format!("{CONTAINER}/image"), json!("nginx latest"));
    let old = with(old, "/spec/template/spec/runtime/resources/instanceType", json!("x-large"));
    assert_eq!(on_update(&old, &with(old.clone(), "/metadata/labels", json!({"a": "b"}))), NONE);
    let args = with(old.clone(), &format!("{CONTAINER}/args"), json!(["-v"]));
    assert_eq!(on_update(&old, &args), NONE);
    assert_eq!(on_update(&old, &with(old.clone(), "/spec/replicas", json!(3))), NONE);
    let more = on_update(&old, &with(old.clone(), "/spec/replicas", json!(6000)));
    assert!(more.len() == 1 && more[0].contains("6000"), "{more:?}");
    let exempt = judged(Kind::WorkloadDeployment, Some(&old), &args).exempts_fedhub;
    assert!(exempt && !judged(Kind::Workload, None, &workload()).exempts_fedhub);
}

#[test]
fn w4_the_right_to_the_network_of_a_deployment_is_asked_for() {
    let old = deployment();
    assert_eq!(networks(None, &old), ["default"]);
    assert_eq!(networks(Some(&old), &with(old.clone(), "/spec/replicas", json!(3))), NONE);
    let image = with(old.clone(), &format!("{CONTAINER}/image"), json!("ghcr.io/eve/tool:1"));
    assert_eq!(networks(Some(&old), &image), ["default"]);
    let moved = with(old.clone(), &format!("{NETWORK}/name"), json!("private"));
    assert_eq!(networks(Some(&old), &moved), ["private"]);
}

#[test]
fn w4_the_scale_of_a_deployment_is_within_bounds() {
    let scale = |replicas: Value| {
        object(&json!({
            "apiVersion": "autoscaling/v1", "kind": "Scale",
            "metadata": {"name": "web-dfw", "namespace": "shop"}, "spec": {"replicas": replicas},
        }))
    };
    for replicas in [json!(0), json!(1000), Value::Null] {
        assert_eq!(judge_scale(None, &scale(replicas)).faults, []);
    }
    let refused = judge_scale(Some(&scale(json!(1))), &scale(json!(1_000_000))).faults;
    assert_eq!(
        refused.iter().map(Fault::to_string).collect::<Vec<_>>(),
        ["spec.replicas: Invalid value: \"1000000\": it must be a number from 0 to 1000"]
    );
    assert_eq!(judge_scale(None, &scale(json!(-1))).faults.len(), 1);
    assert_eq!(judge_scale(Some(&scale(json!(5000))), &scale(json!(5000))).faults, [], "it is stored");
}

//! What a WD's scale settings come to, by tables and at random: the plan of its autoscaler (C13).

use fedhub_cell::domain::autoscaling::{AutoscalerPlan, AutoscalerStep, AutoscalingSettings, desired, plan};
use fedhub_core::object::{Kind, Object, ObjectView, bare};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::deployment_controller::support::{SPACE, WD};

fn deployment(replicas: Value, settings: Value) -> Object {
    let mut wd = bare(Kind::WorkloadDeployment, SPACE, WD);
    wd.metadata.uid = Some("uid-of-wd".to_owned());
    wd.data["spec"] = json!({"replicas": replicas, "scaleSettings": settings});
    wd
}

fn by(metrics: Value) -> AutoscalingSettings {
    let settings = json!({"minReplicas": 1, "maxReplicas": 3, "metrics": metrics});
    AutoscalingSettings::from_deployment(&deployment(Value::Null, settings))
}

#[test]
fn c13_what_an_autoscaler_cannot_be_told_is_named_all_of_it() {
    let resource = |name: &str, target: Value| json!([{"resource": {"name": name, "target": target}}]);
    for (metrics, fault) in [
        (json!([{}]), "metrics[0]: it must be a metric of kind resource"),
        (json!([{"pods": {}}]), "metrics[0]: it must be a metric of kind resource"),
        (
            json!([{"pods": {}, "resource": {"name": "cpu", "target": {"averageUtilization": 1}}}]),
            "and of no other kind",
        ),
        (json!(["cpu"]), "metrics[0]"),
        (resource("gpu", json!({"averageValue": "1"})), "\"gpu\" is not measured"),
        (resource("cpu", json!({})), "exactly one target is required"),
        (resource("cpu", json!(null)), "exactly one target is required"),
        (
            resource("cpu", json!({"averageUtilization": 1, "averageValue": "1"})),
            "exactly one target is required",
        ),
        (resource("cpu", json!({"value": "1"})), "the target value is not supported"),
        (resource("cpu", json!({"averageUtilization": 0})), "averageUtilization must be 1 or more"),
        (resource("memory", json!({"averageValue": "0"})), "averageValue must be a quantity greater than 0"),
        (resource("memory", json!({"averageValue": "-1Gi"})), "averageValue must be a quantity"),
        (resource("memory", json!({"averageValue": "much"})), "averageValue must be a quantity"),
        (
            json!([{}, {"resource": {"name": "cpu", "target": {"averageUtilization": 1}}}, {}]),
            "; metrics[2]: ",
        ),
    ] {
        match by(metrics.clone()) {
            AutoscalingSettings::Invalid(faults) => assert!(faults.contains(fault), "{metrics}: {faults}"),
            other => panic!("{metrics}: {other:?}"),
        }
    }
    for (min, max, fault) in [
        (json!(null), 3, "minReplicas must be 1 or more"),
        (json!(4), 3, "maxReplicas is 3, it must be 1 or more and not below minReplicas"),
    ] {
        let settings = json!({"minReplicas": min, "maxReplicas": max, "metrics": [{}]});
        match AutoscalingSettings::from_deployment(&deployment(Value::Null, settings)) {
            AutoscalingSettings::Invalid(faults) => {
                assert!(faults.contains(fault) && faults.contains("metrics[0]"), "{faults}");
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn c13_a_wd_scales_with_a_maximum_and_metrics_only() {
    let metrics = json!([{"resource": {"name": "cpu", "target": {"averageUtilization": 50}}}]);
    for (settings, scales) in [
        (json!({"minReplicas": 1}), false),
        (json!({"minReplicas": 1, "maxReplicas": 3}), false),
        (json!({"minReplicas": 1, "metrics": metrics}), false),
        (json!({"minReplicas": 1, "maxReplicas": 3, "metrics": []}), false),
        (json!({"minReplicas": 1, "maxReplicas": null, "metrics": metrics}), false),
        (json!(null), false),
        (json!({"minReplicas": 1, "maxReplicas": 3, "metrics": metrics}), true),
    ] {
        let wd = deployment(json!(7), settings.clone());
        assert_eq!(
            AutoscalingSettings::from_deployment(&wd) != AutoscalingSettings::Fixed,
            scales,
            "{settings}"
        );
        assert_eq!(desired(&wd), if scales { 3 } else { 7 }, "{settings}");
    }
}

fn numbers() -> impl Strategy<Value = Value> {
    prop_oneof![
        2 => Just(Value::Null),
        5 => (0..8_i64).prop_map(|n| json!(n)),
        1 => (-3..i64::from(i32::MAX)).prop_map(|n| json!(n)),
    ]
}

fn targets() -> impl Strategy<Value = Value> {
    let quantity =
        prop_oneof!["[1-9][0-9]{0,2}(m|Mi|Gi)?", "0\\.[0-9]{1,3}", Just("0".to_owned()), "[a-z]{0,3}"];
    prop_oneof![
        4 => (0..200_i64).prop_map(|n| json!({"averageUtilization": n})),
        4 => quantity.prop_map(|q| json!({"averageValue": q})),
        1 => Just(json!({"value": "1"})),
        1 => Just(json!({})),
    ]
}

fn settings() -> impl Strategy<Value = Value> {
    let metric = prop_oneof![
        9 => ("(cpu|memory)", targets()).prop_map(|(name, target)| json!({"resource": {"name": name, "target": target}})),
        1 => Just(json!({"external": {}})),
    ];
    let metrics = prop::option::of(prop::collection::vec(metric, 0..3)).prop_map(|m| json!(m));
    (numbers(), numbers(), metrics)
        .prop_map(|(min, max, metrics)| json!({"minReplicas": min, "maxReplicas": max, "metrics": metrics}))
}

/// An autoscaler of the WD's name with these settings' spec, made by the WD of that UID.
fn autoscalers() -> impl Strategy<Value = Option<Object>> {
    let ours = (settings(), any::<bool>()).prop_map(|(settings, ours)| {
        let AutoscalerStep::Create(mut object) = plan(&deployment(json!(1), settings), None).step else {
            return None;
        };
        if !ours {
            object.metadata.owner_references.as_mut().unwrap()[0].uid = "another".to_owned();
        }
        Some(*object)
    });
    prop::option::of(ours).prop_map(Option::flatten)
}

/// What stands after the plan was performed.
fn perform(wd: &mut Object, standing: &mut Option<Object>, plan: &AutoscalerPlan) {
    if let Some(replicas) = plan.replicas {
        wd.data["spec"]["replicas"] = json!(replicas);
    }
    match &plan.step {
        AutoscalerStep::Rest => {}
        AutoscalerStep::Create(object) => *standing = Some(object.as_ref().clone()),
        AutoscalerStep::Delete => *standing = None,
        AutoscalerStep::Patch(patch) => {
            let object = standing.as_mut().unwrap();
            for (field, value) in patch["spec"].as_object().unwrap() {
                object.data["spec"][field] = value.clone();
            }
        }
    }
}

proptest! {
    #[test]
    fn c13_a_plan_comes_to_rest_and_touches_its_own_only(
        replicas in numbers(), settings in settings(), mut standing in autoscalers(), terminating: bool,
    ) {
        let mut wd = deployment(replicas, settings);
        if terminating {
            wd.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(jiff::Timestamp::UNIX_EPOCH));
        }
        let scales = !terminating && AutoscalingSettings::from_deployment(&wd) != AutoscalingSettings::Fixed;
        let works = !terminating && matches!(AutoscalingSettings::from_deployment(&wd), AutoscalingSettings::Scaled { .. });
        let foreign = standing.as_ref().is_some_and(|s| s.metadata.owner_references.as_ref().unwrap()[0].uid == "another");
        let before = desired(&wd);
        let first = plan(&wd, standing.as_ref());
        prop_assert_eq!(first.words.is_some(), scales);
        if foreign {
            prop_assert_eq!((&first.step, first.replicas), (&AutoscalerStep::Rest, None), "C3");
        }
        perform(&mut wd, &mut standing, &first);
        prop_assert_eq!(desired(&wd), before, "a number to begin with is the number that is wanted");
        let next = plan(&wd, standing.as_ref());
        prop_assert_eq!((next.step, next.replicas), (AutoscalerStep::Rest, None), "I7");
        if !foreign {
            prop_assert_eq!(standing.is_some(), works);
        }
        if works && !foreign {
            let replicas = wd.spec()["replicas"].as_i64().unwrap();
            prop_assert!(replicas > 0, "an autoscaler leaves {} alone", replicas);
        }
    }

    #[test]
    fn c13_the_number_is_within_its_bounds(replicas in numbers(), settings in settings()) {
        let wd = deployment(replicas.clone(), settings.clone());
        let wanted = i64::from(desired(&wd));
        let min = settings["minReplicas"].as_i64().unwrap_or(0).max(0);
        match AutoscalingSettings::from_deployment(&wd) {
            AutoscalingSettings::Fixed => prop_assert_eq!(wanted, replicas.as_i64().unwrap_or(min).clamp(0, 1000)),
            AutoscalingSettings::Scaled { min: least, max, .. } => {
                prop_assert!(least >= 1 && i64::from(least) <= wanted && wanted <= i64::from(max));
            }
            AutoscalingSettings::Stopped => prop_assert_eq!(wanted, 0),
            AutoscalingSettings::Invalid(_) => prop_assert!(wanted >= min.min(1000)),
        }
    }
}

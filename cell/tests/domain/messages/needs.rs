//! Conditions about quota, referenced data and autoscaling.

use fedhub_cell::domain::autoscaling::{AutoscalingSettings, plan};
use fedhub_cell::domain::quota::sizing;
use fedhub_cell::domain::quota::verdict::{QuotaAnswer, QuotaFailure, quota_granted};
use fedhub_cell::domain::referenced_data;
use fedhub_core::names::{EXPECTED_REFERENCED_DATA, REFERENCED_DATA_ERROR, SOURCE_GENERATION};
use fedhub_core::object::{Kind, Object, ObjectRef};
use fedhub_testing::one_of_each;
use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use serde_json::{Value, json};

use super::{Shown, of_update, shown};
use crate::domain::status::support::{annotated, but, condition, instance as instance_with, now, object, wd};

pub fn quota() -> Vec<Shown> {
    let words = || "resourceclaims is forbidden".to_owned();
    let failures = one_of_each![
        QuotaFailure::ProjectUnresolvable => QuotaFailure::ProjectUnresolvable,
        QuotaFailure::NamespaceNotFound(_) => QuotaFailure::NamespaceNotFound("alpha/shop".to_owned()),
        QuotaFailure::ProjectNotFound(_) => QuotaFailure::ProjectNotFound("alpha".to_owned()),
        QuotaFailure::Misconfigured(_) => QuotaFailure::Misconfigured(words()),
        QuotaFailure::Unavailable(_) => QuotaFailure::Unavailable("request timed out".to_owned()),
    ];
    let claim = |status: &str, reason: &str| {
        but(object(Kind::ResourceClaim, "instance-wd-0"), |c| {
            c.metadata.creation_timestamp = Some(Time(now() - SignedDuration::from_mins(1)));
            c.data = json!({"status": {"conditions": [condition("Granted", status, reason, "")]}});
        })
    };
    let claims =
        [("True", "Any"), ("False", "PendingEvaluation"), ("False", "ValidationFailed"), ("False", "Any")]
            .map(|(status, reason)| claim(status, reason));
    let taken = object(Kind::ResourceClaim, "instance-wd-0-k");
    let answers = one_of_each![
        QuotaAnswer::Off => QuotaAnswer::Off,
        QuotaAnswer::Asked => QuotaAnswer::Asked,
        QuotaAnswer::Claim(_) => QuotaAnswer::Claim(&claims[0]),
        QuotaAnswer::Occupied => QuotaAnswer::Occupied,
        QuotaAnswer::Other => QuotaAnswer::Other,
        QuotaAnswer::Taken(_) => QuotaAnswer::Taken(&taken),
        QuotaAnswer::NoSize(_) => QuotaAnswer::NoSize("instance type \"d9\" is not in the cell"),
        QuotaAnswer::Failed(_) => QuotaAnswer::Failed(&failures[0]),
    ];
    let answers = answers
        .into_iter()
        .chain(claims[1..].iter().map(QuotaAnswer::Claim))
        .chain(failures[1..].iter().map(QuotaAnswer::Failed));
    let waiting = instance_with("wd-0", &["Quota"], &[]);
    let running = instance_with("wd-0", &[], &[]);
    answers
        .map(|answer| shown(&quota_granted(&waiting, answer, now())))
        .chain([
            shown(&quota_granted(&running, QuotaAnswer::Failed(&failures[0]), now())),
            shown(&quota_granted(&running, QuotaAnswer::Claim(&claims[3]), now())),
        ])
        .collect()
}

pub fn sizes() -> Vec<(&'static str, String)> {
    let spec = json!({"runtime": {"resources": {"instanceType": "d9"}}});
    let unreadable = but(object(Kind::InstanceType, "d9"), |o| {
        o.data = json!({"spec": {"resources": {"cpu": "lots", "memory": "1Gi"}}});
    });
    [None, Some(ObjectRef::new(unreadable))]
        .into_iter()
        .map(|found| ("message", sizing::size(&spec, |_| found.clone()).unwrap_err()))
        .collect()
}

pub fn data() -> Vec<Shown> {
    let instance = but(instance_with("wd-0", &["ReferencedData"], &[]), |i| {
        let variables = json!([{"configMapRef": {"name": "app"}}]);
        i.data["spec"]["runtime"] = json!({"sandbox": {"containers": [{"envFrom": variables}]}});
    });
    let expected =
        |text: &str| annotated(annotated(wd(), EXPECTED_REFERENCED_DATA, text), SOURCE_GENERATION, "4");
    let broken =
        annotated(wd(), REFERENCED_DATA_ERROR, r#"{"reason":"SourceNotFound","message":"no ConfigMap app"}"#);
    let app = r#"{"generation": 4, "expected": ["ConfigMap/app"]}"#;
    let of = |wd: &Object, there| shown(&referenced_data::verdict(&instance, Some(wd), |_, _| there, now()));
    vec![
        shown(&referenced_data::disabled(&instance, now())),
        of(&wd(), false),
        of(&expected("odd"), false),
        of(&expected(r#"{"generation": 3, "expected": []}"#), false),
        of(&expected(r#"["Secret/db"]"#), false),
        of(&expected(app), false),
        of(&expected(app), true),
        of(&broken, false),
    ]
}

pub fn autoscaling() -> Vec<Shown> {
    let wd = |metrics: Value, min: i64, max: i64| {
        but(wd(), |wd| {
            wd.data["spec"]["scaleSettings"] =
                json!({"minReplicas": min, "maxReplicas": max, "metrics": metrics});
        })
    };
    let metric = |name: &str, target: Value| json!({"resource": {"name": name, "target": target}});
    let good = || json!([metric("cpu", json!({"averageUtilization": 50}))]);
    let broken = json!([
        {"pods": {}},
        metric("gpu", json!({"averageUtilization": 50})),
        metric("cpu", json!({"averageUtilization": 0})),
        metric("cpu", json!({"averageValue": "0"})),
        metric("cpu", json!({"value": "1"})),
        metric("cpu", json!({})),
    ]);
    let of = |wd: &Object, standing: Option<&Object>| of_update(&plan(wd, standing).words.unwrap());
    let stopped = wd(good(), 0, 3);
    let broken = wd(broken, 2, 0);
    let wd = wd(good(), 1, 3);
    assert!(matches!(AutoscalingSettings::from_deployment(&broken), AutoscalingSettings::Invalid(_)));
    let reported = |status: &str, reason: &str| {
        but(object(Kind::HorizontalPodAutoscaler, "wd"), |o| {
            let uid = "uid-of-wd".to_owned();
            let controller = Some(true);
            o.metadata.owner_references =
                Some(vec![OwnerReference { uid, controller, ..OwnerReference::default() }]);
            let active = condition("ScalingActive", status, reason, "Some detail");
            o.data = json!({"status": {"conditions": [active]}});
        })
    };
    vec![
        of(&broken, None),
        of(&stopped, None),
        of(&wd, None),
        of(&wd, Some(&object(Kind::HorizontalPodAutoscaler, "wd"))),
        of(&wd, Some(&reported("True", "ValidMetricFound"))),
        of(&wd, Some(&reported("False", "AmbiguousSelector"))),
        of(&wd, Some(&reported("False", "FailedGetResourceMetric"))),
    ]
}

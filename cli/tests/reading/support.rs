//! Objects of a project, as its plane has them.

use fedhub_cli::view::Look;
use fedhub_core::object::Object;
use fedhub_terminal::Terminal;
use fedhub_terminal::output::Format;
use jiff::Timestamp;
use serde_json::{Value, json};

/// The time of all tests.
pub fn now() -> Timestamp {
    "2026-11-23T12:00:00Z".parse().unwrap()
}

/// Output for a terminal so wide, without colours; for a file where there is no width.
pub fn look(width: Option<usize>) -> Look {
    Look { format: Format::Table, no_headers: false, terminal: Terminal { width, ..Terminal::default() } }
}

pub fn object(value: Value) -> Object {
    serde_json::from_value(value).unwrap()
}

pub fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": kind, "status": status, "reason": reason, "message": message, "observedGeneration": 2,
        "lastTransitionTime": "2026-11-23T11:50:00Z",
    })
}

/// The template of `web`.
pub fn template(image: &str) -> Value {
    json!({"spec": {
        "runtime": {
            "resources": {"instanceType": "datumcloud/d1-standard-2"},
            "sandbox": {"containers": [{
                "name": "app", "image": image,
                "ports": [{"name": "http", "port": 8080}],
                "env": [{"name": "TOKEN", "value": "not to be shown"}],
            }]},
        },
        "networkInterfaces": [{"network": {"name": "default"}}],
    }})
}

pub const IMAGE: &str = "registry.example.com/acme/web:v1.2.3";

pub fn counts(desired: i64, updated: i64, ready: i64) -> Value {
    json!({
        "observedGeneration": 2, "replicas": desired, "currentReplicas": updated, "desiredReplicas": desired,
        "updatedReplicas": updated, "readyReplicas": ready,
    })
}

pub fn with(mut value: Value, conditions: Value) -> Value {
    value["conditions"] = conditions;
    value
}

/// A Workload with one placement `us` in these cities.
pub fn workload(name: &str, cities: &[&str], status: Value) -> Value {
    json!({
        "apiVersion": "compute.datumapis.com/v1alpha", "kind": "Workload",
        "metadata": {
            "namespace": "default", "name": name, "uid": format!("uid-{name}"), "generation": 2,
            "creationTimestamp": "2026-11-20T12:00:00Z",
        },
        "spec": {
            "placements": [{"name": "us", "cityCodes": cities, "scaleSettings": {"minReplicas": 1}}],
            "template": template(IMAGE),
        },
        "status": status,
    })
}

/// A deployment of `workload` in a city.
pub fn deployment(workload: &str, city: &str, status: Value) -> Value {
    json!({
        "apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadDeployment",
        "metadata": {
            "namespace": "default", "name": format!("{workload}-us-{}", city.to_lowercase()), "generation": 2,
            "uid": format!("uid-{workload}-{city}"), "creationTimestamp": "2026-11-20T12:00:00Z",
            "labels": {"compute.datumapis.com/workload-name": workload},
        },
        "spec": {
            "workloadRef": {"name": workload, "uid": format!("uid-{workload}")},
            "placementName": "us", "cityCode": city, "scaleSettings": {"minReplicas": 1},
            "template": template(IMAGE),
        },
        "status": status,
    })
}

/// An Instance of `workload` in a city, as the project sees it.
pub fn instance(workload: &str, city: &str, ordinal: usize, conditions: Value) -> Value {
    let deployment = format!("{workload}-us-{}", city.to_lowercase());
    json!({
        "apiVersion": "compute.datumapis.com/v1alpha", "kind": "Instance",
        "metadata": {
            "namespace": "default", "name": format!("{deployment}-{ordinal}"), "generation": 1,
            "creationTimestamp": "2026-11-23T11:00:00Z",
            "labels": {
                "compute.datumapis.com/workload-name": workload,
                "compute.datumapis.com/placement-name": "us",
                "compute.datumapis.com/city-code": city,
                "compute.datumapis.com/workload-deployment-name": deployment,
                // Of another plane: nothing may be joined by it.
                "compute.datumapis.com/workload-deployment-uid": "uid-of-the-cell",
                "compute.datumapis.com/instance-index": ordinal.to_string(),
            },
        },
        "spec": template(IMAGE)["spec"],
        "status": {
            "conditions": conditions,
            "networkInterfaces": [{"assignments": {"networkIP": format!("10.0.0.{}", ordinal + 2)}}],
        },
    })
}

pub fn ready() -> Value {
    json!([condition("Ready", "True", "Available", "Instance is ready"), granted()])
}

pub fn granted() -> Value {
    condition("QuotaGranted", "True", "QuotaAvailable", "Quota is granted")
}

/// What a schema puts there before anything is reported.
pub fn unreported() -> Value {
    let default = |kind: &str| {
        json!({
            "type": kind, "status": "Unknown", "reason": "Pending", "message": "Waiting for controller",
            "lastTransitionTime": "1970-01-01T00:00:00Z",
        })
    };
    json!([default("Ready"), default("Available"), default("QuotaGranted")])
}

pub const NO_IMAGE: &str = "The image registry.example.com/acme/web:v9 cannot be pulled: 見つかりません (not found). Action \
    required by the user: check the image's name and tag, and the pull secrets";

/// An Instance's conditions where its image is missing.
pub fn image_missing() -> Value {
    json!([condition("Ready", "False", "ImageUnavailable", NO_IMAGE), granted()])
}

/// An Instance's conditions where its quota is used up.
pub fn over_quota() -> Value {
    let why = "Insufficient quota for compute.datumapis.com/vcpus: 1000 asked, 0 left. Action required by the user: ask \
        for more quota, or use fewer or smaller instances";
    json!([
        condition("Ready", "False", "PendingQuota", why),
        condition("QuotaGranted", "False", "QuotaExceeded", why),
    ])
}

/// The conditions of a deployment that serves.
pub fn serving() -> Value {
    json!([
        condition("Available", "True", "StableInstanceFound", ""),
        condition("ReplicasReady", "True", "ReplicasAvailable", ""),
        condition("Federated", "True", "Applied", ""),
    ])
}

/// The conditions of a deployment that does not, for this reason.
pub fn blocked(reason: &str, message: &str) -> Value {
    json!([
        condition("Available", "False", reason, message),
        condition("ReplicasReady", "False", reason, message),
        condition("Federated", "True", "Applied", ""),
    ])
}

//! Access to compute: what entitlements mean, what follows, and how it is told.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod commands;
mod tables;
mod words;

use fedhub_testing::condition;
use kube::core::DynamicObject;
use serde_json::{Value, json};

/// The status of an entitlement.
fn status(phase: &str, reason: &str, entitled: bool) -> Value {
    let mut status = json!({
        "phase": phase, "serviceName": "compute.datumapis.com",
        "conditions": [condition("Ready", if phase == "Active" { "True" } else { "False" }, reason, "Said the platform.")],
    });
    if entitled {
        status["entitledAt"] = "2026-01-02T00:00:00Z".into();
    }
    status
}

/// An entitlement to a service by that name, with that status.
fn entitlement(name: &str, status: &Value) -> DynamicObject {
    serde_json::from_value(json!({
        "apiVersion": "services.miloapis.com/v1alpha1", "kind": "ServiceEntitlement",
        "metadata": { "name": name, "creationTimestamp": "2026-01-01T00:00:00Z" },
        "spec": { "serviceRef": { "name": name } }, "status": status,
    }))
    .unwrap()
}

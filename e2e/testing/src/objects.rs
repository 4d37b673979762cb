//! Parts of objects.

use fedhub_fake_apiserver::ApiServer;
use serde_json::{Value, json};

/// The UID of an object.
pub fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap().to_owned()
}

/// Whether an object is being deleted.
pub fn is_terminating(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// A condition that has stood for long.
pub fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-02T00:00:00Z",
    })
}

/// Grants `server`, a project's plane, the service: its entitlement has this status.
pub fn entitle(server: &ApiServer, status: &Value) {
    let metadata = json!({"name": "compute"});
    let mut entitlement = json!({
        "apiVersion": "services.miloapis.com/v1alpha1", "kind": "ServiceEntitlement", "metadata": metadata,
        "spec": {"serviceRef": {"name": "compute"}},
    });
    entitlement["status"] = status.clone();
    server.put(entitlement).unwrap();
}

/// Takes it away.
pub fn withdraw(server: &ApiServer) {
    server.delete("ServiceEntitlement", "", "compute").unwrap();
}

/// The status of an Instance whose condition `Ready` is that.
pub fn instance_status(ready: &str) -> Value {
    json!({"suspended": false, "conditions": [condition("Ready", ready, "R", "")]})
}

/// The notes of all Events of a server with this reason.
pub fn event_notes(server: &ApiServer, reason: &str) -> Vec<String> {
    let of = server.list("events.events.k8s.io").into_iter();
    of.filter(|e| e["reason"] == reason).map(|e| e["note"].as_str().unwrap().to_owned()).collect()
}

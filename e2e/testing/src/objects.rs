//! Parts of objects.

use fedhub_fake_apiserver::{ApiServer, resource};
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

/// Makes `server`, a project's plane, serve entitlements, as installing their CRD does.
pub fn serve_entitlements(server: &ApiServer) {
    server.register(resource::service_entitlement());
    server.register(resource::definitions());
    let finalizers = ["customresourcecleanup.apiextensions.k8s.io"];
    let metadata = json!({"name": ENTITLEMENTS, "finalizers": finalizers});
    let api = "apiextensions.k8s.io/v1";
    let kind = "CustomResourceDefinition";
    server.put(json!({"apiVersion": api, "kind": kind, "metadata": metadata})).unwrap();
}

/// Deletes the CRD of entitlements: the API server deletes its objects first and serves the kind until all
/// are gone.
pub fn delete_entitlements(server: &ApiServer) {
    server.delete("CustomResourceDefinition", "", ENTITLEMENTS).unwrap();
    withdraw(server);
}

/// The name of the CRD of entitlements.
pub const ENTITLEMENTS: &str = "serviceentitlements.services.miloapis.com";

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

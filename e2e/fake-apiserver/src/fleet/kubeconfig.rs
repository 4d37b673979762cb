//! Kubeconfigs for the planes of a fleet.

use k8s_openapi::ByteString;
use serde_json::{Value, json};

/// A kubeconfig with one cluster, user and context, all called `plane`. The token is one that every plane
/// takes. It is JSON, and so YAML too.
pub fn kubeconfig(plane: &str, server: &str, ca: &str) -> Value {
    let ca = ByteString(ca.as_bytes().to_vec());
    json!({
        "apiVersion": "v1", "kind": "Config",
        "clusters": [{ "name": plane, "cluster": { "server": server, "certificate-authority-data": ca } }],
        "users": [{ "name": plane, "user": { "token": "fake" } }],
        "contexts": [{ "name": plane, "context": { "cluster": plane, "user": plane } }],
        "current-context": plane,
    })
}

//! The paths and the objects of the script.

use serde_json::{Value, json};

pub(super) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub(super) const WIDGETS_EVERYWHERE: &str = "/apis/fake.example.com/v1/widgets";
pub(super) const WIDGETS: &str = "/apis/fake.example.com/v1/namespaces/{ns}/widgets";
pub(super) const MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";
pub(super) const SPACES: &str = "/api/v1/namespaces";
pub(super) const METADATA_ONLY: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
pub(super) const VERSION: &str = "/metadata/resourceVersion";

pub(super) fn widget(name: &str, size: u32) -> Value {
    json!({
        "apiVersion": "fake.example.com/v1", "kind": "Widget", "metadata": { "name": name }, "spec": { "size": size },
    })
}

pub(super) fn map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "k": "v" } })
}

pub(super) fn with_meta(mut object: Value, field: &str, value: Value) -> Value {
    object["metadata"][field] = value;
    object
}

pub(super) fn one(name: &str) -> String {
    format!("{WIDGETS}/{name}")
}

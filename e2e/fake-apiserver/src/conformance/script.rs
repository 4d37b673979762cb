//! The script: what each answer is on a real kube-apiserver.

use serde_json::{Value, json};

use super::step::Step;
use super::{many, single};

pub(super) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub(super) const WIDGETS_EVERYWHERE: &str = "/apis/fake.example.com/v1/widgets";
pub(super) const WIDGETS: &str = "/apis/fake.example.com/v1/namespaces/{ns}/widgets";
pub(super) const MAPS: &str = "/api/v1/namespaces/{ns}/configmaps";
pub(super) const SPACES: &str = "/api/v1/namespaces";
pub(super) const METADATA_ONLY: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
pub(super) const VERSION: &str = "/metadata/resourceVersion";

/// All steps, in their order.
pub(super) fn steps() -> Vec<Step> {
    [discovery(), single::steps(), many::steps()].into_iter().flatten().collect()
}

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

fn discovery() -> Vec<Step> {
    vec![
        Step::new("discovery names the resource and its subresource")
            .get("/apis/fake.example.com/v1")
            .expect(200)
            .is("/kind", "APIResourceList")
            .is("/groupVersion", "fake.example.com/v1")
            .is("/resources/0/name", "widgets")
            .is("/resources/0/kind", "Widget")
            .is("/resources/0/namespaced", true)
            .is("/resources/1/name", "widgets/status"),
        Step::new("discovery names the group")
            .get("/apis/fake.example.com")
            .expect(200)
            .is("/kind", "APIGroup"),
        Step::new("an unserved path is not found").get("/apis/unserved.example.com/v1/things").expect(404),
        Step::new("a namespace is created")
            .post(SPACES, json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "{ns}" } }))
            .expect(201)
            .is("/status/phase", "Active")
            .is("/spec/finalizers/0", "kubernetes")
            .is("/metadata/labels/kubernetes.io~1metadata.name", "{ns}"),
        Step::new("a namespace can be created once")
            .post(SPACES, json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "{ns}" } }))
            .refused(409, "AlreadyExists"),
    ]
}

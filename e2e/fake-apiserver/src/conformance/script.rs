//! The script: what each answer is on a real kube-apiserver.

use serde_json::json;

use super::objects::SPACES;
use super::step::Step;
use super::{many, single};

/// All steps, in their order.
pub(super) fn steps() -> Vec<Step> {
    [discovery(), single::steps(), many::steps()].into_iter().flatten().collect()
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

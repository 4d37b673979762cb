//! What of an object goes into a snapshot: metadata and status, and of its spec what `fedhub explain` decides
//! by. A workload's template, with its environment, does not.

use fedhub_core::names::SOURCE_GENERATION;
use fedhub_core::object::{Kind, Object, set_field};
use kube::core::{ApiResource, TypeMeta};
use serde_json::{Value, json};

/// The annotation in which kubectl keeps all that was applied.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The object without what a snapshot has no use for.
pub fn strip(kind: &ApiResource, mut object: Object) -> Object {
    // The items of a list do not name their kind.
    object.types = Some(TypeMeta { api_version: kind.api_version.clone(), kind: kind.kind.clone() });
    for manager in object.metadata.managed_fields.iter_mut().flatten() {
        // The time of a write shows since when a hop is behind; the written fields are most of a small
        // object.
        manager.fields_v1 = None;
    }
    if let Some(annotations) = &mut object.metadata.annotations {
        annotations.remove(LAST_APPLIED);
    }
    let is = |of: Kind| kind.plural == of.resource().plural;
    // These are fedhub's own, which are distinguished before.
    if is(Kind::ConfigMap) || kind.plural == "leases" {
        return object;
    }
    let spec = kept(&object.data["spec"]);
    let status = object.data["status"].clone();
    object.data = json!({});
    for (field, value) in [("spec", spec), ("status", status)] {
        if !value.is_null() {
            set_field(&mut object, field, value);
        }
    }
    object
}

/// The city of a WD, the cluster of a `ResourceBinding`, and the generation that a Work was made from.
fn kept(spec: &Value) -> Value {
    let mut kept = json!({});
    if let Some(city) = spec.get("cityCode") {
        kept["cityCode"] = city.clone();
    }
    if let Some(name) = spec["clusters"][0].get("name") {
        kept["clusters"] = json!([{ "name": name }]);
    }
    let annotations = &spec["workload"]["manifests"][0]["metadata"]["annotations"];
    if let Some(generation) = annotations.get(SOURCE_GENERATION) {
        let metadata = json!({"annotations": {SOURCE_GENERATION: generation}});
        kept["workload"] = json!({"manifests": [{ "metadata": metadata }]});
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u4_a_snapshot_has_neither_templates_nor_what_kubectl_applied() {
        let wd: Object = serde_json::from_value(json!({
            "apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadDeployment",
            "metadata": {
                "name": "web", "namespace": "shop",
                "annotations": {LAST_APPLIED: "secret-value", "a/b": "c"},
                "managedFields": [{"manager": "kubectl", "operation": "Update", "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:secret-value": {}}, "time": "2026-01-02T03:04:05Z"}],
            },
            "spec": {"cityCode": "DFW", "template": {"env": [{"name": "TOKEN", "value": "secret-value"}]}},
            "status": {"replicas": 1},
        }))
        .unwrap();
        let text = serde_json::to_string(&strip(Kind::WorkloadDeployment.resource(), wd)).unwrap();
        assert!(!text.contains("secret-value"), "{text}");
        for kept in ["DFW", r#""a/b":"c""#, "replicas", "kubectl", "2026-01-02T03:04:05Z"] {
            assert!(text.contains(kept), "{kept}: {text}");
        }
    }
}

//! What an object has where its user says nothing, beyond the defaults of its schema.

use fedhub_api::instance_types;
use fedhub_core::object::{Object, ObjectView};
use serde_json::{Value, json};

use super::kind::Kind;

/// The operations of a JSON patch (RFC 6902) that completes the object; none where nothing is missing.
///
/// Of a Workload: the type of its instances. The API has nothing else to default: the schema does the rest, so that it
/// holds where no admission is installed.
pub fn patch(kind: Kind, object: &Object) -> Vec<Value> {
    const RESOURCES: &str = "/spec/template/spec/runtime/resources";
    if kind != Kind::Workload {
        return Vec::new();
    }
    let runtime = &object.spec()["template"]["spec"]["runtime"];
    let resources = &runtime["resources"];
    let add = |path: &str, value: Value| vec![json!({"op": "add", "path": path, "value": value})];
    match &resources["instanceType"] {
        Value::String(name) if !name.is_empty() => Vec::new(),
        Value::Null | Value::String(_) if resources.is_object() => {
            add(&format!("{RESOURCES}/instanceType"), instance_types::DEFAULT.into())
        }
        Value::Null if resources.is_null() && runtime.is_object() => {
            add(RESOURCES, json!({"instanceType": instance_types::DEFAULT}))
        }
        // Of another shape: the schema refuses it with its own words.
        _ => Vec::new(),
    }
}

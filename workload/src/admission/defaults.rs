//! Defaults of an object beyond those of its schema.

use fedhub_core::object::{Object, ObjectView};
use serde_json::{Value, json};

use super::kind::Kind;
use super::types::{self, Types};

/// The operations of a JSON patch (RFC 6902) that completes the object that is to be stored in place of
/// `old`; none where nothing is missing.
///
/// Only a Workload has anything to default: it gets the default type of its instances, if that type exists
/// and is not disabled. The schema does the rest, so that it holds where no admission is installed. A
/// Workload that is stored without a type stays so: another template would replace all instances.
pub fn patch(kind: Kind, types: Types<'_>, old: Option<&Object>, object: &Object) -> Vec<Value> {
    const RESOURCES: &str = "/spec/template/spec/runtime/resources";
    if kind != Kind::Workload || old.is_some_and(has_none) || !has_none(object) {
        return Vec::new();
    }
    let Some(default) = types::default(types) else { return Vec::new() };
    let runtime = runtime(object);
    let resources = &runtime["resources"];
    let add = |path: &str, value: Value| vec![json!({"op": "add", "path": path, "value": value})];
    if resources.is_object() {
        add(&format!("{RESOURCES}/instanceType"), default.into())
    } else if resources.is_null() && runtime.is_object() {
        add(RESOURCES, json!({"instanceType": default}))
    } else {
        // The object has another shape: the schema refuses it with its own message.
        Vec::new()
    }
}

fn runtime(object: &Object) -> &Value {
    &object.spec()["template"]["spec"]["runtime"]
}

/// Whether its template says no type.
fn has_none(object: &Object) -> bool {
    match &runtime(object)["resources"]["instanceType"] {
        Value::Null => true,
        Value::String(name) => name.is_empty(),
        _ => false,
    }
}

//! Small accessors for the metadata of untyped objects.

use serde_json::{Map, Value};

/// The fields of `metadata` that the server keeps; others it does not know, and drops.
const KNOWN: [&str; 13] = [
    "annotations",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "labels",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "uid",
];

/// `metadata.<field>`, null if it is not there.
pub(crate) fn get<'a>(object: &'a Value, field: &str) -> &'a Value {
    &object["metadata"][field]
}

/// `metadata.<field>` as text, empty if it is not there.
pub(crate) fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    get(object, field).as_str().unwrap_or_default()
}

/// Sets `metadata.<field>`; null takes it away.
pub(crate) fn set(object: &mut Value, field: &str, value: Value) {
    let Some(object) = object.as_object_mut() else { return };
    let meta = object.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    let Some(meta) = meta.as_object_mut() else { return };
    if value.is_null() {
        meta.remove(field);
    } else {
        meta.insert(field.to_owned(), value);
    }
}

/// Sets a field at the top of the object; null takes it away.
pub(crate) fn set_top(object: &mut Value, field: &str, value: Value) {
    let Some(object) = object.as_object_mut() else { return };
    if value.is_null() {
        object.remove(field);
    } else {
        object.insert(field.to_owned(), value);
    }
}

/// Whether any of `metadata.finalizers` is left.
pub(crate) fn has_finalizers(object: &Value) -> bool {
    get(object, "finalizers").as_array().is_some_and(|f| !f.is_empty())
}

/// Whether the object is being deleted.
pub(crate) fn is_terminating(object: &Value) -> bool {
    !get(object, "deletionTimestamp").is_null()
}

/// Drops what the server would not store: unknown fields, nulls, and empty maps and lists.
pub(crate) fn tidy(object: &mut Value) {
    if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        meta.retain(|key, value| {
            let empty = match value {
                Value::Null => true,
                Value::Object(map) => map.is_empty(),
                Value::Array(list) => list.is_empty(),
                Value::String(text) => text.is_empty(),
                _ => false,
            };
            KNOWN.contains(&key.as_str()) && !empty
        });
    }
}

/// All of the object but its metadata, the two fields that name its type, and the status where that is a
/// subresource: what `generation` counts.
pub(crate) fn content(object: &Value, status_aside: bool) -> Vec<(&String, &Value)> {
    let aside = |key: &str| match key {
        "metadata" | "apiVersion" | "kind" => true,
        "status" => status_aside,
        _ => false,
    };
    object.as_object().map(|o| o.iter().filter(|(key, _)| !aside(key)).collect()).unwrap_or_default()
}

/// FNV-1a: a hash that is the same on every machine and in every version.
pub(crate) fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

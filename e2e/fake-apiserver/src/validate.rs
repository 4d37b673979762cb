//! The checks that a body passes before it is stored: its shape (400), then its values (422).

use serde_json::{Map, Value};

use crate::answer::Refusal;
use crate::field_fault::FieldFault;
use crate::meta;
use crate::resource::Resource;

/// Whether a value has the type that its field needs.
type Fits = fn(&Value) -> bool;

/// Checks the shape of a body sent to a resource's path: type, metadata's types, namespace.
pub(crate) fn shape(resource: &Resource, namespace: &str, body: &mut Value) -> Result<(), Refusal> {
    let Some(object) = body.as_object_mut() else {
        return Err(Refusal::bad_request(
            "the object provided is unrecognized: the body is not a JSON object",
        ));
    };
    for (field, wanted) in [("apiVersion", resource.api_version()), ("kind", resource.kind.clone())] {
        let given = object.get(field).and_then(Value::as_str).unwrap_or_default();
        if given.is_empty() && !resource.custom {
            object.insert(field.to_owned(), Value::String(wanted));
        } else if given.is_empty() {
            return Err(Refusal::bad_request(format!("Object '{field}' is missing in the body")));
        } else if given != wanted {
            return Err(Refusal::bad_request(format!(
                "the {field} in the data ({given}) does not match the expected {field} ({wanted})"
            )));
        }
    }
    let meta = object.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    if meta.is_null() {
        *meta = Value::Object(Map::new());
    }
    let types: [(&str, Fits); 6] = [
        ("name", Value::is_string),
        ("namespace", Value::is_string),
        ("labels", is_text_map),
        ("annotations", is_text_map),
        ("finalizers", is_text_list),
        ("ownerReferences", |v| v.as_array().is_some_and(|l| l.iter().all(Value::is_object))),
    ];
    let wrong = types.iter().find(|(field, fits)| !meta[*field].is_null() && !fits(&meta[*field]));
    if !meta.is_object() || wrong.is_some() {
        let field = wrong.map_or("metadata", |(field, _)| field);
        return Err(Refusal::bad_request(format!(
            "{} in the body cannot be decoded: wrong type of {field}",
            resource.kind
        )));
    }
    let given = meta::text(body, "namespace").to_owned();
    if resource.namespaced && given.is_empty() {
        meta::set(body, "namespace", Value::from(namespace));
    } else if given != namespace && resource.namespaced {
        return Err(Refusal::bad_request(format!(
            "the namespace of the provided object does not match the namespace sent on the request ({given}, {namespace})"
        )));
    } else if !resource.namespaced {
        meta::set(body, "namespace", Value::Null);
    }
    meta::tidy(body);
    Ok(())
}

fn is_text_map(value: &Value) -> bool {
    value.as_object().is_some_and(|map| map.values().all(Value::is_string))
}

fn is_text_list(value: &Value) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(Value::is_string))
}

/// Checks values that hold for every object, and on an update what must not change.
pub(crate) fn values(resource: &Resource, old: Option<&Value>, new: &Value) -> Result<(), Refusal> {
    let mut faults = Vec::new();
    let name = meta::text(new, "name");
    if old.is_none() {
        name_faults(resource, name, &mut faults);
    }
    let metadata = meta::get(new, "labels").as_object();
    for (key, value) in metadata.into_iter().flatten() {
        let text = value.as_str().unwrap_or_default();
        if !is_qualified_name(key) {
            faults.push(FieldFault::invalid("metadata.labels", &Value::from(key.as_str()), QUALIFIED));
        }
        if !is_label_value(text) {
            faults.push(FieldFault::invalid("metadata.labels", value, LABEL_VALUE));
        }
    }
    let annotations = meta::get(new, "annotations").as_object().into_iter().flatten();
    let bytes: usize =
        annotations.map(|(key, value)| key.len() + value.as_str().unwrap_or_default().len()).sum();
    if bytes > ANNOTATIONS {
        faults.push(FieldFault::too_long("metadata.annotations", ANNOTATIONS));
    }
    owner_faults(new, &mut faults);
    if let Some(old) = old {
        for pointer in &resource.immutable {
            if old.pointer(pointer) != new.pointer(pointer) {
                let field = pointer.trim_start_matches('/').replace('/', ".");
                let value = new.pointer(pointer).unwrap_or(&Value::Null);
                faults.push(FieldFault::invalid(field, value, "field is immutable"));
            }
        }
        if meta::is_terminating(old) {
            let had = meta::get(old, "finalizers").as_array().cloned().unwrap_or_default();
            let has = meta::get(new, "finalizers").as_array().cloned().unwrap_or_default();
            let fresh: Vec<&str> =
                has.iter().filter(|f| !had.contains(f)).filter_map(Value::as_str).collect();
            if !fresh.is_empty() {
                let rule = format!(
                    "no new finalizers can be added if the object is being deleted, found new finalizers []string{{\"{}\"}}",
                    fresh.join("\", \"")
                );
                faults.push(FieldFault::forbidden("metadata.finalizers", &rule));
            }
        }
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(Refusal::invalid(&resource.qualified_kind(), resource, name, &faults))
}

/// Checks values against the resource's schema, where `deploy/` has one.
pub(crate) fn schema(resource: &Resource, old: Option<&Value>, new: &Value) -> Result<(), Refusal> {
    let mut faults = Vec::new();
    if let Some(schema) = &resource.schema {
        schema.check("", old, new, &mut faults);
    }
    if faults.is_empty() {
        return Ok(());
    }
    Err(Refusal::invalid(&resource.qualified_kind(), resource, meta::text(new, "name"), &faults))
}

/// How many bytes all annotations of an object may have.
const ANNOTATIONS: usize = 256 << 10;

const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                         alphanumeric character";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
                           must start and end with an alphanumeric character, and be no more than 63 characters";

fn name_faults(resource: &Resource, name: &str, faults: &mut Vec<FieldFault>) {
    if name.is_empty() {
        faults.push(FieldFault::required("metadata.name", "name or generateName is required"));
        return;
    }
    let label = |part: &str| {
        let inner = part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        inner && !part.is_empty() && !part.starts_with('-') && !part.ends_with('-')
    };
    let value = Value::from(name);
    if resource.is_namespace() {
        if name.len() > 63 || !label(name) {
            let rule = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
                        end with an alphanumeric character, and be no more than 63 characters";
            faults.push(FieldFault::invalid("metadata.name", &value, rule));
        }
    } else if name.len() > 253 || !name.split('.').all(label) {
        let rule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start \
                    and end with an alphanumeric character, and be no more than 253 characters";
        faults.push(FieldFault::invalid("metadata.name", &value, rule));
    }
}

fn owner_faults(new: &Value, faults: &mut Vec<FieldFault>) {
    let owners = meta::get(new, "ownerReferences").as_array().map(Vec::as_slice).unwrap_or_default();
    for (index, owner) in owners.iter().enumerate() {
        for field in ["apiVersion", "kind", "name", "uid"] {
            let value = &owner[field];
            if value.as_str().is_none_or(str::is_empty) {
                let path = format!("metadata.ownerReferences[{index}].{field}");
                faults.push(FieldFault::invalid(path, value, "must not be empty"));
            }
        }
    }
    if owners.iter().filter(|owner| owner["controller"] == true).count() > 1 {
        let rule = "Only one reference can have Controller set to true";
        faults.push(FieldFault::invalid("metadata.ownerReferences", meta::get(new, "ownerReferences"), rule));
    }
}

/// A name in the sense of label values: letters, digits and `-_.` inside, at most 63.
fn is_label_value(text: &str) -> bool {
    let ends = |b: Option<u8>| b.is_none_or(|b| b.is_ascii_alphanumeric());
    text.len() <= 63
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
        && ends(text.bytes().next())
        && ends(text.bytes().last())
}

fn is_qualified_name(key: &str) -> bool {
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let prefix_fits = prefix.is_none_or(|prefix| {
        let inner =
            prefix.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b));
        inner && !prefix.is_empty() && prefix.len() <= 253
    });
    prefix_fits && !name.is_empty() && is_label_value(name)
}

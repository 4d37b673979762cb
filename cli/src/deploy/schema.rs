//! The form of a Workload, by the schema of its CRD: which fields there are, of which type, and what stands
//! where a file says nothing. Bounds, patterns and rules that span fields are the server's to check.

use std::sync::LazyLock;

use fedhub_api::crds;
use serde_json::{Map, Value, json};

use super::fault::Fault;

/// The schema of a Workload's `spec`.
pub fn spec() -> &'static Value {
    static SPEC: LazyLock<Value> = LazyLock::new(|| {
        let crds = crds::all().unwrap_or_default();
        let crd = crds.iter().find(|crd| crd.spec.names.kind == "Workload");
        let version = crd.and_then(|crd| crd.spec.versions.first());
        let schema = version.and_then(|version| serde_json::to_value(&version.schema).ok());
        schema.map(|schema| schema["openAPIV3Schema"]["properties"]["spec"].clone()).unwrap_or_default()
    });
    &SPEC
}

/// The faults of a value by its schema. A null counts as absent, as on the server.
pub fn check(schema: &Value, value: &Value, at: &str, faults: &mut Vec<Fault>) {
    let wanted = schema["type"].as_str().unwrap_or_default();
    if schema["x-kubernetes-int-or-string"] == true {
        if !value.is_string() && !value.is_i64() {
            faults.push(Fault::new(at, format!("it must be a number or text, not {}", described(value))));
        }
        return;
    }
    let fits = match wanted {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        _ => true,
    };
    if !fits {
        let rule = format!("it must be {}, not {}", article(wanted), described(value));
        return faults.push(Fault::new(at, rule));
    }
    match value {
        Value::Object(fields) => object(schema, fields, at, faults),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                check(&schema["items"], item, &format!("{at}[{index}]"), faults);
            }
        }
        _ => {
            if let Some(allowed) = schema["enum"].as_array().filter(|allowed| !allowed.contains(value)) {
                let allowed: Vec<_> = allowed.iter().filter_map(Value::as_str).collect();
                faults.push(Fault::new(at, format!("it must be one of {}", allowed.join(", "))));
            }
        }
    }
}

fn object(schema: &Value, fields: &Map<String, Value>, at: &str, faults: &mut Vec<Fault>) {
    let known = schema["properties"].as_object();
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
        let path = format!("{at}.{name}");
        match known.and_then(|known| known.get(name)) {
            Some(schema) => check(schema, value, &path, faults),
            None if schema["additionalProperties"].is_object() => {
                check(&schema["additionalProperties"], value, &path, faults);
            }
            None if schema["x-kubernetes-preserve-unknown-fields"] == true => {}
            None => {
                let names = known.into_iter().flatten().map(|(name, _)| name.as_str());
                faults.push(Fault::new(path, unknown(name, names)));
            }
        }
    }
    let is_absent = |name: &&str| fields.get(*name).is_none_or(Value::is_null);
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for name in required.filter(is_absent) {
        if schema["properties"][name].get("default").is_none() {
            faults.push(Fault::new(format!("{at}.{name}"), "it is required"));
        }
    }
}

/// Returns the rule for a field that does not exist, with the one that may be meant.
pub fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    const ALIKE: f64 = 0.8;
    let likeness = |other: &str| strsim::jaro_winkler(&name.to_lowercase(), &other.to_lowercase());
    let nearest = known.map(|other| (likeness(other), other)).max_by(|a, b| a.0.total_cmp(&b.0));
    match nearest.filter(|(likeness, _)| *likeness >= ALIKE) {
        Some((_, meant)) => format!("there is no such field: did you mean {meant}?"),
        None => "there is no such field".to_owned(),
    }
}

/// The value with what its schema puts where nothing is said, and without nulls: what a server stores of it.
pub fn completed(schema: &Value, value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let of = |name: &str| match schema["properties"].get(name) {
                Some(schema) => schema,
                None => &schema["additionalProperties"],
            };
            let given = fields.into_iter().filter(|(_, value)| !value.is_null());
            let mut fields: Map<_, _> =
                given.map(|(name, value)| (name.clone(), completed(of(&name), value))).collect();
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                if let (false, Some(default)) = (fields.contains_key(name), property.get("default")) {
                    fields.insert(name.clone(), default.clone());
                }
            }
            Value::Object(fields)
        }
        Value::Array(items) => {
            let items = items.into_iter().map(|item| completed(&schema["items"], item));
            Value::Array(items.collect())
        }
        plain => plain,
    }
}

fn article(kind: &str) -> &'static str {
    match kind {
        "object" => "a map of fields",
        "array" => "a list",
        "string" => "text",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        _ => "another value",
    }
}

fn described(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(number) if number.is_f64() => "a fraction",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map of fields",
    }
}

/// A spec whose template names a type of instances: the one of `existing`, else the one that a server puts
/// there.
pub fn with_instance_type(mut spec: Value, existing: Option<&Value>) -> Value {
    const RUNTIME: &str = "/template/spec/runtime";
    let stands = existing.and_then(|it| it.pointer(RUNTIME)?["resources"]["instanceType"].as_str());
    let runtime = spec.pointer_mut(RUNTIME).and_then(Value::as_object_mut);
    let resources = runtime.map(|it| it.entry("resources").or_insert(Value::Null));
    let resources = resources.map(|it| {
        if it.is_null() {
            *it = json!({});
        }
        it
    });
    if let Some(Value::Object(resources)) = resources {
        let given = resources.get("instanceType");
        if given.is_none_or(|it| it.is_null() || *it == "") {
            let name = stands.unwrap_or(fedhub_api::instance_types::DEFAULT);
            resources.insert("instanceType".to_owned(), json!(name));
        }
    }
    spec
}

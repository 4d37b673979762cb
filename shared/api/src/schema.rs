//! From Rust types to structural schemas as the API server wants them.
//!
//! kube's own derivation marks every optional field `nullable`, which the reference CRDs are not (a `null`
//! would be stored, where they refuse it), and puts the description of an optional field's type in place of
//! the field's. So the schemas are generated here, and simplified step by step.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// The structural schema of a type.
pub(super) fn of<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    simplify(&mut schema);
    schema
}

/// Rewrites a schema and all schemas in it. Only places where a schema can stand are visited: a *property*
/// that is called `type` or `enum` is no keyword.
fn simplify(schema: &mut Value) {
    let Some(keywords) = schema.as_object_mut() else {
        return;
    };
    keywords.remove("title");
    if let Some(properties) = keywords.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(simplify);
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(inner) = keywords.get_mut(keyword) {
            simplify(inner);
        }
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(alternatives) = keywords.get_mut(keyword).and_then(Value::as_array_mut) {
            alternatives.iter_mut().for_each(simplify);
        }
    }
    absent_not_null(keywords);
    one_enum(keywords);
    if let Some(Value::String(description)) = keywords.get_mut("description") {
        *description = reflow(description);
    }
}

/// An optional field is absent, never `null`.
fn absent_not_null(keywords: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = keywords.get_mut("type") {
        types.retain(|type_| type_ != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            keywords.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = keywords.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    let optional = |alternatives: &Value| {
        let alternatives = alternatives.as_array()?;
        let null = json!({"type": "null"});
        match alternatives.as_slice() {
            [some, none] if *none == null => some.as_object().cloned(),
            _ => None,
        }
    };
    if let Some(inner) = keywords.get("anyOf").and_then(optional) {
        keywords.remove("anyOf");
        for (keyword, value) in inner {
            keywords.entry(keyword).or_insert(value); // the field's own description stands
        }
    }
}

/// Variants with descriptions are alternatives in JSON Schema; a structural schema wants one `enum`.
fn one_enum(keywords: &mut Map<String, Value>) {
    if let Some(value) = keywords.remove("const") {
        keywords.insert("enum".to_owned(), json!([value]));
    }
    let Some(variants) = keywords.get("oneOf").and_then(Value::as_array).cloned() else {
        return;
    };
    let values: Vec<Value> = variants
        .iter()
        .filter_map(|variant| variant.get("enum").and_then(Value::as_array))
        .flatten()
        .cloned()
        .collect();
    keywords.remove("oneOf");
    keywords.insert("type".to_owned(), json!("string"));
    keywords.insert("enum".to_owned(), Value::Array(values));
}

/// Line breaks of the source are not those of the description; empty lines are.
fn reflow(description: &str) -> String {
    let paragraphs: Vec<String> = description
        .split("\n\n")
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    paragraphs.join("\n\n")
}

//! The reference of the API, `docs/reference/api.md`, from the same schemas as the CRDs.
//!
//! A type that stands in several places has a section of its own, to which each of them links.

use std::fmt::Write as _;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Map, Value, json};

use super::super::{
    InstanceSpec, InstanceTemplateSpec, LocationReference, PERCENT_PATTERN, ScaleSettings, TemplateMetadata,
};
use super::{WorkloadStatus, all, schema, whole_numbers};

const INTRODUCTION: &str = "\
# API reference

Every field of `compute.datumapis.com/v1alpha`. `make crds` writes this page from the types in `shared/api`, as it
does the [CRDs](../../deploy/crds); a test compares them. What [admission](../admission.md#rules) refuses beyond the schemas is
described there, and [conditions](conditions.md) with their reasons have a page of their own.

`[]` is an element of a list, `{}` a value of a map. A field that is not marked as required may be left out.
";

/// A type that several objects share.
struct Shared {
    title: &'static str,
    schema: Value,
}

fn shared() -> Vec<Shared> {
    let conditions = schema::of::<WorkloadStatus>()["properties"]["conditions"]["items"].clone();
    vec![
        Shared { title: "Instance template", schema: schema::of::<InstanceTemplateSpec>() },
        Shared { title: "Instance specification", schema: schema::of::<InstanceSpec>() },
        Shared { title: "Scale settings", schema: schema::of::<ScaleSettings>() },
        Shared { title: "Location reference", schema: schema::of::<LocationReference>() },
        Shared { title: "Template metadata", schema: schema::of::<TemplateMetadata>() },
        Shared { title: "Condition", schema: conditions },
    ]
}

/// The page as a whole.
fn page() -> String {
    let shared = shared();
    let crds = all().unwrap();
    let mut page = INTRODUCTION.to_owned();
    page.push('\n');
    for crd in &crds {
        let kind = &crd.spec.names.kind;
        writeln!(page, "- [{kind}](#{})", anchor(kind)).unwrap();
    }
    for Shared { title, .. } in &shared {
        writeln!(page, "- [{title}](#{})", anchor(title)).unwrap();
    }
    for crd in &crds {
        object(&mut page, crd, &shared);
    }
    for Shared { title, schema } in &shared {
        write!(page, "\n## {title}\n\n{}\n", text(schema)).unwrap();
        table(&mut page, &anchor(title), "", schema, &shared);
    }
    page
}

fn object(page: &mut String, crd: &CustomResourceDefinition, shared: &[Shared]) {
    let kind = &crd.spec.names.kind;
    let stored = serde_json::to_value(&crd.spec.versions[0].schema).unwrap();
    let mut schema = stored["openAPIV3Schema"].clone();
    whole_numbers(&mut schema);
    write!(page, "\n## {kind}\n\n{} {}.\n", text(&schema), crd.spec.scope).unwrap();
    for part in ["spec", "status"] {
        let fields = &schema["properties"][part];
        write!(page, "\n### {kind} `{part}`\n\n{}\n", text(fields)).unwrap();
        match shared.iter().find(|shared| bare(&shared.schema) == bare(fields)) {
            Some(Shared { title, .. }) => {
                write!(page, "\nIts fields are those of the [{title}](#{}).\n", anchor(title)).unwrap();
            }
            None => table(page, &anchor(kind), part, fields, shared),
        }
        if let Some(default) = fields.get("default") {
            let default = serde_json::to_string_pretty(default).unwrap();
            write!(page, "\nUntil something reports a status, it is:\n\n```json\n{default}\n```\n").unwrap();
        }
    }
}

fn table(page: &mut String, section: &str, path: &str, schema: &Value, shared: &[Shared]) {
    page.push_str("\n| field | type | rules | meaning |\n|---|---|---|---|\n");
    rows(page, section, path, schema, shared);
}

/// A row for each field of an object, and for those of its fields that are not described elsewhere.
fn rows(page: &mut String, section: &str, path: &str, schema: &Value, shared: &[Shared]) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let required = schema["required"].as_array().is_some_and(|names| names.contains(&json!(name)));
        let (inner, suffix) = element(field);
        let elsewhere = shared.iter().find(|shared| bare(&shared.schema) == bare(inner));
        let mut meaning = text(field);
        if let Some(Shared { title, .. }) = elsewhere {
            write!(meaning, " See [{title}](#{}).", anchor(title)).unwrap();
        }
        writeln!(
            page,
            "| <a id=\"{section}-{}\"></a>`{path}` | {} | {} | {meaning} |",
            anchor(&path),
            type_of(field),
            rules(field, required).join("; "),
        )
        .unwrap();
        if elsewhere.is_none() {
            rows(page, section, &format!("{path}{suffix}"), inner, shared);
        }
    }
}

/// The schema of what a list or map consists of, with the suffix of its path; any other schema itself.
fn element(schema: &Value) -> (&Value, &'static str) {
    if let Some(items) = schema.get("items") {
        return (items, "[]");
    }
    schema.get("additionalProperties").map_or((schema, ""), |values| (values, "{}"))
}

/// A type without what the field says that has it.
fn bare(schema: &Value) -> Map<String, Value> {
    let mut schema = schema.as_object().cloned().unwrap_or_default();
    for keyword in ["description", "default"] {
        schema.remove(keyword);
    }
    schema
}

fn type_of(schema: &Value) -> String {
    if schema["x-kubernetes-int-or-string"] == true {
        let name = match schema.get("pattern") {
            None => "integer or string",
            Some(pattern) if pattern == PERCENT_PATTERN => "integer or percentage",
            Some(_) => "quantity",
        };
        return name.to_owned();
    }
    let (inner, suffix) = element(schema);
    match (suffix, schema["type"].as_str().unwrap_or_default()) {
        ("[]", _) => format!("list of {}", type_of(inner)),
        ("{}", _) => format!("map of {}", type_of(inner)),
        (_, "string") if schema["format"] == "date-time" => "time".to_owned(),
        (_, name) => name.to_owned(),
    }
}

/// What a value has to satisfy.
fn rules(schema: &Value, required: bool) -> Vec<String> {
    let mut rules = Vec::new();
    if required {
        rules.push("required".to_owned());
    }
    if let Some(default) = schema.get("default") {
        let default = if *default == json!("") { "`\"\"`".to_owned() } else { code(default) };
        rules.push(format!("default {default}"));
    }
    let bounds = [
        ("minimum", "at least "),
        ("maximum", "at most "),
        ("minLength", "length at least "),
        ("maxLength", "length at most "),
        ("minItems", "size at least "),
        ("maxItems", "size at most "),
    ];
    for (keyword, before) in bounds {
        if let Some(bound) = schema.get(keyword) {
            rules.push(format!("{before}{bound}"));
        }
    }
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> = values.iter().map(code).collect();
        rules.push(format!("one of {}", values.join(", ")));
    }
    if let Some(pattern) = schema.get("pattern")
        && type_of(schema) != "quantity"
    {
        rules.push(format!("matches {}", code(pattern)));
    }
    if let Some(keys) = schema["x-kubernetes-list-map-keys"].as_array() {
        let keys: Vec<String> = keys.iter().map(code).collect();
        rules.push(format!("unique by {}", keys.join(", ")));
    }
    if schema["x-kubernetes-preserve-unknown-fields"] == true {
        rules.push("any fields".to_owned());
    }
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        rules.push(match rule["message"].as_str() {
            Some(message) => format!("{} ({})", escaped(message), code(&rule["rule"])),
            None => code(&rule["rule"]),
        });
    }
    let (inner, suffix) = element(schema);
    if !suffix.is_empty() {
        let of_each = self::rules(inner, false);
        if !of_each.is_empty() {
            rules.push(format!("each: {}", of_each.join("; ")));
        }
    }
    rules
}

fn code(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    format!("`{}`", escaped(&text))
}

fn text(schema: &Value) -> String {
    escaped(schema["description"].as_str().unwrap_or_default())
}

/// As it can stand in a cell of a table.
fn escaped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn anchor(text: &str) -> String {
    let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '.'));
    kept.map(|c| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_is_current() {
        let path = super::super::tests::repository("docs/reference/api.md");
        let page = page();
        if std::env::var_os("UPDATE_CRDS").is_some() {
            std::fs::write(&path, &page).unwrap();
        }
        let stored = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            stored == page,
            "docs/reference/api.md is not what the types say: run `make crds` and commit the result"
        );
    }

    /// Whoever follows a link to a field arrives at that field.
    #[test]
    fn anchors_of_the_reference_are_unique() {
        let page = page();
        let mut anchors: Vec<&str> =
            page.split("<a id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        let count = anchors.len();
        anchors.sort_unstable();
        anchors.dedup();
        assert_eq!(anchors.len(), count);
        assert!(anchors.contains(&"workload-spec-placements-citycodes"), "{anchors:?}");
        assert!(anchors.contains(&"template-metadata-labels"), "{anchors:?}");
    }

    #[test]
    fn rules_of_a_field_are_told_with_those_of_its_elements() {
        let field = json!({
            "type": "array", "minItems": 1, "maxItems": 2, "default": ["a|b"],
            "x-kubernetes-list-map-keys": ["name"],
            "x-kubernetes-validations": [{"rule": "self.all(x, x != '')", "message": "no element is empty"}],
            "items": {"type": "string", "minLength": 1, "maxLength": 63, "pattern": "^a$", "enum": ["a"]},
        });
        assert_eq!(type_of(&field), "list of string");
        assert_eq!(
            rules(&field, true),
            [
                "required",
                "default `[\"a\\|b\"]`",
                "size at least 1",
                "size at most 2",
                "unique by `name`",
                "no element is empty (`self.all(x, x != '')`)",
                "each: length at least 1; length at most 63; one of `a`; matches `^a$`",
            ]
        );
    }
}

//! The CRDs that the program carries against the schemas that a plane serves. Pure.

use std::collections::BTreeMap;

use fedhub_api::crds;
use serde_json::Value;

/// A CRD of ours.
#[derive(Clone, Debug)]
pub struct OurKind {
    /// Its kind, such as `Instance`.
    pub kind: String,
    /// Its plural name.
    pub plural: String,
    /// The schema of its objects.
    pub schema: Value,
}

/// The API group of ours, its version, and its kinds.
#[derive(Clone, Debug, Default)]
pub struct Ours {
    /// `compute.datumapis.com`.
    pub group: String,
    /// The version that this program reads and writes.
    pub version: String,
    /// Its kinds.
    pub kinds: Vec<OurKind>,
}

/// The kind of the catalogue: only its source and what gets copies needs it, for without a catalogue there is
/// the built-in type.
const CATALOG: &str = "InstanceType";

impl Ours {
    /// Returns the CRDs that belong on a plane: the kinds of the catalogue, and the others.
    pub fn on(&self, catalog: bool, others: bool) -> Self {
        Self {
            kinds: self
                .kinds
                .iter()
                .filter(|kind| if kind.kind == CATALOG { catalog } else { others })
                .cloned()
                .collect(),
            ..self.clone()
        }
    }
}

/// The CRDs that the program carries.
pub fn ours() -> anyhow::Result<Ours> {
    let mut ours = Ours { group: String::new(), version: String::new(), kinds: Vec::new() };
    for crd in crds::all()? {
        let Some(version) = crd.spec.versions.first() else { continue };
        let schema = version.schema.as_ref().and_then(|it| it.open_api_v3_schema.as_ref());
        ours.version.clone_from(&version.name);
        ours.kinds.push(OurKind {
            kind: crd.spec.names.kind,
            plural: crd.spec.names.plural,
            schema: serde_json::to_value(schema)?,
        });
        ours.group = crd.spec.group;
    }
    Ok(ours)
}

/// The fields of ours that a plane would prune, by kind, from its `OpenAPI` document of our version. A kind
/// that has no schema there is left out.
pub fn lacking(ours: &Ours, openapi: &Value) -> BTreeMap<String, Vec<String>> {
    ours.kinds
        .iter()
        .filter_map(|kind| {
            let served = of_kind(openapi, ours, &kind.kind)?;
            Some((kind.kind.clone(), missing(&kind.schema, served)))
        })
        .collect()
}

fn of_kind<'a>(openapi: &'a Value, ours: &Ours, kind: &str) -> Option<&'a Value> {
    openapi["components"]["schemas"].as_object()?.values().find(|schema| {
        schema["x-kubernetes-group-version-kind"].as_array().is_some_and(|all| {
            all.iter()
                .any(|it| it["group"] == *ours.group && it["version"] == *ours.version && it["kind"] == *kind)
        })
    })
}

/// The fields of ours that the served schema lacks, by their paths.
fn missing(ours: &Value, served: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for field in ["spec", "status"] {
        match served["properties"].get(field) {
            Some(served) => compare(&ours["properties"][field], served, field, &mut found),
            None => found.push(field.to_owned()),
        }
    }
    found
}

fn compare(ours: &Value, served: &Value, at: &str, found: &mut Vec<String>) {
    if *served == Value::Bool(true) || served["x-kubernetes-preserve-unknown-fields"] == true {
        return;
    }
    // A map's keys, which have no names.
    let open = served.get("additionalProperties").filter(|it| **it != Value::Bool(false));
    for (name, field) in ours["properties"].as_object().into_iter().flatten() {
        let at = format!("{at}.{name}");
        match served["properties"].get(name).or(open) {
            Some(served) => compare(field, served, &at, found),
            None => found.push(at),
        }
    }
    for (keyword, sign) in [("items", "[]"), ("additionalProperties", ".*")] {
        let Some(inner) = ours.get(keyword).filter(|it| it.is_object()) else { continue };
        let at = format!("{at}{sign}");
        match served.get(keyword).filter(|it| **it != Value::Bool(false)) {
            Some(served) => compare(inner, served, &at, found),
            None => found.push(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn u4_fields_that_would_be_pruned_are_found_and_added_ones_are_none() {
        let of = |spec: Value| json!({"properties": {"spec": spec, "status": {"type": "object"}}});
        let ours = of(json!({"properties": {
            "a": {"type": "string"},
            "list": {"items": {"properties": {"b": {}}}},
            "map": {"additionalProperties": {"properties": {"c": {}}}},
        }}));
        for (served, expected) in [
            (ours["properties"]["spec"].clone(), vec![]),
            (json!({"x-kubernetes-preserve-unknown-fields": true}), vec![]),
            (json!({}), vec!["spec.a", "spec.list", "spec.map"]),
            (
                json!({"properties": {"a": {}, "more": {}, "list": {"items": {}}, "map": {"additionalProperties": {}}}}),
                vec!["spec.list[].b", "spec.map.*.c"],
            ),
            (json!({"properties": {"a": {}, "list": {}, "map": {}}}), vec!["spec.list[]", "spec.map.*"]),
            (json!({"additionalProperties": true}), vec![]),
        ] {
            assert_eq!(missing(&ours, &of(served.clone())), expected, "{served}");
        }
        assert_eq!(missing(&ours, &json!({})), ["spec", "status"]);
    }

    #[test]
    fn u4_a_plane_that_serves_our_crds_lacks_nothing() {
        let ours = ours().unwrap();
        assert_eq!((&*ours.group, &*ours.version, ours.kinds.len()), ("compute.datumapis.com", "v1alpha", 5));
        for kind in &ours.kinds {
            let mut served = kind.schema.clone();
            assert_eq!(missing(&kind.schema, &served), Vec::<String>::new(), "{}", kind.kind);
            served["properties"]["status"]["properties"].as_object_mut().unwrap().remove("conditions");
            assert_eq!(missing(&kind.schema, &served), ["status.conditions"], "{}", kind.kind);
            let gvk = json!([{"group": ours.group, "version": ours.version, "kind": kind.kind}]);
            let mut schema = kind.schema.clone();
            schema["x-kubernetes-group-version-kind"] = gvk;
            let openapi = json!({"components": {"schemas": {"any.name": schema}}});
            assert_eq!(lacking(&ours, &openapi), [(kind.kind.clone(), Vec::new())].into());
            let newer = Ours { version: "v2".to_owned(), ..ours.clone() };
            assert!(lacking(&newer, &openapi).is_empty());
        }
    }
    #[test]
    fn u4_the_catalogue_belongs_only_where_it_is() {
        let on = |catalog, others| {
            let ours = ours().unwrap().on(catalog, others);
            ours.kinds.into_iter().map(|kind| kind.kind).collect::<Vec<_>>()
        };
        assert_eq!(on(true, false), [CATALOG]);
        assert_eq!((on(true, true).len(), on(false, true).len(), on(false, false).len()), (5, 4, 0));
        assert!(!on(false, true).contains(&CATALOG.to_owned()));
    }

    /// The parent of each field, its name, and its path as it is shown.
    fn fields(schema: &Value, pointer: &str, at: &str, found: &mut Vec<(String, String, String)>) {
        for (name, field) in schema["properties"].as_object().into_iter().flatten() {
            let parent = format!("{pointer}/properties");
            let at = format!("{at}.{name}");
            fields(field, &format!("{parent}/{name}"), &at, found);
            found.push((parent, name.clone(), at));
        }
        for (keyword, sign) in [("items", "[]"), ("additionalProperties", ".*")] {
            if schema[keyword].is_object() {
                fields(&schema[keyword], &format!("{pointer}/{keyword}"), &format!("{at}{sign}"), found);
            }
        }
    }

    /// Each one that is taken away is found, and nothing else.
    #[test]
    fn u4_every_field_of_our_crds_is_missed() {
        let mut count = 0;
        for OurKind { schema, kind, .. } in ours().unwrap().kinds {
            let mut all = Vec::new();
            for field in ["spec", "status"] {
                fields(&schema["properties"][field], &format!("/properties/{field}"), field, &mut all);
            }
            for (parent, name, at) in all {
                let mut served = schema.clone();
                let properties = served.pointer_mut(&parent).and_then(Value::as_object_mut);
                assert!(properties.unwrap().remove(&name).is_some(), "{kind} {at}");
                assert_eq!(missing(&schema, &served), [at], "{kind}");
                count += 1;
            }
        }
        assert!(count > 200, "{count}");
    }
}

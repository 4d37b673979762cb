//! What a spec refers to: the `ConfigMap`s and Secrets of its own namespace that an Instance needs (W5). The
//! one place that collects them, for the project's side, which copies them, and for the cell, which awaits
//! them.

use fedhub_core::object::Kind;
use serde_json::Value;

/// A reference of a spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference<'a> {
    /// `ConfigMap` or Secret.
    pub kind: Kind,
    /// The name of what is referred to, as written: it need not be one that an object can have.
    pub name: &'a str,
    /// Whether an Instance can do without.
    pub optional: bool,
}

/// The references of an Instance's spec, or of the spec of a WD's template, in variables, volumes and pull
/// secrets: sorted, `ConfigMap`s first, each once. One that is optional in one place and not in another is
/// not; pull secrets never are.
pub fn references(spec: &Value) -> Vec<Reference<'_>> {
    let mut all = in_variables_and_volumes(spec);
    let pull_secrets = list(spec, "/runtime/sandbox/imagePullSecrets").iter();
    all.extend(pull_secrets.map(|secret| {
        let name = secret["name"].as_str().unwrap_or_default();
        Reference { kind: Kind::Secret, name, optional: false }
    }));
    all.sort_unstable();
    // `false` is sorted before `true`.
    all.dedup_by_key(|reference| (reference.kind, reference.name));
    all
}

/// The spec of a WD's template, which [`references`] reads.
pub fn template(deployment_spec: &Value) -> &Value {
    &deployment_spec["template"]["spec"]
}

/// Returns the references of variables and volumes only, in the order of the spec.
pub fn in_variables_and_volumes(spec: &Value) -> Vec<Reference<'_>> {
    let mut sources: Vec<(&Value, [&str; 2], &str)> = Vec::new();
    for container in list(spec, "/runtime/sandbox/containers") {
        let variables = list(container, "/env").iter().map(|variable| &variable["valueFrom"]);
        sources.extend(variables.map(|from| (from, ["configMapKeyRef", "secretKeyRef"], "name")));
        let whole = list(container, "/envFrom").iter();
        sources.extend(whole.map(|from| (from, ["configMapRef", "secretRef"], "name")));
    }
    let volumes = list(spec, "/volumes").iter();
    sources.extend(volumes.map(|volume| (volume, ["configMap", "secret"], "secretName")));
    let mut all = Vec::new();
    for (source, keys, secret_name) in sources {
        for (key, kind, name) in [(keys[0], Kind::ConfigMap, "name"), (keys[1], Kind::Secret, secret_name)] {
            let at = &source[key];
            if at.is_object() {
                let name = at[name].as_str().unwrap_or_default();
                all.push(Reference { kind, name, optional: at["optional"] == true });
            }
        }
    }
    all
}

fn list<'a>(value: &'a Value, at: &str) -> &'a [Value] {
    value.pointer(at).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn w5_references_are_sorted_and_each_is_there_once() {
        let spec = json!({
            "runtime": {"sandbox": {
                "imagePullSecrets": [{"name": "registry"}],
                "containers": [
                    {"env": [
                        {"name": "A", "value": "plain"},
                        {"name": "B", "valueFrom": {"secretKeyRef": {"name": "db", "key": "k", "optional": true}}},
                        {"name": "C", "valueFrom": {"configMapKeyRef": {"name": "app", "key": "k"}}}]},
                    {"envFrom": [{"secretRef": {"name": "registry", "optional": true}}, {"configMapRef": {"name": "zone"}}]},
                ],
            }},
            "volumes": [
                {"name": "a", "configMap": {"name": "app", "optional": true}},
                {"name": "b", "secret": {"secretName": "tls"}},
                {"name": "c", "disk": {}},
            ],
        });
        let of = |kind, name, optional| Reference { kind, name, optional };
        let expected = [
            of(Kind::ConfigMap, "app", false),
            of(Kind::ConfigMap, "zone", false),
            of(Kind::Secret, "db", true),
            of(Kind::Secret, "registry", false),
            of(Kind::Secret, "tls", false),
        ];
        assert_eq!(references(&spec), expected);
        assert_eq!(references(template(&json!({"template": {"spec": spec}}))), expected);
        assert!(references(&json!({"runtime": {"sandbox": {"containers": "odd"}}})).is_empty());
    }
}

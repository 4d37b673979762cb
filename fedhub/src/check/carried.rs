//! What of `deploy/` the program carries to compare it with the hub, and the kinds of Karmada that fedhub
//! uses.

use anyhow::Context;
use serde_json::Value;

/// The kinds of Karmada that fedhub uses, by group and version.
pub const KARMADA: [(&str, &str); 5] = [
    ("policy.karmada.io/v1alpha1", "propagationpolicies"),
    ("work.karmada.io/v1alpha2", "resourcebindings"),
    ("work.karmada.io/v1alpha1", "works"),
    ("cluster.karmada.io/v1alpha1", "clusters"),
    ("config.karmada.io/v1alpha1", "resourceinterpretercustomizations"),
];
/// A kind that Karmada serves since 1.14. The API server does not show Karmada's version, and knows
/// Kubernetes' only.
pub const SINCE_1_14: (&str, &str) = ("policy.karmada.io/v1alpha1", "clustertaintpolicies");

const INTERPRETER: &str = include_str!("../../../deploy/components/hub/workloaddeployment-interpreter.yaml");
/// The policies that fence fedhub and cells off, each with its binding.
const POLICIES: [&str; 4] = [
    include_str!("../../../deploy/components/hub/own-writes.yaml"),
    include_str!("../../../deploy/components/hub-for-cells/own-instances.yaml"),
    include_str!("../../../deploy/components/hub-for-cells/instances-only.yaml"),
    include_str!("../../../deploy/components/hub-for-cells/keep-cells.yaml"),
];

/// The interpreter of `deploy/components/hub`.
pub fn interpreter() -> anyhow::Result<Value> {
    let objects: Vec<Value> =
        serde_saphyr::from_multiple(INTERPRETER).context("failed to parse the interpreter")?;
    objects.into_iter().next().context("there is no interpreter")
}

/// The policies of `deploy/components/hub` and `deploy/components/hub-for-cells`, and their bindings.
pub fn policies() -> anyhow::Result<Vec<Value>> {
    let mut objects = Vec::new();
    for text in POLICIES {
        let parsed: Vec<Value> = serde_saphyr::from_multiple(text).context("failed to parse a policy")?;
        objects.extend(parsed);
    }
    Ok(objects)
}

/// Whether all that `ours` says stands in `theirs`, which may have more by defaulting.
pub fn subset(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            ours.iter().all(|(key, value)| theirs.get(key).is_some_and(|it| subset(value, it)))
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(ours, theirs)| subset(ours, theirs))
        }
        // A block of text may have lost its last line break on its way.
        (Value::String(ours), Value::String(theirs)) => ours.trim_end() == theirs.trim_end(),
        _ => ours == theirs,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn u4_what_is_carried_can_be_read_and_defaults_are_no_difference() {
        assert_eq!(interpreter().unwrap()["kind"], "ResourceInterpreterCustomization");
        let policies = policies().unwrap();
        let kinds: Vec<_> = policies.iter().map(|it| it["kind"].as_str().unwrap()).collect();
        let pair = ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"];
        assert_eq!(kinds, [pair, pair, pair, pair].concat());
        let ours = json!({"a": [{"b": "x\n"}]});
        for (theirs, expected) in [
            (json!({"a": [{"b": "x", "defaulted": true}], "more": 1}), true),
            (json!({"a": [{"b": "y"}]}), false),
            (json!({"a": [{"b": "x"}, {}]}), false),
            (json!({"a": []}), false),
            (json!({}), false),
        ] {
            assert_eq!(subset(&ours, &theirs), expected, "{theirs}");
        }
    }
}

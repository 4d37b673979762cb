//! How two objects differ, in words.

use std::collections::BTreeMap;

use fedhub_cache::normalization::lost;
use fedhub_core::message::Quoted;
use fedhub_core::object::{Object, ObjectView};
use serde_json::Value;

/// How many differences are named.
const NAMED: usize = 3;

/// How a value differs from what it is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Differs {
    /// It does not.
    Not,
    /// Fields are missing, or there are more; all that both have is equal: what a schema prunes or defaults
    /// looks so.
    InFields(String),
    /// Both have a field with another value.
    InValues(String),
}

impl Differs {
    /// Compares two values that messages call `name`.
    pub fn new(name: &str, wanted: &Value, current: &Value) -> Self {
        if wanted == current {
            return Self::Not;
        }
        let missing = lost(wanted, current, NAMED);
        let more: Vec<String> =
            lost(current, wanted, NAMED).into_iter().filter(|it| !missing.contains(it)).collect();
        let paths = missing.iter().chain(&more).take(NAMED).map(|path| format!("{name}{path}"));
        let text = format!("differs at {}", paths.collect::<Vec<_>>().join(", "));
        if is_of_values(wanted, current) { Self::InValues(text) } else { Self::InFields(text) }
    }

    /// Says where the values differ; empty if they do not.
    pub fn text(&self) -> &str {
        match self {
            Self::Not => "",
            Self::InFields(text) | Self::InValues(text) => text,
        }
    }
}

/// Whether anything that both have differs.
fn is_of_values(wanted: &Value, current: &Value) -> bool {
    match (wanted, current) {
        (Value::Object(a), Value::Object(b)) => {
            a.iter().any(|(key, value)| b.get(key).is_some_and(|other| is_of_values(value, other)))
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).any(|(value, other)| is_of_values(value, other))
        }
        _ => wanted != current,
    }
}

/// What of the metadata is not as wanted.
pub fn metadata(wanted: &Object, current: &Object) -> Vec<String> {
    let wanted = &wanted.metadata;
    let current = &current.metadata;
    let mut all = pairs("label", wanted.labels.as_ref(), current.labels.as_ref());
    all.extend(pairs("annotation", wanted.annotations.as_ref(), current.annotations.as_ref()));
    if wanted.owner_references != current.owner_references {
        all.push("the owner references differ".to_owned());
    }
    all
}

fn pairs(
    what: &str,
    wanted: Option<&BTreeMap<String, String>>,
    current: Option<&BTreeMap<String, String>>,
) -> Vec<String> {
    let none = BTreeMap::new();
    let wanted = wanted.unwrap_or(&none);
    let current = current.unwrap_or(&none);
    let differ = wanted.iter().filter(|(key, value)| current.get(*key) != Some(value));
    let said = differ.map(|(key, value)| match current.get(key) {
        Some(other) => format!("the {what} {key} is {}, not {}", Quoted(other), Quoted(value)),
        None => format!("the {what} {key}={} is missing", Quoted(value)),
    });
    let more = current.keys().filter(|key| !wanted.contains_key(*key));
    said.chain(more.map(|key| format!("the {what} {key} is one too many"))).collect()
}

/// How an object differs from what it is to be, all in all: metadata and spec.
pub fn objects(wanted: &Object, current: &Object) -> (Differs, String) {
    let words = metadata(wanted, current);
    let spec = Differs::new("spec", wanted.spec(), current.spec());
    let overall = if words.is_empty() { spec.clone() } else { Differs::InValues(String::new()) };
    let named = words.iter().map(String::as_str).chain([spec.text()]).filter(|text| !text.is_empty());
    (overall, named.take(NAMED).collect::<Vec<_>>().join("; "))
}

/// How a status differs from what it is to be: its conditions by their types.
pub fn statuses(wanted: &Value, current: &Value) -> Differs {
    let differs = Differs::new("status", wanted, current);
    let conditions = |status: &Value| -> BTreeMap<String, Value> {
        let all = status["conditions"].as_array().into_iter().flatten();
        all.filter_map(|it| Some((it["type"].as_str()?.to_owned(), it.clone()))).collect()
    };
    let theirs = conditions(wanted);
    let ours = conditions(current);
    let other =
        theirs.iter().filter(|(kind, value)| ours.get(*kind) != Some(value)).map(|(kind, _)| kind.as_str());
    let other: Vec<&str> =
        other.chain(ours.keys().map(String::as_str).filter(|it| !theirs.contains_key(*it))).collect();
    if other.is_empty() {
        return differs;
    }
    let text = format!("the conditions {} differ", other.join(", "));
    match differs {
        Differs::Not => Differs::Not,
        Differs::InFields(_) => Differs::InFields(text),
        Differs::InValues(_) => Differs::InValues(text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn u4_what_a_schema_may_have_made_is_told_from_an_edit() {
        let wanted = json!({"a": 1, "b": {"c": 2}, "d": [{"e": 3}]});
        let in_fields = |at: &str| Differs::InFields(format!("differs at spec/{at}"));
        let in_values = |at: &str| Differs::InValues(format!("differs at spec/{at}"));
        for (current, expected) in [
            (wanted.clone(), Differs::Not),
            (json!({"a": 1, "b": {}, "d": [{"e": 3}]}), in_fields("b/c")),
            (json!({"a": 1, "b": {"c": 2, "x": 0}, "d": [{"e": 3}]}), in_fields("b/x")),
            (json!({"a": 2, "b": {"c": 2}, "d": [{"e": 3}]}), in_values("a")),
            (json!({"a": 1, "b": {"c": 2}, "d": [{"e": 4}]}), in_values("d/0/e")),
            (json!({"a": 1, "b": {"c": 2}, "d": []}), in_values("d")),
        ] {
            assert_eq!(Differs::new("spec", &wanted, &current), expected, "{current}");
        }
    }

    #[test]
    fn u4_conditions_are_named_by_their_types() {
        let status =
            |ready: &str| json!({"conditions": [{"type": "Ready", "status": ready}, {"type": "Other"}]});
        let differs = statuses(&status("True"), &status("False"));
        assert_eq!(differs, Differs::InValues("the conditions Ready differ".to_owned()));
        assert_eq!(statuses(&status("True"), &status("True")), Differs::Not);
        assert_eq!(statuses(&json!({"n": 1}), &json!({"n": 2})).text(), "differs at status/n");
    }
}

//! Two renderings of the same objects, field by field.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Where they differ: each object and field, with what the one and the other has. `other` is what Helm
/// rendered.
pub fn differences(one: &[Value], other: &[Value]) -> Vec<String> {
    let mut found = Vec::new();
    if by_name(other).len() < other.len() {
        // kubectl refuses to build that; Helm installs whichever comes last.
        found.push("Helm has an object twice".to_owned());
    }
    let one = by_name(one);
    let other = by_name(other);
    let names: BTreeSet<_> = one.keys().chain(other.keys()).collect();
    for name in names {
        let of =
            |objects: &BTreeMap<String, &Value>| objects.get(name).map_or(Value::Null, |of| (*of).clone());
        differ(name, &of(&one), &of(&other), &mut found);
    }
    found
}

fn by_name(objects: &[Value]) -> BTreeMap<String, &Value> {
    let name = |object: &Value| {
        let metadata = &object["metadata"];
        let parts = [&object["apiVersion"], &object["kind"], &metadata["namespace"], &metadata["name"]];
        parts.map(|part| part.as_str().unwrap_or_default()).join(" ")
    };
    objects.iter().map(|object| (name(object), object)).collect()
}

/// An empty list says what none says.
fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

fn differ(at: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
    match (one, other) {
        (one, other) if is_nothing(one) && is_nothing(other) => {}
        (Value::Object(one), Value::Object(other)) => {
            let names: BTreeSet<_> = one.keys().chain(other.keys()).collect();
            for name in names {
                let of =
                    |fields: &serde_json::Map<String, Value>| fields.get(name).cloned().unwrap_or_default();
                differ(&format!("{at}/{name}"), &of(one), &of(other), found);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                differ(&format!("{at}/{index}"), one, other, found);
            }
        }
        (one, other) if one == other => {}
        (one, other) => found.push(format!("{at}: kubectl has {one}, Helm {other}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(name: &str, spec: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": "A", "metadata": {"name": name}, "spec": spec})
    }

    #[test]
    fn every_field_that_differs_is_named() {
        let one = [object("a", &json!({"list": [1, {"b": 2}], "none": []})), object("gone", &json!(1))];
        let other = [object("a", &json!({"list": [1, {"b": 3}], "more": true}))];
        let found = differences(&one, &other);
        let at = |found: &str| found.split(':').next().map(str::to_owned);
        assert_eq!(
            found.iter().filter_map(|found| at(found)).collect::<Vec<_>>(),
            ["v1 A  a/spec/list/1/b", "v1 A  a/spec/more", "v1 A  gone",]
        );
        assert_eq!(differences(&one, &one), Vec::<String>::new());
    }

    #[test]
    fn an_object_that_is_there_twice_is_named() {
        let one = object("a", &json!({}));
        let found = differences(std::slice::from_ref(&one), &[one.clone(), one.clone()]);
        assert_eq!(found, ["Helm has an object twice"]);
    }

    #[test]
    fn a_list_that_is_longer_differs() {
        let found = differences(&[object("a", &json!({"l": [1]}))], &[object("a", &json!({"l": [1, 2]}))]);
        assert_eq!(found, ["v1 A  a/spec/l: kubectl has [1], Helm [1,2]"]);
    }
}

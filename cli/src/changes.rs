//! The differences between two values, by the paths of fields.

use std::collections::{BTreeMap, BTreeSet};

use fedhub_core::message::Quoted;
use fedhub_terminal::plain;
use serde_json::{Map, Value};

/// A field whose value is another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The path, such as `spec.placements[us].scaleSettings.minReplicas`. Items that have names are known by
    /// them.
    pub path: String,
    /// The value that it had; null where there was none.
    pub before: Value,
    /// The value that it gets; null where there is none.
    pub after: Value,
}

/// Returns the differences, in the order of the fields' names. `at` is the path of the two values.
pub fn between(before: &Value, after: &Value, at: &str) -> Vec<Change> {
    let mut changes = Vec::new();
    compare(before, after, at, &mut changes);
    changes
}

fn compare(before: &Value, after: &Value, at: &str, into: &mut Vec<Change>) {
    match (before, after) {
        (before, after) if before == after => {}
        (Value::Object(before), Value::Object(after)) => fields(before, after, at, into),
        // A list that comes or goes does so item by item.
        (Value::Null, Value::Array(new)) if is_named(new) => {
            compare(&Value::Array(Vec::new()), &Value::Array(new.clone()), at, into);
        }
        (Value::Array(old), Value::Null) if is_named(old) => {
            compare(&Value::Array(old.clone()), &Value::Array(Vec::new()), at, into);
        }
        (Value::Array(old), Value::Array(new)) => match (by_name(old), by_name(new)) {
            (Some(old_items), Some(new_items)) => {
                let count = into.len();
                items(&old_items, &new_items, at, into);
                if into.len() == count {
                    // These are the same items in another order.
                    into.push(Change { path: at.to_owned(), before: names(old), after: names(new) });
                }
            }
            _ if old.len() == new.len() && old.iter().chain(new).all(Value::is_object) => {
                for (index, (old, new)) in old.iter().zip(new).enumerate() {
                    compare(old, new, &format!("{at}[{index}]"), into);
                }
            }
            _ => into.push(Change { path: at.to_owned(), before: before.clone(), after: after.clone() }),
        },
        _ => into.push(Change { path: at.to_owned(), before: before.clone(), after: after.clone() }),
    }
}

fn fields(before: &Map<String, Value>, after: &Map<String, Value>, at: &str, into: &mut Vec<Change>) {
    let keys: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    for key in keys {
        let path = match key.contains(['.', '/']) {
            true => format!("{at}[{key}]"),
            false if at.is_empty() => key.clone(),
            false => format!("{at}.{key}"),
        };
        let of = |map: &Map<String, Value>| map.get(key).cloned().unwrap_or_default();
        compare(&of(before), &of(after), &path, into);
    }
}

fn items(before: &BTreeMap<&str, &Value>, after: &BTreeMap<&str, &Value>, at: &str, into: &mut Vec<Change>) {
    let names: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    for name in names {
        let of = |items: &BTreeMap<&str, &Value>| items.get(*name).map_or(Value::Null, |it| (*it).clone());
        compare(&of(before), &of(after), &format!("{at}[{name}]"), into);
    }
}

/// The items by their names, where all of them have one of their own.
fn by_name(items: &[Value]) -> Option<BTreeMap<&str, &Value>> {
    let named: Option<BTreeMap<_, _>> =
        items.iter().map(|item| Some((item.get("name")?.as_str()?, item))).collect();
    named.filter(|named| named.len() == items.len())
}

fn is_named(items: &[Value]) -> bool {
    !items.is_empty() && by_name(items).is_some()
}

fn names(items: &[Value]) -> Value {
    items.iter().map(|item| item["name"].clone()).collect()
}

impl Change {
    /// The change on one line. Values of environment variables are not shown: they may be secrets.
    pub fn line(&self) -> String {
        // Keys of labels and variables are a user's text.
        let path = plain(&self.path);
        let is_hidden = path.contains(".env[");
        match (&self.before, &self.after) {
            (Value::Null, after) => match value(after).filter(|_| !is_hidden) {
                Some(after) => format!("+ {path}: {after}"),
                None => format!("+ {path}"),
            },
            (_, Value::Null) => format!("- {path}"),
            (before, after) => match (value(before), value(after)) {
                (Some(before), Some(after)) if !is_hidden => format!("~ {path}: {before} -> {after}"),
                _ => format!("~ {path}"),
            },
        }
    }
}

/// A plain value, or a list of such; what has fields is not shown.
fn value(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(Quoted(text).to_string()),
        Value::Array(items) => {
            let items: Option<Vec<_>> = items.iter().map(self::value).collect();
            items.map(|items| format!("[{}]", items.join(", ")))
        }
        Value::Object(_) => None,
        plain => Some(plain.to_string()),
    }
}

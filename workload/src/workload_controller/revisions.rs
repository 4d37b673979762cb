//! The revisions of a Workload, in a `ConfigMap` beside it (W10).
//!
//! Each new template is a revision, whoever wrote it; never two of the same content in a row; at most
//! [`MOST`], and at most [`MOST_BYTES`] of them. A key of the `ConfigMap` is a revision's number, and its
//! value JSON with `rev`, `timestamp`, `image`, `changes`, `actor`, `templateHash` and `spec`, the last the
//! Workload's spec as JSON in a text.
//!
//! Decides W10.

use std::collections::BTreeSet;

use fedhub_api::facts::workload::template_hash;
use fedhub_core::clock::stamp;
use fedhub_core::message::{Quoted, excerpt};
use fedhub_core::names::{CURRENT_REVISION, RECORDED_TEMPLATE};
use fedhub_core::object::{Kind, Object, ObjectView, bare, set_field};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::desired::owner;

/// The most revisions that are kept.
pub const MOST: usize = 20;
/// The most bytes that keys and values take on the wire: of a project plane no object over 1 MiB is read.
pub const MOST_BYTES: usize = 900 << 10;
/// The most changes that a revision names.
const MOST_CHANGES: usize = 4;

/// What stays in a history.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The most revisions.
    pub most: usize,
    /// The revisions that WDs carry or may return to, which stay whatever their age.
    pub used: BTreeSet<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { most: MOST, used: BTreeSet::new() }
    }
}

/// The result of recording a template.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The number of the revision that has the template.
    pub revision: u64,
    /// The history to be written; `None` where it has the template as its newest revision.
    pub history: Option<Object>,
}

/// Records the template of `workload`, which was read live, so that it tells who wrote it, in the history
/// called `name`,
/// less the oldest beyond the limits.
pub fn record(
    history: Option<&Object>,
    name: &str,
    workload: &Object,
    limits: &Limits,
    now: Timestamp,
) -> Recorded {
    let template = &workload.spec()["template"];
    let newest = history.and_then(newest);
    // An entry need not hold an object: a tenant can write anything there.
    let before = newest.as_ref().map(|(_, entry)| spec_of(entry)["template"].clone());
    // A template that was too large to be kept is recognised by its hash.
    let is_unkept = |entry: &Value| entry["spec"] == "" && entry["templateHash"] == template_hash(template);
    let same =
        newest.as_ref().is_some_and(|(_, entry)| is_unkept(entry)) || before.as_ref() == Some(template);
    let last = newest.map_or(0, |(revision, _)| revision);
    if same {
        return Recorded { revision: last, history: None };
    }
    let current = workload.annotation(CURRENT_REVISION).and_then(|it| it.parse().ok()).unwrap_or(0);
    let revision = last.max(current).saturating_add(1);
    let entry = json!({
        "rev": revision,
        "timestamp": stamp(now),
        "image": image(template),
        "actor": author(workload, before.as_ref()).unwrap_or_default(),
        "changes": before.map_or_else(|| "created".to_owned(), |before| changes(&before, template)),
        "templateHash": template_hash(template),
        "spec": workload.spec().to_string(),
    });
    let new = history.cloned().unwrap_or_else(|| bare(Kind::ConfigMap, workload.namespace(), name));
    Recorded { revision, history: Some(with(new, workload, revision, entry, limits)) }
}

/// The annotations of a Workload whose template is recorded under that revision.
pub fn annotations(revision: u64, workload: &Object) -> Value {
    let template = &workload.spec()["template"];
    json!({
        CURRENT_REVISION: revision.to_string(),
        RECORDED_TEMPLATE: fedhub_api::facts::workload::recorded_template(revision, template),
    })
}

/// The template of a revision; `None` where these of a history do not have it, or not whole.
pub fn template(revisions: &Value, revision: u64) -> Option<Value> {
    let spec = spec_of(&entry_of(&revisions[revision.to_string()]));
    spec["template"].is_object().then(|| spec["template"].clone())
}

/// The history with one more revision, less the oldest that are over the limits. Keys that are no numbers
/// stay (I9), and take room from the revisions.
fn with(mut history: Object, workload: &Object, revision: u64, mut entry: Value, limits: &Limits) -> Object {
    let mut data = history.data["data"].as_object().cloned().unwrap_or_default();
    let mut text = entry.to_string();
    let bytes = |key: &str, value: &Value| key.len() + value.as_str().map_or(0, on_wire);
    let binary: usize =
        history.data["binaryData"].as_object().into_iter().flatten().map(|(k, v)| bytes(k, v)).sum();
    let others = data.iter().filter(|(key, _)| key.parse::<u64>().is_err());
    let others = others.map(|(key, value)| bytes(key, value)).sum::<usize>() + binary;
    for large in ["spec", "image"] {
        if others + on_wire(&text) > MOST_BYTES {
            entry[large] = json!("");
            text = entry.to_string();
        }
    }
    data.insert(revision.to_string(), json!(text));
    let size = |data: &Map<String, Value>| -> usize {
        binary + data.iter().map(|(key, value)| bytes(key, value)).sum::<usize>()
    };
    let mut numbers: Vec<u64> = data.keys().filter_map(|key| key.parse().ok()).collect();
    numbers.sort_unstable();
    let mut oldest = numbers.iter().filter(|number| **number != revision && !limits.used.contains(number));
    let mut kept = numbers.len();
    while kept > limits.most || size(&data) > MOST_BYTES {
        let Some(number) = oldest.next() else { break };
        data.retain(|key, _| key.parse() != Ok(*number));
        kept -= 1;
    }
    set_field(&mut history, "data", Value::Object(data));
    let owners = history.metadata.owner_references.get_or_insert_default();
    // One of an earlier Workload of that name would have the history collected.
    owners.retain(|it| it.kind != Kind::Workload.resource().kind || it.uid == workload.uid());
    if owners.is_empty() {
        owners.push(owner(workload, true));
    }
    history
}

/// The bytes that a text takes in what an API server sends: JSON in a text is full of quotes, which are
/// escaped once more, and servers escape what HTML gives a meaning, too.
fn on_wire(text: &str) -> usize {
    text.chars()
        .map(|c| match c {
            '"' | '\\' | '\n' | '\r' | '\t' => 2,
            '<' | '>' | '&' | '\0'..='\x1f' | '\u{2028}' | '\u{2029}' => 6,
            c => c.len_utf8(),
        })
        .sum()
}

/// The newest revision with its number: all of them may be large, and only that one is compared.
fn newest(history: &Object) -> Option<(u64, Value)> {
    let data = history.data["data"].as_object()?;
    let numbered = data.iter().filter_map(|(key, value)| Some((key.parse().ok()?, value)));
    numbered.max_by_key(|(revision, _)| *revision).map(|(revision, value)| (revision, entry_of(value)))
}

/// An entry of a history. One that cannot be read stands for a content that no template has.
fn entry_of(value: &Value) -> Value {
    value.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// The spec that a revision holds, as a text or as it is.
fn spec_of(entry: &Value) -> Value {
    match &entry["spec"] {
        Value::String(text) => serde_json::from_str(text).unwrap_or_default(),
        spec => spec.clone(),
    }
}

/// Returns the note of the Event [`fedhub_api::reason::Reason::RevisionNotRecorded`]. `error` is the plane's
/// message.
pub fn not_recorded(history: &str, error: &str) -> String {
    format!(
        "The new template is rolled out, and not recorded as a revision: {error}. Action required by the user: let fedhub write \
         the ConfigMap {}, or delete it",
        Quoted(history)
    )
}

/// The images of a template.
fn image(template: &Value) -> String {
    let containers = template["spec"]["runtime"]["sandbox"]["containers"].as_array().into_iter().flatten();
    let images: Vec<_> = containers.filter_map(|container| container["image"].as_str()).collect();
    images.join(", ")
}

/// Returns the differences between two templates: the images, and the paths of the rest.
fn changes(before: &Value, template: &Value) -> String {
    let mut paths = Vec::new();
    differences(before, template, "", &mut paths);
    let more = paths.len().saturating_sub(MOST_CHANGES);
    paths.truncate(MOST_CHANGES);
    let named: Vec<_> = paths.iter().map(|path| excerpt(path)).collect();
    let named = named.join(", ");
    if more > 0 { format!("{named} and {more} more") } else { named }
}

fn differences(a: &Value, b: &Value, at: &str, into: &mut Vec<String>) {
    let below = |key: &str| if at.is_empty() { key.to_owned() } else { format!("{at}.{key}") };
    match (a, b) {
        (a, b) if a == b => {}
        (Value::Object(a), Value::Object(b)) => {
            let none = Value::Null;
            let mut keys: Vec<_> = a.keys().chain(b.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            for key in keys {
                differences(a.get(key).unwrap_or(&none), b.get(key).unwrap_or(&none), &below(key), into);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                differences(a, b, &format!("{at}[{index}]"), into);
            }
        }
        _ => into.push(at.to_owned()),
    }
}

/// Returns who wrote the template last, by the field managers of an object that was read live. Their times
/// are whole seconds: of two in the same second, the one counts that has a field that differs from the
/// template before.
fn author(workload: &Object, before: Option<&Value>) -> Option<String> {
    let managers = workload.metadata.managed_fields.iter().flatten();
    let wrote = managers.filter_map(|manager| {
        let fields = manager.fields_v1.as_ref().map_or(&Value::Null, |fields| &fields.0);
        let fields = &fields["f:spec"]["f:template"];
        (manager.subresource.is_none() && !fields.is_null()).then_some((manager, fields))
    });
    let template = &workload.spec()["template"];
    let last = wrote.max_by_key(|(manager, fields)| {
        let changed = before.is_some_and(|before| hold_change(fields, before, template));
        (manager.time.as_ref().map(|time| time.0), changed)
    });
    last?.0.manager.clone()
}

/// Whether managed fields hold something that differs.
fn hold_change(fields: &Value, before: &Value, after: &Value) -> bool {
    let is_whole = || {
        fields
            .as_object()
            .is_none_or(|fields| !fields.keys().any(|key| key.starts_with("f:") || key.starts_with("k:")))
    };
    match (before, after) {
        (before, after) if before == after => false,
        (Value::Object(a), Value::Object(b)) if !is_whole() => a.keys().chain(b.keys()).any(|key| {
            fields
                .get(format!("f:{key}"))
                .is_some_and(|fields| hold_change(fields, &before[key], &after[key]))
        }),
        (Value::Array(a), Value::Array(b)) if !is_whole() => fields.as_object().is_some_and(|items| {
            let mut items = items.iter().filter_map(|(key, fields)| Some((key.strip_prefix("k:")?, fields)));
            items.any(|(key, fields)| hold_change(fields, item(a, key), item(b, key)))
        }),
        _ => true,
    }
}

/// The item of a list that has those fields, which are JSON in a text.
fn item<'a>(list: &'a [Value], key: &str) -> &'a Value {
    let key: Map<String, Value> = serde_json::from_str(key).unwrap_or_default();
    list.iter().find(|item| key.iter().all(|(field, value)| &item[field] == value)).unwrap_or(&Value::Null)
}

#[cfg(test)]
mod tests;

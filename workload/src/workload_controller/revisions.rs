//! The revisions of a Workload, in a `ConfigMap` beside it (W10).
//!
//! Each new template is a revision, whoever wrote it; never two of the same content in a row; at most [`MOST`], and at most
//! [`MOST_BYTES`] of them. A key of the `ConfigMap` is a revision's number, and its value JSON with `rev`, `timestamp`,
//! `image`, `changes`, `actor`, `templateHash` and `spec`, the last the Workload's spec as JSON in a text.
//!
//! Decides W10.

use fedhub_api::facts::workload::template_hash;
use fedhub_core::clock::stamp;
use fedhub_core::message::excerpt;
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

/// What became of the recording of a template.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The number of the revision that has the template.
    pub revision: u64,
    /// The history to be written; `None` where it has the template as its newest revision.
    pub history: Option<Object>,
}

/// Records the template of `workload`, which was read live, so that it tells who wrote it, in the history called `name`.
pub fn record(history: Option<&Object>, name: &str, workload: &Object, now: Timestamp) -> Recorded {
    let template = &workload.spec()["template"];
    let newest = history.and_then(newest);
    // Not every entry holds an object: a tenant can write anything there.
    let before = newest.as_ref().map(|(_, entry)| spec_of(entry)["template"].clone());
    let last = newest.map_or(0, |(revision, _)| revision);
    if before.as_ref() == Some(template) {
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
    Recorded { revision, history: Some(with(new, workload, revision, entry)) }
}

/// The annotations of a Workload whose template is recorded under that revision.
pub fn annotations(revision: u64, workload: &Object) -> Value {
    let template = &workload.spec()["template"];
    json!({
        CURRENT_REVISION: revision.to_string(),
        RECORDED_TEMPLATE: fedhub_api::facts::workload::recorded_template(revision, template),
    })
}

/// The history with one more revision, less the oldest that are over the limits. Keys that are no numbers stay (I9).
fn with(mut history: Object, workload: &Object, revision: u64, mut entry: Value) -> Object {
    let mut data = history.data["data"].as_object().cloned().unwrap_or_default();
    let mut text = entry.to_string();
    for large in ["spec", "image"] {
        if on_wire(&text) > MOST_BYTES {
            entry[large] = json!("");
            text = entry.to_string();
        }
    }
    data.insert(revision.to_string(), json!(text));
    let size = |data: &Map<String, Value>| -> usize {
        data.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, on_wire)).sum()
    };
    let mut numbers: Vec<u64> = data.keys().filter_map(|key| key.parse().ok()).collect();
    numbers.sort_unstable();
    let mut oldest = numbers.iter().filter(|number| **number != revision);
    let mut kept = numbers.len();
    while kept > MOST || size(&data) > MOST_BYTES {
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

/// The bytes that a text takes in what an API server sends: JSON in a text is full of quotes, which are escaped once more, and
/// servers escape what HTML gives a meaning, too.
fn on_wire(text: &str) -> usize {
    let escaped = |c: char| match c {
        '"' | '\\' | '\n' | '\r' | '\t' => 2,
        '<' | '>' | '&' | '\0'..='\x1f' | '\u{2028}' | '\u{2029}' => 6,
        c => c.len_utf8(),
    };
    text.chars().map(escaped).sum()
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

/// The spec that a revision holds.
fn spec_of(entry: &Value) -> Value {
    entry["spec"].as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// The images of a template.
fn image(template: &Value) -> String {
    let containers = template["spec"]["runtime"]["sandbox"]["containers"].as_array().into_iter().flatten();
    let images: Vec<_> = containers.filter_map(|container| container["image"].as_str()).collect();
    images.join(", ")
}

/// What differs between two templates: the images, and the paths of the rest.
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

/// Who wrote the template last, by the field managers of an object that was read live. Their times are whole seconds: of two
/// in one, it is who has a field that differs from the template before.
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
        let below = |key: &String| key.starts_with("f:") || key.starts_with("k:");
        fields.as_object().is_none_or(|fields| !fields.keys().any(below))
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
    let has_key = |item: &&Value| key.iter().all(|(field, value)| &item[field] == value);
    list.iter().find(has_key).unwrap_or(&Value::Null)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The revisions by their numbers.
    fn entries(history: &Object) -> BTreeMap<u64, Value> {
        let data = history.data["data"].as_object().into_iter().flatten();
        data.filter_map(|(key, value)| Some((key.parse().ok()?, entry_of(value)))).collect()
    }

    fn workload(image: &str) -> Object {
        let mut workload = bare(Kind::Workload, "default", "web");
        workload.metadata.uid = Some("u".to_owned());
        let containers = json!([{"name": "app", "image": image, "env": [{"name": "A", "value": "1"}]}]);
        let template = json!({"spec": {"runtime": {"sandbox": {"containers": containers}}}});
        workload.data = json!({"spec": {"placements": [], "template": template}});
        workload
    }

    fn now() -> Timestamp {
        Timestamp::from_second(1_000_000).unwrap()
    }

    fn entry(history: &Object, revision: u64) -> Value {
        entries(history).remove(&revision).unwrap()
    }

    fn recorded(history: Option<&Object>, workload: &Object) -> (u64, Object) {
        let Recorded { revision, history } = record(history, "history", workload, now());
        (revision, history.unwrap())
    }

    #[test]
    fn w10_each_new_template_is_a_revision_and_no_two_in_a_row_are_the_same() {
        let (first, history) = recorded(None, &workload("a:1"));
        assert_eq!(first, 1);
        assert!(record(Some(&history), "history", &workload("a:1"), now()).history.is_none());
        // The same template with another scale is no new revision.
        let mut scaled = workload("a:1");
        scaled.data["spec"]["placements"] = json!([{"name": "us"}]);
        assert!(record(Some(&history), "history", &scaled, now()).history.is_none());
        let (second, history) = recorded(Some(&history), &workload("a:2"));
        let entry = entry(&history, second);
        assert_eq!((second, entry["rev"].as_u64(), &entry["image"]), (2, Some(2), &json!("a:2")));
        assert_eq!(entry["changes"], "spec.runtime.sandbox.containers[0].image");
        assert_eq!(entry["timestamp"], "1970-01-12T13:46:40Z");
        assert_eq!(spec_of(&entry)["template"], workload("a:2").spec()["template"]);
        // Back to the first is a revision of its own.
        assert_eq!(recorded(Some(&history), &workload("a:1")).0, 3);
    }

    #[test]
    fn w10_the_oldest_go_where_there_are_too_many_or_they_are_too_large() {
        let mut history = recorded(None, &workload("a:0")).1;
        history.data["data"]["README"] = json!("mine");
        for n in 1..30 {
            history = recorded(Some(&history), &workload(&format!("a:{n}"))).1;
        }
        let kept: Vec<_> = entries(&history).into_keys().collect();
        assert_eq!(kept, (11..=30).collect::<Vec<_>>());
        assert_eq!(history.data["data"]["README"], "mine");
        let large = |n| workload(&format!("{n}{}", "x".repeat(200 << 10)));
        for n in 0..9 {
            history = recorded(Some(&history), &large(n)).1;
        }
        let size = history.data["data"].to_string().len();
        assert!(size > MOST_BYTES / 2 && entries(&history).len() < 9, "{size}");
        let bytes: usize =
            history.data["data"].as_object().unwrap().values().map(|v| v.as_str().unwrap().len()).sum();
        assert!(bytes <= MOST_BYTES, "{bytes}");
        let (newest, history) = recorded(Some(&history), &workload(&"x".repeat(1 << 20)));
        assert_eq!(entry(&history, newest)["spec"], "", "larger than all there may be");
        assert!(history.data["data"].to_string().len() <= MOST_BYTES);
    }

    #[test]
    fn w10_a_lost_or_broken_history_counts_on() {
        let mut known = workload("a:1");
        known.metadata.annotations = Some([(CURRENT_REVISION.to_owned(), "7".to_owned())].into());
        assert_eq!(recorded(None, &known).0, 8);
        let (_, mut history) = recorded(None, &workload("a:1"));
        history.data["data"]["3"] = json!("{broken");
        let (revision, history) = recorded(Some(&history), &workload("a:1"));
        assert_eq!((revision, history.data["data"]["3"].as_str()), (4, Some("{broken")));
        for odd in [r#"{"spec":"1"}"#, r#"{"spec":"[]"}"#, r#"{"spec":"\"a\""}"#, r#"{"spec":1}"#, "[]", "1"]
        {
            let mut history = history.clone();
            history.data["data"]["9"] = json!(odd);
            let (revision, history) = recorded(Some(&history), &workload("a:1"));
            assert_eq!((revision, history.data["data"]["9"].as_str()), (10, Some(odd)));
        }
    }

    #[test]
    fn w10_a_history_is_kept_as_small_as_it_can_be_read_back() {
        // Each quote, and each bracket as servers send it, takes a multiple of its byte in the object that holds the history.
        for text in ["\"", "<", "\n", "\u{1}"] {
            let quoted = |n: usize| workload(&format!("{n}{}", text.repeat(30_000)));
            let mut history = recorded(None, &quoted(0)).1;
            for n in 1..20 {
                history = recorded(Some(&history), &quoted(n)).1;
            }
            let mut sent = serde_json::to_string(&history).unwrap();
            for html in ["<", ">", "&"] {
                sent = sent.replace(html, "\\u003c");
            }
            assert!(sent.len() < 1 << 20, "{text:?}: {}", sent.len());
            assert!(!entries(&history).is_empty());
            let last = &history.data["data"]["20"];
            assert_eq!(spec_of(&entry_of(last))["template"], quoted(19).spec()["template"], "{text:?}");
        }
    }

    #[test]
    fn w10_the_author_is_who_wrote_the_template_last() {
        let mut workload = workload("a:1");
        let fields = |manager: &str, time: &str, subresource: Option<&str>, fields: Value| {
            json!({"manager": manager, "operation": "Update", "time": time, "fieldsType": "FieldsV1",
                "subresource": subresource, "fieldsV1": fields})
        };
        let template = json!({"f:spec": {"f:template": {}}});
        workload.metadata.managed_fields = serde_json::from_value(json!([
            fields("kubectl-create", "2026-01-01T00:00:00Z", None, template.clone()),
            fields("datumctl", "2026-01-02T00:00:00Z", None, template),
            fields("kubectl-scale", "2026-01-03T00:00:00Z", None, json!({"f:spec": {"f:placements": {}}})),
            fields("fedhub-workload", "2026-01-04T00:00:00Z", Some("status"), json!({"f:status": {}})),
        ]))
        .unwrap();
        let (_, history) = recorded(None, &workload);
        assert_eq!(entry(&history, 1)["actor"], "datumctl");
        assert_eq!(history.metadata.owner_references.unwrap()[0].uid, "u");
    }

    #[test]
    fn w10_of_two_authors_in_one_second_it_is_who_has_what_changed() {
        let (_, history) = recorded(None, &workload("a:1"));
        let mut workload = workload("a:2");
        let fields = |manager: &str, of: &Value| {
            let of = json!({"f:spec": {"f:template": {"f:spec": {"f:runtime": {"f:sandbox": of}}}}});
            json!({"manager": manager, "operation": "Update", "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1",
                "fieldsV1": of})
        };
        // A list is one field, or each of its items is known by its key.
        let whole = [json!({"f:containers": {}}), json!({"f:volumes": {}})];
        let keyed =
            |field: &str| json!({"f:containers": {".": {}, "k:{\"name\":\"app\"}": {".": {}, field: {}}}});
        for [alice, chainsaw] in [whole, [keyed("f:image"), keyed("f:name")]] {
            let mut managers = vec![fields("alice", &alice), fields("chainsaw", &chainsaw)];
            for _ in 0..2 {
                workload.metadata.managed_fields = serde_json::from_value(json!(managers)).unwrap();
                let (_, history) = recorded(Some(&history), &workload);
                assert_eq!(entry(&history, 2)["actor"], "alice", "{managers:?}");
                managers.reverse();
            }
        }
    }

    #[test]
    fn w10_a_history_of_an_earlier_workload_belongs_to_the_present_one() {
        let (_, mut history) = recorded(None, &workload("a:1"));
        let mut again = workload("a:2");
        again.metadata.uid = Some("v".to_owned());
        let owners = recorded(Some(&history), &again).1.metadata.owner_references.unwrap();
        assert_eq!(owners.iter().map(|it| it.uid.as_str()).collect::<Vec<_>>(), ["v"]);
        // Another's stays, and then it is enough (I9).
        history.metadata.owner_references.as_mut().unwrap()[0].kind = "Project".to_owned();
        let owners = recorded(Some(&history), &again).1.metadata.owner_references.unwrap();
        assert_eq!(owners.iter().map(|it| it.kind.as_str()).collect::<Vec<_>>(), ["Project"]);
    }
}

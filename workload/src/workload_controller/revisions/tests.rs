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
    let Recorded { revision, history } = record(history, "history", workload, &Limits::default(), now());
    (revision, history.unwrap())
}

#[test]
fn w10_each_new_template_is_a_revision_and_no_two_in_a_row_are_the_same() {
    let (first, history) = recorded(None, &workload("a:1"));
    assert_eq!(first, 1);
    assert!(record(Some(&history), "history", &workload("a:1"), &Limits::default(), now()).history.is_none());
    // The same template with another scale is no new revision.
    let mut scaled = workload("a:1");
    scaled.data["spec"]["placements"] = json!([{"name": "us"}]);
    assert!(record(Some(&history), "history", &scaled, &Limits::default(), now()).history.is_none());
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
    let limits = Limits { most: 3, used: [12, 30].into() };
    let fewer = record(Some(&history), "history", &workload("a:30"), &limits, now()).history.unwrap();
    assert_eq!(entries(&fewer).into_keys().collect::<Vec<_>>(), [12, 30, 31], "what is in use stays");
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
fn w10_a_template_that_is_too_large_to_be_kept_is_recorded_once() {
    let large = |n: u8| workload(&format!("{n}{}", "x".repeat(1 << 20)));
    let (_, history) = recorded(None, &large(1));
    assert_eq!(entry(&history, 1)["spec"], "");
    assert!(record(Some(&history), "history", &large(1), &Limits::default(), now()).history.is_none());
    assert_eq!(recorded(Some(&history), &large(2)).0, 2);
}

#[test]
fn i9_w10_what_others_keep_in_a_history_counts() {
    let (_, mut history) = recorded(None, &workload("a:1"));
    history.data["data"]["README"] = json!("x".repeat(400 << 10));
    history.data["binaryData"] = json!({"logo": "x".repeat(300 << 10)});
    let (revision, history) = recorded(Some(&history), &workload(&"y".repeat(400 << 10)));
    let size: usize =
        history.data["data"].as_object().unwrap().values().map(|it| it.as_str().unwrap().len()).sum();
    assert!(size + (300 << 10) <= MOST_BYTES, "{size}");
    assert_eq!((revision, &entry(&history, 2)["spec"]), (2, &json!("")));
    assert_eq!(history.data["binaryData"]["logo"].as_str().unwrap().len(), 300 << 10);
}

#[test]
fn w10_a_spec_that_stands_as_an_object_is_read() {
    let mut history = recorded(None, &workload("a:1")).1;
    let entry = json!({"rev": 7, "spec": {"template": workload("a:1").spec()["template"]}});
    history.data["data"] = json!({"7": entry.to_string()});
    assert!(record(Some(&history), "history", &workload("a:1"), &Limits::default(), now()).history.is_none());
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
    for odd in [r#"{"spec":"1"}"#, r#"{"spec":"[]"}"#, r#"{"spec":"\"a\""}"#, r#"{"spec":1}"#, "[]", "1"] {
        let mut history = history.clone();
        history.data["data"]["9"] = json!(odd);
        let (revision, history) = recorded(Some(&history), &workload("a:1"));
        assert_eq!((revision, history.data["data"]["9"].as_str()), (10, Some(odd)));
    }
}

#[test]
fn w10_a_history_is_kept_as_small_as_it_can_be_read_back() {
    // Each quote, and each bracket as servers send it, takes a multiple of its byte in the object that holds
    // the history.
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

#[test]
fn w10_a_history_is_replaced_only_as_it_was_read() {
    let (_, mut history) = recorded(None, &workload("a:1"));
    assert_eq!(history.version(), "", "it is created");
    history.metadata.resource_version = Some("7".to_owned());
    history.metadata.uid = Some("h".to_owned());
    let again = recorded(Some(&history), &workload("a:2")).1;
    assert_eq!((again.version(), again.uid()), ("7", "h"));
}

//! C5: the template hash depends on the template's content only.

use fedhub_cell::instances::template_hash;
use fedhub_shared::names::is_label_value;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::support::template;

fn parsed(text: &str) -> String {
    template_hash(&serde_json::from_str(text).unwrap())
}

/// A change of this value replaces every Instance of every cell.
#[test]
fn c5_the_hash_of_a_template_never_changes() {
    assert_eq!(template_hash(&template(1)), "339761732d3f1ed3");
    assert_eq!(template_hash(&Value::Null), "fbcf70cca649a0d4");
    assert!(is_label_value(&template_hash(&template(1))));
}

#[test]
fn c5_order_and_nulls_do_not_matter() {
    let one = parsed(
        r#"{"spec": {"a": 1, "b": {"c": [1, {"x": 1, "y": 2}]}}, "metadata": {"labels": {"k": "v"}}}"#,
    );
    for same in [
        r#"{"metadata": {"labels": {"k": "v"}}, "spec": {"b": {"c": [1, {"y": 2, "x": 1}]}, "a": 1}}"#,
        r#"{"metadata": {"labels": {"k": "v"}, "annotations": null, "creationTimestamp": null}, "spec": {"a": 1, "z": null, "b": {"c": [1, {"x": 1, "y": 2, "z": null}]}}}"#,
        r#"{"metadata": {"labels": {"k": "v", "none": null}, "annotations": {}}, "spec": {"a": 1, "b": {"c": [1, {"x": 1, "y": 2}]}}}"#,
    ] {
        assert_eq!(parsed(same), one, "{same}");
    }
}

#[test]
fn c5_what_an_instance_gets_from_it_does_matter() {
    let with = |change: fn(&mut Value)| {
        let mut template = template(1);
        change(&mut template);
        template_hash(&template)
    };
    let all = [
        with(|_| {}),
        with(|t| {
            t["metadata"]["annotations"]["compute.datumapis.com/restartedAt"] = json!("2026-01-01T00:00:00Z");
        }),
        with(|t| {
            t["metadata"]["annotations"]["compute.datumapis.com/restartedAt"] = json!("2026-01-01T00:00:01Z");
        }),
        with(|t| t["metadata"]["annotations"] = Value::Null),
        with(|t| t["metadata"]["labels"]["app"] = json!("")),
        with(|t| t["metadata"]["labels"] = json!({"ap": "pweb"})),
        with(|t| t["metadata"] = json!({"labels": {"release": "1"}, "annotations": {"app": "web"}})),
        with(|t| t["spec"]["unknown"] = json!({})),
        with(|t| t["spec"]["unknown"] = json!([])),
        with(|t| t["spec"]["unknown"] = json!([null])),
        with(|t| t["spec"]["unknown"] = json!([[], []])),
        with(|t| t["spec"]["unknown"] = json!("")),
        with(|t| t["spec"]["unknown"] = json!(0)),
        with(|t| t["spec"]["unknown"] = json!("0")),
        with(|t| t["spec"]["unknown"] = json!(false)),
        with(|t| t["spec"]["unknown"] = json!({"a": 1, "b": 2})),
        with(|t| t["spec"]["unknown"] = json!({"a": {"b": 2}})),
        with(|t| t["spec"]["unknown"] = json!({"a\":1,\"b": 2})),
    ];
    for (i, a) in all.iter().enumerate() {
        assert!(all[i + 1..].iter().all(|b| a != b), "{i}");
    }
}

#[test]
fn a_template_s_name_and_finalizers_are_no_part_of_an_instance() {
    let mut named = template(1);
    named["metadata"]["name"] = json!("x");
    named["metadata"]["finalizers"] = json!(["x/y"]);
    assert_eq!(template_hash(&named), template_hash(&template(1)));
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-c\"]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-d]", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// The text of a value with its keys backwards and a null more in each object.
fn backwards(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let pairs = map.iter().rev().map(|(k, v)| format!("{}: {}", json!(k), backwards(v)));
            let mut all: Vec<_> = pairs.collect();
            all.insert(0, "\"zz\": null".to_owned());
            format!("{{ {} }}", all.join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(backwards).collect::<Vec<_>>().join(" , ")),
        scalar => scalar.to_string(),
    }
}

/// The value without what is as good as nothing.
fn lean(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.iter()
                .filter(|(_, v)| !v.is_null())
                .map(|(k, v)| (k.clone(), lean(v)))
                .collect::<Map<_, _>>(),
        ),
        Value::Array(items) => items.iter().map(lean).collect(),
        scalar => scalar.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn c5_equal_content_has_one_hash_and_other_content_another(a in values(), b in values()) {
        let of = |spec: &Value| json!({"spec": {"it": spec}});
        let text = format!("{{\"spec\": {{\"it\": {}}}}}", backwards(&a));
        prop_assert_eq!(parsed(&text), template_hash(&of(&a)));
        prop_assert_eq!(template_hash(&of(&a)) == template_hash(&of(&b)), lean(&of(&a)) == lean(&of(&b)));
    }
}

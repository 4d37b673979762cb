//! C5: the template hash depends on what the user said only.

use fedhub_cell::domain::instances::{self, TemplateSchema};
use fedhub_core::names::is_label_value;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::support::template;

fn template_hash(template: &Value) -> String {
    instances::template_hash(template, TemplateSchema::built_in())
}

fn parsed(text: &str) -> String {
    template_hash(&serde_json::from_str(text).unwrap())
}

/// A change of these values needs another version of the algorithm.
#[test]
fn c5_the_hash_of_a_template_never_changes() {
    assert_eq!(template_hash(&template(1)), "v2-5a4d967140777be8-247c3025295483c6");
    assert_eq!(template_hash(&Value::Null), "v2-b36d7af8e4662b03-5b9bc4ba528108e4");
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
fn c5_what_the_schema_fills_in_was_said_by_nobody() {
    let with = |interface: Value| {
        let mut template = template(1);
        template["spec"]["networkInterfaces"] = json!([interface]);
        template_hash(&template)
    };
    let lean = with(json!({"network": {"name": "default"}}));
    for same in [
        json!({"network": {"name": "default"}, "name": "eth0", "ipFamilies": ["IPv6"], "reclaimPolicy": "Delete"}),
        json!({"network": {"name": "default"}, "name": "eth0"}),
    ] {
        assert_eq!(with(same.clone()), lean, "{same}");
    }
    for other in [
        json!({"network": {"name": "default"}, "name": "eth1"}),
        json!({"network": {"name": "default"}, "ipFamilies": ["IPv4"]}),
        json!({"network": {"name": "default"}, "ipFamilies": ["IPv6", "IPv4"]}),
        json!({"network": {"name": "default"}, "reclaimPolicy": "eth0"}),
    ] {
        assert_ne!(with(other.clone()), lean, "{other}");
    }
}

/// The schema of a template whose spec has these fields.
fn schema(properties: Value) -> TemplateSchema {
    TemplateSchema::from_template(
        json!({"type": "object", "properties": {"spec": {"properties": properties}}}),
    )
}

#[test]
fn c5_a_crd_with_one_more_default_changes_no_hash() {
    let newer = schema(json!({
        "tier": {"type": "string", "default": "standard"},
        "probe": {"type": "object", "default": {}, "properties": {"period": {"type": "integer", "default": 10}}},
        "volumes": {"type": "array", "items": {"type": "object", "properties": {
            "mode": {"type": "integer", "default": 420},
        }}},
        "limits": {"type": "object", "additionalProperties": {"type": "object", "properties": {
            "burst": {"type": "boolean", "default": false},
        }}},
    }));
    let mut said = template(1);
    said["spec"]["volumes"] = json!([{"name": "a"}, {"name": "b", "mode": 256}]);
    said["spec"]["limits"] = json!({"cpu": {}});
    let mut read = said.clone();
    read["spec"]["tier"] = json!("standard");
    read["spec"]["probe"] = json!({"period": 10});
    read["spec"]["volumes"] = json!([{"name": "a", "mode": 420}, {"name": "b", "mode": 256}]);
    read["spec"]["limits"] = json!({"cpu": {"burst": false}});
    let hash = |template: &Value| instances::template_hash(template, &newer);
    assert_eq!(hash(&read), hash(&said));
    assert_eq!(hash(&said), template_hash(&said), "nor does the schema alone");
    for (at, other) in [
        ("/spec/tier", json!("premium")),
        ("/spec/probe/period", json!(11)),
        ("/spec/volumes/0/mode", json!(256)),
        ("/spec/limits/cpu/burst", json!(true)),
    ] {
        let mut changed = read.clone();
        *changed.pointer_mut(at).unwrap() = other;
        assert_ne!(hash(&changed), hash(&said), "{at}");
    }
}

#[test]
fn c5_the_schema_is_read_from_the_crd() {
    let template = json!({"properties": {"spec": {"properties": {"tier": {"default": "standard"}}}}});
    let version = |name: &str, template: &Value| json!({"name": name, "schema": {"openAPIV3Schema": {"properties": {"spec": {"properties": {"template": template}}}}}});
    let spec = json!({"versions": [version("v1", &json!({})), version("v1alpha", &template)]});
    assert_eq!(TemplateSchema::of_crd_spec(&spec), Some(TemplateSchema::from_template(template.clone())));
    assert_eq!(TemplateSchema::of_crd_spec(&json!({"versions": [version("v1", &template)]})), None);
    assert_eq!(TemplateSchema::of_crd_spec(&Value::Null), None);
    assert_eq!(
        TemplateSchema::built_in().said_spec(&json!({"networkInterfaces": [{"name": "eth0"}]})),
        json!({"networkInterfaces": [{}]}),
        "this version's own is known"
    );
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
    #[test]
    fn c5_a_default_of_any_kind_is_as_good_as_nothing(a in values(), default in values()) {
        let newer = schema(json!({"extra": {"default": default}}));
        let of = |spec: &Value| instances::template_hash(&json!({"spec": spec}), &newer);
        prop_assert_eq!(of(&json!({"it": a, "extra": default})), of(&json!({"it": a})));
    }

    #[test]
    fn c5_planes_agree_on_a_hash_only_where_each_knows_its_own_schema(a in values(), default in values()) {
        prop_assume!(!default.is_null());
        let newer = schema(json!({"extra": {"default": default}}));
        let lean = json!({"spec": {"it": a}});
        let defaulted = json!({"spec": {"it": a, "extra": default}});
        let hash = template_hash(&lean);
        prop_assert_eq!(&instances::template_hash(&defaulted, &newer), &hash);
        prop_assert_ne!(template_hash(&defaulted), hash);
    }
}

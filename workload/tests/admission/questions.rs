//! What is asked before an object is admitted, and what it is completed with.

use fedhub_core::names::EXPECTED_REFERENCED_DATA;
use fedhub_workload::admission::{Kind, NetworkUse, defaults};
use serde_json::{Value, json};

use crate::fixtures::{NONE, instance_type, judged, object, with, workload};

const NETWORK: &str = "/spec/template/spec/networkInterfaces/0/network";

fn networks(old: Option<&Value>, new: &Value) -> Vec<String> {
    let name = |used: &NetworkUse| format!("{}/{}", used.namespace, used.name);
    judged(Kind::Workload, old, new).networks.iter().map(name).collect()
}

#[test]
fn w4_the_right_to_a_network_is_asked_for_when_it_is_new() {
    let old = workload();
    assert_eq!(networks(None, &old), ["shop/default"]);
    let scaled = with(old.clone(), "/spec/placements/0/scaleSettings/minReplicas", json!(2));
    assert_eq!(networks(Some(&old), &scaled), NONE, "a user may scale what another has made");
    let moved = with(old.clone(), NETWORK, json!({"name": "private"}));
    assert_eq!(networks(Some(&old), &moved), ["shop/private"]);
    let own = with(old.clone(), NETWORK, json!({"name": "default", "namespace": "shop"}));
    assert_eq!((networks(None, &own), networks(Some(&old), &own)), (vec!["shop/default".to_owned()], vec![]));
    // Those are faults, and nothing is to be asked about them.
    for network in
        [json!({"name": "default", "namespace": "bank"}), json!({"name": "A B"}), json!({"name": ""})]
    {
        assert_eq!(networks(None, &with(old.clone(), NETWORK, network)), NONE);
    }
    let refused = judged(Kind::Workload, None, &old).networks[0].refused("eve");
    assert_eq!(
        refused.to_string(),
        "spec.template.spec.networkInterfaces[0].network.name: Forbidden: \"default\": \"eve\" may not use this network: \
         it needs the verb use on networks.networking.datumapis.com in namespace \"shop\""
    );
}

#[test]
fn w4_only_fedhub_changes_what_a_cell_awaits() {
    let plain = json!({"metadata": {"name": "web-dfw", "namespace": "shop"}});
    let awaiting = |value: &str| {
        let annotations = json!({EXPECTED_REFERENCED_DATA: value, "other": value});
        json!({"metadata": {"name": "web-dfw", "namespace": "shop", "annotations": annotations}})
    };
    let one = awaiting("[]");
    for (old, new, is_asked) in [
        (None, &plain, false),
        (None, &one, true),
        (Some(&plain), &plain, false),
        (Some(&plain), &one, true),
        (Some(&one), &one, false),
        (Some(&one), &awaiting("[\"Secret/db\"]"), true),
        (Some(&one), &awaiting(""), true),
        (Some(&one), &plain, true),
    ] {
        let judgement = judged(Kind::WorkloadDeployment, old, new);
        assert_eq!(judgement.own_annotations.len(), usize::from(is_asked), "{old:?} {new}");
        assert!(judgement.faults.is_empty() && judgement.networks.is_empty());
    }
    let refused = judged(Kind::WorkloadDeployment, None, &one).own_annotations[0].refused("eve");
    assert_eq!(
        refused.to_string(),
        "metadata.annotations[compute.datumapis.com/expected-referenced-data]: Forbidden: only fedhub may add, change or \
         remove it, and the user is \"eve\""
    );
}

#[test]
fn w4_a_template_without_a_type_gets_the_default_one() {
    const RESOURCES: &str = "/spec/template/spec/runtime/resources";
    let patch = |resources: Value| {
        let object_ = with(workload(), RESOURCES, resources);
        defaults::patch(Kind::Workload, &object(&object_))
    };
    let add = |path: &str, value: Value| vec![json!({"op": "add", "path": path, "value": value})];
    let name = "datumcloud/d1-standard-2";
    let there = format!("{RESOURCES}/instanceType");
    assert_eq!(patch(Value::Null), add(RESOURCES, json!({"instanceType": name})));
    assert_eq!(patch(json!({})), add(&there, json!(name)));
    assert_eq!(patch(json!({"instanceType": ""})), add(&there, json!(name)));
    assert_eq!(patch(json!({"instanceType": "x-large"})), Vec::<Value>::new());
    // What has another shape is the schema's to refuse.
    assert_eq!(patch(json!({"instanceType": 7})), Vec::<Value>::new());
    assert_eq!(patch(json!("large")), Vec::<Value>::new());
    let bare = json!({"metadata": {"name": "web"}, "spec": {}});
    assert_eq!(defaults::patch(Kind::Workload, &object(&bare)), Vec::<Value>::new());
    assert_eq!(defaults::patch(Kind::InstanceType, &object(&instance_type())), Vec::<Value>::new());
}

//! What is asked before an object is admitted, and what it is completed with.

use fedhub_core::names::EXPECTED_REFERENCED_DATA;
use fedhub_workload::admission::{Kind, Types, defaults};
use serde_json::{Value, json};

use crate::admission::fixtures::{NONE, deployment, instance_type, judged, machine, object, with, workload};

const NETWORK: &str = "/spec/template/spec/networkInterfaces/0/network";

fn networks(old: Option<&Value>, new: &Value) -> Vec<String> {
    judged(Kind::Workload, old, new)
        .networks
        .iter()
        .map(|used| format!("{}/{}", used.namespace, used.name))
        .collect()
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
    assert_eq!(networks(None, &own), ["shop/default"]);
    assert_eq!(judged(Kind::Workload, Some(&old), &own).warnings, NONE, "it is the same one");
    let unset = with(old.clone(), NETWORK, json!({"name": "default", "namespace": ""}));
    assert_eq!(networks(None, &unset), ["shop/default"], "what is empty is not set");
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

/// Whoever changes what runs on a network, or who may log in there, uses it.
#[test]
fn w4_the_right_to_a_network_is_asked_of_who_changes_what_runs_on_it() {
    let old = workload();
    let image = "/spec/template/spec/runtime/sandbox/containers/0/image";
    assert_eq!(
        networks(Some(&old), &with(old.clone(), image, json!("ghcr.io/eve/tool:1"))),
        ["shop/default"]
    );
    let keys = "/spec/template/metadata/annotations/compute.datumapis.com~1ssh-keys";
    let key = machine().pointer(keys).unwrap().as_str().unwrap().to_owned();
    let hers = with(machine(), keys, json!(key + "eve:ssh-ed25519 AAAA"));
    assert_eq!(networks(Some(&machine()), &hers), ["shop/default"]);

    let restarted = json!({"annotations": {"compute.datumapis.com/restartedAt": "2026-11-25T00:00:00Z"}});
    let restarted = with(old.clone(), "/spec/template/metadata", restarted);
    let again = json!({"kubectl.kubernetes.io/restartedAt": "2026-11-26T00:00:00Z"});
    let again = with(restarted.clone(), "/spec/template/metadata/annotations", again);
    let cities = with(old.clone(), "/spec/placements/0/cityCodes", json!(["AMS"]));
    for (old, new) in [(&old, &restarted), (&restarted, &again), (&again, &old), (&old, &cities)] {
        assert_eq!(networks(Some(old), new), NONE, "{new}");
    }
}

/// A fault that is stored does not hide what changes beside it: another network of another namespace is
/// another fault, and a template that cannot be read whole is on its networks all the same.
#[test]
fn w4_a_fault_that_is_stored_hides_no_change_of_the_network() {
    let faults = |old: &Value, new: &Value| judged(Kind::Workload, Some(old), new).faults.len();
    let foreign = |name: &str| with(workload(), NETWORK, json!({"namespace": "bank", "name": name}));
    assert_eq!((faults(&foreign("a"), &foreign("a")), faults(&foreign("a"), &foreign("b"))), (0, 1));
    let unreadable = with(workload(), "/spec/template/spec/volumes/0/name", json!(7));
    let moved = with(unreadable.clone(), NETWORK, json!({"name": "private"}));
    assert_eq!(
        (faults(&unreadable, &moved), networks(Some(&unreadable), &moved)),
        (0, vec!["shop/private".into()])
    );
    let theirs = with(unreadable.clone(), NETWORK, json!({"name": "a", "namespace": "bank"}));
    assert_eq!(faults(&unreadable, &theirs), 1);
    for (field, a, b) in [
        ("/spec/template/spec/runtime/resources/requests", json!({"cpu": "1"}), json!({"cpu": "64"})),
        (
            "/spec/template/spec/runtime/sandbox/containers/0/resources",
            json!({"limits": {"cpu": "1"}}),
            json!({"limits": {"cpu": "64"}}),
        ),
    ] {
        let [a, b] = [a, b].map(|value| with(workload(), field, value));
        assert_eq!((faults(&a, &a), faults(&a, &b)), (0, 1), "{field}");
    }
}

#[test]
fn w4_only_fedhub_changes_what_a_cell_awaits() {
    let plain = deployment();
    let awaiting = |value: &str| {
        let annotations = json!({EXPECTED_REFERENCED_DATA: value, "other": value});
        with(deployment(), "/metadata/annotations", annotations)
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
        assert!(judgement.faults.is_empty() && judgement.networks.len() == usize::from(old.is_none()));
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
        defaults::patch(Kind::Workload, Types::BuiltIn, None, &object(&object_))
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
    let none = |kind, object_: &Value| {
        assert_eq!(defaults::patch(kind, Types::BuiltIn, None, &object(object_)), Vec::<Value>::new());
    };
    none(Kind::Workload, &bare);
    none(Kind::WorkloadDeployment, &with(deployment(), RESOURCES, json!({})));
    none(Kind::InstanceType, &instance_type());
    // What is stored without a type keeps its template, which a default would change: all instances would be
    // replaced.
    let stored = object(&with(workload(), RESOURCES, json!({"instanceType": ""})));
    let patch = |old, new| defaults::patch(Kind::Workload, Types::BuiltIn, Some(old), new);
    assert_eq!(patch(&stored, &stored), Vec::<Value>::new());
    assert_eq!(patch(&object(&workload()), &stored), add(&there, json!(name)));
}

//! What is stored stays changeable: a fault that the stored object has refuses no update (W4).

use fedhub_workload::admission::{Fault, Kind};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::admission::fixtures::{NONE, instance_type, judged, with, workload};

fn on_update(kind: Kind, old: &Value, new: &Value) -> Vec<String> {
    judged(kind, Some(old), new).faults.iter().map(Fault::to_string).collect()
}

/// Faults that an older admission, or none, let through.
fn faulty() -> [(&'static str, Value); 9] {
    [
        ("/metadata/name", json!("Web.Shop")),
        ("/spec/placements/0/scaleSettings/minReplicas", json!(5000)),
        ("/spec/placements/0/scaleSettings/maxReplicas", json!(6000)),
        ("/spec/template/spec/location", json!({"name": "dfw-1"})),
        ("/spec/template/spec/runtime/sandbox/imagePullSecrets/0/name", json!("s".repeat(244))),
        ("/spec/placements/0/cityCodes", json!(["New York", "DFW"])),
        ("/spec/template/spec/runtime/resources/instanceType", json!("x-large")),
        ("/spec/template/spec/runtime/sandbox/containers/0/image", json!("")),
        ("/spec/template/spec/networkInterfaces/0/network/namespace", json!("bank")),
    ]
}

#[test]
fn w4_a_fault_that_is_stored_refuses_no_update_and_a_new_one_does() {
    let mut stored = workload();
    for (pointer, value) in faulty() {
        stored = with(stored, pointer, value);
    }
    assert_eq!(on_update(Kind::Workload, &stored, &stored), NONE);
    let cities = |cities: Value| with(stored.clone(), "/spec/placements/0/cityCodes", cities);
    // One fewer, one more, another place: those that stay are the same faults.
    assert_eq!(on_update(Kind::Workload, &stored, &cities(json!(["DFW", "New York"]))), NONE);
    assert_eq!(on_update(Kind::Workload, &stored, &cities(json!(["DFW"]))), NONE);
    let more = on_update(Kind::Workload, &stored, &cities(json!(["New York", "San José"])));
    assert!(more.len() == 1 && more[0].contains("cityCodes[1]") && more[0].contains("San José"), "{more:?}");
    // Another value that breaks the same rule is a new fault.
    let other = with(stored.clone(), "/spec/placements/0/scaleSettings/minReplicas", json!(4000));
    let other = on_update(Kind::Workload, &stored, &other);
    assert!(other.len() == 1 && other[0].contains("4000"), "{other:?}");
}

#[test]
fn w4_a_fault_moves_with_its_item() {
    let bad = json!({"name": "europe", "cityCodes": ["AMS"], "scaleSettings": {"minReplicas": 5000}});
    let old = with(workload(), "/spec/placements/-", bad);
    let new = with(old.clone(), "/spec/placements/0", Value::Null);
    assert_eq!(on_update(Kind::Workload, &old, &new), NONE);
    // The same fault under another name is a new one, and so is the same name a second time.
    let renamed = with(old.clone(), "/spec/placements/1/name", json!("asia"));
    assert_eq!(on_update(Kind::Workload, &old, &renamed).len(), 1);
}

#[test]
fn w4_a_type_goes_through_its_phases_in_one_direction() {
    let at = |phase: &str| with(instance_type(), "/spec/lifecycle/phase", json!(phase));
    let allowed = [("Active", "Deprecated"), ("Deprecated", "Disabled")];
    for from in ["Active", "Deprecated", "Disabled"] {
        for to in ["Active", "Deprecated", "Disabled"] {
            let found = on_update(Kind::InstanceType, &at(from), &at(to));
            assert_eq!(
                found.is_empty(),
                from == to || allowed.contains(&(from, to)),
                "{from} {to} {found:?}"
            );
        }
    }
    let skipped = on_update(Kind::InstanceType, &at("Active"), &at("Disabled"));
    assert_eq!(
        skipped,
        [
            "spec.lifecycle.phase: Invalid value: \"Disabled\": a type that is Active can become Deprecated, and nothing else"
        ]
    );
    // One that is stored with a phase of its own can be brought in order.
    assert_eq!(on_update(Kind::InstanceType, &at("Retired"), &at("Active")), NONE);
}

proptest! {
    /// Whatever of a stored Workload is at fault, its metadata, and all its fields without a fault, can be
    /// changed.
    #[test]
    fn w4_whatever_is_stored_stays_changeable(which in proptest::bits::u16::masked(0b1_1111_1111), policy in any::<bool>()) {
        let mut old = workload();
        for (i, (pointer, value)) in faulty().into_iter().enumerate() {
            if which & (1 << i) != 0 {
                old = with(old, pointer, value);
            }
        }
        let mut new = with(old.clone(), "/metadata/labels", json!({"a": "b"}));
        if policy {
            new = with(new, "/spec/template/spec/networkInterfaces/0/networkPolicy", Value::Null);
        }
        prop_assert_eq!(on_update(Kind::Workload, &old, &new), Vec::<String>::new());
        let created = judged(Kind::Workload, None, &new).faults.len();
        prop_assert!(created >= usize::try_from(which.count_ones()).unwrap(), "{}", created);
    }
}

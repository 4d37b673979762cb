//! The types of instances that templates may have, with a catalogue and without (W4, W8).

use fedhub_core::object::ObjectRef;
use fedhub_testing::{Messages, assert_messages};
use fedhub_workload::admission::{Fault, Judgement, Kind, Types, judge, sets_type};
use serde_json::{Value, json};

use crate::fixtures::{NONE, instance_type, object, with, workload};

const TYPE: &str = "/spec/template/spec/runtime/resources/instanceType";

/// `datumcloud-d1-standard-2` is Active, `old` Deprecated, `older` Disabled.
fn catalog(name: &str) -> Option<ObjectRef> {
    let (phase, replacement) = match name {
        "datumcloud-d1-standard-2" => ("Active", Value::Null),
        "old" => ("Deprecated", json!("datumcloud-d1-standard-2")),
        "older" => ("Disabled", json!("old")),
        "oldest" => ("Disabled", Value::Null),
        _ => return None,
    };
    let lifecycle = json!({"phase": phase, "replacementInstanceType": replacement});
    Some(object(&with(instance_type(), "/spec/lifecycle", lifecycle)).into())
}

fn of(name: &str) -> Value {
    with(workload(), TYPE, json!(name))
}

fn judged(types: Types<'_>, old: Option<&Value>, new: &Value) -> Judgement {
    judge(Kind::Workload, types, old.map(object).as_ref(), &object(new))
}

fn faults(old: Option<&Value>, new: &Value) -> Vec<String> {
    judged(Types::Catalog(&catalog), old, new).faults.iter().map(Fault::to_string).collect()
}

#[test]
fn w8_a_new_template_has_a_type_of_the_catalogue_that_is_not_disabled() {
    for name in ["datumcloud-d1-standard-2", "datumcloud/d1-standard-2", "old"] {
        assert_eq!(faults(None, &of(name)), NONE, "{name}");
    }
    let warnings = |name| judged(Types::Catalog(&catalog), None, &of(name)).warnings;
    let mut messages = Messages::default();
    messages
        .section(
            "Refused",
            ["none", "older", "oldest"].map(|name| (name, faults(None, &of(name)).join("\n"))),
        )
        .section("Warned of", [("old", warnings("old").join("\n"))]);
    assert_messages!("admission_types", messages);
    assert_eq!(warnings("datumcloud/d1-standard-2"), NONE);
}

/// W4: nothing that is stored becomes unchangeable by a newer rule, and what was said is not said again.
#[test]
fn w8_what_is_stored_keeps_its_type() {
    for name in ["none", "older", "old"] {
        let scaled = with(of(name), "/spec/placements/0/scaleSettings/minReplicas", json!(2));
        let judged = judged(Types::Catalog(&catalog), Some(&of(name)), &scaled);
        assert_eq!((judged.faults, judged.warnings), (vec![], vec![]), "{name}");
    }
    assert_eq!(faults(Some(&of("old")), &of("older")).len(), 1, "newly set");
    assert_eq!(faults(Some(&of("older")), &of("oldest")).len(), 1);
}

#[test]
fn w8_while_the_catalogue_is_unknown_no_type_is_wrong_and_a_new_one_is_noticed() {
    assert_eq!(judged(Types::Unknown, None, &of("none")).faults, []);
    let sets = |old: Option<&Value>, new: &Value| sets_type(old.map(object).as_ref(), &object(new));
    assert!(sets(None, &of("old")) && sets(Some(&of("old")), &of("older")));
    assert!(!sets(Some(&of("old")), &of("old")));
}

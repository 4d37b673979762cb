//! The types of instances that templates may have, with a catalogue and without (W4, W8).

use fedhub_core::object::ObjectRef;
use fedhub_testing::{Messages, assert_messages};
use fedhub_workload::admission::{Fault, Judgement, Kind, TypeCatalog, Types, defaults, judge, sets_type};
use serde_json::{Value, json};

use crate::admission::fixtures::{NONE, instance_type, object, with, workload};

const TYPE: &str = "/spec/template/spec/runtime/resources/instanceType";

/// Types by name, with phase and replacement.
struct Catalog(&'static [(&'static str, &'static str, &'static str)]);

const CATALOG: Catalog = Catalog(&[
    ("datumcloud-d1-standard-2", "Active", ""),
    ("old", "Deprecated", "datumcloud-d1-standard-2"),
    ("older", "Disabled", "old"),
    ("oldest", "Disabled", ""),
]);

impl TypeCatalog for Catalog {
    fn get(&self, name: &str) -> Option<ObjectRef> {
        let (_, phase, replacement) = self.0.iter().find(|(known, ..)| *known == name)?;
        let named = with(instance_type(), "/metadata/name", json!(name));
        let lifecycle = json!({"phase": phase, "replacementInstanceType": replacement});
        Some(object(&with(named, "/spec/lifecycle", lifecycle)).into())
    }

    fn all(&self) -> Vec<ObjectRef> {
        self.0.iter().filter_map(|(name, ..)| self.get(name)).collect()
    }
}

fn of(name: &str) -> Value {
    with(workload(), TYPE, json!(name))
}

fn judged(types: Types<'_>, old: Option<&Value>, new: &Value) -> Judgement {
    judge(Kind::Workload, types, old.map(object).as_ref(), &object(new))
}

fn faults(old: Option<&Value>, new: &Value) -> Vec<String> {
    judged(Types::Catalog(&CATALOG), old, new).faults.iter().map(Fault::to_string).collect()
}

#[test]
fn w8_a_new_template_has_a_type_of_the_catalogue_that_is_not_disabled() {
    for name in ["datumcloud-d1-standard-2", "datumcloud/d1-standard-2", "old"] {
        assert_eq!(faults(None, &of(name)), NONE, "{name}");
    }
    let warnings = |name| judged(Types::Catalog(&CATALOG), None, &of(name)).warnings;
    let mut messages = Messages::default();
    messages
        .section(
            "Refused",
            [("none", "none"), ("older", "older"), ("oldest", "oldest"), ("no type", "")]
                .map(|(label, name)| (label, faults(None, &of(name)).join("\n"))),
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
        let judged = judged(Types::Catalog(&CATALOG), Some(&of(name)), &scaled);
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

/// A default that the catalogue does not have would be refused for what the user never wrote.
#[test]
fn w8_the_default_is_a_type_that_a_template_may_have() {
    let none = object(&with(workload(), "/spec/template/spec/runtime/resources", json!({})));
    let patch = |types: Types<'_>| defaults::patch(Kind::Workload, types, None, &none).len();
    for (name, phase, count) in [
        ("datumcloud-d1-standard-2", "Active", 1),
        ("d1-standard-2", "Deprecated", 1),
        ("d1-standard-2", "Disabled", 0),
        ("d2", "Active", 0),
    ] {
        let catalog = [(name, phase, "")];
        let catalog: &'static [_] = Box::leak(Box::new(catalog));
        assert_eq!(patch(Types::Catalog(&Catalog(catalog))), count, "{name} {phase}");
    }
    assert_eq!(
        (patch(Types::BuiltIn), patch(Types::Unknown), patch(Types::Catalog(&Catalog(&[])))),
        (1, 1, 0)
    );
    let only = Catalog(&[("d2", "Active", ""), ("d3", "Disabled", "")]);
    let refused = judged(Types::Catalog(&only), None, &of("")).faults[0].to_string();
    assert!(refused.ends_with("how much CPU and memory an instance has; there are d2"), "{refused}");
}

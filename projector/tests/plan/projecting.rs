//! I1, I5, I7, I9, P3, P4, P8: what a projection is to be.

use crate::plan::world::Observed;
use crate::plan::world::{Decision, plan};
use fedhub_api::facts::instance::only_defaults;
use fedhub_cache::ServerNormalization;
use fedhub_core::names::{INSTANCE_LABELS, PROJECTED_FROM};
use fedhub_core::object::{Object, ObjectView};
use fedhub_planes::{StatusWrite, Write, WriteMode};
use serde_json::{Value, json};

use crate::plan::support::*;

fn replaced(seen: &Observed) -> Option<(Object, WriteMode)> {
    match plan(seen) {
        Decision::Write(Write::Replace { object, mode }) => Some((*object, mode)),
        _ => None,
    }
}

fn status_write(seen: &Observed) -> Option<StatusWrite> {
    match plan(seen) {
        Decision::Status(_, write) => Some(write),
        _ => None,
    }
}

#[test]
fn p8_what_is_right_is_not_written() {
    assert_eq!(plan(&seen()), Decision::InOrder);
}

#[test]
fn p3_a_projection_is_made_with_labels_mark_owner_and_spec() {
    let made = plan(&Observed { projection: None, ..seen() });
    let Decision::Write(Write::Create(made)) = made else { panic!("{made:?}") };
    let right = projection();
    assert_eq!((made.namespace(), made.name()), (SPACE, "wd-0"));
    assert_eq!(made.metadata.labels, right.metadata.labels);
    assert_eq!(made.metadata.annotations, right.metadata.annotations);
    assert_eq!(made.metadata.owner_references, right.metadata.owner_references);
    assert_eq!(made.spec(), right.spec());
    assert!(made.status().is_null(), "the status goes by its subresource");
    assert!(made.metadata.uid.is_none() && made.metadata.resource_version.is_none());
}

#[test]
fn i1_spec_and_status_travel_whole_with_what_this_version_does_not_know() {
    let odd = json!({"size": "small", "unknown": {"deep": [{"a": null}, 1.5, "x"]}, "empty": {}, "list": []});
    let mut seen = seen();
    bent(&mut seen.instance, |i| i.data = json!({"spec": odd, "status": odd}));
    let (written, _) = replaced(&seen).unwrap();
    assert_eq!(written.spec(), &odd);
    bent(&mut seen.projection, |p| p.data["spec"] = odd.clone());
    assert_eq!(status_write(&seen).unwrap().status, odd);
}

#[test]
fn i1_a_spec_that_is_gone_is_gone_in_the_projection() {
    let mut seen = seen();
    bent(&mut seen.instance, |i| i.data = json!({"status": reported()}));
    let (written, _) = replaced(&seen).unwrap();
    assert!(written.spec().is_null());
}

#[test]
fn p3_labels_travel_by_allow_list_and_those_that_are_gone_go() {
    let mut seen = seen();
    bent(&mut seen.instance, |i| {
        let labels = i.metadata.labels.get_or_insert_default();
        labels.insert("compute.datumapis.com/private".to_owned(), "x".to_owned());
        labels.insert("app".to_owned(), "x".to_owned());
    });
    assert_eq!(plan(&seen), Decision::InOrder);
    bent(&mut seen.instance, |i| {
        i.metadata.labels.get_or_insert_default().remove("compute.datumapis.com/city-code");
    });
    let (written, _) = replaced(&seen).unwrap();
    assert!(written.label("compute.datumapis.com/city-code").is_none());
    for key in INSTANCE_LABELS {
        let mut seen = super::support::seen();
        bent(&mut seen.projection, |p| {
            p.metadata.labels.get_or_insert_default().insert(key.to_owned(), "edited".to_owned());
        });
        let (written, _) = replaced(&seen).unwrap();
        assert_eq!(written.metadata.labels, projection().metadata.labels, "{key}");
    }
}

#[test]
fn i9_foreign_keys_on_a_projection_are_carried_along() {
    let mut seen = seen();
    let foreign = reference("v1", "ConfigMap", "friend", "friend uid", Some(true));
    bent(&mut seen.projection, |p| {
        p.metadata.labels.get_or_insert_default().insert("app".to_owned(), "theirs".to_owned());
        p.metadata.annotations.get_or_insert_default().insert("note".to_owned(), "theirs".to_owned());
        p.metadata.finalizers = Some(vec!["their/hold".to_owned()]);
        p.metadata.owner_references.get_or_insert_default().insert(0, foreign.clone());
        p.data["extra"] = json!({"top": "level"});
    });
    assert_eq!(plan(&seen), Decision::InOrder, "they are no reason to write");
    bent(&mut seen.instance, |i| i.data["spec"]["size"] = json!("large"));
    let (written, _) = replaced(&seen).unwrap();
    let before = seen.projection.as_ref().unwrap();
    assert_eq!(written.metadata, before.metadata);
    assert_eq!(written.data["extra"], before.data["extra"]);
    assert_eq!(written.version(), before.version(), "the precondition");
}

#[test]
fn i5_the_owner_reference_is_the_one_of_now() {
    let right = wd_reference("wd", OWNER_UID, None);
    let foreign = reference("v1", "Pod", "p", "p uid", None);
    let stale = wd_reference("wd", "dead", None);
    let cases = [
        ("ownerless", vec![]),
        ("a dead UID", vec![stale.clone()]),
        ("both", vec![stale.clone(), right.clone()]),
        ("as a controller", vec![wd_reference("wd", OWNER_UID, Some(true))]),
        ("under another name", vec![wd_reference("other", OWNER_UID, None)]),
        ("twice", vec![stale.clone(), stale, right.clone()]),
    ];
    for (what, references) in cases {
        for with_foreign in [false, true] {
            let mut seen = seen();
            let foreign = with_foreign.then(|| foreign.clone());
            bent(&mut seen.projection, |p| {
                p.metadata.owner_references =
                    Some(references.iter().cloned().chain(foreign.clone()).collect());
            });
            let (written, _) = replaced(&seen).unwrap_or_else(|| panic!("{what}"));
            let mut owners = written.metadata.owner_references.unwrap();
            owners.retain(|o| Some(o) != foreign.as_ref());
            assert_eq!(owners, std::slice::from_ref(&right), "{what}");
        }
    }
}

#[test]
fn p4_a_mark_that_was_edited_is_put_right() {
    for mark in [None, Some("garbage"), Some("ns-b/x/y"), Some("ns-a/old/uid-of-hub-instance")] {
        let mut seen = seen();
        bent(&mut seen.projection, |p| {
            p.metadata.annotations = mark.map(|m| [(PROJECTED_FROM.to_owned(), m.to_owned())].into());
        });
        let (written, _) = replaced(&seen).unwrap();
        assert_eq!(written.metadata.annotations, projection().metadata.annotations, "{mark:?}");
    }
}

#[test]
fn p3_a_projection_on_its_way_out_is_waited_for() {
    let mut seen = seen();
    bent(&mut seen.projection, dying);
    bent(&mut seen.instance, |i| i.data["spec"]["size"] = json!("large"));
    assert_eq!(plan(&seen), Decision::Park(None));
}

#[test]
fn p3_a_status_of_defaults_never_overwrites_one_that_a_cell_wrote() {
    for (wanted, current, writes) in [
        (reported(), defaults(), true),
        (reported(), Value::Null, true),
        (reported(), json!({}), true),
        (reported(), json!({"suspended": true}), true),
        (reported(), reported(), false),
        (defaults(), reported(), false),
        (json!({}), reported(), false),
        (Value::Null, reported(), false),
        (Value::Null, Value::Null, false),
        (Value::Null, defaults(), false),
        (defaults(), defaults(), false),
        (defaults(), Value::Null, true),
    ] {
        let mut seen = seen();
        bent(&mut seen.instance, |i| i.data["status"] = wanted.clone());
        bent(&mut seen.projection, |p| p.data["status"] = current.clone());
        assert_eq!(status_write(&seen).is_some(), writes, "{wanted} over {current}");
    }
}

#[test]
fn p3_a_condition_that_ever_changed_is_no_default() {
    for (status, expected) in [
        (Value::Null, true),
        (json!({}), true),
        (defaults(), true),
        (json!({"conditions": []}), true),
        (json!({"conditions": [{"type": "Ready", "lastTransitionTime": "2026-01-01T00:00:00Z"}]}), false),
        (json!({"conditions": [{"type": "Ready"}]}), false),
        (json!({"conditions": "odd"}), false),
        (json!({"suspended": null}), false),
        (reported(), false),
    ] {
        assert_eq!(only_defaults(&status), expected, "{status}");
    }
}

#[test]
fn i7_what_the_server_made_of_a_write_is_not_written_again() {
    let sent = json!({"size": "small"});
    let got = json!({"size": "small", "default": 1});
    let mut seen = seen();
    bent(&mut seen.projection, |p| p.data["spec"] = got.clone());
    let (_, mode) = replaced(&seen).unwrap();
    assert_eq!(mode, WriteMode::DryRunFirst, "the normalization is not known");
    seen.spec_normalization = Some(ServerNormalization::new(&sent, &got));
    assert_eq!(plan(&seen), Decision::InOrder);
    bent(&mut seen.instance, |i| i.data["spec"]["size"] = json!("large"));
    let (_, mode) = replaced(&seen).unwrap();
    assert_eq!(mode, WriteMode::Direct, "the source changed");

    let mut seen = super::support::seen();
    bent(&mut seen.projection, |p| p.data["status"] = json!({"suspended": false, "default": 1}));
    assert_eq!(status_write(&seen).unwrap().mode, WriteMode::DryRunFirst);
    seen.status_normalization =
        Some(ServerNormalization::new(&reported(), &json!({"suspended": false, "default": 1})));
    assert_eq!(plan(&seen), Decision::InOrder);
}

#[test]
fn i7_an_instance_replaced_under_its_name_needs_no_dry_run() {
    let mut seen = seen();
    bent(&mut seen.instance, |i| {
        i.metadata.uid = Some("replaced".to_owned());
        i.data["spec"]["size"] = json!("large");
    });
    let (written, mode) = replaced(&seen).unwrap();
    assert_eq!(mode, WriteMode::Direct);
    assert_eq!(written.annotation(PROJECTED_FROM), Some(mark("replaced").to_string().as_str()));
}

#[test]
fn p5_a_replaced_instance_does_not_take_over_the_status_of_the_one_before_it() {
    for wanted in [Value::Null, json!({}), defaults()] {
        let mut seen = seen();
        bent(&mut seen.instance, |i| {
            i.metadata.uid = Some("replaced".to_owned());
            i.data["status"] = wanted.clone();
        });
        // Before the mark: only the mark shows that the status is another Instance's.
        let write = status_write(&seen).unwrap_or_else(|| panic!("{wanted}"));
        assert_eq!(write, StatusWrite { status: wanted.clone(), mode: WriteMode::Direct });
        bent(&mut seen.projection, |p| p.data["status"] = wanted.clone());
        let (written, _) = replaced(&seen).unwrap();
        assert_eq!(written.annotation(PROJECTED_FROM), Some(mark("replaced").to_string().as_str()));
        seen.projection = Some(written.into());
        assert_eq!(plan(&seen), Decision::InOrder, "{wanted}");
    }
}

#[test]
fn i7_a_server_that_makes_more_of_an_empty_status_is_asked_once() {
    let wanted = json!({});
    let got = json!({"phase": "New"});
    let mut seen = seen();
    bent(&mut seen.instance, |i| {
        i.metadata.uid = Some("replaced".to_owned());
        i.data["status"] = wanted.clone();
    });
    bent(&mut seen.projection, |p| p.data["status"] = got.clone());
    assert!(status_write(&seen).is_some(), "it may be the former one's");
    seen.status_normalization = Some(ServerNormalization::new(&wanted, &got));
    assert!(replaced(&seen).is_some(), "{:?}", plan(&seen));
}

#[test]
fn p3_a_hub_made_anew_blanks_no_status() {
    let mut seen = seen();
    bent(&mut seen.instance, |i| {
        i.metadata.uid = Some("written-back-anew".to_owned());
        i.data["status"] = defaults();
    });
    let mut space = hub_namespace();
    space.metadata.uid = Some("made-anew".to_owned());
    seen.hub_namespace = std::sync::Arc::new(space);
    let (written, _) = replaced(&seen).unwrap();
    seen.projection = Some(written.into());
    assert_eq!(plan(&seen), Decision::InOrder, "the cell reports again");
}

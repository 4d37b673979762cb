//! The plan through random worlds: digests are enough or the copy is asked for, it converges, and it touches
//! nothing of others.

use std::sync::Arc;
use std::time::Duration;

use fedhub_api::cells::CellId;
use fedhub_api::facts::DigestExt;
use fedhub_cache::ServerNormalization;
use fedhub_cell::write_back::snapshot::{LiveRead, Ownership, Snapshot};
use fedhub_core::names::{CELL_SOURCE, SOURCE_UID, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE};
use fedhub_core::object::{Kind, Object, ObjectView, bare, set_field};
use fedhub_planes::WriteMode;
use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use proptest::prelude::*;
use serde_json::json;

use crate::write_back::arbitrary::*;
use crate::write_back::support::status;

fn mark(copy: &Object) -> Option<&str> {
    copy.annotation(CELL_SOURCE)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn i7_digests_decide_what_the_copy_itself_would(facts in worlds(), known: bool) {
        let normalization = known.then_some(ServerNormalization::Kept);
        let by_digest = plan(&facts.known(normalization));
        if by_digest != Decision::FetchCopy {
            prop_assert_eq!(by_digest, plan(&facts.read(normalization)));
        }
    }

    #[test]
    fn c7_the_plan_writes_what_the_rendering_changes_and_nothing_else(facts in worlds(), known: bool) {
        let normalization = known.then_some(ServerNormalization::Kept);
        let (Some(copy), Some(rendered)) = (&facts.copy, facts.rendered()) else { return Ok(()) };
        for snapshot in [facts.known(normalization), facts.read(normalization)] {
            match plan(&snapshot) {
                Decision::Unchanged | Decision::WriteStatus(_) | Decision::Wait(_) => {
                    prop_assert_eq!(&rendered, copy);
                }
                Decision::Replace(written) => {
                    prop_assert_ne!(&written, copy);
                    prop_assert_eq!(&written, &rendered);
                }
                _ => {}
            }
        }
    }

    #[test]
    fn c7_it_comes_to_rest_and_stays_there(facts in worlds()) {
        let before = facts.clone();
        let mut after = facts;
        let done = after.settle();
        let again = after.clone().settle();
        prop_assert_eq!(again.len(), 1, "{:?} after {:?}", again, done);

        // What is not ours is not touched, unless its cell is declared lost: then it makes room.
        let is_ours = |f: &Facts, copy: &Object| mark(copy).is_none_or(|m| {
            m.starts_with("dfw/uid-of-dfw/") || f.instance.is_some() && m == "dfw/uid-of-instance"
        });
        if let Some(copy) = before.copy.as_ref().filter(|copy| !is_ours(&before, copy)) {
            let kept = after.copy.as_ref() == Some(copy);
            let made_room = after.copy.as_ref().is_none_or(|now| now.uid() != copy.uid());
            prop_assert!(kept || before.others_lost && made_room, "{:?}", after.copy);
        }
        // A cell that is declared lost writes nothing new (C11).
        if before.declared_lost && let Some(copy) = &after.copy {
            prop_assert_eq!(before.copy.as_ref(), Some(copy));
        }
        let alive = before.instance.as_ref().is_some_and(|i| !i.is_terminating());
        let owner = before.deployment.as_ref().is_some_and(|d| !d.is_terminating());
        if alive && !owner {
            prop_assert_eq!(&after.copy, &before.copy, "owner-gated");
        }
        // I5: no copy is made for a WD, or given to it, that the Instance is not of.
        let source = |wd: &Object| wd.annotation(SOURCE_UID).map(str::to_owned);
        let maker = before.maker.as_ref().filter(|wd| !wd.is_terminating());
        let of_it = maker.is_some_and(|wd| source(wd) == before.deployment.as_ref().and_then(source));
        let owner_of = |copy: &Option<Object>| {
            let owners = copy.as_ref().and_then(|copy| copy.metadata.owner_references.clone());
            let mut owners = owners.into_iter().flatten().filter(|owner| owner.kind == "WorkloadDeployment");
            owners.find(|owner| owner.controller == Some(true)).map(|owner| owner.uid)
        };
        if !of_it && owner_of(&after.copy).as_deref() == Some(WD_UID) {
            prop_assert_eq!(owner_of(&before.copy), Some(WD_UID.to_owned()));
        }
        // Whatever is written says whose it is by the namespace, and names the living WD.
        if let Some(copy) = after.copy.as_ref().filter(|c| before.copy.as_ref() != Some(*c)) {
            prop_assert_eq!(copy.label(UPSTREAM_CLUSTER), Some("cluster-alpha"));
            prop_assert_eq!(copy.label(UPSTREAM_NAMESPACE), Some("shop"));
            prop_assert_eq!(mark(copy), Some("dfw/uid-of-dfw/uid-of-instance"));
            prop_assert_eq!(copy.annotation("note"), None);
            let owners: Vec<_> = copy.metadata.owner_references.iter().flatten().collect();
            prop_assert_eq!(owners.iter().filter(|o| o.controller == Some(true)).count(), 1);
            prop_assert!(owners.iter().all(|o| o.kind == "ConfigMap" || o.uid == WD_UID));
            prop_assert_eq!(copy.spec(), after.instance.as_ref().unwrap().spec());
            // Foreign keys are left (I9).
            let old = before.copy.as_ref().filter(|old| old.uid() == copy.uid());
            let kept = old.and_then(|old| old.label("karmada.io/x"));
            prop_assert!(kept.is_none() || copy.label("karmada.io/x") == kept);
        }
        // C7: a copy is not deleted while its Instance is there.
        let is_its = |mark| ["dfw/uid-of-dfw/uid-of-instance", "dfw/uid-of-instance"].contains(&mark);
        if before.instance.is_some() && before.copy.as_ref().and_then(mark).is_some_and(is_its) {
            prop_assert!(after.copy.is_some());
        }
    }
}

#[test]
fn i5_a_copy_that_stood_once_is_made_anew_only_for_the_wd_that_the_hub_has() {
    let facts = Facts { copy: None, ..right() };
    let seen = facts.read(None);
    assert_eq!(plan(&seen), Decision::ReadDeployment);
    let mut new = Facts { copy: None, ..right() };
    new.instance.as_mut().unwrap().metadata.creation_timestamp = Some(Time(now()));
    assert!(matches!(plan(&new.read(None)), Decision::Create(_)), "no copy of it stood yet");
    let mut other = facts.deployment.clone().unwrap();
    other.metadata.uid = Some("another".to_owned());
    for live in [None, Some(Arc::new(other))] {
        let stale = Snapshot { live_deployment: Some(LiveRead(live)), ..seen.clone() };
        assert_eq!(plan(&stale), Decision::Park);
    }
    let known = Snapshot { live_deployment: Some(LiveRead(facts.deployment.clone().map(Arc::new))), ..seen };
    assert!(matches!(plan(&known), Decision::Create(_)));
}

#[test]
fn i4_a_copy_without_its_instance_goes_only_by_the_cells_own_word() {
    let facts = Facts { instance: None, ..right() };
    let seen = facts.read(None);
    assert_eq!(plan(&seen), Decision::ReadInstance);
    let there = Snapshot { live_instance: Some(LiveRead(Some(Arc::new(instance())))), ..seen.clone() };
    assert_eq!(plan(&there), Decision::Park);
    let mut other = instance();
    other.metadata.uid = Some("another".to_owned());
    for live in [None, Some(Arc::new(other))] {
        let proven = Snapshot { live_instance: Some(LiveRead(live)), ..seen.clone() };
        assert!(matches!(plan(&proven), Decision::Delete { inferred: true, .. }));
    }
    // An unbroken watch has shown it, of this copy's Instance or of another.
    let known = facts.known(None);
    let source = known.copy.as_ref().and_then(|copy| copy.digest.instance()).map(|copy| copy.source);
    let shown = Snapshot { seen_gone: source, ..known.clone() };
    assert_eq!(plan(&shown), Decision::Delete { inferred: false });
    let another = Snapshot { seen_gone: source.map(|source| source + 1), ..known };
    assert_eq!(plan(&another), Decision::FetchCopy);
}

#[test]
fn c7_a_dry_run_precedes_a_status_write_only_where_its_normalization_is_unknown() {
    let mut facts = right();
    set_field(facts.instance.as_mut().unwrap(), "status", status("False"));
    let mode = |known| match plan(&facts.read(known)) {
        Decision::WriteStatus(mode) => mode,
        other => panic!("{other:?}"),
    };
    assert_eq!(mode(None), WriteMode::DryRunFirst);
    assert_eq!(mode(Some(ServerNormalization::Kept)), WriteMode::Direct);
    assert_eq!(plan(&facts.known(None)), Decision::FetchCopy, "the copy itself is compared");
}

#[test]
fn c7_a_stage_is_no_status_to_write_yet_and_the_spec_is() {
    let mut facts = right();
    coming_up(facts.instance.as_mut().unwrap());
    let wait = Decision::Wait(Duration::from_secs(2));
    assert_eq!((plan(&facts.read(None)), plan(&facts.known(None))), (wait.clone(), wait.clone()));
    facts.copy = None;
    let done = facts.settle();
    assert!(matches!(&done[..], [Decision::Create(_), last] if *last == wait), "{done:?}");
}

#[test]
fn c6_a_copy_waits_for_gates_that_open_in_a_moment_and_for_no_others() {
    let mut facts = Facts { copy: None, ..right() };
    let gated = |facts: &mut Facts, age: i64, reason: &str| {
        let instance = facts.instance.as_mut().unwrap();
        coming_up(instance);
        gate(instance);
        instance.metadata.creation_timestamp = Some(Time(now() - SignedDuration::from_secs(age)));
        instance.data["status"]["conditions"][0]["reason"] = json!(reason);
    };
    let makes = |facts: &Facts| matches!(plan(&facts.read(None)), Decision::Create(_));
    for (age, left) in [(0, 2), (1, 1)] {
        gated(&mut facts, age, "SchedulingGatesPresent");
        assert_eq!(plan(&facts.read(None)), Decision::Wait(Duration::from_secs(left)), "{age}");
    }
    gated(&mut facts, 2, "SchedulingGatesPresent");
    assert!(makes(&facts), "it has waited long enough to be reported");
    for reason in ["PendingQuota", "NetworkNotFound", "SourceNotFound", "Suspended"] {
        gated(&mut facts, 0, reason);
        assert!(makes(&facts), "{reason} is reported at once");
    }
    gated(&mut facts, 0, "SchedulingGatesPresent");
    let held = facts.instance.as_mut().unwrap();
    held.metadata.deletion_timestamp = Some(Time(now()));
    assert!(makes(&facts), "C7: a deletion that takes long is visible");
}

#[test]
fn c10_a_copy_is_ours_by_the_uid_of_the_cell_and_by_its_name_only_with_the_instance() {
    let cell = CellId { name: "dfw".into(), uid: "k".into() };
    let mut instance = bare(Kind::Instance, "ns-1", "wd-0");
    instance.metadata.uid = Some("u".to_owned());
    for (text, here, expected) in [
        ("dfw/k/u", true, Some(true)),
        ("dfw/k/u", false, Some(true)),
        ("dfw/k/earlier", true, Some(true)),
        ("dfw/twin/u", true, Some(false)),
        ("dfw/u", true, Some(true)),
        ("dfw/u", false, Some(false)),
        ("dfw/earlier", true, Some(false)),
        ("ord/u", true, Some(false)),
        ("dfw/", true, None),
        ("/u", true, None),
        ("dfw", true, None),
        ("", true, None),
    ] {
        let mut copy = bare(Kind::Instance, "ns-1", "wd-0");
        assert_eq!(Ownership::judge(&copy, &cell, None), Ownership::Unmarked);
        copy.metadata.annotations = Some([(CELL_SOURCE.to_owned(), text.to_owned())].into());
        let ours = match Ownership::judge(&copy, &cell, here.then_some(&instance)) {
            Ownership::Ours(_) => Some(true),
            Ownership::Foreign(_) => Some(false),
            Ownership::Unmarked => None,
        };
        assert_eq!(ours, expected, "{text} {here}");
    }
}

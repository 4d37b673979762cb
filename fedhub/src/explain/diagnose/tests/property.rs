//! The decision over arbitrary chains: it never panics, and always yields a cause (U4).

use fedhub_api::reason::{Reason, Responsible};
use fedhub_core::object::Object;
use fedhub_planes::pauses::stored::Pause;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use strum::VariantArray;

use super::super::super::cause::Cause;
use super::super::super::chain::{Chain, Failure, Read, SubjectKind};
use super::super::super::output::Explained;
use super::super::federation::{federated, kept_back};
use super::super::{State, diagnose};
use super::fixtures::{MADE, RECENT, condition, failed, healthy, instance, object, patch_object, projection};
use fedhub_terminal::output::Format;
use fedhub_terminal::report::Report;

/// What becomes of one read.
#[derive(Clone, Debug)]
enum Change {
    Skip,
    Remove,
    Fail(Failure),
    Merge(Value),
}

fn time() -> impl Strategy<Value = Value> {
    select(vec![json!(null), json!(MADE), json!(RECENT), json!("2030-01-01T00:00:00Z")])
}

fn conditions() -> impl Strategy<Value = Value> {
    let kinds =
        ["Available", "ReplicasReady", "Federated", "Ready", "Applied", "Scheduled", "TerminationOverdue"];
    let kind = select(kinds.to_vec());
    let words: Vec<&str> = Reason::all().map(Reason::as_str).chain(["", "Odd"]).collect();
    let one = (kind, select(vec!["True", "False", "Unknown", ""]), select(words), ".{0,20}");
    let one = one.prop_map(|(kind, status, reason, message)| condition(kind, status, reason, &message));
    prop::collection::vec(one, 0..4).prop_map(Value::Array)
}

fn merge() -> impl Strategy<Value = Value> {
    let annotations =
        ["source", "source-uid", "source-generation", "hub-namespace-uid", "hub-lost", "moving", "lost"];
    prop_oneof![
        conditions().prop_map(|conditions| json!({"status": {"conditions": conditions}})),
        time().prop_map(|at| json!({"metadata": {"deletionTimestamp": at}})),
        time().prop_map(|at| json!({"metadata": {"creationTimestamp": at}})),
        (select(annotations.to_vec()), ".{0,12}").prop_map(|(name, value)| {
            json!({"metadata": {"annotations": {format!("federation.datumapis.com/{name}"): value}}})
        }),
        any::<i64>()
            .prop_map(|n| json!({"metadata": {"generation": n}, "status": {"observedGeneration": n}})),
        Just(json!({"metadata": {"finalizers": null, "labels": null, "annotations": null}})),
        Just(json!({"status": null, "spec": null})),
        ".{0,70}".prop_map(|city| json!({"spec": {"cityCode": city, "clusters": [{"name": city}]}})),
        Just(json!({"status": {"aggregatedStatus": [{"applied": false}], "conditions": 5}})),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        1 => Just(Change::Skip),
        1 => Just(Change::Remove),
        1 => select(Failure::VARIANTS.to_vec()).prop_map(Change::Fail),
        5 => merge().prop_map(Change::Merge),
    ]
}

fn of_one(read: &mut Read<Object>, change: &Change) {
    match (change, read) {
        (Change::Skip, read) => *read = Read::Skipped,
        (Change::Remove, read) => *read = Read::Absent,
        (Change::Fail(failure), read) => *read = failed(*failure),
        (Change::Merge(patch), Read::Found(object)) => patch_object(object, patch),
        (Change::Merge(_), _) => {}
    }
}

fn of_all(read: &mut Read<Vec<Object>>, change: &Change) {
    match (change, read) {
        (Change::Skip, read) => *read = Read::Skipped,
        (Change::Remove, read) => *read = Read::Found(Vec::new()),
        (Change::Fail(failure), read) => *read = failed(*failure),
        (Change::Merge(patch), Read::Found(objects)) => {
            for object in objects {
                patch_object(object, patch);
            }
        }
        (Change::Merge(_), _) => {}
    }
}

fn apply(chain: &mut Chain, at: usize, change: &Change) {
    let cell = chain.cells.get_mut("cell-dfw").unwrap();
    match at {
        0 => of_one(&mut chain.project.wd, change),
        1 => of_one(&mut chain.project.namespace, change),
        2 => of_all(&mut chain.project.instances, change),
        3 => of_one(&mut chain.hub.wd, change),
        4 => of_one(&mut chain.hub.namespace, change),
        5 => of_one(&mut chain.hub.binding, change),
        6 => of_all(&mut chain.hub.works, change),
        7 => of_all(&mut chain.hub.clusters, change),
        8 => of_all(&mut chain.hub.policies, change),
        9 => of_all(&mut chain.hub.copies, change),
        10 => of_one(&mut cell.wd, change),
        11 => of_all(&mut cell.instances, change),
        12 => chain.management.lease = Read::Absent,
        13 => chain.management.hub_restored = Read::Found(true),
        14 => chain.management.pause = Read::Found(Pause::default()),
        15 => chain.management.source = Read::Skipped,
        _ => (chain.subject.kind, chain.subject.name) = (SubjectKind::Instance, "web-0".to_owned()),
    }
}

proptest! {
    #[test]
    fn u4_every_chain_has_a_cause_and_never_in_sync_where_something_is_amiss(
        changes in prop::collection::vec((0..17usize, change()), 0..5),
    ) {
        let mut chain = healthy();
        for (at, change) in &changes {
            apply(&mut chain, *at, change);
        }
        let diagnosis = diagnose(&chain);
        prop_assert_eq!(diagnosis.cause == Cause::InSync, diagnosis.state == State::InSync);
        if diagnosis.cause == Cause::InSync {
            prop_assert_eq!((kept_back(&chain), federated(&chain)), (None, None));
        }
        // Who acts and what to do are there for all that needs attention.
        if diagnosis.state.is_trouble() {
            prop_assert!(diagnosis.responsible() != Responsible::Nobody && !diagnosis.remedy().is_empty());
        }
        let id = diagnosis.cause.id();
        let explained = Explained { chain, diagnosis };
        for format in [Format::Table, Format::Wide, Format::Json, Format::Yaml] {
            prop_assert!(explained.print(format, false).contains(id));
        }
        if changes.is_empty() {
            prop_assert_eq!(id, Cause::InSync.id());
        }
    }

    /// What is in sync needs no more than that: age, foreign metadata, other replicas.
    #[test]
    fn u4_a_chain_in_sync_is_diagnosed_so(
        generation in 1..1000i64,
        names in prop::collection::vec("[a-z]{1,8}", 0..4),
        read_cell: bool,
    ) {
        let mut chain = healthy();
        let metadata = json!({"metadata": {"labels": {"example.com/team": "a"}, "generation": generation}});
        let source = json!({"metadata": {"annotations": {
            "federation.datumapis.com/source-generation": generation.to_string()}}});
        let status = json!({"status": {"observedGeneration": generation}});
        for patch in [&metadata, &status] {
            of_one(&mut chain.project.wd, &Change::Merge(patch.clone()));
        }
        for patch in [&source, &status] {
            of_one(&mut chain.hub.wd, &Change::Merge(patch.clone()));
        }
        of_one(&mut chain.cells.get_mut("cell-dfw").unwrap().wd, &Change::Merge(source));
        let manifest = json!({"metadata": {"annotations": {
            "federation.datumapis.com/source-generation": generation.to_string()}}});
        of_all(&mut chain.hub.works, &Change::Merge(json!({"spec": {"workload": {"manifests": [manifest]}}})));
        for name in names {
            let copy = instance("ns-uid-shop", &name);
            for (read, more) in [
                (&mut chain.project.instances, projection(&name)),
                (&mut chain.hub.copies, copy.clone()),
                (&mut chain.cells.get_mut("cell-dfw").unwrap().instances, copy),
            ] {
                if let Read::Found(objects) = read {
                    objects.push(object(more));
                }
            }
        }
        if !read_cell {
            chain.cells.clear();
        }
        prop_assert_eq!(diagnose(&chain).cause, Cause::InSync);
    }
}

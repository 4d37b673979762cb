//! I3, F9: a finalizer is released only after its work is proven done.

use std::time::Duration;

use fedhub_core::names::{
    DELETION_PROTECTED, FEDERATION_NAMESPACE, FEDERATOR_FINALIZER, HUB_LOST, HUB_NAMESPACE_UID, SOURCE,
    SOURCE_UID, UPSTREAM_CLUSTER,
};
use fedhub_core::object::{Object, ObjectView};
use fedhub_engine::{Intent, Outcome};
use fedhub_federator::cleanup::CleanupBlocked;
use fedhub_planes::{Write, WriteMode};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::plan::fixtures::{
    Edit, FOREIGN, annotate, deleting, hub_namespace, hub_wd, in_order, label, live, marked, reason, seen,
    shared, source, unannotate, with, writes, writes_hub,
};
use crate::plan::model::Model;
use crate::plan::observed::Live;
use crate::plan::observed::{Plan, only, plan};
use crate::plan::{fixtures, states};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn i3_only_live_reads_release(seen in states::observed()) {
        let plan = plan(&seen);
        if plan.release.is_some() {
            prop_assert!(seen.project.is_terminating());
            let live = seen.live.as_ref();
            prop_assert!(live.is_some(), "stores prove nothing");
            let live = live.unwrap();
            let recorded = seen.project.annotation(HUB_NAMESPACE_UID);
            if let Some(recorded) = recorded {
                let namespace = live.namespace.as_ref();
                let there = namespace.map(|n| n.uid());
                prop_assert!(there == Some(recorded), "the hub has lost state");
                prop_assert!(seen.snapshot().namespace_is_ours(namespace.unwrap()));
                let doubtful = seen.distrust.is_some() || seen.last_restore.is_some();
                prop_assert!(!doubtful || seen.seen_deleted, "the hub may have lost state");
            }
            if let Some(there) = &live.deployment {
                let mark = [there.annotation(SOURCE), there.annotation(SOURCE_UID)];
                prop_assert!(mark[0].is_some_and(|s| s != source()), "{:?}", mark);
                prop_assert!(mark[1] != Some(fixtures::UID), "{:?}", mark);
            }
        }
    }

    #[test]
    fn i3_a_release_is_the_last_thing_and_the_only_one(seen in states::observed()) {
        let plan = plan(&seen);
        if let Some(release) = plan.release.clone() {
            let alone = Plan { release: Some(release), ..Plan::default() };
            prop_assert_eq!(plan, alone);
        }
    }

    #[test]
    fn f9_a_wd_without_our_finalizer_is_left_alone(seen in states::observed()) {
        let mut seen = seen;
        let mut project = deleting(seen.project.as_ref().clone());
        project.metadata.finalizers = Some(vec![FOREIGN.to_owned()]);
        seen.project = shared(project);
        prop_assert_eq!(plan(&seen), Plan::default());
    }
}

/// What live reads prove.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Proves {
    Done,
    /// The WD stands there, and is this WD's: it is deleted.
    Stands,
    /// Nothing: it is federated again.
    Lost,
    /// Nothing, and nothing is touched.
    Held(CleanupBlocked),
}

/// Whether the namespace's UID is recorded; namespace and WD as read live; what that proves.
type Proof = (&'static str, bool, Option<Object>, Option<Object>, Proves);

#[test]
fn i3_the_table_of_what_live_reads_prove() {
    let other = |of: &str| {
        with(hub_wd(), |wd| {
            annotate(wd, SOURCE, of);
            annotate(wd, SOURCE_UID, "another-uid");
        })
    };
    let lost = with(hub_namespace(), |n| n.metadata.uid = Some("another".to_owned()));
    let taken = with(hub_namespace(), |n| label(n, UPSTREAM_CLUSTER, "cluster-beta"));
    let hidden = with(hub_wd(), |wd| {
        unannotate(wd, SOURCE);
        unannotate(wd, SOURCE_UID);
    });
    let half = with(hub_wd(), |wd| annotate(wd, SOURCE, "beta/x/y"));
    let older = with(hub_wd(), |wd| annotate(wd, SOURCE_UID, "uid-of-an-older-wd"));
    let state_lost = Proves::Held(CleanupBlocked::HubStateLost);
    let conflict = Proves::Held(CleanupBlocked::TenantConflict);
    let bald = with(hub_namespace(), |n| n.metadata.labels = None);
    let table: Vec<Proof> = vec![
        ("nothing left", true, Some(hub_namespace()), None, Proves::Done),
        ("never begun", false, None, None, Proves::Done),
        ("never got further than the namespace", false, Some(hub_namespace()), None, Proves::Done),
        ("a stranger's namespace, never used", false, Some(taken.clone()), None, Proves::Done),
        ("another tenant's WD", true, Some(hub_namespace()), Some(other("beta/shop/web-dfw")), Proves::Done),
        ("the namespace is gone", true, None, None, Proves::Lost),
        ("the namespace was recreated", true, Some(lost.clone()), None, Proves::Lost),
        ("recreated, and not empty", true, Some(lost), Some(other("beta/shop/web-dfw")), state_lost),
        ("the namespace is another tenant's now", true, Some(taken), None, conflict),
        ("the mark was taken off", true, Some(hub_namespace()), Some(hidden.clone()), Proves::Stands),
        ("the mark and the labels were taken off", true, Some(bald), Some(hidden), conflict),
        ("half of the mark is ours", true, Some(hub_namespace()), Some(half), conflict),
        ("an older WD of this name", true, Some(hub_namespace()), Some(older), conflict),
    ];
    for (what, recorded, namespace, deployment, proves) in table {
        let mut project = deleting(marked());
        if !recorded {
            unannotate(&mut project, HUB_NAMESPACE_UID);
        }
        let mut seen = seen(project, Some(hub_namespace()), None, vec![]);
        seen.live = Some(live(namespace, deployment));
        let plan = plan(&seen);
        match proves {
            Proves::Held(why) => {
                assert_eq!(plan.blocked, Some(why), "{what}");
                let status = plan.status.clone().map(|write| write.status).unwrap_or_default();
                assert_eq!(status["conditions"][0]["reason"], "CleanupHeld", "{what}");
                assert!(!writes(&Plan { status: None, ..plan }), "{what}: nothing but the word of it");
            }
            Proves::Lost => {
                assert!(plan.namespace.is_some() || plan.deployment.is_some(), "{what}: {plan:?}");
                assert!(plan.delete.is_none() && plan.release.is_none(), "{what}");
                assert_eq!(plan.blocked, Some(CleanupBlocked::HubStateLost), "{what}");
                let shown = plan.status.as_ref().map(|write| &write.status["conditions"][0]["reason"]);
                let expected = json!("CleanupHeld");
                assert_eq!(shown, plan.namespace.is_none().then_some(&expected), "{what}: in the next round");
            }
            Proves::Stands => assert!(plan.delete.is_some() && plan.release.is_none(), "{what}"),
            Proves::Done => assert_eq!(plan.release, Some(json!({"finalizers": Value::Null})), "{what}"),
        }
    }
}

#[test]
fn i6_a_hub_wd_that_lost_its_whole_mark_is_deleted_under_its_mark() {
    let mut seen = in_order();
    seen.project = shared(deleting(marked()));
    seen.hub = Some(shared(with(hub_wd(), |wd| {
        unannotate(wd, SOURCE);
        unannotate(wd, SOURCE_UID);
    })));
    let plan = plan(&seen);
    let Some(Write::Replace { object, .. }) = &plan.deployment else { panic!("{plan:?}") };
    assert_eq!(object.annotation(SOURCE), Some(&*source()));
    assert_eq!(object.annotation(SOURCE_UID), Some(fixtures::UID));
    assert!(plan.delete.is_some());
}

#[test]
fn f9_what_a_tenant_edits_while_the_wd_is_deleted_is_put_back_and_decides_nothing() {
    let table: [(&str, Edit, Value); 3] = [
        (
            "edited",
            |wd| annotate(wd, HUB_NAMESPACE_UID, "x"),
            json!({HUB_NAMESPACE_UID: fixtures::HUB_SPACE_UID}),
        ),
        (
            "taken off",
            |wd| unannotate(wd, HUB_NAMESPACE_UID),
            json!({HUB_NAMESPACE_UID: fixtures::HUB_SPACE_UID}),
        ),
        (
            "pointed elsewhere",
            |wd| annotate(wd, FEDERATION_NAMESPACE, "ns-of-another"),
            json!({FEDERATION_NAMESPACE: fixtures::HUB_SPACE}),
        ),
    ];
    for (what, edit, expected) in table {
        let mut seen = in_order();
        seen.project = shared(deleting(with(marked(), edit)));
        let deletion = plan(&seen);
        assert_eq!(deletion.mark, Some(json!({"annotations": expected})), "{what}");
        assert!(deletion.delete.is_some(), "{what}: it goes on");
        seen.hub = Some(shared(deleting(hub_wd())));
        assert_eq!(plan(&seen).mark, deletion.mark, "{what}: also while the hub WD is on its way out");
    }
}

#[test]
fn i3_the_namespace_uid_of_another_object_that_a_wd_was_copied_from_is_no_loss() {
    let mut model = Model::new(with(fixtures::fresh(), |wd| annotate(wd, HUB_NAMESPACE_UID, "of another")));
    model.settle();
    assert_eq!(model.hub.as_ref().unwrap().annotation(HUB_LOST), None);
    model.delete().settle();
    assert!(model.project.is_none());
}

#[test]
fn i3_without_live_reads_they_are_asked_for() {
    for (namespace, hub) in [(None, None), (Some(hub_namespace()), None)] {
        let plan = plan(&seen(deleting(marked()), namespace, hub, vec![]));
        assert_eq!(plan, only(Intent::ReadHub));
    }
}

#[test]
fn i9_a_release_leaves_other_finalizers() {
    let mut project = deleting(marked());
    project.metadata.finalizers =
        Some(vec![FOREIGN.to_owned(), FEDERATOR_FINALIZER.to_owned(), "example.org/b".to_owned()]);
    let mut seen = seen(project, Some(hub_namespace()), None, vec![]);
    seen.live = Some(live(Some(hub_namespace()), None));
    assert_eq!(plan(&seen).release, Some(json!({"finalizers": [FOREIGN, "example.org/b"]})));
}

#[test]
fn f9_protection_comes_off_before_the_deletion() {
    let mut seen = in_order();
    seen.project = shared(deleting(marked()));
    let first = plan(&seen);
    let Some(Write::Replace { object, mode: WriteMode::Direct }) = &first.deployment else {
        panic!("{first:?}")
    };
    assert_eq!(object.label(DELETION_PROTECTED.0), None);
    let only = with(hub_wd(), |wd| _ = wd.metadata.labels.as_mut().unwrap().remove(DELETION_PROTECTED.0));
    assert_eq!(**object, only, "and nothing else is changed");
    assert_eq!(first.delete.as_ref().map(|d| d.uid()), Some("uid-of-the-hub-wd"));
    assert!(first.release.is_none() && first.then.is_none());
    seen.hub = Some(shared(deleting(hub_wd())));
    let waiting = plan(&seen);
    assert!(!writes(&waiting), "asked for once");
    assert_eq!(waiting.then, Some(Intent::End(Outcome::RequeueAfter(Duration::from_secs(5)))));
    seen.waited = Duration::from_secs(5);
    let plan = plan(&seen);
    assert_eq!(plan.blocked, Some(CleanupBlocked::HubObjectHeld));
    assert!(!writes_hub(&plan) && plan.release.is_none() && plan.status.is_some());
}

#[test]
fn f9_a_hub_wd_that_only_the_live_read_shows_is_deleted() {
    let mut seen = seen(deleting(marked()), Some(hub_namespace()), None, vec![]);
    seen.live = Some(live(Some(hub_namespace()), Some(hub_wd())));
    assert!(plan(&seen).delete.is_some());
}

#[test]
fn i3_i6_a_hub_wd_in_a_namespace_of_another_tenant_is_not_deleted() {
    let namespace = with(hub_namespace(), |n| label(n, UPSTREAM_CLUSTER, "cluster-beta"));
    let mut seen = in_order();
    seen.project = shared(deleting(marked()));
    seen.hub_namespace = Some(shared(namespace.clone()));
    assert_eq!(plan(&seen), only(Intent::ReadHub));
    seen.live = Some(live(Some(namespace), Some(hub_wd())));
    let plan = plan(&seen);
    assert!(!writes_hub(&plan) && plan.release.is_none(), "{plan:?}");
    assert!(plan.blocked.is_some());
}

#[test]
fn f9_from_federated_to_gone() {
    for held in [false, true] {
        let mut model = Model::new(fixtures::fresh());
        model.settle().forget_log();
        let hub = model.hub.as_mut().unwrap();
        hub.metadata.finalizers = held.then(|| vec!["karmada.io/execution-controller".to_owned()]);
        let project = model.project.take().unwrap();
        model.project = Some(deleting(project));
        model.settle();
        if held {
            assert_eq!(model.log, ["deployment", "delete"]);
            assert!(
                model.project.as_ref().unwrap().has_finalizer(FEDERATOR_FINALIZER),
                "not while it stands"
            );
            model.settle();
            assert_eq!(model.log.len(), 2, "nothing is repeated while it goes");
            model.hub = None;
            model.settle();
        }
        assert_eq!(model.log, ["deployment", "delete", "release"]);
        assert!(model.project.is_none());
    }
}

#[test]
fn i3_f9_where_nothing_is_known_of_the_hub_it_is_federated_again() {
    let mut seen = seen(deleting(marked()), None, None, vec![]);
    seen.live = Some(Live::default());
    let first = plan(&seen);
    assert!(first.namespace.is_some() && first.release.is_none() && first.then.is_none());
    seen.cells = 2;
    seen.live =
        Some(live(Some(with(hub_namespace(), |n| n.metadata.uid = Some("another".to_owned()))), None));
    let plan = plan(&seen);
    assert!(!writes_hub(&plan), "not where it may come into another cell (I10)");
    assert_eq!(plan.blocked, Some(CleanupBlocked::HubStateLost));
}

#[test]
fn f9_a_loss_of_the_hub_is_remembered_until_a_cell_has_reported_since() {
    let mut model = Model::new(fixtures::fresh());
    model.settle().report(json!({"replicas": 1, "observedGeneration": 7})).settle();
    let recorded = model.project.as_ref().unwrap().annotation(HUB_NAMESPACE_UID).unwrap().to_owned();
    model.lose_hub().restart().settle();
    let is_lost = |model: &Model| model.hub.as_ref().unwrap().annotation(HUB_LOST).is_some();
    assert!(is_lost(&model), "the refill says so");
    let put =
        |model: &Model| model.project.as_ref().unwrap().annotation(HUB_NAMESPACE_UID).unwrap().to_owned();
    assert_eq!(put(&model), recorded, "and the project WD, too");

    let mut deleted = model.clone();
    deleted.delete().forget_log().settle();
    assert_eq!(deleted.log, ["status"], "held until the cell has taken it over");
    assert_eq!(reason(deleted.project.as_ref().unwrap()), Some("CleanupHeld"));
    deleted.forget_log().report(json!({"replicas": 1})).settle();
    assert_eq!(deleted.log, ["mark", "deployment", "delete", "release"]);
    assert!(deleted.project.is_none() && !deleted.runs);

    model.forget_log().report(json!({"replicas": 1, "observedGeneration": 7})).settle();
    assert_eq!(model.log, ["mark", "deployment"], "over: said on both planes");
    assert!(!is_lost(&model));
    assert_eq!(put(&model), model.namespace.as_ref().unwrap().uid());
}

#[test]
fn f9_a_wd_that_is_deleted_when_the_hub_is_lost_is_federated_again_applied_and_then_deleted() {
    let mut model = Model::new(fixtures::fresh());
    model.settle().report(json!({"replicas": 1, "observedGeneration": 7})).settle();
    model.lose_hub().delete().restart().settle();
    assert_eq!(model.log, ["namespace", "policy", "deployment", "status"]);
    assert!(model.hub.as_ref().unwrap().annotation(HUB_LOST).is_some());
    assert_eq!(model.blocked, Some(CleanupBlocked::HubStateLost));
    model.restart().settle();
    assert!(model.log.is_empty(), "nothing is proven yet: {:?}", model.log);
    model.report(json!({"replicas": 1})).settle();
    assert_eq!(model.log, ["mark", "deployment", "delete", "release"]);
    assert!(model.project.is_none() && !model.runs);
}

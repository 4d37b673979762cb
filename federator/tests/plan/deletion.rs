//! I3, F9: a finalizer is released only after its work is proven done.

use fedhub_federator::finalize;
use fedhub_federator::held::Held;
use fedhub_federator::observe::Live;
use fedhub_federator::plan::{Plan, Then, plan};
use fedhub_shared::engine::Write;
use fedhub_shared::names::{
    DELETION_PROTECTED, FEDERATOR_FINALIZER, HUB_NAMESPACE_UID, SOURCE, SOURCE_UID, UPSTREAM_CLUSTER,
};
use fedhub_shared::object::{Object, ObjectView};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::make::{
    FOREIGN, annotate, deleting, hub_namespace, hub_wd, in_order, label, live, marked, seen, shared, source,
    unannotate, with, writes, writes_hub,
};
use crate::model::Model;
use crate::{make, states};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn i3_only_live_reads_release(seen in states::observed()) {
        let plan = plan(&seen);
        if plan.release.is_some() {
            prop_assert!(seen.project.deleting());
            let live = seen.live.as_ref();
            prop_assert!(live.is_some(), "stores prove nothing");
            let live = live.unwrap();
            let recorded = seen.project.annotation(HUB_NAMESPACE_UID);
            if let Some(recorded) = recorded {
                let namespace = live.namespace.as_ref();
                prop_assert_eq!(namespace.map(|n| n.uid()), Some(recorded), "the hub has lost state");
                prop_assert!(seen.namespace_is_ours(namespace.unwrap()));
            }
            if let Some(there) = &live.deployment {
                let mark = [there.annotation(SOURCE), there.annotation(SOURCE_UID)];
                prop_assert!(mark[0].is_some_and(|s| s != source()), "{:?}", mark);
                prop_assert!(mark[1] != Some(make::UID), "{:?}", mark);
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

/// Whether the namespace's UID is recorded; namespace and WD as read live; why the finalizer is held, if it is.
type Proof = (&'static str, bool, Option<Object>, Option<Object>, Option<Held>);

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
    let (state_lost, conflict) = (Some(Held::HubStateLost), Some(Held::TenantConflict));
    let table: Vec<Proof> = vec![
        ("nothing left", true, Some(hub_namespace()), None, None),
        ("never begun", false, None, None, None),
        ("never got further than the namespace", false, Some(hub_namespace()), None, None),
        ("a stranger's namespace, never used", false, Some(taken.clone()), None, None),
        ("another tenant's WD", true, Some(hub_namespace()), Some(other("beta/shop/web-dfw")), None),
        ("the namespace is gone", true, None, None, state_lost),
        ("the namespace was made anew", true, Some(lost.clone()), None, state_lost),
        ("made anew, and something in it", true, Some(lost), Some(other("beta/shop/web-dfw")), state_lost),
        ("the namespace is another tenant's now", true, Some(taken), None, conflict),
        ("the mark was taken off", true, Some(hub_namespace()), Some(hidden), conflict),
        ("half of the mark is ours", true, Some(hub_namespace()), Some(half), conflict),
        ("an older WD of this name", true, Some(hub_namespace()), Some(older), conflict),
    ];
    for (what, recorded, namespace, deployment, held) in table {
        let mut project = deleting(marked());
        if !recorded {
            unannotate(&mut project, HUB_NAMESPACE_UID);
        }
        let mut seen = seen(project, Some(hub_namespace()), None, vec![]);
        seen.live = Some(live(namespace, deployment));
        let plan = plan(&seen);
        match held {
            Some(why) => {
                assert_eq!(plan.then, Then::Hold(why), "{what}");
                let told = plan.status.clone().map(|write| write.status).unwrap_or_default();
                assert_eq!(told["conditions"][0]["reason"], "CleanupHeld", "{what}");
                assert!(!writes(&Plan { status: None, ..plan }), "{what}: nothing but the word of it");
            }
            None => assert_eq!(plan.release, Some(json!({"finalizers": Value::Null})), "{what}"),
        }
    }
}

#[test]
fn i3_without_live_reads_they_are_asked_for() {
    for (namespace, hub) in [(None, None), (Some(hub_namespace()), None)] {
        let plan = plan(&seen(deleting(marked()), namespace, hub, vec![]));
        assert_eq!(plan, Plan { then: Then::ReadLive, ..Plan::default() });
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
    let plan = plan(&seen);
    let Some(Write::Replace { object, probe: false }) = &plan.deployment else { panic!("{plan:?}") };
    assert_eq!(object.label(DELETION_PROTECTED.0), None);
    let only = with(hub_wd(), |wd| _ = wd.metadata.labels.as_mut().unwrap().remove(DELETION_PROTECTED.0));
    assert_eq!(**object, only, "and nothing else is changed");
    assert_eq!(plan.delete.as_ref().map(|d| d.uid()), Some("uid-of-the-hub-wd"));
    assert!(plan.release.is_none() && plan.then == Then::Wait);
    seen.hub = Some(shared(deleting(hub_wd())));
    let plan = finalize::plan(&seen);
    assert!(!writes(&plan) && plan.then == Then::Wait, "asked for once");
}

#[test]
fn f9_a_hub_wd_that_only_the_live_read_shows_is_deleted() {
    let mut seen = seen(deleting(marked()), Some(hub_namespace()), None, vec![]);
    seen.live = Some(live(Some(hub_namespace()), Some(hub_wd())));
    assert!(finalize::plan(&seen).delete.is_some());
}

#[test]
fn i3_i6_a_hub_wd_in_a_namespace_that_is_not_the_recorded_one_is_not_deleted_unread() {
    let table = [
        ("another tenant's", with(hub_namespace(), |n| label(n, UPSTREAM_CLUSTER, "cluster-beta"))),
        ("made anew", with(hub_namespace(), |n| n.metadata.uid = Some("another".to_owned()))),
    ];
    for (what, namespace) in table {
        let mut seen = in_order();
        seen.project = shared(deleting(marked()));
        seen.hub_namespace = Some(shared(namespace.clone()));
        assert_eq!(plan(&seen), Plan { then: Then::ReadLive, ..Plan::default() }, "{what}");
        seen.live = Some(live(Some(namespace), Some(hub_wd())));
        let plan = plan(&seen);
        assert!(!writes_hub(&plan) && plan.release.is_none(), "{what}: {plan:?}");
        assert!(matches!(plan.then, Then::Hold(_)), "{what}");
    }
}

#[test]
fn f9_from_federated_to_gone() {
    for held in [false, true] {
        let mut model = Model::new(make::fresh());
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
fn i3_nothing_known_of_the_hub_holds() {
    let mut seen = seen(deleting(marked()), None, None, vec![]);
    seen.live = Some(Live::default());
    assert_eq!(plan(&seen).then, Then::Hold(Held::HubStateLost));
}

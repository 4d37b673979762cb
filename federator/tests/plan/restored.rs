//! F9: what a hub lacks that was restored from a backup may have been lost, and run on in its cell.

use fedhub_core::names::{HUB_LOST, HUB_NAMESPACE_UID};
use fedhub_core::object::{ObjectView, set_field};
use fedhub_engine::{Intent, Outcome};
use fedhub_federator::cleanup::CleanupBlocked;
use fedhub_planes::Distrust;
use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use crate::plan::fixtures::{self, deleting, hub_namespace, hub_wd, live, marked, now, seen, unannotate};
use crate::plan::model::Model;
use crate::plan::observed::{only, plan};

fn report() -> Value {
    json!({"replicas": 1, "observedGeneration": 7})
}

/// A WD that runs in its cell, and a hub whose backup has its namespace and lacks its hub WD.
fn backed_up() -> Model {
    let mut model = Model::new(fixtures::fresh());
    model.step();
    assert!(model.namespace.is_some() && model.hub.is_none());
    model.back_up().settle().report(report()).settle();
    model
}

fn is_lost(model: &Model) -> bool {
    model.hub.as_ref().is_some_and(|hub| hub.annotation(HUB_LOST).is_some())
}

#[test]
fn f9_what_a_restored_hub_lacks_is_federated_again_applied_and_then_deleted() {
    for deleted_before in [true, false] {
        let mut model = backed_up();
        model.restore_hub();
        if deleted_before {
            model.delete();
        }
        model.settle();
        assert!(is_lost(&model), "the refill says so");
        model.delete().settle();
        assert_eq!(model.blocked, Some(CleanupBlocked::HubStateLost));
        model.restart().settle();
        assert!(model.log.is_empty(), "nothing is proven yet: {:?}", model.log);
        model.report(report()).settle();
        assert_eq!(model.log, ["deployment", "delete", "release"], "deleted before: {deleted_before}");
        assert!(model.project.is_none() && !model.runs);
    }
}

#[test]
fn f9_what_was_not_seen_deleted_on_a_restored_hub_is_federated_once_more() {
    let mut model = backed_up();
    model.restore_hub().settle().report(report()).settle();
    // The deletion is the last thing that this process does.
    model.delete().step();
    assert!(model.hub.is_none() && !model.runs);
    model.restart().settle();
    assert!(is_lost(&model) && model.project.is_some());
    model.report(report()).settle();
    assert!(model.project.is_none() && !model.runs && model.hub.is_none(), "and that is that");
}

#[test]
fn f9_what_was_lost_stays_so_although_the_hub_is_trusted_again() {
    let mut model = backed_up();
    // Its plane was unreachable until every cell had written back.
    model.restore_hub();
    model.distrust = None;
    model.delete().settle();
    assert!(is_lost(&model) && model.blocked == Some(CleanupBlocked::HubStateLost), "{:?}", model.log);
    model.report(report()).settle();
    assert!(model.project.is_none() && !model.runs);
}

#[test]
fn f9_what_was_made_after_the_restore_was_not_lost_by_it() {
    let restore = now();
    for (age, done) in [(-3600, false), (0, false), (299, false), (301, true)] {
        let mut project = deleting(marked());
        project.metadata.creation_timestamp = Some(Time(restore + SignedDuration::from_secs(age)));
        let mut seen = seen(project, Some(hub_namespace()), None, vec![]);
        seen.last_restore = Some(restore);
        seen.live = Some(live(Some(hub_namespace()), None));
        assert_eq!(plan(&seen).release.is_some(), done, "{age}");
        seen.seen_deleted = true;
        assert!(plan(&seen).release.is_some());
    }
}

#[test]
fn f9_the_table_of_what_a_404_proves() {
    for (distrust, seen_deleted, recorded, done, refilled) in [
        (None, false, true, true, false),
        (None, true, true, true, false),
        (Some(Distrust::Restored), true, true, true, false),
        (Some(Distrust::Unverified), true, true, true, false),
        (Some(Distrust::Restored), false, true, false, true),
        // A question that the hub did not answer is no reason to start again what was deleted.
        (Some(Distrust::Unverified), false, true, false, false),
        // Nothing was ever written (F2).
        (Some(Distrust::Restored), false, false, true, false),
        (Some(Distrust::Unverified), false, false, true, false),
    ] {
        let mut project = deleting(marked());
        if !recorded {
            unannotate(&mut project, HUB_NAMESPACE_UID);
        }
        let mut seen = seen(project, Some(hub_namespace()), None, vec![]);
        (seen.distrust, seen.seen_deleted) = (distrust, seen_deleted);
        seen.live = Some(live(Some(hub_namespace()), None));
        let plan = plan(&seen);
        assert_eq!(plan.release.is_some(), done, "{distrust:?} {seen_deleted} {recorded}");
        assert_eq!(plan.deployment.is_some(), refilled, "{distrust:?} {seen_deleted} {recorded}");
        assert_eq!(plan.then.is_none(), done, "visibly: {distrust:?} {seen_deleted} {recorded}");
    }
}

#[test]
fn c11_nobody_waits_for_the_report_of_a_cell_that_is_lost() {
    let mut seen = seen(deleting(marked()), Some(hub_namespace()), None, vec![]);
    seen.distrust = Some(Distrust::Restored);
    seen.live = Some(live(Some(hub_namespace()), None));
    assert!(plan(&seen).release.is_none());
    seen.cell_lost = true;
    assert!(plan(&seen).release.is_some());
    // It was federated again before.
    let mut refilled = hub_wd();
    refilled.metadata.annotations.get_or_insert_default().insert(HUB_LOST.to_owned(), "true".to_owned());
    set_field(&mut refilled, "status", Value::Null);
    (seen.hub, seen.live) = (Some(refilled.into()), None);
    assert!(plan(&seen).delete.is_some());
    seen.cell_lost = false;
    assert_eq!(plan(&seen).blocked, Some(CleanupBlocked::HubStateLost));
}

#[test]
fn f9_what_the_store_still_has_waits_for_its_event() {
    let mut seen = seen(deleting(marked()), Some(hub_namespace()), Some(hub_wd()), vec![]);
    seen.live = Some(live(Some(hub_namespace()), None));
    assert!(plan(&seen).release.is_some(), "not where the hub goes on from where it was");
    seen.distrust = Some(Distrust::Restored);
    assert_eq!(plan(&seen), only(Intent::End(Outcome::AwaitChange)));
    (seen.hub, seen.seen_deleted) = (None, true);
    assert!(plan(&seen).release.is_some());
}

#[test]
fn f9_a_new_wd_on_a_restored_hub_was_not_lost() {
    let mut model = Model::new(fixtures::fresh());
    (model.namespace, model.distrust) = (Some(hub_namespace()), Some(Distrust::Restored));
    model.settle();
    assert!(model.hub.is_some() && !is_lost(&model));
    model.delete().settle();
    assert!(model.project.is_none(), "and it waits for no cell");
}

//! I7: where digests show that nothing is to be done, rendering changes nothing; and what the federator left
//! in sync, digests show as in sync.

use fedhub_core::object::ObjectView;
use fedhub_engine::{Draft, DraftPart, Intent};
use fedhub_federator::render::render;
use fedhub_planes::{Write, WriteMode};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::plan::fixtures::{fresh, in_order};
use crate::plan::model::Model;
use crate::plan::observed::{Observed, Plan};
use crate::plan::states;

/// Whether the plan, which knows the facts alone, has nothing to do.
pub fn in_sync(seen: &Observed) -> bool {
    let snapshot = seen.snapshot();
    assert_eq!(snapshot.fingerprint() == 0, snapshot.live.is_some() || seen.stalled);
    fedhub_federator::plan::plan(&snapshot).intents.is_empty()
}

/// The writes of a reconcile whose digests say of everything that it may differ, so that rendering decides.
fn rendered(seen: &Observed) -> Plan {
    let another = seen.snapshot_as(
        |project| project.data["status"]["different"] = json!(true),
        |hub| hub.data["spec"]["different"] = json!(true),
    );
    let plan = fedhub_federator::plan::plan(&another);
    seen.rendered(&seen.snapshot(), plan)
}

/// Rendering changes nothing but the order of conditions.
fn idle(seen: &Observed) -> bool {
    let sorted = |status: &Value| {
        let mut status = status.clone();
        if let Some(conditions) = status["conditions"].as_array_mut() {
            conditions.sort_by_key(|c| c["type"].to_string());
        }
        status
    };
    let plan = rendered(seen);
    let same = plan.status.as_ref().is_none_or(|w| sorted(&w.status) == sorted(seen.project.status()));
    same && Plan { status: None, ..plan } == Plan::default()
}

fn report() -> Value {
    json!({"replicas": 1, "observedGeneration": 7, "conditions": [{"type": "Available", "status": "True"}]})
}

/// A WD that was federated and reported on.
fn rested() -> Model {
    let mut model = Model::new(fresh());
    model.settle().report(report()).settle();
    model
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn i7_where_nothing_is_to_do_rendering_changes_nothing(seen in states::observed()) {
        prop_assert!(!in_sync(&seen) || idle(&seen), "{:?}", rendered(&seen));
    }

    /// Almost in order: one or two things are otherwise, so that a plan that overlooks one is caught.
    #[test]
    fn i7_where_rendering_changes_something_the_plan_says_so(other in states::observed(), first in 0usize..12, second in 0usize..12) {
        let mut seen = rested().seen().unwrap();
        prop_assert!(in_sync(&seen));
        for what in [first, second] {
            let mut project = seen.project.as_ref().clone();
            let mut hub = seen.hub.as_deref().cloned().unwrap_or_else(fresh);
            match (what, &other.hub) {
                (0, _) => project.metadata.annotations.clone_from(&other.project.metadata.annotations),
                (1, _) => project.metadata.finalizers.clone_from(&other.project.metadata.finalizers),
                (2, _) => project.data["spec"] = other.project.spec().clone(),
                (3, _) => project.data["status"] = other.project.status().clone(),
                (4, _) => project.metadata.deletion_timestamp.clone_from(&other.project.metadata.deletion_timestamp),
                (5, _) => project.metadata.generation = Some(8),
                (6, _) => seen.hub_namespace.clone_from(&other.hub_namespace),
                (7, _) => seen.policies.clone_from(&other.policies),
                (8, _) => seen.cells = other.cells,
                (9, Some(another)) => hub.metadata = another.metadata.clone(),
                (10, Some(another)) => hub.data["spec"] = another.spec().clone(),
                (11, Some(another)) => hub.data["status"] = another.status().clone(),
                _ => seen.hub = None,
            }
            seen.project = project.into();
            seen.hub = seen.hub.is_some().then(|| hub.into());
        }
        prop_assert!(!in_sync(&seen) || idle(&seen), "{:?}", rendered(&seen));
    }

    #[test]
    fn i7_what_the_federator_left_in_order_needs_no_rendering((project, hub) in states::federated()) {
        let mut model = Model::new(project);
        model.settle();
        let reported = hub.status().as_object().is_some_and(|s| !s.is_empty());
        if reported {
            model.report(hub.status().clone()).settle();
        }
        model.restart();
        let seen = model.seen().unwrap();
        // What was in the status before any report is the plan's business.
        let comparable = reported || !seen.project.status().is_object();
        prop_assert!(!comparable || in_sync(&seen) || seen.hub.unwrap().status().get("conditions").is_none());
    }
}

#[test]
fn f9_no_hub_wd_is_made_to_be_deleted() {
    let seen = Observed { hub: None, ..in_order() };
    let snapshot = seen.snapshot();
    let bodies = [(snapshot.project_key(), seen.project.clone())].into();
    let rendered = |part| {
        let from = vec![snapshot.project_subject()];
        render(&snapshot, None, &Draft { part, from, mode: WriteMode::Direct }, &bodies)
    };
    assert_eq!(rendered(DraftPart::Unprotected { recalled: None }), None);
    let made = rendered(DraftPart::Object);
    assert!(matches!(made, Some(Intent::Put { write: Write::Create(_), .. })), "{made:?}");
}

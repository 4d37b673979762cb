//! I7: what digests call in order, the plan leaves alone; and what the federator left in order, digests call so.

use fedhub_cache::digest::Digest;
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Key, Kind, Object, ObjectView, PlaneId};
use fedhub_federator::glance::Sight;
use fedhub_federator::observe::Observed;
use fedhub_federator::plan::{Plan, plan};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fixtures::{PLANE, fresh};
use crate::model::Model;
use crate::states;

pub fn glance(seen: &Observed) -> bool {
    let plane = PlaneName::new(PLANE).unwrap();
    let id = PlaneId::Project(plane.clone());
    let digest = |plane: &PlaneId, wd: &Object| Digest::of(plane, Kind::WorkloadDeployment, wd);
    let key = Key {
        plane: id.clone(),
        kind: Kind::WorkloadDeployment,
        namespace: seen.project.namespace().to_owned(),
        name: seen.project.name().to_owned(),
    };
    let sight = Sight {
        down: seen.cell_down.clone(),
        project: digest(&id, &seen.project),
        hub_namespace_name: seen.hub_namespace_name.clone(),
        hub_namespace: seen.hub_namespace.clone(),
        hub: seen.hub.as_deref().map(|hub| digest(&PlaneId::Hub, hub)),
        policies: seen.policies.clone(),
        cells: seen.cells,
        spec_normalization: seen.spec_normalization,
        suspended: seen.suspended,
    };
    assert_ne!(sight.judged_by(seen), 0);
    sight.in_order(&plane, &key)
}

/// A plan that changes nothing but the order of conditions does nothing.
fn idle(seen: &Observed) -> bool {
    let sorted = |status: &Value| {
        let mut status = status.clone();
        if let Some(conditions) = status["conditions"].as_array_mut() {
            conditions.sort_by_key(|c| c["type"].to_string());
        }
        status
    };
    let plan = plan(seen);
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
    fn i7_what_a_glance_calls_in_order_the_plan_leaves_alone(seen in states::observed()) {
        prop_assert!(!glance(&seen) || idle(&seen), "{:?}", plan(&seen));
    }

    /// Almost in order: one or two things are otherwise, so that a glance that overlooks one is caught.
    #[test]
    fn i7_a_glance_overlooks_nothing(other in states::observed(), first in 0usize..12, second in 0usize..12) {
        let mut seen = rested().seen().unwrap();
        prop_assert!(glance(&seen));
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
        prop_assert!(!glance(&seen) || idle(&seen), "{:?}", plan(&seen));
    }

    #[test]
    fn i7_what_the_federator_left_in_order_a_glance_calls_so((project, hub) in states::federated()) {
        let mut model = Model::new(project);
        model.settle();
        let reported = hub.status().as_object().is_some_and(|s| !s.is_empty());
        if reported {
            model.report(hub.status().clone()).settle();
        }
        model.restart();
        let seen = model.seen().unwrap();
        // What stood in the status before anybody reported is the plan's business.
        let told = reported || !seen.project.status().is_object();
        prop_assert!(!told || glance(&seen) || seen.hub.unwrap().status().get("conditions").is_none());
    }
}

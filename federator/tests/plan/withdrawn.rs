//! W9: a service that is suspended or withdrawn in a project.

use fedhub_core::names::{FEDERATOR_FINALIZER, SUSPENDED};
use fedhub_core::object::ObjectView;
use fedhub_planes::ServiceState;
use proptest::prelude::*;
use serde_json::json;

use crate::plan::fixtures::{fresh, in_order, reason, writes};
use crate::plan::model::Model;
use crate::plan::observed::plan;
use crate::plan::states;

fn running() -> Model {
    let mut model = Model::new(fresh());
    model.settle().report(json!({"replicas": 2, "readyReplicas": 2, "observedGeneration": 7})).settle();
    model
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn w9_a_withdrawn_service_is_taken_from_the_hub_as_a_deletion_would_take_it(mut seen in states::observed()) {
        seen.service = ServiceState::Withdrawn;
        let held = seen.project.metadata.finalizers.iter().flatten().any(|f| f == FEDERATOR_FINALIZER);
        let withdrawn = plan(&seen);
        if withdrawn.release.is_some() {
            prop_assert!(held && seen.live.is_some(), "I3: released by a live read alone");
        }
        // It is deleted where a deletion of the WD deletes it, and nowhere else.
        if held && !seen.project.is_terminating() {
            seen.project = crate::plan::fixtures::shared(crate::plan::fixtures::deleting((*seen.project).clone()));
            let deleted = plan(&seen);
            prop_assert_eq!(withdrawn.delete.is_some(), deleted.delete.is_some());
            prop_assert_eq!(withdrawn.release.is_some(), deleted.release.is_some());
        }
    }

    #[test]
    fn w9_in_doubt_nothing_is_written(mut seen in states::observed()) {
        seen.service = ServiceState::Unknown;
        let plan = plan(&seen);
        prop_assert!(seen.project.is_terminating() || !writes(&plan), "{:?}", plan);
    }
}

#[test]
fn w9_a_withdrawn_wd_leaves_the_hub_says_so_and_comes_back_with_the_service() {
    let mut model = running();
    model.service = ServiceState::Withdrawn;
    model.settle();
    let project = model.project.clone().unwrap();
    assert!(model.hub.is_none() && !model.runs);
    assert!(project.metadata.finalizers.is_none(), "{:?}", project.metadata);
    assert_eq!(reason(&project), Some("ServiceNotActive"));
    assert_eq!((&project.status()["readyReplicas"], &project.status()["replicas"]), (&json!(0), &json!(0)));
    model.restart().settle();
    assert!(model.log.is_empty(), "{:?}", model.log);
    model.service = ServiceState::Unknown;
    model.settle();
    assert!(model.log.is_empty(), "{:?}", model.log);
    model.service = ServiceState::Active;
    model.settle();
    assert!(model.hub.is_some());
    model.report(json!({"replicas": 2, "readyReplicas": 2, "observedGeneration": 7})).settle();
    let project = model.project.clone().unwrap();
    assert_eq!(project.status()["readyReplicas"], 2);
    assert_eq!(project.metadata.finalizers.as_deref(), Some(&[FEDERATOR_FINALIZER.to_owned()][..]));
}

#[test]
fn w9_a_create_that_lands_after_the_release_is_taken_away() {
    let mut model = running();
    let late = model.hub.clone();
    model.service = ServiceState::Withdrawn;
    model.settle();
    model.hub = late;
    model.settle();
    assert!(model.hub.is_none() && model.project.unwrap().metadata.finalizers.is_none());
}

#[test]
fn w9_a_new_wd_of_a_withdrawn_service_is_not_marked() {
    let mut model = Model::new(fresh());
    model.service = ServiceState::Withdrawn;
    model.settle();
    assert!(model.hub.is_none() && model.namespace.is_none());
    let project = model.project.unwrap();
    assert!(project.metadata.finalizers.is_none());
    assert_eq!(reason(&project), Some("ServiceNotActive"));
}

#[test]
fn w9_a_suspended_service_suspends_on_the_hub_and_says_why() {
    let mut model = running();
    model.service = ServiceState::Suspended;
    model.settle();
    assert_eq!(model.hub.as_ref().unwrap().annotation(SUSPENDED), Some("true"));
    let stopped = json!([{"type": "Available", "status": "False", "reason": "Suspended", "message": "m",
        "lastTransitionTime": "2026-01-02T00:00:00Z"}]);
    model.report(json!({"replicas": 2, "conditions": stopped, "observedGeneration": 7})).settle();
    assert_eq!(reason(model.project.as_ref().unwrap()), Some("ServiceSuspended"));
    let federated =
        fedhub_api::conditions::find(model.project.as_ref().unwrap().status(), "Federated").unwrap();
    assert_eq!(federated["reason"], "Applied", "it is federated all the same");
    model.forget_log().settle();
    assert!(model.log.is_empty(), "{:?}", model.log);
    model.service = ServiceState::Active;
    model.settle();
    assert_eq!(model.hub.unwrap().annotation(SUSPENDED), None);
    assert_eq!(reason(&model.project.unwrap()), Some("Suspended"), "the cell's own word, until it reports");
}

#[test]
fn w9_in_a_suspended_project_the_finalizer_waits() {
    let mut seen = in_order();
    (seen.hub, seen.service) = (None, ServiceState::Withdrawn);
    seen.live = Some(crate::plan::fixtures::live(seen.hub_namespace.as_deref().cloned(), None));
    assert!(plan(&seen).release.is_some());
    seen.writes = fedhub_planes::WriteState::Suspended;
    let plan = plan(&seen);
    assert!(plan.release.is_none() && plan.status.is_none(), "{plan:?}");
    assert!(plan.deployment.is_none(), "{plan:?}");
}

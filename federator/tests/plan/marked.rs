//! I2, F2, F3: the mark, and the hub namespace.

use fedhub_core::names::{
    FEDERATION_NAMESPACE, FEDERATOR_FINALIZER, HUB_LOST, HUB_NAMESPACE_UID, UPSTREAM_CLUSTER,
    UPSTREAM_NAMESPACE,
};
use fedhub_core::object::ObjectView;
use fedhub_engine::{Intent, Outcome};
use fedhub_federator::loss;
use fedhub_federator::progress::{Failure, Progress};
use fedhub_federator::refusal::Remnant;
use fedhub_planes::Write;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::plan::fixtures::{
    Edit, FOREIGN, HUB_SPACE, HUB_SPACE_UID, annotate, body, deleting, fresh, hub_namespace, in_order, label,
    marked, seen, shared, unannotate, with, writes_hub,
};
use crate::plan::observed::Observed;
use crate::plan::observed::{Plan, plan};
use crate::plan::states;

/// An annotation as it is once the plan's mark is stored.
fn annotation_after(seen: &Observed, plan: &Plan, key: &str) -> Option<String> {
    let written = plan.mark.as_ref().and_then(|m| m["annotations"][key].as_str());
    written.or_else(|| seen.project.annotation(key)).map(str::to_owned)
}

/// The input of the plan: for a WD that is deleted, with the results of live reads.
fn judged(seen: &Observed) -> Observed {
    match seen.live.clone().filter(|_| seen.project.is_terminating()) {
        Some(live) => Observed { hub_namespace: live.namespace, hub: live.deployment, ..seen.clone() },
        None => seen.clone(),
    }
}

fn finalizer_after(seen: &Observed, plan: &Plan) -> bool {
    let written = plan.mark.as_ref().and_then(|m| m["finalizers"].as_array());
    match written {
        Some(list) => list.contains(&json!(FEDERATOR_FINALIZER)),
        None => seen.project.has_finalizer(FEDERATOR_FINALIZER),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn i2_whatever_is_written_to_the_hub_is_marked_first(seen in states::observed()) {
        let plan = plan(&seen);
        if writes_hub(&plan) {
            prop_assert!(finalizer_after(&seen, &plan));
            if !seen.project.is_terminating() {
                let space = annotation_after(&seen, &plan, FEDERATION_NAMESPACE);
                prop_assert_eq!(space.as_deref(), Some(HUB_SPACE));
            }
        }
        let judged = judged(&seen);
        if plan.policy.is_some() || plan.deployment.is_some() && plan.delete.is_none() {
            let namespace = judged.hub_namespace.as_ref().unwrap();
            let recorded = annotation_after(&seen, &plan, HUB_NAMESPACE_UID);
            // F9: while a loss stands, the project WD names the namespace that was lost, and the hub WD says
            // so.
            prop_assert!(recorded.as_deref() == Some(namespace.uid()) || loss::stands(&judged.snapshot()), "{:?}", recorded);
            prop_assert!(!namespace.is_terminating());
            if let Some(write) = &plan.deployment {
                prop_assert_eq!(body(write).annotation(HUB_LOST).is_some(), loss::stands(&judged.snapshot()));
            }
        }
    }

    #[test]
    fn i2_a_wd_that_is_not_taken_is_not_marked(seen in states::observed()) {
        let plan = plan(&seen);
        let finalizers = plan.mark.as_ref().is_some_and(|mark| !mark["finalizers"].is_null());
        if seen.project.is_terminating() {
            prop_assert!(!finalizers, "the API server refuses new finalizers by then");
        } else if plan.mark.is_some() {
            prop_assert!(fedhub_core::names::is_label_value(seen.city()));
        }
    }
}

#[test]
fn i2_f2_the_first_pass_marks_in_one_patch_and_makes_the_namespace() {
    let plan = plan(&seen(fresh(), None, None, vec![]));
    let expected = json!({
        "finalizers": [FEDERATOR_FINALIZER],
        "annotations": {FEDERATION_NAMESPACE: HUB_SPACE},
    });
    assert_eq!(plan.mark, Some(expected));
    let Some(Write::Create(namespace)) = &plan.namespace else { panic!("{plan:?}") };
    assert_eq!(namespace.name(), HUB_SPACE);
    assert_eq!(namespace.label(UPSTREAM_CLUSTER), Some("cluster-alpha"));
    assert_eq!(namespace.label(UPSTREAM_NAMESPACE), Some("shop"));
    assert!(plan.policy.is_none() && plan.deployment.is_none() && plan.status.is_none());
    assert_eq!(plan.then, None);
}

#[test]
fn f2_the_namespaces_uid_goes_into_the_first_patch_where_it_is_known() {
    let plan = plan(&seen(fresh(), Some(hub_namespace()), None, vec![]));
    let annotations = &plan.mark.as_ref().unwrap()["annotations"];
    assert_eq!(*annotations, json!({FEDERATION_NAMESPACE: HUB_SPACE, HUB_NAMESPACE_UID: HUB_SPACE_UID}));
    assert!(plan.policy.is_some() && plan.deployment.is_some(), "all in one pass");
}

#[test]
fn f2_the_uid_is_recorded_before_the_hub_wd_where_it_was_not_known() {
    let project = with(marked(), |wd| unannotate(wd, HUB_NAMESPACE_UID));
    let plan = plan(&seen(project, Some(hub_namespace()), None, vec![]));
    assert_eq!(plan.mark, Some(json!({"annotations": {HUB_NAMESPACE_UID: HUB_SPACE_UID}})));
}

#[test]
fn i2_annotations_and_finalizer_that_a_tenant_edits_are_put_back() {
    let table: [(&str, Edit, Value); 4] = [
        (
            "spoofed",
            |wd| annotate(wd, FEDERATION_NAMESPACE, "ns-of-another"),
            json!({"annotations": {FEDERATION_NAMESPACE: HUB_SPACE}}),
        ),
        (
            "taken off",
            |wd| unannotate(wd, FEDERATION_NAMESPACE),
            json!({"annotations": {FEDERATION_NAMESPACE: HUB_SPACE}}),
        ),
        (
            "uid",
            |wd| annotate(wd, HUB_NAMESPACE_UID, "x"),
            json!({"annotations": {HUB_NAMESPACE_UID: HUB_SPACE_UID}}),
        ),
        (
            "finalizer",
            |wd| wd.metadata.finalizers = Some(vec![FOREIGN.to_owned()]),
            json!({"finalizers": [FOREIGN, FEDERATOR_FINALIZER]}),
        ),
    ];
    for (what, edit, expected) in table {
        let mut seen = in_order();
        seen.project = shared(with(marked(), edit));
        let plan = plan(&seen);
        assert_eq!(plan.mark, Some(expected), "{what}");
        assert!(plan.deployment.is_none(), "{what}: the hub WD is as it was");
    }
}

#[test]
fn f3_a_namespace_without_labels_gets_them_and_keeps_the_others() {
    let mut seen = in_order();
    seen.hub_namespace = Some(shared(with(hub_namespace(), |n| {
        n.metadata.labels = None;
        label(n, FOREIGN, "kept");
    })));
    let plan = plan(&seen);
    let written = body(plan.namespace.as_ref().unwrap());
    assert_eq!(written.label(UPSTREAM_CLUSTER), Some("cluster-alpha"));
    assert_eq!(written.label(UPSTREAM_NAMESPACE), Some("shop"));
    assert_eq!(written.label(FOREIGN), Some("kept"));
    assert!(matches!(plan.namespace, Some(Write::Replace { .. })));
}

#[test]
fn f3_a_namespace_that_is_terminating_is_waited_for() {
    let mut seen = in_order();
    seen.hub_namespace = Some(shared(deleting(hub_namespace())));
    seen.hub = None;
    let plan = plan(&seen);
    assert!(!writes_hub(&plan));
    assert_eq!(plan.then, Some(Intent::End(Outcome::AwaitChange)));
    assert_eq!(seen.progress(), Progress::Failed(Failure::Remains(Remnant::Namespace)));
}

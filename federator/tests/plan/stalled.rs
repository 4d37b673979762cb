//! F8: what Karmada has not applied, or whose last status it has not passed on.

use fedhub_api::facts::deployment::COUNTERS;
use fedhub_core::names::RESYNC;
use fedhub_core::object::{Kind, Object, ObjectView, bare, set_field};
use fedhub_federator::moving::Bound;
use serde_json::{Value, json};

use crate::plan::fixtures::{annotate, body, hub_wd, in_order, marked, shared, status_of, with};
use crate::plan::observed::{Plan, plan};
use crate::plan::rendering::in_sync;

const BEFORE: &str = "2026-01-01T00:00:00Z";

/// The hub WD that a plan writes; `None` where it writes none.
fn resync(annotation: Option<&str>, stalled: bool, reported: Option<i64>) -> Option<Object> {
    let status = |generation: Option<i64>| {
        let counters = COUNTERS.iter().map(|counter| ((*counter).to_owned(), json!(1)));
        let generation = generation.map(|g| ("observedGeneration".to_owned(), json!(g)));
        Value::Object(counters.chain(generation).collect())
    };
    let mut seen = in_order();
    seen.stalled = stalled;
    seen.project = shared(status_of(marked(), status(reported.or(Some(7)))));
    let hub = status_of(hub_wd(), status(reported));
    seen.hub = Some(shared(with(hub, |wd| annotation.into_iter().for_each(|at| annotate(wd, RESYNC, at)))));
    let plan = plan(&seen);
    let written = plan.deployment.as_ref().map(|write| body(write).clone());
    assert_eq!(Plan { deployment: None, ..plan }, Plan::default(), "nothing of it reaches the project");
    assert!(
        stalled || written.is_none() || !in_sync(&seen),
        "digests show that the annotation is to be removed"
    );
    written
}

#[test]
fn f8_i7_a_resync_is_written_where_it_is_due_and_goes_with_the_report() {
    for (annotation, stalled, reported, expected) in [
        (None, false, Some(7), None),
        (None, false, Some(6), None),
        (None, false, None, None),
        (None, true, None, Some(true)),
        (None, true, Some(6), Some(true)),
        (Some(BEFORE), true, None, Some(true)),
        (Some(BEFORE), false, None, None),
        (Some(BEFORE), false, Some(6), None),
        (Some(BEFORE), false, Some(7), Some(false)),
    ] {
        let written = resync(annotation, stalled, reported);
        let stands = written.as_ref().map(|wd| wd.annotation(RESYNC).is_some());
        assert_eq!(stands, expected, "{annotation:?} {stalled} {reported:?}");
        assert!(written.is_none_or(|wd| wd.annotation(RESYNC) != Some(BEFORE)), "each is another");
    }
}

#[test]
fn f8_karmada_is_behind_where_it_has_not_applied_or_passes_on_an_older_status() {
    let applied = json!({"clusterName": "cell-1", "applied": true});
    let unapplied =
        json!({"clusterName": "cell-1", "appliedMessage": "not initialized", "health": "Unknown"});
    let false_ = json!({"clusterName": "cell-1", "applied": false});
    let other = json!({"clusterName": "cell-2"});
    let passed_on = |cell: &str, generation: Option<i64>| {
        let status = json!({"replicas": 1, "observedGeneration": generation});
        json!({"clusterName": cell, "applied": true, "status": status})
    };
    for (items, expected) in [
        (json!(null), false),
        (json!([]), false),
        (json!([applied]), false),
        (json!([unapplied]), true),
        (json!([false_]), true),
        (json!([other]), false),
        (json!([other, applied]), false),
        (json!([other, unapplied]), true),
        (json!([passed_on("cell-1", Some(7))]), false),
        (json!([passed_on("cell-1", None)]), true),
        (json!([passed_on("cell-1", Some(6))]), true),
        (json!([passed_on("cell-2", None)]), false),
    ] {
        let mut binding = bare(Kind::ResourceBinding, "ns-1", "web-dfw-workloaddeployment");
        set_field(&mut binding, "status", json!({"aggregatedStatus": items}));
        assert_eq!(Bound::new(&binding, &["cell-1".to_owned()]).is_behind(7), expected, "{items}");
    }
}

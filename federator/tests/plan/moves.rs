//! F6: a WD that changes its city.

use fedhub_api::cells::CellDown;
use fedhub_api::conditions::{find, said};
use fedhub_core::names::{CITY_CODE, CLAIMED_BY, MOVING};
use fedhub_core::object::{Kind, Object, ObjectView, bare, set_field};
use fedhub_engine::{Intent, Outcome};
use fedhub_federator::moving::Bound;
use fedhub_planes::Write;
use serde_json::{Value, json};

use crate::plan::fixtures::{
    HUB_SPACE, annotate, body, hub_namespace, hub_wd, in_order, label, marked_in, policy, seen, shared,
    status_of, with, writes_hub,
};
use crate::plan::observed::Observed;
use crate::plan::observed::plan;

pub const CITIES: [(&str, &str); 2] = [("DFW", "cell-1"), ("ORD", "cell-2")];

pub fn cell_of(city: &str) -> &'static str {
    CITIES.iter().find(|(code, _)| *code == city).unwrap().1
}

pub fn report(by: &str, generation: i64) -> Value {
    json!({"by": by, "replicas": 1, "observedGeneration": generation,
           "conditions": [{"type": "Available", "status": "True", "reason": by}]})
}

fn binding(clusters: &[&str], items: &[(&str, Value)]) -> Object {
    let mut binding = bare(Kind::ResourceBinding, HUB_SPACE, "web-dfw-workloaddeployment");
    let clusters: Vec<Value> = clusters.iter().map(|name| json!({"name": name})).collect();
    let items = items.iter().map(|(name, status)| json!({"clusterName": name, "status": status}));
    set_field(&mut binding, "spec", json!({"clusters": clusters}));
    set_field(&mut binding, "status", json!({"aggregatedStatus": items.collect::<Vec<_>>()}));
    binding
}

pub fn bound(clusters: &[&str], items: &[(&str, Value)], city: &str) -> Bound {
    Bound::new(&binding(clusters, items), &[cell_of(city).to_owned()])
}

pub fn available(status: &Value) -> (&str, &str) {
    let condition = find(status, "Available").unwrap();
    (condition["status"].as_str().unwrap(), condition["reason"].as_str().unwrap())
}

/// A WD that was federated to DFW, where its cell reported, and is to be in ORD.
fn to_change() -> Observed {
    let hub = with(hub_wd(), |wd| annotate(wd, CLAIMED_BY, "city-dfw"));
    let hub = status_of(hub, report("cell-1", 7));
    let project = status_of(marked_in("ORD"), report("cell-1", 7));
    seen(project, Some(hub_namespace()), Some(hub), vec![policy("city-dfw", "DFW")])
}

/// The WD of [`to_change`] after it was relabelled: Karmada has released it, and the policy of ORD has
/// claimed it.
fn relabelled() -> Observed {
    let mut seen = to_change();
    let Some(Write::Replace { object, .. }) = plan(&seen).deployment else { panic!("not relabelled") };
    let hub = with(*object, |wd| annotate(wd, CLAIMED_BY, "city-ord"));
    seen.hub = Some(shared(hub));
    seen.policies = crate::plan::fixtures::in_order().policies;
    for (name, city) in [("city-dfw", "DFW"), ("city-ord", "ORD")] {
        let known =
            crate::plan::observed::KnownPolicy { object: shared(policy(name, city)), normalization: None };
        seen.policies.retain(|p| p.object.name() != name);
        seen.policies.push(known);
    }
    seen
}

#[test]
fn f6_a_new_city_is_one_write_that_records_the_move_and_says_so_at_once() {
    let plan = plan(&to_change());
    assert_eq!(body(plan.policy.as_ref().unwrap()).label(CITY_CODE), Some("ORD"));
    let deployment = body(plan.deployment.as_ref().unwrap());
    assert_eq!(deployment.label(CITY_CODE), Some("ORD"));
    assert!(deployment.annotation(MOVING).unwrap().starts_with("DFW/2027-"), "{:?}", deployment.metadata);
    // The cell of DFW says that it is available, which is no answer.
    let status = plan.status.unwrap().status;
    assert_eq!(available(&status), ("False", "Moving"));
    assert!(matches!(plan.then, Some(Intent::End(Outcome::RequeueAfter(_)))));
    assert!(plan.delete.is_none() && plan.moved.is_none());
}

#[test]
fn f6_a_move_ends_when_the_cell_of_the_new_city_has_reported() {
    let old = report("cell-1", 7);
    let new = report("cell-2", 7);
    let there = || bound(&["cell-2"], &[("cell-2", report("cell-2", 7))], "ORD");
    for (what, claim, bound, status, ends) in [
        ("all of it", Some("city-ord"), Some(there()), &new, true),
        ("no binding", Some("city-ord"), None, &new, false),
        ("unclaimed", None, Some(there()), &new, false),
        ("the old policy's", Some("city-dfw"), Some(there()), &new, false),
        ("the old cell's status", Some("city-ord"), Some(there()), &old, false),
        ("unscheduled", Some("city-ord"), Some(bound(&[], &[("cell-2", new.clone())], "ORD")), &new, false),
        (
            "in the old cell",
            Some("city-ord"),
            Some(bound(&["cell-1"], &[("cell-1", old.clone())], "ORD")),
            &old,
            false,
        ),
        (
            "in both",
            Some("city-ord"),
            Some(bound(&["cell-1", "cell-2"], &[("cell-2", new.clone())], "ORD")),
            &new,
            false,
        ),
        (
            "not reported",
            Some("city-ord"),
            Some(bound(&["cell-2"], &[("cell-2", json!({}))], "ORD")),
            &old,
            false,
        ),
        (
            "reported by the old one",
            Some("city-ord"),
            Some(bound(&["cell-2"], &[("cell-1", old.clone())], "ORD")),
            &old,
            false,
        ),
    ] {
        let mut seen = relabelled();
        let mut hub = status_of(seen.hub.as_deref().unwrap().clone(), status.clone());
        match claim {
            Some(claim) => annotate(&mut hub, CLAIMED_BY, claim),
            None => crate::plan::fixtures::unannotate(&mut hub, CLAIMED_BY),
        }
        (seen.hub, seen.bound) = (Some(shared(hub)), bound);
        seen.project = shared(status_of(seen.project.as_ref().clone(), json!({})));
        let plan = plan(&seen);
        let reason = plan.status.as_ref().map(|w| available(&w.status).1.to_owned()).unwrap();
        if ends {
            assert_eq!(body(plan.deployment.as_ref().unwrap()).annotation(MOVING), None, "{what}");
            assert_eq!((plan.moved.as_deref(), reason.as_str()), (Some("DFW"), "cell-2"), "{what}");
            assert_eq!(plan.then, None, "{what}");
        } else {
            assert!(!writes_hub(&plan) && plan.moved.is_none(), "{what}: {plan:?}");
            assert_eq!(reason, "Moving", "{what}");
            assert!(matches!(plan.then, Some(Intent::End(Outcome::RequeueAfter(_)))), "{what}");
        }
    }
}

#[test]
fn u2_c11_a_move_to_a_cell_that_is_not_reached_names_the_cell_and_who_acts() {
    for lost in [false, true] {
        for mut seen in [to_change(), relabelled()] {
            let since = "2026-01-05T00:00:00Z".to_owned();
            seen.cell_down = Some(CellDown { cell: "cell-2".to_owned(), since, lost });
            let status = plan(&seen).status.unwrap().status;
            for kind in ["Available", "Federated"] {
                let (status, reason, message) = said(find(&status, kind).unwrap());
                assert_eq!((status, reason), ("False", "CellUnreachable"), "{kind}");
                assert!(message.contains("cell-2") && message.contains("Action required by"), "{message}");
            }
            let (.., message) = said(find(&status, "Available").unwrap());
            assert!(message.starts_with("moving from city \"DFW\" to city \"ORD\": "), "{message}");
            // The cell is back.
            seen.project = shared(status_of(seen.project.as_ref().clone(), status));
            seen.cell_down = None;
            let status = plan(&seen).status.unwrap().status;
            assert_eq!(available(&status), ("False", "Moving"));
            assert_eq!(said(find(&status, "Federated").unwrap()).1, "Moving");
        }
    }
}

#[test]
fn i10_a_wd_whose_new_city_has_no_cell_or_several_is_left_where_it_is() {
    for (cells, reason) in [(0, "NoCellForCity"), (2, "AmbiguousCity")] {
        let mut seen = to_change();
        seen.cells = cells;
        let plan = plan(&seen);
        assert!(!writes_hub(&plan) && plan.mark.is_none(), "{reason}");
        assert_eq!(available(&plan.status.unwrap().status), ("False", reason));
    }
}

#[test]
fn f6_a_wd_that_another_citys_policy_claims_moves_to_its_own() {
    let mut seen = in_order();
    let hub = with(hub_wd(), |wd| annotate(wd, CLAIMED_BY, "city-ord"));
    seen.hub = Some(shared(status_of(hub, report("cell-2", 7))));
    let other =
        crate::plan::observed::KnownPolicy { object: shared(policy("city-ord", "ORD")), normalization: None };
    seen.policies.push(other);
    let plan = plan(&seen);
    assert!(body(plan.deployment.as_ref().unwrap()).annotation(MOVING).unwrap().starts_with("ORD/"));
    assert_eq!(available(&plan.status.unwrap().status), ("False", "Moving"));
}

#[test]
fn f6_a_label_that_is_edited_by_hand_is_put_back_without_a_move() {
    let mut seen = in_order();
    let hub = with(hub_wd(), |wd| {
        annotate(wd, CLAIMED_BY, "city-dfw");
        label(wd, CITY_CODE, "ORD");
    });
    seen.hub = Some(shared(status_of(hub, report("cell-1", 7))));
    let plan = plan(&seen);
    assert_eq!(
        body(plan.deployment.as_ref().unwrap()),
        &with(hub_wd(), |wd| {
            annotate(wd, CLAIMED_BY, "city-dfw");
            set_field(wd, "status", report("cell-1", 7));
        })
    );
    assert_eq!(available(&plan.status.unwrap().status), ("True", "cell-1"));
}

#[test]
fn f6_a_mark_of_a_move_that_cannot_be_read_is_taken_off() {
    for junk in ["", "DFW", "DFW/yesterday"] {
        let mut seen = in_order();
        seen.hub = Some(shared(with(hub_wd(), |wd| annotate(wd, MOVING, junk))));
        let plan = plan(&seen);
        assert_eq!(body(plan.deployment.as_ref().unwrap()), &hub_wd(), "{junk}");
        assert!(plan.moved.is_none());
    }
}

//! I4, P5: a projection goes only where it is seen or proven that its Instance is gone.

use std::sync::Arc;

use crate::plan::world::Observed;
use crate::plan::world::{Decision, plan};
use fedhub_core::names::PROJECTED_FROM;
use fedhub_planes::Distrust;
use fedhub_projector::snapshot::Live;
use fedhub_projector::verdict::DeletionUnconfirmed;
use serde_json::{Value, json};

use crate::plan::support::*;

fn deletes(decision: &Decision) -> Option<bool> {
    match decision {
        Decision::Delete { inferred, .. } => Some(*inferred),
        _ => None,
    }
}

#[test]
fn i4_seen_deleted_by_its_uid_deletes_without_reads() {
    let seen = Observed { seen_deleted: Some(INSTANCE_UID.to_owned()), ..gone() };
    let projection = seen.projection.clone().unwrap();
    assert_eq!(plan(&seen), Decision::Delete { projection, inferred: false });
}

#[test]
fn i4_anothers_uid_seen_deleted_proves_nothing() {
    for uid in ["another", "", PROJECTION_UID, HUB_SPACE_UID] {
        let seen = Observed { seen_deleted: Some(uid.to_owned()), ..gone() };
        assert_eq!(plan(&seen), Decision::ReadLive, "{uid}");
    }
}

#[test]
fn i4_absence_alone_asks() {
    assert_eq!(plan(&gone()), Decision::ReadLive);
}

#[test]
fn i4_a_404_while_all_else_stands_is_proof() {
    let seen = Observed { live: Some(proof()), ..gone() };
    assert_eq!(deletes(&plan(&seen)), Some(true));
}

#[test]
fn i4_another_uid_under_the_name_is_proof_too() {
    let mut other = instance();
    other.metadata.uid = Some("another".to_owned());
    let seen = Observed { live: Some(Live { instance: Some(Arc::new(other)), ..proof() }), ..gone() };
    assert_eq!(deletes(&plan(&seen)), Some(true));
}

#[test]
fn i4_an_instance_that_is_there_after_all_is_waited_for() {
    let seen = Observed { live: Some(Live { instance: Some(Arc::new(instance())), ..proof() }), ..gone() };
    assert_eq!(plan(&seen), Decision::Park(None));
}

#[test]
fn i4_every_lack_of_proof_withholds() {
    let namespace = |bend: &dyn Fn(&mut fedhub_core::object::Object)| {
        let mut space = hub_namespace();
        bend(&mut space);
        Live { namespace: Some(Arc::new(space)), ..proof() }
    };
    let deployment = |bend: &dyn Fn(&mut fedhub_core::object::Object)| {
        let mut wd = hub_wd();
        bend(&mut wd);
        Live { deployment: Some(Arc::new(wd)), ..proof() }
    };
    let lost = DeletionUnconfirmed::NamespaceLost;
    let silent = DeletionUnconfirmed::DeploymentSilent;
    let cases: [(&str, Live, DeletionUnconfirmed); 9] = [
        ("an emptied hub", Live::default(), lost),
        ("no namespace", Live { namespace: None, ..proof() }, lost),
        ("another namespace of that name", namespace(&|n| n.metadata.uid = Some("new".into())), lost),
        ("a namespace on its way out", namespace(&dying), lost),
        ("no WD", Live { deployment: None, ..proof() }, silent),
        ("a WD on its way out", deployment(&dying), silent),
        ("a WD without a status", deployment(&|d| d.data["status"] = Value::Null), silent),
        ("a WD with an empty status", deployment(&|d| d.data["status"] = json!({})), silent),
        ("a WD with nonsense for a status", deployment(&|d| d.data["status"] = json!("yes")), silent),
    ];
    for (what, live, why) in cases {
        let seen = Observed { live: Some(live), ..gone() };
        assert_eq!(plan(&seen), Decision::Withhold(why), "{what}");
    }
}

#[test]
fn p5_in_a_namespace_that_was_made_again_a_404_is_proof_once_all_that_the_cell_has_is_there() {
    let lost = Decision::Withhold(DeletionUnconfirmed::NamespaceLost);
    let mut again = hub_namespace();
    again.metadata.uid = Some("new".into());
    let reported = |replicas: Value| {
        let mut wd = hub_wd();
        wd.data["status"] = json!({"replicas": replicas, "updatedReplicas": 1});
        wd
    };
    for (what, wd, copies, goes) in [
        ("all of them", reported(json!(2)), 2, true),
        ("one more, which has gone in the cell since", reported(json!(2)), 3, true),
        ("none, and the cell has none", reported(json!(0)), 0, true),
        ("one is still to come", reported(json!(2)), 1, false),
        ("a number that is none", reported(json!("2")), 9, false),
        ("no number", reported(json!(null)), 9, false),
        ("a WD that is being deleted", but(reported(json!(1)), dying), 9, false),
        ("a WD without a status", but(hub_wd(), |wd| wd.data["status"] = Value::Null), 9, false),
    ] {
        let deployment = Some(Arc::new(wd));
        let live = Live { namespace: Some(Arc::new(again.clone())), deployment, copies, ..proof() };
        let plan = plan(&Observed { live: Some(live), ..gone() });
        assert_eq!(deletes(&plan), goes.then_some(true), "{what}");
        assert_eq!(plan == lost, !goes, "{what}");
    }
    let dying_namespace = Some(Arc::new(but(again, dying)));
    let live = Live { namespace: dying_namespace, copies: 9, ..proof() };
    assert_eq!(plan(&Observed { live: Some(live), ..gone() }), lost);
}

#[test]
fn w9_of_a_withdrawn_service_a_404_is_proof_where_the_hub_has_no_wd_either() {
    let withdrawn = |live: Live| Observed { live: Some(live), withdrawn: true, ..gone() };
    let silent = Decision::Withhold(DeletionUnconfirmed::DeploymentSilent);
    let lost = Decision::Withhold(DeletionUnconfirmed::NamespaceLost);
    let no_wd = || Live { deployment: None, ..proof() };
    assert_eq!(deletes(&plan(&withdrawn(no_wd()))), Some(true));
    let mut other = hub_wd();
    other.data["status"] = Value::Null;
    let other = Live { deployment: Some(Arc::new(other)), ..proof() };
    assert_eq!(plan(&withdrawn(other)), silent, "a WD that says nothing is there");
    assert_eq!(plan(&withdrawn(Live { namespace: None, ..no_wd() })), lost);
    assert_eq!(
        plan(&withdrawn(Live { instance: Some(Arc::new(instance())), ..no_wd() })),
        Decision::Park(None)
    );
    let why = Distrust::Restored;
    let seen = Observed { distrust: Some(why), ..withdrawn(no_wd()) };
    assert_eq!(plan(&seen), Decision::Withhold(DeletionUnconfirmed::Distrusted(why)));
}

#[test]
fn i4_a_hub_that_was_restored_proves_nothing_by_what_it_lacks() {
    for why in [Distrust::Restored, Distrust::Unverified] {
        for live in [None, Some(proof())] {
            let seen = Observed { live, distrust: Some(why), ..gone() };
            assert_eq!(plan(&seen), Decision::Withhold(DeletionUnconfirmed::Distrusted(why)));
            let seen = Observed { seen_deleted: Some(INSTANCE_UID.to_owned()), ..seen };
            assert_eq!(deletes(&plan(&seen)), Some(false), "what is seen is seen");
        }
    }
}

#[test]
fn i4_what_is_not_known_to_be_its_projection_is_left_alone() {
    for mark in [None, Some("garbage"), Some("ns-b/x/uid-of-hub-instance"), Some("ns-a/x"), Some("ns-a//x")] {
        for seen_deleted in [None, Some(INSTANCE_UID.to_owned()), Some("x".to_owned())] {
            let mut seen = Observed { live: Some(proof()), seen_deleted, ..gone() };
            bent(&mut seen.projection, |p| {
                p.metadata.annotations = mark.map(|m| [(PROJECTED_FROM.to_owned(), m.to_owned())].into());
            });
            assert_eq!(plan(&seen), Decision::InOrder, "{mark:?}");
        }
    }
}

#[test]
fn p5_what_is_gone_or_going_already_is_in_order() {
    for seen_deleted in [None, Some(INSTANCE_UID.to_owned())] {
        let seen = Observed { projection: None, live: Some(proof()), seen_deleted, ..gone() };
        assert_eq!(plan(&seen), Decision::InOrder);
        let mut seen = Observed { projection: super::support::seen().projection, ..seen };
        bent(&mut seen.projection, dying);
        assert_eq!(plan(&seen), Decision::InOrder);
    }
}

#[test]
fn i4_an_instance_that_is_there_is_never_a_reason_to_delete() {
    let mut all = Observed { live: Some(proof()), seen_deleted: Some(INSTANCE_UID.to_owned()), ..seen() };
    assert_eq!(plan(&all), Decision::InOrder);
    bent(&mut all.instance, dying);
    assert_eq!(deletes(&plan(&all)), None, "it is going, and not gone");
}

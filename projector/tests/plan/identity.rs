//! I5, I6, P1, P2, P6, P7: whose an Instance is, and what holds it back.

use std::sync::Arc;
use std::time::Duration;

use crate::plan::world::Observed;
use crate::plan::world::{Decision, plan};
use fedhub_core::names::{
    FEDERATION_NAMESPACE, SOURCE_UID, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE, WORKLOAD_DEPLOYMENT_NAME,
};
use fedhub_core::object::{Object, ObjectView};
use fedhub_planes::Write;
use fedhub_projector::quarantine::Reason;
use serde_json::json;

use crate::plan::support::*;

fn fresh() -> Observed {
    Observed { projection: None, ..seen() }
}

fn labelled(key: &'static str, value: Option<&'static str>) -> impl Fn(&mut Object) {
    move |o| {
        let labels = o.metadata.labels.get_or_insert_default();
        match value {
            Some(value) => labels.insert(key.to_owned(), value.to_owned()),
            None => labels.remove(key),
        };
    }
}

#[test]
fn i6_labels_of_a_cell_that_disagree_with_the_hub_namespace_quarantine() {
    for (key, value) in [
        (UPSTREAM_CLUSTER, "cluster-beta"),
        (UPSTREAM_CLUSTER, "cluster-org_beta"),
        (UPSTREAM_CLUSTER, "alpha"),
        (UPSTREAM_CLUSTER, "cluster-"),
        (UPSTREAM_CLUSTER, ""),
        (UPSTREAM_NAMESPACE, "other"),
        (UPSTREAM_NAMESPACE, ""),
    ] {
        for mut seen in [fresh(), seen()] {
            bent(&mut seen.instance, labelled(key, Some(value)));
            assert_eq!(plan(&seen), Decision::Quarantine(Reason::Contradictory), "{key}={value}");
        }
    }
}

#[test]
fn i6_labels_that_say_nothing_or_the_same_in_the_older_spelling_do_not_disagree() {
    for (key, value) in
        [(UPSTREAM_CLUSTER, None), (UPSTREAM_NAMESPACE, None), (UPSTREAM_CLUSTER, Some("cluster-org_alpha"))]
    {
        let mut seen = fresh();
        bent(&mut seen.instance, labelled(key, value));
        let Decision::Write(Write::Create(made)) = plan(&seen) else { panic!("{key}={value:?}") };
        assert_eq!(made.label(UPSTREAM_CLUSTER), Some("cluster-alpha"), "what the hub namespace says");
        assert_eq!(made.label(UPSTREAM_NAMESPACE), Some(SPACE));
    }
}

#[test]
fn i6_a_wd_that_is_federated_elsewhere_quarantines_and_one_that_is_not_yet_waits() {
    for (value, expected) in [
        (Some("ns-b"), Decision::Quarantine(Reason::StaleNamespace)),
        (Some(""), Decision::Quarantine(Reason::StaleNamespace)),
        (None, Decision::Park(None)),
    ] {
        for mut seen in [fresh(), seen()] {
            seen.owner = Some(on_project(&but(owner(), |o| {
                o.metadata.annotations =
                    value.map(|v| [(FEDERATION_NAMESPACE.to_owned(), v.to_owned())].into());
            })));
            assert_eq!(plan(&seen), expected, "{value:?}");
        }
    }
}

#[test]
fn p1_without_a_label_the_name_tells_the_wd_and_else_it_is_unnamed() {
    for (name, expected) in [("wd-0", true), ("wd", false), ("wd-x", false), ("-1", false)] {
        let mut seen = fresh();
        bent(&mut seen.instance, |i| {
            i.metadata.name = Some(name.to_owned());
            labelled(WORKLOAD_DEPLOYMENT_NAME, None)(i);
        });
        let unnamed = plan(&seen) == Decision::Quarantine(Reason::Unnamed);
        assert_eq!(unnamed, !expected, "{name}");
    }
}

#[test]
fn p2_p7_an_absent_wd_parks_for_the_grace_and_quarantines_after() {
    for (age, expected) in [
        (0, Decision::Park(Some(Duration::from_mins(15)))),
        (14 * 60, Decision::Park(Some(Duration::from_mins(1)))),
        (15 * 60 - 1, Decision::Park(Some(Duration::from_secs(1)))),
        (15 * 60, Decision::Quarantine(Reason::DeploymentAbsent)),
        (365 * 86400, Decision::Quarantine(Reason::DeploymentAbsent)),
    ] {
        let now = now() + Duration::from_secs(age);
        assert_eq!(plan(&Observed { owner: None, now, ..fresh() }), expected, "{age} s old");
    }
    let early = now() - Duration::from_mins(1);
    let decision = plan(&Observed { owner: None, now: early, ..fresh() });
    assert!(matches!(decision, Decision::Park(Some(_))), "clocks that differ: {decision:?}");
}

#[test]
fn i5_p6_a_wd_on_its_way_out_is_no_living_owner_and_nothing_is_quarantined_for_it() {
    let mut earlier = seen();
    bent(&mut earlier.instance, |instance| instance.metadata.uid = Some("made-anew".to_owned()));
    for mut seen in [fresh(), earlier] {
        seen.owner = Some(on_project(&but(owner(), dying)));
        let late = Observed { now: now() + Duration::from_hours(1), ..seen.clone() };
        assert_eq!((plan(&seen), plan(&late)), (Decision::Park(None), Decision::Park(None)));
    }
}

#[test]
fn p6_while_its_wd_is_being_deleted_a_projection_shows_how_its_instance_goes_and_nothing_else_of_it_is_put_right()
 {
    let mut seen = Observed { owner: Some(on_project(&but(owner(), dying))), ..seen() };
    assert_eq!(plan(&seen), Decision::InOrder);
    bent(&mut seen.projection, |projection| projection.metadata.labels = None);
    assert_eq!(plan(&seen), Decision::InOrder);
    let status = json!({"conditions": [{"type": "Ready", "status": "False", "reason": "Terminating"}]});
    bent(&mut seen.instance, |instance| instance.data["status"] = status.clone());
    let Decision::Status(_, write) = plan(&seen) else { panic!("{:?}", plan(&seen)) };
    assert_eq!(write.status, status);
    bent(&mut seen.projection, dying);
    assert_eq!(plan(&seen), Decision::Park(None), "it is on its way out");
    seen.projection = None;
    assert_eq!(plan(&seen), Decision::Park(None), "none is made anew");
}

#[test]
fn i5_without_its_living_hub_wd_an_instance_is_parked() {
    let mut cases =
        vec![Observed { hub_deployment: None, ..fresh() }, Observed { hub_deployment: None, ..seen() }];
    for mut seen in [fresh(), seen()] {
        seen.hub_deployment = Some(on_hub(&but(hub_wd(), dying)));
        cases.push(seen);
    }
    for mut seen in [fresh(), seen()] {
        seen.hub_deployment = Some(on_hub(&but(hub_wd(), |d| d.metadata.uid = Some("made-anew".to_owned()))));
        cases.push(seen);
    }
    for seen in cases {
        assert_eq!(plan(&seen), Decision::Park(None));
    }
}

#[test]
fn i6_a_hub_wd_of_another_project_wd_lends_its_instances_to_nobody() {
    let from = |uid: Option<&str>| {
        let annotations = uid.map(|uid| [(SOURCE_UID.to_owned(), uid.to_owned())].into());
        Some(on_hub(&but(hub_wd(), |d| d.metadata.annotations = annotations)))
    };
    for (what, hub_deployment) in [
        ("of the WD before this one, federation annotation applied again with it", from(Some("dead"))),
        ("without a mark", from(None)),
        ("with an empty one", from(Some(""))),
    ] {
        for seen in [fresh(), seen()] {
            let mut unowned = seen.clone();
            bent(&mut unowned.instance, |i| i.metadata.owner_references = None);
            for seen in [seen, unowned] {
                let seen = Observed { hub_deployment: hub_deployment.clone(), ..seen };
                assert_eq!(plan(&seen), Decision::Park(None), "{what}");
            }
        }
    }
}

#[test]
fn i5_a_copy_without_a_controller_is_accepted_while_its_wd_lives() {
    for references in [None, Some(vec![]), Some(vec![wd_reference("wd", "dead", None)])] {
        let mut seen = fresh();
        bent(&mut seen.instance, |i| i.metadata.owner_references.clone_from(&references));
        assert!(matches!(plan(&seen), Decision::Write(Write::Create(_))), "{references:?}");
    }
}

#[test]
fn p4_an_instance_of_somebody_else_is_not_touched_and_one_of_ours_is_adopted() {
    let theirs = |p: &mut Object| {
        p.metadata.annotations = None;
        p.metadata.labels = map(&[("app", "theirs")]);
        p.metadata.owner_references = Some(vec![wd_reference("other", "other uid", Some(true))]);
    };
    let mut seen = seen();
    bent(&mut seen.projection, theirs);
    assert_eq!(plan(&seen), Decision::Quarantine(Reason::NameTaken));
    let mut labelled_otherwise = seen.clone();
    bent(&mut labelled_otherwise.projection, labelled(UPSTREAM_CLUSTER, Some("cluster-beta")));
    assert_eq!(plan(&labelled_otherwise), Decision::Quarantine(Reason::NameTaken));

    let adopted = |bend: &dyn Fn(&mut Object)| {
        let mut seen = seen.clone();
        bent(&mut seen.projection, bend);
        matches!(plan(&seen), Decision::Write(Write::Replace { .. }))
    };
    assert!(adopted(&labelled(UPSTREAM_CLUSTER, Some("cluster-alpha"))), "by our labels");
    assert!(adopted(&|p| p.metadata.owner_references = Some(vec![wd_reference("wd", OWNER_UID, None)])));
    assert!(adopted(&|p| p.metadata.annotations = projection().metadata.annotations), "by our mark");
}

#[test]
fn p4_a_dying_instance_without_a_projection_gets_none() {
    let mut seen = fresh();
    bent(&mut seen.instance, dying);
    assert_eq!(plan(&seen), Decision::InOrder);
}

#[test]
fn i5_a_dead_owner_on_the_hub_comes_before_a_name_that_is_taken() {
    // Nothing is said about a projection on behalf of an Instance whose own standing is not clear.
    let mut seen = seen();
    seen.hub_deployment = Some(on_hub(&but(hub_wd(), |d| d.metadata.uid = Some("made-anew".to_owned()))));
    bent(&mut seen.projection, |p| *p = object(fedhub_core::object::Kind::Instance, SPACE, "wd-0", "x"));
    assert_eq!(plan(&seen), Decision::Park(None));
    let _kept: Arc<Object> = seen.projection.unwrap();
}

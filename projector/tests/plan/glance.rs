//! P8: what digests call in order, the plan leaves alone; what they decide, it decides too; and what the projector left
//! in order, digests call so.

use std::sync::Arc;

use fedhub_cache::ServerNormalization;
use fedhub_cache::digest::Digest;
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Kind, ObjectRef, ObjectView, PlaneId, bare};
use fedhub_planes::StatusWrite;
use fedhub_projector::glance::Sight;
use fedhub_projector::observe::Observed;
use fedhub_projector::plan::{Decision, plan};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::json;

use crate::arbitrary::worlds;
use crate::support::*;

fn sight(seen: &Observed) -> Sight {
    let project = PlaneId::Project(PlaneName::new("alpha").unwrap());
    let digest =
        |plane: &PlaneId, o: &Option<ObjectRef>| o.as_ref().map(|o| Digest::of(plane, Kind::Instance, o));
    let instance = digest(&PlaneId::Hub, &seen.instance);
    let name = |i: &Digest| i.instance().unwrap().deployment("wd-0").map(str::to_owned);
    Sight {
        down: seen.down.clone(),
        home: seen.home.clone(),
        hub_namespace: seen.hub_namespace.clone(),
        deployment: instance.as_ref().and_then(name),
        instance,
        hub_deployment: seen.hub_deployment.clone(),
        owner: seen.owner.clone(),
        projection: digest(&project, &seen.projection),
        spec_normalization: seen.spec_normalization,
        status_normalization: seen.status_normalization,
    }
}

fn glance(seen: &Observed) -> bool {
    let sight = sight(seen);
    assert_ne!(sight.judged_by(seen), 0);
    assert_eq!(sight.judged_by(&Observed { owner: None, projection: None, ..seen.clone() }) == 0, {
        seen.owner.is_some() || seen.projection.is_some()
    });
    sight.in_order()
}

/// What digests decide; the plan has to decide the same.
fn decided(seen: &Observed) -> Option<Decision> {
    let sight = sight(seen);
    if sight.leaving() {
        return Some(Decision::Park(None));
    }
    if let Some(instance) = &seen.instance {
        let projection = sight.lacks_status("wd-0")?;
        let write = StatusWrite { status: instance.status().clone(), probe: false };
        return Some(Decision::Status(projection, write));
    }
    let projection = sight.left_behind("wd-0", seen.seen_deleted.as_deref()?)?;
    Some(Decision::Delete { projection, inferred: false })
}

/// The same, but for what only the whole projection tells.
fn named(decision: &Decision) -> Decision {
    let stub = |o: &ObjectRef| {
        let mut named = bare(Kind::Instance, o.namespace(), o.name());
        named.metadata.uid.clone_from(&o.metadata.uid);
        named.metadata.resource_version.clone_from(&o.metadata.resource_version);
        Arc::new(named)
    };
    match decision {
        Decision::Status(projection, write) => Decision::Status(stub(projection), write.clone()),
        Decision::Delete { projection, inferred } => {
            Decision::Delete { projection: stub(projection), inferred: *inferred }
        }
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::with_cases(1500) })]

    #[test]
    fn p8_what_a_glance_calls_in_order_the_plan_leaves_alone(seen in worlds()) {
        prop_assert!(!glance(&seen) || plan(&seen) == Decision::InOrder, "{:?}", plan(&seen));
        prop_assert!(decided(&seen).is_none_or(|it| it == named(&plan(&seen))), "{:?}", plan(&seen));
    }

    /// Almost in order: one or two things are otherwise, so that a glance that overlooks one is caught.
    #[test]
    fn p8_a_glance_overlooks_nothing(other in worlds(), first in 0usize..10, second in 0usize..10) {
        let mut seen = seen();
        prop_assert!(glance(&seen));
        for what in [first, second] {
            let mut projection = seen.projection.as_deref().cloned();
            let mut instance = seen.instance.as_deref().cloned();
            match (what, &mut projection, &mut instance, &other.projection, &other.instance) {
                (0, Some(p), _, Some(o), _) => p.metadata.labels.clone_from(&o.metadata.labels),
                (1, Some(p), _, Some(o), _) => p.metadata.annotations.clone_from(&o.metadata.annotations),
                (2, Some(p), _, Some(o), _) => p.metadata.owner_references.clone_from(&o.metadata.owner_references),
                (3, Some(p), _, Some(o), _) => p.data["spec"] = o.spec().clone(),
                (4, Some(p), _, Some(o), _) => p.data["status"] = o.status().clone(),
                (5, _, Some(i), _, Some(o)) => i.data["spec"] = o.spec().clone(),
                (6, _, Some(i), _, Some(o)) => i.data["status"] = o.status().clone(),
                (7, _, Some(i), _, Some(o)) => i.metadata = o.metadata.clone(),
                (8, ..) => seen.owner.clone_from(&other.owner),
                (9, ..) => seen.hub_deployment.clone_from(&other.hub_deployment),
                (_, p, ..) => *p = None,
            }
            (seen.projection, seen.instance) = (projection.map(Arc::new), instance.map(Arc::new));
        }
        prop_assert!(!glance(&seen) || plan(&seen) == Decision::InOrder, "{:?}", plan(&seen));
        prop_assert!(decided(&seen).is_none_or(|it| it == named(&plan(&seen))), "{:?}", plan(&seen));
    }
}

#[test]
fn p8_a_status_alone_and_what_was_seen_to_go_need_no_read() {
    let mut told = seen();
    bent(&mut told.projection, |p| p.data["status"] = defaults());
    assert!(matches!(decided(&told), Some(Decision::Status(..))), "nothing was told before");
    bent(&mut told.projection, |p| p.data["status"] = json!({"suspended": true}));
    assert_eq!(decided(&told), None, "after a restart a dry run has to tell");
    told.status_normalization = Some(ServerNormalization::Kept);
    assert!(matches!(decided(&told), Some(Decision::Status(..))));
    bent(&mut told.projection, |p| p.data["spec"]["size"] = json!("large"));
    assert_eq!(decided(&told), None, "the spec comes first");

    let mut left = Observed { seen_deleted: Some(INSTANCE_UID.to_owned()), ..gone() };
    assert!(matches!(decided(&left), Some(Decision::Delete { inferred: false, .. })));
    left.seen_deleted = Some("another".to_owned());
    assert_eq!(decided(&left), None, "I4: it is of another one");
}

#[test]
fn p8_what_is_tied_otherwise_is_seen() {
    assert!(glance(&seen()));
    let mut adopted = seen();
    bent(&mut adopted.instance, |i| i.metadata.owner_references = None);
    assert!(glance(&adopted), "a copy without a controller, from an older cell");
    let mut foreign = seen();
    bent(&mut foreign.projection, |p| {
        p.metadata.labels.get_or_insert_default().insert("app".to_owned(), "theirs".to_owned());
        let pod = reference("v1", "Pod", "p", "p uid", None);
        p.metadata.owner_references.get_or_insert_default().push(pod);
    });
    assert!(glance(&foreign), "foreign keys are no difference (I9)");
}

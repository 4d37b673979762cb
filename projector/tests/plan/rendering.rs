//! P8: where nothing is planned, rendering changes nothing; and what rendering changes is planned. So what
//! the caches keep of objects decides what the objects themselves would.

use std::sync::Arc;

use crate::plan::world::{Decision, Observed, plan};
use fedhub_api::facts::instance::{deployment_name, only_defaults};
use fedhub_cache::ServerNormalization;
use fedhub_cache::digest::Uid;
use fedhub_cache::normalization::settled;
use fedhub_core::object::{Object, ObjectView};
use fedhub_planes::WriteMode;
use fedhub_projector::render::{ProjectionOwner, desired, managed};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::json;

use crate::plan::arbitrary::{living_owner, shows_its_end, worlds};
use crate::plan::support::*;

/// Whether a projection that is there differs from what it is to be, by the whole objects; `None` where there
/// is nothing to compare.
fn differs(seen: &Observed) -> Option<bool> {
    let owner = Uid::new(&living_owner(seen)?);
    let instance = seen.instance.as_ref()?;
    let projection = seen.projection.as_ref()?;
    if projection.is_terminating() {
        return None;
    }
    let owner = ProjectionOwner { name: deployment_name(instance)?, uid: &owner };
    let managed = managed(&seen.snapshot(), &Uid::new(instance.uid()), owner);
    let rendered = desired(SPACE, managed, instance, Some(projection));
    let written = rendered.metadata != projection.metadata
        || !settled(instance.spec(), projection.spec(), seen.spec_normalization);
    Some(written || status_differs(seen, instance, projection))
}

/// P3 in other words: a status of defaults never overwrites one that a cell wrote.
fn status_differs(seen: &Observed, instance: &Object, projection: &Object) -> bool {
    let wanted = instance.status();
    let current = projection.status();
    let kept = wanted.is_null() || (only_defaults(wanted) && !only_defaults(current));
    !kept && !settled(wanted, current, seen.status_normalization)
}

fn is_exact(seen: &Observed) -> Result<(), TestCaseError> {
    let decision = plan(seen);
    match differs(seen) {
        Some(true) => prop_assert!(
            matches!(decision, Decision::Write(_) | Decision::Status(..))
                || decision == Decision::Quarantine(fedhub_projector::quarantine::Reason::NameTaken),
            "{decision:?}"
        ),
        Some(false) => prop_assert_eq!(decision, Decision::InOrder),
        // P6: its end is shown, and nothing else.
        None if shows_its_end(seen) => {
            let instance = seen.instance.as_deref().unwrap();
            let differs = status_differs(seen, instance, seen.projection.as_deref().unwrap());
            prop_assert_eq!(matches!(decision, Decision::Status(..)), differs);
        }
        None => prop_assert!(
            decision != Decision::InOrder || seen.instance.is_none() || seen.projection.is_none(),
            "there is no projection to be right"
        ),
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::with_cases(1500) })]

    #[test]
    fn p8_what_rendering_changes_is_planned_and_nothing_else(seen in worlds()) {
        is_exact(&seen)?;
        prop_assert_ne!(Observed { live: None, owner: Some(on_project(&owner())), ..seen }.snapshot().fingerprint(), 0);
    }

    /// Almost in order: one or two things are otherwise, so that a fact that is overlooked is caught.
    #[test]
    fn p8_the_plan_overlooks_nothing(other in worlds(), first in 0usize..10, second in 0usize..10) {
        let mut seen = seen();
        prop_assert_eq!(plan(&seen), Decision::InOrder);
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
        is_exact(&seen)?;
    }
}

#[test]
fn p8_a_status_alone_and_what_was_seen_to_go_need_no_read() {
    let mode = |seen: &Observed| match plan(seen) {
        Decision::Status(_, write) => Some(write.mode),
        _ => None,
    };
    let mut observed = seen();
    bent(&mut observed.projection, |p| p.data["status"] = defaults());
    assert_eq!(mode(&observed), Some(WriteMode::Direct), "no status was reported before");
    bent(&mut observed.projection, |p| p.data["status"] = json!({"suspended": true}));
    assert_eq!(mode(&observed), Some(WriteMode::DryRunFirst), "as after a restart");
    observed.status_normalization = Some(ServerNormalization::Kept);
    assert_eq!(mode(&observed), Some(WriteMode::Direct));
    bent(&mut observed.projection, |p| p.data["spec"]["size"] = json!("large"));
    assert_eq!(mode(&observed), None, "the spec comes first");

    let mut left = Observed { seen_deleted: Some(INSTANCE_UID.to_owned()), ..gone() };
    assert!(matches!(plan(&left), Decision::Delete { inferred: false, .. }));
    left.seen_deleted = Some("another".to_owned());
    assert_eq!(plan(&left), Decision::ReadLive, "I4: it is of another one");
}

#[test]
fn p8_what_is_tied_otherwise_is_seen() {
    assert_eq!(plan(&seen()), Decision::InOrder);
    let mut adopted = seen();
    bent(&mut adopted.instance, |i| i.metadata.owner_references = None);
    assert_eq!(plan(&adopted), Decision::InOrder, "a copy without a controller, from an older cell");
    let mut foreign = seen();
    bent(&mut foreign.projection, |p| {
        p.metadata.labels.get_or_insert_default().insert("app".to_owned(), "theirs".to_owned());
        let pod = reference("v1", "Pod", "p", "p uid", None);
        p.metadata.owner_references.get_or_insert_default().push(pod);
    });
    assert_eq!(plan(&foreign), Decision::InOrder, "foreign keys are no difference (I9)");
}

#[test]
fn p8_every_input_but_the_time_is_part_of_the_fingerprint() {
    let known = seen().snapshot().fingerprint();
    assert_eq!(
        Observed { now: now() + std::time::Duration::from_mins(1), ..seen() }.snapshot().fingerprint(),
        known
    );
    let mut spec = seen();
    bent(&mut spec.projection, |p| p.data["spec"] = json!({"size": "large"}));
    let mut namespace = hub_namespace();
    namespace.metadata.resource_version = Some("11".to_owned());
    let others = [
        Observed { instance: None, ..seen() },
        Observed { hub_deployment: None, ..seen() },
        Observed { projection: None, ..seen() },
        Observed { seen_deleted: Some(String::new()), ..seen() },
        Observed { distrust: Some(fedhub_planes::Distrust::Restored), ..seen() },
        Observed { spec_normalization: Some(ServerNormalization::Kept), ..seen() },
        Observed { status_normalization: Some(ServerNormalization::Kept), ..seen() },
        Observed { hub_namespace: Arc::new(namespace), ..seen() },
        spec,
    ];
    for other in others {
        assert_ne!(other.snapshot().fingerprint(), known, "{other:?}");
    }
    for live in [Observed { live: Some(proof()), ..gone() }, Observed { owner: None, ..seen() }] {
        assert_eq!(live.snapshot().fingerprint(), 0, "what was read live holds for this reconcile alone");
    }
}

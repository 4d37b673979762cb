//! What a pass over one hub Instance does: a pure function from what was observed to one decision.
//!
//! Decides I5, P4, P6 and P7.

use std::time::Duration;

use fedhub_cache::digest::Uid;
use fedhub_cache::digest::deployment::{home, source};
use fedhub_cache::digest::instance::deployment_name;
use fedhub_core::names::{UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE, decode_plane};
use fedhub_core::object::{Object, ObjectRef, ObjectView};
use fedhub_planes::{StatusWrite, Write};

use crate::mark::Mark;
use crate::observe::Observed;
use crate::projection::Owner;
use crate::quarantine::Reason;
use crate::{gone, projection};

/// What to do about one hub Instance and its projection.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// Everything is as it should be (P8).
    InOrder,
    /// The projection's metadata or spec.
    Write(Write),
    /// The projection's status.
    Status(ObjectRef, StatusWrite),
    /// The projection is to go; its UID is the precondition.
    Delete {
        /// The projection.
        projection: ObjectRef,
        /// Whether its absence on the hub was proven after a gap, which is limited by the bucket (I4).
        inferred: bool,
    },
    /// Read the hub live, then plan again (I4).
    ReadLive,
    /// A deletion that is not proven right (I4).
    Withhold(gone::Unproven),
    /// No living owner: its event brings the Instance back (I5). To be looked at again after this time at the
    /// latest, when the grace is over.
    Park(Option<Duration>),
    /// No retry can change it (P7).
    Quarantine(Reason),
}

/// Decides. See the specification, section 5, for the rules by their numbers.
pub fn plan(seen: &Observed) -> Decision {
    let Some(instance) = &seen.instance else { return gone::plan(seen) };
    let owner = match living_owner(seen, instance) {
        Ok(owner) => owner,
        Err(decision) => return decision,
    };
    if seen.projection.as_deref().is_some_and(|p| !is_ours(seen, p)) {
        return Decision::Quarantine(Reason::NameTaken);
    }
    if instance.is_terminating() && seen.projection.is_none() {
        return Decision::InOrder;
    }
    projection::plan(seen, instance, owner)
}

/// On whose behalf the Instance is projected (I5, I6); else what is decided, whatever its projection is like.
pub fn living_owner<'a>(seen: &'a Observed, instance: &'a Object) -> Result<Owner<'a>, Decision> {
    if seen.owner.as_ref().is_some_and(|owner| owner.terminating) {
        // Somebody's last moment: nothing to say about it (P6).
        return Err(Decision::Park(None));
    }
    if let Some(reason) = disagreement(seen, instance) {
        return Err(Decision::Quarantine(reason));
    }
    let Some(name) = deployment_name(instance) else { return Err(Decision::Quarantine(Reason::Unnamed)) };
    let Some(owner) = seen.owner.as_ref() else { return Err(without_owner(seen, instance)) };
    match owner.deployment().map(|facts| facts.home) {
        Some(there) if there == home(Some(seen.hub_namespace.name())) => {}
        Some(there) if there != home(None) => return Err(Decision::Quarantine(Reason::StaleNamespace)),
        // The federator has not marked it yet, or will put the annotation back: its event follows.
        _ => return Err(Decision::Park(None)),
    }
    if alive_on_hub(seen, instance, &owner.uid) { Ok((name, &owner.uid)) } else { Err(Decision::Park(None)) }
}

/// I6: what the Instance's own labels say must not differ from what its hub namespace says.
fn disagreement(seen: &Observed, instance: &Object) -> Option<Reason> {
    let plane = instance.label(UPSTREAM_CLUSTER);
    let space = instance.label(UPSTREAM_NAMESPACE);
    let agree = plane.is_none_or(|p| decode_plane(p).as_ref() == Some(&seen.home.plane))
        && space.is_none_or(|s| s == seen.home.namespace);
    (!agree).then_some(Reason::Contradictory)
}

/// P2, P7: a WD that is not there may still come, for as long as the grace lasts.
fn without_owner(seen: &Observed, instance: &Object) -> Decision {
    let born = instance.metadata.creation_timestamp.as_ref().map_or(seen.now, |t| t.0);
    let age = Duration::try_from(seen.now.duration_since(born)).unwrap_or_default();
    match seen.grace.checked_sub(age).filter(|left| !left.is_zero()) {
        Some(left) => Decision::Park(Some(left)),
        None => Decision::Quarantine(Reason::DeploymentAbsent),
    }
}

/// I5, the hub side: the Instance belongs to the WD that lives on the hub now, and that is the project WD's, not one
/// that was there before it (I6). A copy without an owner reference is accepted from older cells while its WD is alive.
fn alive_on_hub(seen: &Observed, instance: &Object, owner: &Uid) -> bool {
    let Some(deployment) = seen.hub_deployment.as_ref().filter(|d| !d.terminating) else { return false };
    if deployment.deployment().map(|facts| facts.source) != Some(source(Some(&owner.to_string()))) {
        return false;
    }
    let controller = instance.metadata.owner_references.iter().flatten().find(|o| o.controller == Some(true));
    controller.is_none_or(|c| deployment.uid.is(&c.uid))
}

/// P4: an Instance of that name is ours if it carries our mark, or our labels, or our owner; else it is somebody's.
fn is_ours(seen: &Observed, projection: &Object) -> bool {
    let ours = projection.label(UPSTREAM_CLUSTER).and_then(decode_plane).as_ref() == Some(&seen.home.plane);
    let owned = projection
        .metadata
        .owner_references
        .iter()
        .flatten()
        .any(|o| seen.owner.as_ref().is_some_and(|owner| owner.uid.is(&o.uid)));
    Mark::of(projection).is_some() || ours || owned
}

//! What a reconcile of one hub Instance does: a pure function of its snapshot.
//!
//! Decides I5, P2, P4, P6, P7 and P8.

use std::time::Duration;

use fedhub_api::facts::deployment::mark_hash;
use fedhub_api::facts::instance::{self, StatusOrigin};
use fedhub_api::facts::{Digest, DigestExt, Instance};
use fedhub_cache::normalization::settled_hash;
use fedhub_core::object::ObjectView;
use fedhub_planes::{WriteMode, WriteState};

use crate::desired::{Owner, managed};
use crate::intents::ProjectionPlan;
use crate::prune;
use crate::quarantine::Reason;
use crate::snapshot::Snapshot;

/// How long the hub's garbage collector has for an Instance whose WD is gone before that Instance is read.
const COLLECTED: Duration = Duration::from_secs(5);

/// Decides. See the specification, section 5, for the rules by their numbers.
pub fn plan(seen: &Snapshot) -> ProjectionPlan {
    let plan = match facts(seen.instance.as_ref()) {
        Some((instance, facts)) => project(seen, instance, facts).unwrap_or_else(|plan| plan),
        None => prune::plan(seen),
    };
    let waits = seen.writes != WriteState::Active && plan != ProjectionPlan::Synced;
    if waits { ProjectionPlan::AwaitResume } else { plan }
}

fn facts(digest: Option<&Digest>) -> Option<(&Digest, &Instance)> {
    digest.and_then(|digest| Some((digest, digest.instance()?)))
}

/// The plan for an Instance that is there; `Err` where it is not projected, whatever its projection is like.
fn project(seen: &Snapshot, instance: &Digest, facts: &Instance) -> Result<ProjectionPlan, ProjectionPlan> {
    // P6: garbage collection removes the projections, and none is put back; what stands shows how its
    // Instance goes.
    let goes = seen.owner.as_ref().is_some_and(|owner| owner.terminating);
    let owner =
        living_owner(seen, facts).map_err(|plan| if goes { ProjectionPlan::Park(None) } else { plan })?;
    let managed = managed(seen, &instance.uid, owner);
    let Some((projection, current)) = self::facts(seen.projection.as_ref()) else {
        return Ok(match instance.terminating {
            _ if goes => ProjectionPlan::Park(None),
            true => ProjectionPlan::Synced,
            false => ProjectionPlan::Write { managed: Box::new(managed), mode: WriteMode::Direct },
        });
    };
    let is_same = current.is_projection_of(&instance.uid.to_string());
    if goes {
        let follows = is_same && !projection.terminating;
        return Ok(if follows { status(seen, facts, current) } else { ProjectionPlan::Park(None) });
    }
    if !current.is_projection(Some(owner.uid)) {
        return Err(ProjectionPlan::Quarantine(Reason::NameTaken));
    }
    if projection.terminating {
        // Its deletion's event brings the Instance back.
        return Err(ProjectionPlan::Park(None));
    }
    // Before the mark, which alone tells that the status is that of the Instance before this one.
    if !is_same && is_reset(seen, facts, current) {
        return Ok(ProjectionPlan::WriteStatus { mode: WriteMode::Direct });
    }
    let differs = !settled_hash(facts.spec, current.spec, seen.spec_normalization);
    if differs || current.identity != instance::managed(&managed) || current.labels != facts.labels {
        let mode = WriteMode::of(differs, is_same, seen.spec_normalization);
        return Ok(ProjectionPlan::Write { managed: Box::new(managed), mode });
    }
    Ok(status(seen, facts, current))
}

/// The owner on whose behalf the Instance is projected (I5, I6); else the plan without one.
fn living_owner<'a>(seen: &'a Snapshot, facts: &Instance) -> Result<Owner<'a>, ProjectionPlan> {
    if seen.deployment.is_some() && seen.hub_deployment.is_none() && seen.owner.is_none() {
        // The hub's garbage collector takes the Instance.
        let left = COLLECTED.checked_sub(seen.since_event).filter(|left| !left.is_zero());
        if left.is_some() {
            return Err(ProjectionPlan::Park(left));
        }
    }
    // I6: what the Instance's own labels say must not differ from what its hub namespace says.
    if !facts.may_belong_to(&seen.target.plane, &seen.target.namespace) {
        return Err(ProjectionPlan::Quarantine(Reason::Contradictory));
    }
    let Some(name) = &seen.deployment else { return Err(ProjectionPlan::Quarantine(Reason::Unnamed)) };
    let Some(owner) = &seen.owner else { return Err(without_owner(seen)) };
    match owner.deployment().map(|facts| facts.counterpart) {
        Some(there) if there == mark_hash(Some(seen.hub_namespace.name())) => {}
        Some(there) if there != mark_hash(None) => {
            return Err(ProjectionPlan::Quarantine(Reason::StaleNamespace));
        }
        // The federator has not marked it yet, or will put the annotation back: its event follows.
        _ => return Err(ProjectionPlan::Park(None)),
    }
    if !is_alive_on_hub(seen, facts, owner) {
        return Err(ProjectionPlan::Park(None));
    }
    Ok(Owner { name, uid: &owner.uid })
}

/// P2, P7: a WD that the cache lacks may be there, and one that is not there may still come, for as long as
/// the grace lasts.
fn without_owner(seen: &Snapshot) -> ProjectionPlan {
    let Some(confirmed) = &seen.confirmed else { return ProjectionPlan::ConfirmOwner };
    let age = Duration::try_from(seen.now.duration_since(confirmed.created)).unwrap_or_default();
    match seen.grace.checked_sub(age).filter(|left| !left.is_zero()) {
        Some(left) => ProjectionPlan::Park(Some(left)),
        None => ProjectionPlan::Quarantine(Reason::DeploymentAbsent),
    }
}

/// I5, the hub side: the Instance belongs to the WD that lives on the hub now, and that is the project WD's,
/// not one that was there before it (I6). A copy without an owner reference is accepted from older cells
/// while its WD is alive.
fn is_alive_on_hub(seen: &Snapshot, facts: &Instance, owner: &Digest) -> bool {
    seen.hub_deployment.as_ref().filter(|d| !d.terminating).is_some_and(|deployment| {
        let source = mark_hash(Some(&owner.uid.to_string()));
        deployment.deployment().is_some_and(|facts| facts.counterpart_uid == source)
            && facts.may_be_controlled_by(&deployment.uid.to_string())
    })
}

/// P5: whether the projection still has the status of the Instance before this one, and no cell has reported
/// on this one. Where the hub namespace is another one, too, the hub lost its state, and the Instance may
/// well be the same: its status stands until the cell reports.
fn is_reset(seen: &Snapshot, facts: &Instance, current: &Instance) -> bool {
    current.is_from_namespace_uid(seen.hub_namespace.uid())
        && facts.status_origin != StatusOrigin::Reported
        && current.status_origin == StatusOrigin::Reported
        && !settled_hash(facts.status, current.status, seen.status_normalization)
}

/// The status whole, where it differs (P3).
fn status(seen: &Snapshot, facts: &Instance, current: &Instance) -> ProjectionPlan {
    // What is shown in place of Ready is rendered when it is written (C11).
    let unreachable = facts.signal.is_ready() && seen.down.is_some();
    let settled = settled_hash(facts.status, current.status, seen.status_normalization);
    let was_reported = current.status_origin == StatusOrigin::Reported;
    let wanted = if unreachable { StatusOrigin::Reported } else { facts.status_origin };
    let written_before = match wanted {
        StatusOrigin::Absent => return ProjectionPlan::Synced,
        _ if settled && !unreachable => return ProjectionPlan::Synced,
        // The mark names the very Instance, or the projection would have been written first.
        StatusOrigin::Defaulted if was_reported => return ProjectionPlan::Synced,
        // Where no cell has reported on either side, the difference may be the plane's own defaults.
        StatusOrigin::Defaulted => current.status_origin != StatusOrigin::Absent,
        StatusOrigin::Reported => was_reported,
    };
    ProjectionPlan::WriteStatus { mode: WriteMode::of(true, written_before, seen.status_normalization) }
}

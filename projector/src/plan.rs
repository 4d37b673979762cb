//! The decision of a reconcile of one hub Instance: a pure function of its snapshot.
//!
//! Decides I5, P2, P4, P6, P7 and P8.

use std::time::Duration;

use fedhub_api::facts::deployment::mark_hash;
use fedhub_api::facts::instance::{self, StatusOrigin};
use fedhub_api::facts::{Digest, DigestExt, Instance};
use fedhub_cache::normalization::settled_hash;
use fedhub_core::object::ObjectView;
use fedhub_engine::{Draft, DraftPart, Intent, Outcome, Plan};
use fedhub_planes::{WriteMode, WriteState};

use crate::prune;
use crate::quarantine::Reason;
use crate::render::{ProjectionOwner, managed};
use crate::snapshot::Snapshot;
use crate::verdict::{ProjectionPlan, ProjectionVerdict, park};

/// How long the hub's garbage collector has for an Instance whose WD is gone before that Instance is read.
const COLLECTED: Duration = Duration::from_secs(5);

/// Decides. See the specification, section 5, for the rules by their numbers.
pub fn plan(seen: &Snapshot) -> ProjectionPlan {
    let plan = match facts(seen.instance.as_ref()) {
        Some((instance, facts)) => project(seen, instance, facts),
        None => prune::plan(seen),
    };
    let waits = seen.writes != WriteState::Active && !plan.intents.is_empty();
    if waits { Plan::new(Intent::End(Outcome::AwaitChange), None) } else { plan }
}

/// Reports an Instance that no retry can project (P7).
fn quarantine(reason: Reason) -> ProjectionPlan {
    Plan::new(Intent::End(Outcome::AwaitChange), Some(ProjectionVerdict::Quarantined(reason)))
}

/// Writes that part of the projection, made of the Instance and of the projection where that is `read`.
fn write(seen: &Snapshot, part: DraftPart, mode: WriteMode, read: bool) -> ProjectionPlan {
    let projection = seen.projection_subject().filter(|_| read);
    let from = seen.instance_subject().into_iter().chain(projection).collect();
    Plan::new(Intent::Render(Draft { part, from, mode }), None)
}

fn facts(digest: Option<&Digest>) -> Option<(&Digest, &Instance)> {
    digest.and_then(|digest| Some((digest, digest.instance()?)))
}

/// The plan for an Instance that is there.
fn project(seen: &Snapshot, instance: &Digest, facts: &Instance) -> ProjectionPlan {
    // P6: garbage collection removes the projections, and none is recreated; an existing one shows how its
    // Instance ends.
    let goes = seen.owner.as_ref().is_some_and(|owner| owner.terminating);
    let owner = match living_owner(seen, facts) {
        Ok(owner) => owner,
        Err(plan) => return if goes { park(None) } else { plan },
    };
    let Some((projection, current)) = self::facts(seen.projection.as_ref()) else {
        return match instance.terminating {
            _ if goes => park(None),
            true => Plan::default(),
            false => write(seen, DraftPart::Object, WriteMode::Direct, true),
        };
    };
    let is_same = current.is_projection_of(&instance.uid.to_string());
    if goes {
        let follows = is_same && !projection.terminating;
        return if follows { status(seen, facts, current) } else { park(None) };
    }
    if !current.is_projection(Some(owner.uid)) {
        return quarantine(Reason::NameTaken);
    }
    if projection.terminating {
        // Its deletion's event brings the Instance back.
        return park(None);
    }
    // The status is written before the mark, which alone shows that the stored status is of the previous
    // Instance.
    if !is_same && is_reset(seen, facts, current) {
        return write_status(seen, WriteMode::Direct);
    }
    let differs = !settled_hash(facts.spec, current.spec, seen.spec_normalization);
    let managed = instance::managed(&managed(seen, &instance.uid, owner));
    if differs || current.identity != managed || current.labels != facts.labels {
        let mode = WriteMode::new(differs && is_same, seen.spec_normalization);
        return write(seen, DraftPart::Object, mode, true);
    }
    status(seen, facts, current)
}

/// The owner on whose behalf the Instance is projected (I5, I6); else the plan without one.
fn living_owner<'a>(seen: &'a Snapshot, facts: &Instance) -> Result<ProjectionOwner<'a>, ProjectionPlan> {
    if seen.deployment.is_some() && seen.hub_deployment.is_none() && seen.owner.is_none() {
        // The hub's garbage collector takes the Instance.
        let left = COLLECTED.checked_sub(seen.since_event).filter(|left| !left.is_zero());
        if left.is_some() {
            return Err(park(left));
        }
    }
    // I6: what the Instance's own labels say must not differ from what its hub namespace says.
    if !facts.may_belong_to(&seen.target.plane, &seen.target.namespace) {
        return Err(quarantine(Reason::Contradictory));
    }
    let Some(name) = &seen.deployment else { return Err(quarantine(Reason::Unnamed)) };
    let Some(owner) = &seen.owner else { return Err(without_owner(seen)) };
    match owner.deployment().map(|facts| facts.counterpart) {
        Some(there) if there == mark_hash(Some(seen.hub_namespace.name())) => {}
        Some(there) if there != mark_hash(None) => {
            return Err(quarantine(Reason::StaleNamespace));
        }
        // The federator has not marked it yet, or will put the annotation back: its event follows.
        _ => return Err(park(None)),
    }
    if !is_alive_on_hub(seen, facts, owner) {
        return Err(park(None));
    }
    Ok(ProjectionOwner { name, uid: &owner.uid })
}

/// P2, P7: a WD that the cache lacks may be there, and one that is not there may still come, for as long as
/// the grace lasts.
fn without_owner(seen: &Snapshot) -> ProjectionPlan {
    let Some(confirmed) = &seen.confirmed else {
        let fetch = seen.instance_subject().map(Intent::Fetch);
        let intents = fetch.into_iter().chain([Intent::ConfirmOwner]).collect();
        return Plan { intents, verdict: None };
    };
    let age = Duration::try_from(seen.now.duration_since(confirmed.created)).unwrap_or_default();
    match seen.grace.checked_sub(age).filter(|left| !left.is_zero()) {
        Some(left) => park(Some(left)),
        None => quarantine(Reason::DeploymentAbsent),
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
    // The replacement of Ready is rendered when it is written (C11).
    let unreachable = facts.signal.is_ready() && seen.down.is_some();
    let settled = settled_hash(facts.status, current.status, seen.status_normalization);
    let was_reported = current.status_origin == StatusOrigin::Reported;
    let wanted = if unreachable { StatusOrigin::Reported } else { facts.status_origin };
    let written_before = match wanted {
        StatusOrigin::Absent => return Plan::default(),
        _ if settled && !unreachable => return Plan::default(),
        // The mark names the very Instance, or the projection would have been written first.
        StatusOrigin::Defaulted if was_reported => return Plan::default(),
        // Where no cell has reported on either side, the difference may be the plane's own defaults.
        StatusOrigin::Defaulted => current.status_origin != StatusOrigin::Absent,
        StatusOrigin::Reported => was_reported,
    };
    write_status(seen, WriteMode::new(written_before, seen.status_normalization))
}

/// A dry run, and the status while a cell is down, are compared with the projection itself.
fn write_status(seen: &Snapshot, mode: WriteMode) -> ProjectionPlan {
    write(seen, DraftPart::Status, mode, mode == WriteMode::DryRunFirst || seen.down.is_some())
}

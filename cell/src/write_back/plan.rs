//! The decision about one Instance and its copy: a pure function of a snapshot.
//!
//! Decides C7.

use std::time::Duration;

use fedhub_api::cells::CellId;
use fedhub_api::facts::instance::{StatusOrigin, only_defaults};
use fedhub_api::facts::{Digest, DigestExt};
use fedhub_cache::normalization::settled_hash;
use fedhub_core::hash;
use fedhub_core::names::{INSTANCE_CITY, WORKLOAD_DEPLOYMENT_NAME};
use fedhub_core::object::{Key, Kind, Object, ObjectRef, ObjectView, PlaneId};
use fedhub_engine::{Intent, Outcome, Plan, Subject};
use fedhub_planes::{Precondition, StatusWrite, Write, WriteMode};

use super::refusal::{WriteBackRefusal, WriteBackVerdict};
use super::render::{CopyOwner, desired, managed};
use super::snapshot::{CopyFacts, LiveRead, Ownership, Snapshot};
use crate::domain::status::debounce::{debounce, on_the_way};
use crate::domain::status::gates;

/// When a name that another cell's copy has is tried again: that copy's end shows in no watch of this cell.
const NAME_TAKEN_RETRY: Duration = Duration::from_secs(10);

/// What is done about one Instance and its copy; a verdict where it is not written back.
pub type WriteBackPlan = Plan<Option<WriteBackVerdict>>;

/// Decides (C7).
pub fn plan(snapshot: &Snapshot) -> WriteBackPlan {
    decide(snapshot).unwrap_or_else(|| Plan::new(Intent::FetchCopy, None))
}

/// The plan; `None` where it takes the copy itself.
fn decide(snapshot: &Snapshot) -> Option<WriteBackPlan> {
    match (&snapshot.instance, &snapshot.copy) {
        // The Instance is its own copy, for the cell is its own hub.
        (Some(instance), Some(copy)) if copy.digest.uid.is(instance.uid()) => Some(Plan::default()),
        (None, None) => Some(Plan::default()),
        (None, Some(copy)) => orphan(snapshot, copy),
        (Some(instance), copy) => stay(snapshot, instance, copy.as_ref()),
    }
}

/// Waits for an event that requeues the Instance: nothing can be done, and it is no error.
fn park() -> WriteBackPlan {
    Plan::new(Intent::End(Outcome::AwaitChange), Some(WriteBackVerdict::Parked))
}

/// The Instance cannot be written back as it is.
fn refuse(snapshot: &Snapshot, refusal: WriteBackRefusal) -> WriteBackPlan {
    let unseen = refusal.is_by_copy() && !snapshot.copy_shown;
    let end = if unseen { Outcome::RequeueAfter(NAME_TAKEN_RETRY) } else { Outcome::AwaitChange };
    Plan::new(Intent::End(end), Some(WriteBackVerdict::Refused(refusal)))
}

/// The Instance is coming up: gates or a status are written only if they last for so long.
fn wait(wait: Duration) -> WriteBackPlan {
    Plan::new(Intent::End(Outcome::RequeueAfter(wait)), None)
}

fn put(write: Write, recreate: Option<ObjectRef>) -> WriteBackPlan {
    Plan::new(Intent::Put { to: PlaneId::Hub, kind: Kind::Instance, write, recreate }, None)
}

fn read(plane: PlaneId, kind: Kind, snapshot: &Snapshot, name: &str) -> WriteBackPlan {
    let namespace = snapshot.key.namespace.clone();
    Plan::new(Intent::ReadLive(Key { plane, kind, namespace, name: name.into() }), None)
}

/// Deletes the copy; `inferred` where no watch showed that its Instance went (I4).
fn delete(snapshot: &Snapshot, copy: &CopyFacts, inferred: bool) -> WriteBackPlan {
    let key = Key { plane: PlaneId::Hub, ..snapshot.key.clone() };
    let subject = Subject { stub: copy.object(&key.namespace, &key.name), key };
    Plan::new(Intent::Delete { subject, precondition: Precondition::Uid, inferred }, None)
}

/// A copy without an Instance. Absence in a cache proves nothing: an unbroken watch has shown the deletion,
/// or the cell has to confirm it.
fn orphan(snapshot: &Snapshot, copy: &CopyFacts) -> Option<WriteBackPlan> {
    let source = copy.digest.instance().map(|copy| copy.source);
    if source.is_some() && source == snapshot.seen_gone {
        return Some(remove(snapshot, copy));
    }
    let Ownership::Ours(uid) = copy.ownership(&snapshot.cell, None)? else {
        return Some(Plan::default());
    };
    Some(match &snapshot.live_instance {
        _ if copy.digest.terminating => park(),
        None => read(PlaneId::Cell, Kind::Instance, snapshot, &snapshot.key.name),
        // The Instance exists after all: the watch will bring it.
        Some(LiveRead(Some(instance))) if instance.uid() == uid => park(),
        Some(_) => delete(snapshot, copy, true),
    })
}

fn remove(snapshot: &Snapshot, copy: &CopyFacts) -> WriteBackPlan {
    if copy.digest.terminating { park() } else { delete(snapshot, copy, false) }
}

fn stay(snapshot: &Snapshot, instance: &Object, copy: Option<&CopyFacts>) -> Option<WriteBackPlan> {
    if snapshot.declared_lost {
        return Some(refuse(snapshot, WriteBackRefusal::DeclaredLost));
    }
    let owner = match CopyOwner::from_instance(instance, snapshot) {
        Ok(owner) => owner,
        Err(refusal) => return Some(refusal.map_or_else(park, |refusal| refuse(snapshot, refusal))),
    };
    let managed = managed(instance, &snapshot.cell, Some(&owner));
    let expected = facts(&managed);
    let Some(copy) = copy else { return Some(create(snapshot, instance, &owner, managed)) };
    let ownership = copy.ownership(&snapshot.cell, Some((instance, &expected)))?;
    if let Some(plan) = obstacle(snapshot, instance, copy, &ownership) {
        return Some(plan);
    }
    let is = copy.digest.instance()?;
    let expected = expected.instance()?;
    let differs = !settled_hash(hash::json(instance.spec()), is.spec, snapshot.spec_normalization);
    let rendered = copy.body.as_ref().map(|body| (body, desired(instance, managed, Some(body))));
    let stands = match &rendered {
        Some((body, rendered)) => rendered.metadata == body.metadata,
        None => is.carries(expected),
    };
    if differs || !stands {
        // It is rendered onto the copy itself.
        let (body, rendered) = rendered?;
        let marked = ownership != Ownership::Unmarked;
        let mode = WriteMode::new(differs && marked, snapshot.spec_normalization);
        return Some(put(Write::Replace { object: Box::new(rendered), mode }, Some(body.clone())));
    }
    status(snapshot, instance, copy)
}

/// Returns the plan if the Instance must not be written to the copy of that name: to refuse it, or to remove
/// the copy.
fn obstacle(
    snapshot: &Snapshot,
    instance: &Object,
    copy: &CopyFacts,
    ownership: &Ownership,
) -> Option<WriteBackPlan> {
    let refusal = match ownership {
        Ownership::Foreign(source) => Some(WriteBackRefusal::of_another(source.clone(), &snapshot.cell)),
        Ownership::Unmarked if !is_ours(ownership, instance, copy) => Some(WriteBackRefusal::NameTaken(None)),
        Ownership::Ours(_) | Ownership::Unmarked => None,
    };
    // The copy of an earlier Instance of that name does not describe this one.
    let earlier = matches!(ownership, Ownership::Ours(uid) if uid != instance.uid());
    match refusal {
        Some(refusal) if !snapshot.of_lost_cell => Some(refuse(snapshot, refusal)),
        None if !earlier && !copy.digest.terminating => None,
        // This includes the copy of a cell that an operator declared lost (C11).
        _ => Some(remove(snapshot, copy)),
    }
}

/// The copy of an Instance that is not coming up stood once. Where it does not, the hub may have been
/// rebuilt, and its WD may have another UID than the cache knows: the hub's garbage collector takes a copy
/// without an owner (I5).
///
/// Gates that open in a moment are not published: each would be written again on the hub and in the project
/// (C6).
fn create(snapshot: &Snapshot, instance: &Object, owner: &CopyOwner, managed: Object) -> WriteBackPlan {
    let waits = !instance.is_terminating() && !gates::of(instance).is_empty();
    if let Some(left) = debounce(instance, instance.status(), snapshot.now)
        && waits
    {
        return wait(left);
    }
    match &snapshot.live_deployment {
        None if !on_the_way(instance, snapshot.now) => {
            let name = instance.label(WORKLOAD_DEPLOYMENT_NAME).unwrap_or_default();
            read(PlaneId::Hub, Kind::WorkloadDeployment, snapshot, name)
        }
        // The watch brings what the hub has.
        Some(LiveRead(live)) if !live.as_ref().is_some_and(|wd| owner.uid.is(wd.uid())) => park(),
        _ => put(Write::Create(Box::new(desired(instance, managed, None))), None),
    }
}

/// The status of a copy whose metadata and spec stand.
fn status(snapshot: &Snapshot, instance: &Object, copy: &CopyFacts) -> Option<WriteBackPlan> {
    let status = instance.status();
    let is = copy.digest.instance()?;
    if only_defaults(status) || settled_hash(hash::json(status), is.status, snapshot.status_normalization) {
        return Some(Plan::default());
    }
    if let Some(left) = debounce(instance, status, snapshot.now) {
        return Some(wait(left));
    }
    let mode = WriteMode::new(is.status_origin == StatusOrigin::Reported, snapshot.status_normalization);
    // A dry run is compared with the copy itself.
    if mode == WriteMode::DryRunFirst && copy.body.is_none() {
        return None;
    }
    let of = copy.object(instance.namespace(), instance.name());
    let write = StatusWrite { status: status.clone(), mode };
    Some(Plan::new(Intent::PutStatus { to: PlaneId::Hub, kind: Kind::Instance, of, write }, None))
}

/// Whether a copy is ours to touch: it has this cell's mark, or none and this Instance's city. Without a
/// mark, that of another city is an older cell's, as while a deployment moves.
fn is_ours(ownership: &Ownership, instance: &Object, copy: &CopyFacts) -> bool {
    match ownership {
        Ownership::Ours(_) => true,
        Ownership::Foreign(_) => false,
        Ownership::Unmarked => {
            let city = instance.label(INSTANCE_CITY).filter(|city| !city.is_empty());
            city.is_some() && copy.body.as_ref().and_then(|copy| copy.label(INSTANCE_CITY)) == city
        }
    }
}

/// The hash of the source that the copy of an Instance names.
pub(super) fn source(instance: &Object, cell: &CellId) -> Option<u64> {
    facts(&managed(instance, cell, None)).instance().map(|facts| facts.source)
}

/// The hashes of what a copy should carry, as those of the copy are made.
fn facts(managed: &Object) -> Digest {
    Digest::new(&PlaneId::Hub, Kind::Instance, managed)
}

//! What to do about one Instance and its copy: a pure function of a snapshot.
//!
//! Decides C7.

use std::time::Duration;

use fedhub_api::cells::CellId;
use fedhub_api::facts::instance::{StatusOrigin, only_defaults};
use fedhub_api::facts::{Digest, DigestExt};
use fedhub_cache::normalization::settled_hash;
use fedhub_core::hash;
use fedhub_core::names::INSTANCE_CITY;
use fedhub_core::object::{Kind, Object, ObjectView, PlaneId};
use fedhub_planes::WriteMode;

use super::desired::{Owner, desired, managed};
use super::refusal::WriteBackRefusal;
use super::snapshot::{CopyFacts, LiveRead, Ownership, Snapshot};
use crate::domain::status::debounce::{debounce, on_the_way};
use crate::domain::status::gates;

/// What to do about one Instance and its copy.
#[derive(Clone, Debug, PartialEq)]
pub enum WriteBackPlan {
    /// Everything is as it should be.
    Unchanged,
    /// The hub has no living WD, or no namespace, for the Instance: nothing to do, and no error. Their events requeue it.
    AwaitOwner,
    /// The Instance cannot be written back as it is.
    Refuse(WriteBackRefusal),
    /// Create the copy.
    Create(Owner),
    /// Write the copy's metadata and spec.
    Replace {
        /// The owner of the Instance.
        owner: Owner,
        /// Whether a dry run comes first.
        mode: WriteMode,
    },
    /// Write the copy's status.
    WriteStatus {
        /// Whether a dry run comes first.
        mode: WriteMode,
    },
    /// The Instance is coming up: write gates or a status only if they last for so long.
    Debounce(Duration),
    /// Delete the copy.
    Delete {
        /// Whether no watch showed that its Instance went, so that the rate of such deletions is limited (I4).
        inferred: bool,
    },
    /// The copy is terminating: its event requeues the Instance.
    AwaitDeletion,
    /// Fetch the copy, whose digest does not tell enough, then plan again.
    FetchCopy,
    /// Read the Instance from the cell, then plan again (I4).
    ReadInstance,
    /// Read the WD from the hub, then plan again (I5).
    ReadDeployment,
}

/// Decides (C7).
pub fn plan(snapshot: &Snapshot) -> WriteBackPlan {
    decide(snapshot).unwrap_or(WriteBackPlan::FetchCopy)
}

/// The plan; `None` where it takes the copy itself.
fn decide(snapshot: &Snapshot) -> Option<WriteBackPlan> {
    match (&snapshot.instance, &snapshot.copy) {
        // The Instance is its own copy, for the cell is its own hub.
        (Some(instance), Some(copy)) if copy.digest.uid.is(instance.uid()) => Some(WriteBackPlan::Unchanged),
        (None, None) => Some(WriteBackPlan::Unchanged),
        (None, Some(copy)) => orphan(snapshot, copy),
        (Some(instance), copy) => stay(snapshot, instance, copy.as_ref()),
    }
}

/// A copy without an Instance. Absence in a cache proves nothing: an unbroken watch has shown the deletion, or the cell
/// has to confirm it.
fn orphan(snapshot: &Snapshot, copy: &CopyFacts) -> Option<WriteBackPlan> {
    let source = copy.digest.instance().map(|copy| copy.source);
    if source.is_some() && source == snapshot.seen_gone {
        return Some(remove(copy));
    }
    let Ownership::Ours(uid) = copy.ownership(&snapshot.cell, None)? else {
        return Some(WriteBackPlan::Unchanged);
    };
    Some(match &snapshot.live_instance {
        _ if copy.digest.terminating => WriteBackPlan::AwaitDeletion,
        None => WriteBackPlan::ReadInstance,
        // The Instance exists after all: the watch will bring it.
        Some(LiveRead(Some(instance))) if instance.uid() == uid => WriteBackPlan::AwaitOwner,
        Some(_) => WriteBackPlan::Delete { inferred: true },
    })
}

fn remove(copy: &CopyFacts) -> WriteBackPlan {
    if copy.digest.terminating {
        WriteBackPlan::AwaitDeletion
    } else {
        WriteBackPlan::Delete { inferred: false }
    }
}

fn stay(snapshot: &Snapshot, instance: &Object, copy: Option<&CopyFacts>) -> Option<WriteBackPlan> {
    if snapshot.declared_lost {
        return Some(WriteBackPlan::Refuse(WriteBackRefusal::DeclaredLost));
    }
    let owner = match Owner::of(instance, snapshot) {
        Ok(owner) => owner,
        Err(refusal) => return Some(refusal.map_or(WriteBackPlan::AwaitOwner, WriteBackPlan::Refuse)),
    };
    let managed = managed(instance, &snapshot.cell, Some(&owner));
    let expected = facts(&managed);
    let mut unmarked = false;
    if let Some(copy) = copy {
        let ownership = copy.ownership(&snapshot.cell, Some((instance, &expected)))?;
        if let Some(plan) = obstacle(snapshot, instance, copy, &ownership) {
            return Some(plan);
        }
        unmarked = ownership == Ownership::Unmarked;
    }
    let Some(copy) = copy else { return Some(create(snapshot, instance, owner)) };
    let (is, expected) = (copy.digest.instance()?, expected.instance()?);
    let differs = !settled_hash(hash::json(instance.spec()), is.spec, snapshot.spec_normalization);
    let stands = match &copy.body {
        Some(body) => desired(instance, managed, Some(body)).metadata == body.metadata,
        None => is.carries(expected),
    };
    if differs || !stands {
        // It is rendered onto the copy itself.
        copy.body.as_ref()?;
        let mode = WriteMode::of(differs, !unmarked, snapshot.spec_normalization);
        return Some(WriteBackPlan::Replace { owner, mode });
    }
    status(snapshot, instance, copy)
}

/// What keeps an Instance from being written to the copy that stands under its name.
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
        Some(refusal) if !snapshot.of_lost_cell => Some(WriteBackPlan::Refuse(refusal)),
        None if !earlier && !copy.digest.terminating => None,
        // Also one of a lost cell, which an operator declared (C11).
        _ => Some(remove(copy)),
    }
}

/// The copy of an Instance that is not coming up stood once. Where it does not, the hub may have been rebuilt, and its WD
/// may have another UID than the cache knows: the hub's garbage collector takes a copy without an owner (I5).
///
/// Gates that open in a moment are not published: each would be written again on the hub and in the project (C6).
fn create(snapshot: &Snapshot, instance: &Object, owner: Owner) -> WriteBackPlan {
    let waits = !instance.is_terminating() && !gates::of(instance).is_empty();
    if let Some(wait) = debounce(instance, instance.status(), snapshot.now).filter(|_| waits) {
        return WriteBackPlan::Debounce(wait);
    }
    match &snapshot.live_deployment {
        None if !on_the_way(instance, snapshot.now) => WriteBackPlan::ReadDeployment,
        // The watch brings what the hub has.
        Some(LiveRead(live)) if !live.as_ref().is_some_and(|wd| owner.uid.is(wd.uid())) => {
            WriteBackPlan::AwaitOwner
        }
        _ => WriteBackPlan::Create(owner),
    }
}

/// The status of a copy whose metadata and spec stand.
fn status(snapshot: &Snapshot, instance: &Object, copy: &CopyFacts) -> Option<WriteBackPlan> {
    let (status, is) = (instance.status(), copy.digest.instance()?);
    if only_defaults(status) || settled_hash(hash::json(status), is.status, snapshot.status_normalization) {
        return Some(WriteBackPlan::Unchanged);
    }
    if let Some(wait) = debounce(instance, status, snapshot.now) {
        return Some(WriteBackPlan::Debounce(wait));
    }
    let mode = WriteMode::of(true, is.status_origin == StatusOrigin::Reported, snapshot.status_normalization);
    // A dry run is compared with the copy itself.
    (mode == WriteMode::Direct || copy.body.is_some()).then_some(WriteBackPlan::WriteStatus { mode })
}

/// Whether a copy is ours to touch: it has this cell's mark, or none and this Instance's city. Without a mark, that of
/// another city is an older cell's, as while a deployment moves.
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
    Digest::of(&PlaneId::Hub, Kind::Instance, managed)
}

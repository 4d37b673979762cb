//! What a pass over one Instance does: a pure function from what was observed to one decision.
//!
//! Decides C7.

use fedhub_cache::digest::instance::only_defaults;
use fedhub_cache::normalization::settled;
use fedhub_core::names::{INSTANCE_CITY, INSTANCE_FINALIZER};
use fedhub_core::object::{Object, ObjectRef, ObjectView};
use fedhub_planes::writer::probe;
use fedhub_planes::{StatusWrite, Write};
use serde_json::json;

use super::copy::{Owner, owner, wanted};
use super::decision::{Decision, itself, release};
use super::finalizer::{finalizers, is_released};
use super::glance::Sight;
use super::mark::Whose;
use super::refusal::Refusal;
use crate::status::gates;
use crate::status::hush::{hushed, on_the_way};

/// Everything that [`plan`] decides by.
#[derive(Clone, Debug)]
pub struct Observed {
    /// What the stores tell.
    pub sight: Sight,
    /// The copy on the hub.
    pub copy: Option<ObjectRef>,
    /// Whether that is the hub's own word, and not what its watch shows: a copy may stand there without the label that is
    /// watched for.
    pub copy_proven: bool,
    /// The cell's Instance of that name, where a live read was asked for.
    pub live_instance: Option<Said>,
    /// The hub's WD that the Instance names, where a live read was asked for.
    pub live_deployment: Option<Said>,
    /// Whether the copy is one of a cell that is declared lost, so that its name may be taken over (C11).
    pub of_lost_cell: bool,
}

/// What a plane itself says of an object, past its watch: this, or that there is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Said(pub Option<ObjectRef>);

/// Decides (C7).
pub fn plan(seen: &Observed) -> Decision {
    match (&seen.sight.instance, &seen.copy) {
        (Some(instance), Some(copy)) if instance.uid() == copy.uid() => itself(instance),
        (None, None) => Decision::Nothing,
        (None, Some(copy)) => orphan(seen, copy),
        (Some(instance), copy) if is_released(instance) => leave(seen, instance, copy.as_ref()),
        (Some(instance), copy) => stay(seen, instance, copy.as_ref()),
    }
}

/// A copy without an Instance: its finalizer never ran. Absence in a store proves nothing; the cell has to say it.
fn orphan(seen: &Observed, copy: &ObjectRef) -> Decision {
    let Whose::Ours(uid) = Whose::of(copy, &seen.sight.cell, None) else { return Decision::Nothing };
    if copy.is_terminating() {
        return Decision::Leaving;
    }
    match &seen.live_instance {
        None => Decision::ReadInstance,
        // It is there after all: the watch will bring it.
        Some(Said(Some(instance))) if instance.uid() == uid => Decision::Park,
        Some(_) => Decision::Delete { copy: copy.clone(), inferred: true },
    }
}

/// Nobody else holds the Instance: first its copy goes, then our finalizer (I3).
fn leave(seen: &Observed, instance: &ObjectRef, copy: Option<&ObjectRef>) -> Decision {
    if let Some(copy) = copy.filter(|copy| ours(seen, instance, copy)) {
        return if copy.is_terminating() {
            Decision::Leaving
        } else {
            Decision::Delete { copy: copy.clone(), inferred: false }
        };
    }
    if !instance.has_finalizer(INSTANCE_FINALIZER) {
        return Decision::Nothing;
    }
    if !seen.copy_proven {
        return Decision::ReadCopy;
    }
    release(instance)
}

fn stay(seen: &Observed, instance: &ObjectRef, copy: Option<&ObjectRef>) -> Decision {
    let sight = &seen.sight;
    if sight.declared_lost {
        return Decision::Refuse(Refusal::DeclaredLost);
    }
    let owner = match owner(instance, sight.hub_namespace.as_deref(), sight.deployment.as_ref()) {
        Ok(owner) => owner,
        Err(decision) => return decision,
    };
    if let Some(copy) = copy {
        match Whose::of(copy, &sight.cell, Some(instance)) {
            Whose::Anothers(source) if !seen.of_lost_cell => {
                return Decision::Refuse(Refusal::of_another(source, &sight.cell));
            }
            Whose::Nobodys if !ours(seen, instance, copy) && !seen.of_lost_cell => {
                return Decision::Refuse(Refusal::NameTaken(None));
            }
            _ if copy.is_terminating() => return Decision::Leaving,
            // A lost cell's, which an operator declared (C11).
            Whose::Anothers(_) => return Decision::Delete { copy: copy.clone(), inferred: false },
            Whose::Nobodys if !ours(seen, instance, copy) => {
                return Decision::Delete { copy: copy.clone(), inferred: false };
            }
            // An earlier Instance's of that name: what its copy says is not true of this one.
            Whose::Ours(uid) if uid != instance.uid() => {
                return Decision::Delete { copy: copy.clone(), inferred: false };
            }
            Whose::Ours(_) | Whose::Nobodys => {}
        }
    }
    let marked = instance.has_finalizer(INSTANCE_FINALIZER);
    if !marked && !instance.is_terminating() {
        let mut all: Vec<&str> = finalizers(instance).map(String::as_str).collect();
        all.push(INSTANCE_FINALIZER);
        return Decision::Mark(json!(all));
    }
    let wanted = wanted(instance, &sight.cell, &owner, copy.map(AsRef::as_ref));
    let Some(copy) = copy else {
        // What is being deleted takes no finalizer any more, and without one its copy might be forgotten.
        return if marked { create(seen, instance, &owner, wanted) } else { Decision::Nothing };
    };
    let differs = !settled(instance.spec(), copy.spec(), sight.spec_normalization);
    if differs || wanted.metadata != copy.metadata {
        let written_before = Whose::of(copy, &sight.cell, Some(instance)) != Whose::Nobodys;
        let probe = probe(differs, written_before, sight.spec_normalization);
        return Decision::Write(Write::Replace { object: Box::new(wanted), probe });
    }
    let (should, is) = (instance.status(), copy.status());
    if only_defaults(should) || settled(should, is, sight.status_normalization) {
        return Decision::Nothing;
    }
    if let Some(wait) = hushed(instance, should, sight.now) {
        return Decision::Hush(wait);
    }
    let probe = probe(true, !only_defaults(is), sight.status_normalization);
    Decision::Status(copy.clone(), StatusWrite { status: should.clone(), probe })
}

/// The copy of an Instance that is not on its way up stood once. Where it does not, the hub may have been rebuilt, and
/// its WD may have another UID than the store knows: the hub's garbage collector takes a copy whose owner is not there
/// (I5).
///
/// Gates that open in a moment need not be told: each would be written again on the hub and in the project (C6).
fn create(seen: &Observed, instance: &Object, owner: &Owner<'_>, wanted: Object) -> Decision {
    let waits = !instance.is_terminating() && !gates::of(instance).is_empty();
    if let Some(wait) = hushed(instance, instance.status(), seen.sight.now).filter(|_| waits) {
        return Decision::Hush(wait);
    }
    match &seen.live_deployment {
        None if !on_the_way(instance, seen.sight.now) => Decision::ReadDeployment,
        // The watch brings what the hub has.
        Some(said) if !said.0.as_ref().is_some_and(|wd| owner.uid.is(wd.uid())) => Decision::Park,
        _ => Decision::Write(Write::Create(Box::new(wanted))),
    }
}

/// Whether a copy is ours to touch: it has this cell's mark, or none and this Instance's city. Without a mark, that of
/// another city is an older cell's, as while a deployment moves.
fn ours(seen: &Observed, instance: &Object, copy: &Object) -> bool {
    match Whose::of(copy, &seen.sight.cell, Some(instance)) {
        Whose::Ours(_) => true,
        Whose::Anothers(_) => false,
        Whose::Nobodys => {
            let city = instance.label(INSTANCE_CITY).filter(|city| !city.is_empty());
            city.is_some() && copy.label(INSTANCE_CITY) == city
        }
    }
}

//! A WD that is being deleted (F9, I3).
//!
//! Decides I3 and F9.

use fedhub_core::names::{DELETION_PROTECTED, FEDERATOR_FINALIZER, HUB_NAMESPACE_UID, SOURCE, SOURCE_UID};
use fedhub_core::object::{ObjectRef, ObjectView};
use fedhub_planes::Write;
use serde_json::{Value, json};

use crate::held::Held;
use crate::loss;
use crate::observe::Observed;
use crate::origin::{conflict, is_anothers, is_ours, source};
use crate::plan::{Plan, Then, federate, mark, status_write};
use crate::refusal::Refusal;

/// The hub WD goes first, seen gone by a live read; only then the finalizer.
pub fn plan(seen: &Observed) -> Plan {
    if !seen.project.has_finalizer(FEDERATOR_FINALIZER) {
        return Plan::default();
    }
    match (&seen.hub, &seen.live) {
        (Some(hub), None) if is_in_place(seen, hub) => remove(seen, hub),
        (_, None) => Plan { then: Then::ReadLive, ..Plan::default() },
        // Its event tells whether it was deleted or lost.
        (Some(_), Some(live)) if live.deployment.is_none() && loss::is_possible(seen) => {
            Plan { then: Then::Wait, ..Plan::default() }
        }
        (_, Some(live)) => judge(&Observed {
            hub_namespace: live.namespace.clone(),
            hub: live.deployment.clone(),
            ..seen.clone()
        }),
    }
}

/// Whether that hub WD is this WD's, in its own hub namespace.
fn is_in_place(seen: &Observed, hub: &ObjectRef) -> bool {
    is_ours(seen, hub) && seen.hub_namespace.as_ref().is_some_and(|n| seen.namespace_is_ours(n))
}

/// What live reads prove.
fn judge(seen: &Observed) -> Plan {
    let recorded = seen.project.annotation(HUB_NAMESPACE_UID);
    match (&seen.hub_namespace, &seen.hub) {
        (_, Some(hub)) if is_in_place(seen, hub) => remove(seen, hub),
        // Its mark or its namespace was tampered with: it may be ours, which proves nothing done.
        (_, Some(hub)) if !is_anothers(seen, hub) => hold(seen, Held::TenantConflict),
        // Nobody waits for the report of a cell that is declared lost (C11).
        _ if loss::stands(seen) && !seen.cell_lost => refill(seen),
        // Nothing, or something that is not ours to touch. But was it this namespace that was written to?
        (Some(namespace), _) if recorded.is_some() && !seen.namespace_is_ours(namespace) => {
            hold(seen, Held::TenantConflict)
        }
        // Where no UID is recorded, nothing was ever written (F2).
        _ => release(seen),
    }
}

/// Off with the protection label, then the deletion; its event brings the next pass. What a tenant edited is put back,
/// so that it does not look like a loss afterwards.
fn remove(seen: &Observed, hub: &ObjectRef) -> Plan {
    let mark = mark(seen);
    if hub.is_terminating() {
        return Plan { mark, then: Then::Wait, ..Plan::default() };
    }
    if loss::is_awaiting_cell(hub) && !seen.cell_lost {
        return refill(seen);
    }
    let mut free = hub.as_ref().clone();
    free.metadata.labels.get_or_insert_default().remove(DELETION_PROTECTED.0);
    // I6: it is written and deleted under its whole mark.
    let annotations = free.metadata.annotations.get_or_insert_default();
    annotations.insert(SOURCE.to_owned(), source(seen));
    annotations.insert(SOURCE_UID.to_owned(), seen.project.uid().to_owned());
    let deployment =
        (free.metadata != hub.metadata).then(|| Write::Replace { object: Box::new(free), probe: false });
    Plan { mark, deployment, delete: Some(hub.clone()), then: Then::Wait, ..Plan::default() }
}

/// The hub may have lost all record of what runs in the cell: the WD is federated again, so that Karmada adopts it there,
/// and deleted once the cell has reported. Until then its condition says why it waits.
fn refill(seen: &Observed) -> Plan {
    let why = Held::HubStateLost;
    let held = hold(seen, why);
    let refused = Refusal::of(seen).or_else(|| conflict(seen));
    // I10: what may run in one cell is not sent to another.
    if refused.is_some() || seen.cells > 1 {
        return held;
    }
    let plan = federate(seen, held.status.clone());
    let then = if plan.then == Then::Again { Then::Again } else { Then::Hold(why) };
    Plan { status: held.status, then, ..plan }
}

/// The finalizer stays, and the WD says why (I3).
fn hold(seen: &Observed, why: Held) -> Plan {
    let status = status_write(seen, Some(&Refusal::CleanupHeld(why)));
    Plan { status, then: Then::Hold(why), ..Plan::default() }
}

fn release(seen: &Observed) -> Plan {
    let others: Vec<&String> =
        seen.project.metadata.finalizers.iter().flatten().filter(|f| *f != FEDERATOR_FINALIZER).collect();
    // A merge patch replaces the list; the resourceVersion makes sure that it is the one that was read (I9).
    let finalizers = if others.is_empty() { Value::Null } else { json!(others) };
    Plan { release: Some(json!({ "finalizers": finalizers })), ..Plan::default() }
}

//! A WD that is being deleted (F9, I3).

use fedhub_shared::engine::Write;
use fedhub_shared::names::{DELETION_PROTECTED, FEDERATOR_FINALIZER, HUB_NAMESPACE_UID};
use fedhub_shared::object::{ObjectView, Shared};
use serde_json::{Value, json};

use crate::held::Held;
use crate::observe::{Live, Observed};
use crate::origin::{is_anothers, is_ours};
use crate::plan::{Plan, Then, status_write};
use crate::refusal::Refusal;

/// The hub WD goes first, seen gone by a live read; only then the finalizer.
pub fn plan(seen: &Observed) -> Plan {
    if !seen.project.has_finalizer(FEDERATOR_FINALIZER) {
        return Plan::default();
    }
    match (&seen.hub, &seen.live) {
        (Some(hub), None) if is_ours(seen, hub) && stands_where_recorded(seen) => remove(hub),
        (_, None) => Plan { then: Then::ReadLive, ..Plan::default() },
        (_, Some(live)) => judge(seen, live),
    }
}

/// Whether the hub namespace is, as far as is known, this WD's and the one recorded: else only live reads tell.
fn stands_where_recorded(seen: &Observed) -> bool {
    let recorded = seen.project.annotation(HUB_NAMESPACE_UID);
    seen.hub_namespace
        .as_ref()
        .is_some_and(|n| seen.namespace_is_ours(n) && recorded.is_none_or(|uid| uid == n.uid()))
}

/// What live reads prove.
fn judge(seen: &Observed, live: &Live) -> Plan {
    let recorded = seen.project.annotation(HUB_NAMESPACE_UID);
    match (&live.namespace, recorded) {
        // The UID is recorded before the hub WD is written (F2): without it, nothing was ever written.
        (None, None) => release(seen),
        (None, Some(_)) => hold(seen, Held::HubStateLost),
        (Some(namespace), Some(uid)) if namespace.uid() != uid => hold(seen, Held::HubStateLost),
        (Some(namespace), _) => match &live.deployment {
            Some(hub) if !is_anothers(seen, hub) => {
                if is_ours(seen, hub) && seen.namespace_is_ours(namespace) {
                    remove(hub)
                } else {
                    // Its mark or its namespace was tampered with: it may be ours, which proves nothing done.
                    hold(seen, Held::TenantConflict)
                }
            }
            // Nothing, or something that is not ours to touch. But was it this namespace that was written to?
            _ if recorded.is_some() && !seen.namespace_is_ours(namespace) => hold(seen, Held::TenantConflict),
            _ => release(seen),
        },
    }
}

/// Off with the protection label, then the deletion; its event brings the next pass.
fn remove(hub: &Shared) -> Plan {
    if hub.deleting() {
        return Plan { then: Then::Wait, ..Plan::default() };
    }
    let deployment = hub.label(DELETION_PROTECTED.0).is_some().then(|| {
        let mut free = hub.as_ref().clone();
        free.metadata.labels.get_or_insert_default().remove(DELETION_PROTECTED.0);
        Write::Replace { object: Box::new(free), probe: false }
    });
    Plan { deployment, delete: Some(hub.clone()), then: Then::Wait, ..Plan::default() }
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

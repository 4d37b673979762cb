//! A WD that is being deleted, or whose project's service is withdrawn (F9, I3, W9): it leaves the hub.
//!
//! Decides I3 and F9.

use fedhub_api::hub_metadata::HubMetadata;
use fedhub_core::clock::stamp;
use fedhub_planes::Distrust;

use crate::cleanup::CleanupBlocked;
use crate::desired::HubChange;
use crate::federate::{FederationPlan, NextStep, federate, hub_metadata, mark, status};
use crate::leaving::{self, SHOWN_AFTER, Shown, Stage};
use crate::loss;
use crate::origin::{conflict, is_anothers, is_ours};
use crate::refusal::Refusal;
use crate::snapshot::{LiveRead, Snapshot, Wd};

/// The hub WD goes first, seen gone by a live read; only then the finalizer.
pub fn plan(seen: &Snapshot) -> FederationPlan {
    if seen.project.held { leave(seen) } else { FederationPlan::default() }
}

fn leave(seen: &Snapshot) -> FederationPlan {
    match (&seen.hub, seen.live) {
        (Some(hub), None) if is_in_place(seen, hub) => remove(seen, hub),
        (_, None) => only(NextStep::ReadLive),
        // Its event shows whether it was deleted or lost.
        (None, Some(LiveRead { cached: true })) if loss::is_possible(seen) => only(NextStep::AwaitChange),
        (_, Some(_)) => judge(seen),
    }
}

/// The service of the project was withdrawn (W9): its WDs leave the hub as if they were deleted, and say so
/// afterwards.
pub fn withdraw(seen: &Snapshot) -> FederationPlan {
    let stands = seen.hub.as_ref().is_some_and(|hub| is_in_place(seen, hub));
    if seen.project.held || stands {
        return leave(seen);
    }
    FederationPlan { status: status(seen, Some(Refusal::ServiceNotActive)), ..FederationPlan::default() }
}

fn only(then: NextStep) -> FederationPlan {
    FederationPlan { then, ..FederationPlan::default() }
}

/// Whether that hub WD is this WD's, in its own hub namespace.
fn is_in_place(seen: &Snapshot, hub: &Wd) -> bool {
    is_ours(seen, hub) && seen.hub_namespace.as_ref().is_some_and(|n| seen.namespace_is_ours(n))
}

/// What live reads prove.
fn judge(seen: &Snapshot) -> FederationPlan {
    let is_recorded = seen.project.counterpart_uid != 0;
    match (&seen.hub_namespace, &seen.hub) {
        (_, Some(hub)) if is_in_place(seen, hub) => remove(seen, hub),
        // Its mark or its namespace was tampered with: it may be ours, which proves nothing done.
        (_, Some(hub)) if !is_anothers(seen, hub) => block(seen, CleanupBlocked::TenantConflict),
        // The report of a cell that is declared lost is not waited for (C11).
        _ if loss::stands(seen) && !seen.cell_lost => {
            // What was deleted is not started again because the hub has not answered whether it went back.
            let is_known = seen.distrust != Some(Distrust::Unverified);
            if is_known { refill(seen) } else { block(seen, CleanupBlocked::HubUnreachable) }
        }
        // Nothing, or something that is not ours to touch. But was it this namespace that was written to?
        (Some(namespace), _) if is_recorded && !seen.namespace_is_ours(namespace) => {
            block(seen, CleanupBlocked::TenantConflict)
        }
        // Where no UID is recorded, nothing was ever written (F2).
        _ => FederationPlan { release: true, ..FederationPlan::default() },
    }
}

/// The cells first, as far as they can be waited for ([`leaving`]). Then the protection label comes off and
/// the hub WD is deleted; its event brings the next pass. What a tenant edited is put back, so that it does
/// not look like a loss afterwards.
fn remove(seen: &Snapshot, hub: &Wd) -> FederationPlan {
    let plan = FederationPlan { mark: mark(seen), ..only(NextStep::AwaitChange) };
    if hub.terminating {
        let left = SHOWN_AFTER.checked_sub(seen.waited).filter(|left| !left.is_zero());
        return match left {
            Some(left) => FederationPlan { then: NextStep::RequeueAfter(left), ..plan },
            None => FederationPlan { mark: plan.mark, ..block(seen, CleanupBlocked::HubObjectHeld) },
        };
    }
    if loss::is_awaiting_cell(hub) && !seen.cell_lost {
        return refill(seen);
    }
    match leaving::stage(seen, hub) {
        Stage::Unread => only(NextStep::ReadCopies),
        Stage::Begins => recall(seen, plan, stamp(seen.now), NextStep::RequeueAfter(SHOWN_AFTER)),
        Stage::Lasts { since, shown, next } => {
            let refusal = shown.map(|shown| leaving::refusal(seen, shown));
            let then = match shown {
                Some(Shown::Held(why)) => NextStep::HoldCleanup(why, next),
                Some(Shown::Passing) | None => NextStep::RequeueAfter(next),
            };
            let status = refusal.and_then(|refusal| status(seen, Some(refusal)));
            FederationPlan { status, ..recall(seen, plan, since, then) }
        }
        Stage::Over => {
            let change = HubChange::Unprotect(hub_metadata(seen, None));
            FederationPlan { deployment: Some(change), delete: true, ..plan }
        }
    }
}

/// Its cells tear the WD down, since that time; the end of its copies brings the next pass, or the time of
/// `then`.
fn recall(seen: &Snapshot, plan: FederationPlan, since: String, then: NextStep) -> FederationPlan {
    let metadata = HubMetadata { recalled: Some(since), ..hub_metadata(seen, None) };
    FederationPlan { deployment: Some(HubChange::Unprotect(metadata)), recall: true, then, ..plan }
}

/// The hub may have lost all record of what runs in the cell: the WD is federated again, so that Karmada
/// adopts it there, and deleted once the cell has reported. Until then its condition shows why it waits.
fn refill(seen: &Snapshot) -> FederationPlan {
    let why = CleanupBlocked::HubStateLost;
    let blocked = block(seen, why);
    let refused = Refusal::of(seen).or_else(|| conflict(seen));
    // I10: what may run in one cell is not sent to another.
    if refused.is_some() || seen.cells > 1 {
        return blocked;
    }
    let plan = federate(seen, blocked.status.clone());
    let then = if plan.then == NextStep::Requeue { NextStep::Requeue } else { blocked.then };
    FederationPlan { status: blocked.status, then, ..plan }
}

/// The finalizer stays, and the WD's status shows why (I3).
fn block(seen: &Snapshot, why: CleanupBlocked) -> FederationPlan {
    let status = status(seen, Some(Refusal::CleanupHeld(why, None)));
    FederationPlan { status, ..only(NextStep::BlockCleanup(why)) }
}

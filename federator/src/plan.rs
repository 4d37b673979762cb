//! What a pass over one WD does: a pure function from its [`Snapshot`] to intents and a verdict.
//!
//! Everything is decided on the facts of a [`Snapshot`]. Where these cannot show whether something differs,
//! the plan has it rendered, and what renders to no difference is not written.
//!
//! Decides I2, I3, I9, F2, F3, F4, F5 and F9.

use std::time::Duration;

use fedhub_api::facts::deployment::mark_hash;
use fedhub_cache::normalization::settled_hash;
use fedhub_core::clock::stamp;
use fedhub_core::names::{FEDERATION_NAMESPACE, FEDERATOR_FINALIZER, HUB_NAMESPACE_UID};
use fedhub_core::object::{Kind, ObjectRef, ObjectView, PlaneId};
use fedhub_engine::{Draft, DraftPart, Intent, Outcome, Plan};
use fedhub_planes::{Distrust, ServiceState, Write, WriteMode, WriteState};
use jiff::Timestamp;

use crate::cleanup::CleanupBlocked;
use crate::loss;
use crate::moving::{changes_city, under_way};
use crate::origin::{is_anothers, is_ours};
use crate::refusal::{Refusal, Remnant, conflict, refusal, remnant};
use crate::render::{hub_metadata, namespace, policy};
use crate::snapshot::{LiveRead, Snapshot, Wd};
use crate::status;
use crate::teardown::{Left, TeardownLimits, cells, named};

/// How long a deletion may take before it is shown.
pub const SHOWN_AFTER: Duration = Duration::from_secs(5);

/// The intents of one pass. The verdict is why the WD is not on the hub as it is, or why its finalizer stays.
pub type FederationPlan = Plan<Option<Refusal>>;

/// Decides. See the specification, section 4, for the rules by their numbers.
pub fn plan(seen: &Snapshot) -> FederationPlan {
    if seen.writes == WriteState::Paused {
        // The WD is left as it is, here and on the hub, until an operator resumes its plane (I12).
        return end(Outcome::AwaitChange);
    }
    if seen.project.terminating {
        return if seen.project.held { leave(seen) } else { FederationPlan::default() };
    }
    let plan = match seen.service {
        ServiceState::Active | ServiceState::Suspended => follow(seen),
        ServiceState::Withdrawn => withdraw(seen),
        ServiceState::Unknown => end(Outcome::AwaitChange),
    };
    if seen.is_read_only() { on_hub_alone(plan) } else { plan }
}

fn end(outcome: Outcome) -> FederationPlan {
    Plan::new(Intent::End(outcome), None)
}

/// The part of a plan that is carried out while the project plane takes no writes: that on the hub, if the WD
/// is marked (I2).
fn on_hub_alone(plan: FederationPlan) -> FederationPlan {
    if plan.intents.iter().any(|intent| matches!(intent, Intent::Mark { .. })) {
        return end(Outcome::AwaitChange);
    }
    let writes_project = |intent: &Intent| match intent {
        Intent::Render(draft) => draft.part == DraftPart::Status,
        intent => matches!(intent, Intent::Release { .. }),
    };
    let intents = plan.intents.into_iter().filter(|intent| !writes_project(intent)).collect();
    Plan { intents, verdict: plan.verdict }
}

/// Makes the hub follow a WD that is not being deleted.
fn follow(seen: &Snapshot) -> FederationPlan {
    let refusal = refusal(seen);
    // I10: while it is not known where a WD is to go, what is federated stays where it is.
    let stays = seen.hub.as_ref().is_some_and(|hub| hub.city == seen.project.city);
    let waits = match &refusal {
        Some(Refusal::AmbiguousCity(_)) => !stays,
        Some(Refusal::NoCellForCity(_)) => changes_city(seen),
        Some(Refusal::Moving(..) | Refusal::CellUnreachable(..) | Refusal::ServiceSuspended) | None => false,
        Some(_) => true,
    };
    let status = status(seen, refusal.as_ref()).into_iter();
    let intents =
        if waits { status.collect() } else { federate(seen, status.chain(next_look(seen).map(Intent::End))) };
    Plan { intents, verdict: refusal }
}

/// Brings a WD to the hub and keeps it there: mark, hub namespace, the policy before the hub WD that it
/// carries (F5), hub WD. `rest` comes behind them.
fn federate(seen: &Snapshot, rest: impl IntoIterator<Item = Intent>) -> Vec<Intent> {
    let mark = mark(seen);
    let Some(current) = &seen.hub_namespace else {
        // Its answer brings the next round.
        let namespace = Write::Create(Box::new(namespace(seen, None)));
        return mark.into_iter().chain([put(Kind::Namespace, namespace)]).collect();
    };
    let remnant = remnant(seen);
    let namespace = remnant.is_none().then(|| relabelled(seen, current)).flatten();
    let policy = match remnant {
        Some(Remnant::Namespace | Remnant::Policy) => None,
        Some(Remnant::Deployment) | None => policy(seen),
    };
    let namespace = namespace.map(|write| put(Kind::Namespace, write));
    let policy = policy.map(|write| put(Kind::PropagationPolicy, write));
    let is_due = remnant.is_none() && !is_followed(seen);
    let hub_wd = is_due.then(|| render(seen, DraftPart::Object));
    [mark, namespace, policy, hub_wd].into_iter().flatten().chain(rest).collect()
}

/// How the reconcile of a WD that is brought to the hub ends, where it is not in sync then.
fn next_look(seen: &Snapshot) -> Option<Outcome> {
    match (remnant(seen), under_way(seen)) {
        (Some(_), _) => Some(Outcome::AwaitChange),
        (None, Some(moving)) => Some(Outcome::RequeueAfter(moving.resync_after(seen.now))),
        (None, None) => None,
    }
}

/// Puts finalizer and annotations on the WD, in one patch; nothing is written to the hub before it is stored
/// (I2, F2).
fn mark(seen: &Snapshot) -> Option<Intent> {
    let project = &seen.project;
    let finalizer = (!project.held).then_some(FEDERATOR_FINALIZER);
    let mut annotations = Vec::new();
    if project.counterpart != mark_hash(Some(&seen.hub_namespace_name)) {
        annotations.push((FEDERATION_NAMESPACE, Some(seen.hub_namespace_name.clone())));
    }
    match seen.hub_namespace.as_ref().filter(|n| !n.is_terminating() || seen.is_leaving()) {
        // F9: which namespace was lost is remembered until the loss is over.
        Some(namespace) if !loss::stands(seen) && !seen.recorded_namespace_stands() => {
            annotations.push((HUB_NAMESPACE_UID, Some(namespace.uid().to_owned())));
        }
        // Copied from another object: of this one nothing was on the hub before.
        None if finalizer.is_some() && project.counterpart_uid != 0 => {
            annotations.push((HUB_NAMESPACE_UID, None));
        }
        _ => {}
    }
    let is_due = finalizer.is_some() || !annotations.is_empty();
    is_due.then(|| Intent::Mark { subject: seen.project_subject(), finalizer, annotations })
}

/// The hub namespace with our labels, where it lacks them.
fn relabelled(seen: &Snapshot, current: &ObjectRef) -> Option<Write> {
    let wanted = namespace(seen, Some(current));
    (wanted.metadata != current.metadata)
        .then(|| Write::Replace { object: Box::new(wanted), mode: WriteMode::Direct })
}

/// Whether the hub WD is known to be as it should be. What a suspended project's annotations are to be, only
/// the WD itself shows.
fn is_followed(seen: &Snapshot) -> bool {
    seen.hub.as_ref().filter(|_| !seen.is_suspended()).is_some_and(|hub| {
        hub.hub_identity == hub_metadata(seen).hub_identity()
            && hub.mirrored_hash == seen.project.mirrored_hash
            && settled_hash(seen.project.spec, hub.spec, seen.spec_normalization)
    })
}

fn put(kind: Kind, write: Write) -> Intent {
    Intent::Put { to: PlaneId::Hub, kind, write, recreate: None }
}

/// Renders a part of the hub WD. Whether a dry run comes first shows only in the rendering.
fn render(seen: &Snapshot, part: DraftPart) -> Intent {
    let from = [seen.project_subject()].into_iter().chain(seen.hub_subject()).collect();
    Intent::Render(Draft { part, from, mode: WriteMode::Direct })
}

/// The status, where it may differ from what it is to be. The hub WD is read only where a cell has reported
/// on it.
fn status(seen: &Snapshot, refusal: Option<&Refusal>) -> Option<Intent> {
    let is_due = seen.is_due || status::may_differ(seen, refusal);
    let is_reported = seen.hub.as_ref().is_some_and(|hub| hub.reported());
    let hub = seen.hub_subject().filter(|_| is_reported);
    let from = [seen.project_subject()].into_iter().chain(hub).collect();
    is_due.then_some(Intent::Render(Draft { part: DraftPart::Status, from, mode: WriteMode::Direct }))
}

/// The service of the project was withdrawn (W9): its WDs leave the hub as if they were deleted, and say so
/// afterwards.
fn withdraw(seen: &Snapshot) -> FederationPlan {
    let stands = seen.hub.as_ref().is_some_and(|hub| is_in_place(seen, hub));
    if seen.project.held || stands {
        return leave(seen);
    }
    let refusal = Refusal::ServiceNotActive;
    Plan { intents: status(seen, Some(&refusal)).into_iter().collect(), verdict: Some(refusal) }
}

/// A WD leaves the hub (F9, I3): the hub WD goes first, seen gone by a live read; only then the finalizer.
fn leave(seen: &Snapshot) -> FederationPlan {
    match (&seen.hub, seen.live) {
        (Some(hub), None) if is_in_place(seen, hub) => remove(seen, hub),
        (_, None) => Plan::new(Intent::ReadHub, None),
        // Its event shows whether it was deleted or lost.
        (None, Some(LiveRead { cached: true })) if loss::is_possible(seen) => end(Outcome::AwaitChange),
        (_, Some(_)) => judge(seen),
    }
}

/// Whether that hub WD is this WD's, in its own hub namespace.
fn is_in_place(seen: &Snapshot, hub: &Wd) -> bool {
    is_ours(seen, hub) && seen.hub_namespace.as_ref().is_some_and(|n| seen.namespace_is_ours(n))
}

/// Decides by what live reads prove.
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
        _ => {
            let subject = seen.project_subject();
            Plan::new(Intent::Release { subject, finalizer: FEDERATOR_FINALIZER }, None)
        }
    }
}

/// Removes the WD from its cells first, as far as these can be waited for: what is lost with its cell is not.
/// What a tenant edited is put back, so that it does not look like a loss afterwards.
fn remove(seen: &Snapshot, hub: &Wd) -> FederationPlan {
    if hub.terminating {
        let left = SHOWN_AFTER.checked_sub(seen.waited).filter(|left| !left.is_zero());
        let Plan { intents, verdict } = match left {
            Some(left) => end(Outcome::RequeueAfter(left)),
            None => block(seen, CleanupBlocked::HubObjectHeld),
        };
        return Plan { intents: mark(seen).into_iter().chain(intents).collect(), verdict };
    }
    if loss::is_awaiting_cell(hub) && !seen.cell_lost {
        return refill(seen);
    }
    // A time that is none, or is yet to come, was not written by us.
    let recalled: Option<Timestamp> =
        hub.recalled().and_then(|since| since.parse().ok()).filter(|since| *since <= seen.now);
    if seen.cell_lost || !seen.teardown.cached && recalled.is_none() {
        return delete(seen);
    }
    match (&seen.teardown.left, recalled) {
        (None, _) => Plan::new(Intent::ReadCopies, None),
        (Some(left), _) if left.is_empty() => delete(seen),
        (Some(_), None) => recall(seen, &stamp(seen.now), None, SHOWN_AFTER),
        (Some(left), Some(since)) => await_cells(seen, hub, left, since),
    }
}

/// Waits for cells that were told `since` then, and have these copies left. The last of the cells decides:
/// one that is reached is waited for, however long it takes; one that has been out of reach for too long is
/// not.
fn await_cells(seen: &Snapshot, hub: &Wd, left: &[Left], since: Timestamp) -> FederationPlan {
    let TeardownLimits { deadline, away } = seen.teardown.limits;
    let remains = |from: Timestamp, limit: Duration| {
        let passed = Duration::try_from(seen.now.duration_since(from)).unwrap_or_default();
        limit.checked_sub(passed).filter(|remains| !remains.is_zero())
    };
    let held = |why| Some(Refusal::CleanupHeld(why, Some(named(left))));
    let unreached: Option<Vec<Timestamp>> =
        left.iter().map(|left| left.unreached_since(since, seen.now)).collect();
    let last = unreached.and_then(|since| since.into_iter().max());
    let (shown, next) = match last.map(|last| remains(last, away)) {
        Some(None) => return delete(seen),
        Some(Some(next)) => (held(CleanupBlocked::CellUnreachable), next),
        None => match (remains(since, SHOWN_AFTER), remains(since, deadline)) {
            (_, None) => (held(CleanupBlocked::CellHolds), deadline.max(SHOWN_AFTER)),
            (Some(next), Some(_)) => (None, next),
            (None, Some(next)) => (Some(Refusal::Terminating(cells(left))), next),
        },
    };
    recall(seen, hub.recalled().unwrap_or_default(), shown, next)
}

/// Takes the protection label off the hub WD, and deletes it.
fn delete(seen: &Snapshot) -> FederationPlan {
    let unprotect = render(seen, DraftPart::Unprotected { recalled: None });
    let delete = seen.hub_subject().map(Intent::DeleteHubWd);
    Plan { intents: mark(seen).into_iter().chain([unprotect]).chain(delete).collect(), verdict: None }
}

/// Makes the cells tear the WD down; they were first told at `since`. The end of its copies brings the next
/// pass, or the time `next`.
fn recall(seen: &Snapshot, since: &str, shown: Option<Refusal>, next: Duration) -> FederationPlan {
    let unprotect = render(seen, DraftPart::Unprotected { recalled: Some(since.to_owned()) });
    let status = shown.as_ref().and_then(|refusal| status(seen, Some(refusal)));
    let intents = mark(seen).into_iter().chain([unprotect, Intent::Unbind]).chain(status);
    Plan { intents: intents.chain([Intent::End(Outcome::RequeueAfter(next))]).collect(), verdict: shown }
}

/// Federates the WD again, as the hub may have lost all record of what runs in the cell: Karmada adopts it
/// there, and it is deleted once the cell has reported. Until then its condition shows why it waits.
fn refill(seen: &Snapshot) -> FederationPlan {
    let blocked = block(seen, CleanupBlocked::HubStateLost);
    let refused = Refusal::from_snapshot(seen).or_else(|| conflict(seen));
    // I10: what may run in one cell is not sent to another.
    if refused.is_some() || seen.cells > 1 {
        return blocked;
    }
    Plan { intents: federate(seen, blocked.intents), verdict: blocked.verdict }
}

/// The finalizer stays, and the WD's status shows why (I3). Retried after a back-off, should the hub come
/// back from a backup.
fn block(seen: &Snapshot, why: CleanupBlocked) -> FederationPlan {
    let refusal = Refusal::CleanupHeld(why, None);
    let intents = status(seen, Some(&refusal)).into_iter().chain([Intent::End(Outcome::Failed)]).collect();
    Plan { intents, verdict: Some(refusal) }
}

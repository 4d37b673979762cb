//! Steps of the decision for a WD that is gone or on its way out.

use fedhub_api::conditions::{find, said};
use fedhub_api::reason::Reason;
use fedhub_api::transitions::TERMINATION_OVERDUE;
use fedhub_core::names::{FEDERATOR_FINALIZER, RECALLED, REFERENCED_DATA_FINALIZER};
use fedhub_core::object::{Object, ObjectView};
use fedhub_federator::cleanup::CleanupBlocked;
use jiff::Timestamp;

use super::super::cause::Cause;
use super::super::chain::{Chain, created_at, deleted_at, turned_at};
use super::super::hop::Hop;
use super::super::plans::{self, Cleanup};
use super::diagnosis::Diagnosis;
use super::plane::hub_failure;
use super::returned::torn_down;

/// The project has no such WD.
pub fn absent(chain: &Chain) -> Option<Diagnosis> {
    if chain.wd().is_some() {
        return None;
    }
    if let Some(hub) = chain.hub.wd.found() {
        let evidence = format!("the hub has {}/{}", hub.namespace(), hub.name());
        let since = deleted_at(hub).or_else(|| created_at(hub));
        return Some(Diagnosis::blocked(Cause::OrphanedOnHub, since, evidence));
    }
    if let Some(left) = chain.cells.values().find_map(|cell| cell.wd.found()) {
        return Some(awaits_cell(chain, left));
    }
    let evidence = format!(
        "the project plane {} has no WorkloadDeployment {}/{}",
        chain.subject.plane, chain.subject.namespace, chain.deployment
    );
    Some(Diagnosis::blocked(Cause::WdNotFound, None, evidence))
}

/// What keeps the cell from removing the WD, in its own words.
fn refused_by_cell(chain: &Chain) -> Option<Diagnosis> {
    let cells = chain.cells.values().filter_map(|cell| cell.wd.found());
    let overdue = cells.filter_map(|left| find(left.status(), TERMINATION_OVERDUE));
    overdue.filter(|it| said(it).0 == "True").map(torn_down).next()
}

fn awaits_cell(chain: &Chain, left: &Object) -> Diagnosis {
    if let Some(refused) = refused_by_cell(chain) {
        return refused;
    }
    if !left.is_terminating() {
        let evidence = "the cell still has the WD, and nobody has deleted it there: the Work on the hub may be held, or the cell may refuse the deletion";
        return Diagnosis::behind(chain, Cause::KarmadaSlow, Hop::Work, None, evidence);
    }
    let finalizers = left.metadata.finalizers.clone().unwrap_or_default().join(", ");
    let evidence = if finalizers.is_empty() {
        "the cell still has the WD".to_owned()
    } else {
        format!("the cell still has the WD, held by {finalizers}")
    };
    let since = deleted_at(left).or_else(|| created_at(left));
    Diagnosis::behind(chain, Cause::DeletionAwaitsCell, Hop::CellWd, since, evidence)
}

/// The WD has a deletionTimestamp.
pub fn terminating(chain: &Chain) -> Option<Diagnosis> {
    let wd = chain.wd().filter(|wd| wd.is_terminating())?;
    let since = deleted_at(wd);
    let ours = [FEDERATOR_FINALIZER, REFERENCED_DATA_FINALIZER];
    if !ours.iter().any(|ours| wd.has_finalizer(ours)) {
        let holders = wd.metadata.finalizers.clone().unwrap_or_default().join(", ");
        let evidence = format!("its finalizers: {holders}");
        return Some(Diagnosis::behind(chain, Cause::ForeignFinalizer, Hop::ProjectWd, since, evidence));
    }
    Some(held(chain, wd, since))
}

/// The federator's finalizer holds the WD.
fn held(chain: &Chain, wd: &Object, since: Option<Timestamp>) -> Diagnosis {
    if let Some(error) = hub_failure(chain) {
        return Diagnosis::blocked(Cause::CleanupHubUnreachable, since, error.message.clone());
    }
    if chain.project.namespace.is_absent() {
        let evidence = format!("there is no namespace {}", wd.namespace());
        return Diagnosis::blocked(Cause::NamespaceGone, since, evidence);
    }
    if chain.management.hub_restored.found() == Some(&true) {
        let evidence = "fedhub-hub-history has the resourceVersion that the hub went back to";
        return Diagnosis::blocked(Cause::HubRestored, since, evidence).at(Hop::HubWd);
    }
    match plans::cleanup(chain) {
        Some(Cleanup::Blocked(why)) => Diagnosis::blocked(cause_of(why), since, why.to_string()),
        Some(Cleanup::OnHub) => on_hub(chain, wd, since),
        Some(Cleanup::Over) | None => said_held(wd).unwrap_or_else(|| {
            let evidence = "the hub WD is gone, and fedhub's finalizer is not released yet";
            Diagnosis::fedhub_behind(chain, Cause::FederatorBehind, Hop::ProjectWd, since, evidence)
        }),
    }
}

/// A deleted WD whose hub WD is still there.
fn on_hub(chain: &Chain, wd: &Object, since: Option<Timestamp>) -> Diagnosis {
    let hub = chain.hub.wd.found();
    if let Some(hub) = hub.filter(|hub| hub.is_terminating()) {
        if let Some(refused) = refused_by_cell(chain) {
            return refused;
        }
        let holders = hub.metadata.finalizers.clone().unwrap_or_default().join(", ");
        let evidence = format!("the hub WD is being deleted; its finalizers: {holders}");
        return Diagnosis::behind(chain, Cause::KarmadaSlow, Hop::Work, deleted_at(hub), evidence);
    }
    if let Some(why) = said_held(wd) {
        return why;
    }
    if hub.is_some_and(|hub| hub.annotation(RECALLED).is_some()) {
        if let Some(left) = chain.cells.values().find_map(|cell| cell.wd.found()) {
            return awaits_cell(chain, left);
        }
        let evidence = "the hub WD is recalled, and the hub still has copies of its Instances";
        return Diagnosis::behind(chain, Cause::DeletionAwaitsCell, Hop::CellWd, since, evidence);
    }
    let evidence = "the hub WD is not deleted yet";
    Diagnosis::fedhub_behind(chain, Cause::FederatorBehind, Hop::HubWd, since, evidence)
}

/// What the federator reports of a cleanup that is blocked. Errors of its requests are nowhere else, and a
/// condition has no field for their kind but its message.
fn said_held(wd: &Object) -> Option<Diagnosis> {
    let available = find(wd.status(), "Available").filter(|it| said(it).1 == Reason::CleanupHeld)?;
    let (_, _, message) = said(available);
    // Another version's words: in any case there is something on the hub to look into.
    let cause = CleanupBlocked::of_message(message).map_or(Cause::CleanupConflict, cause_of);
    Some(Diagnosis::blocked(cause, turned_at(available), message))
}

fn cause_of(why: CleanupBlocked) -> Cause {
    match why {
        CleanupBlocked::HubUnreachable => Cause::CleanupHubUnreachable,
        CleanupBlocked::HubRefuses | CleanupBlocked::ProjectRefuses => Cause::CleanupRefused,
        CleanupBlocked::CellHolds | CleanupBlocked::CellUnreachable => Cause::DeletionAwaitsCell,
        CleanupBlocked::HubObjectHeld => Cause::KarmadaSlow,
        CleanupBlocked::HubStateLost => Cause::HubStateLost,
        CleanupBlocked::NamespaceGone => Cause::NamespaceGone,
        CleanupBlocked::TenantConflict => Cause::CleanupConflict,
    }
}

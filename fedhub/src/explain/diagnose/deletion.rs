//! Steps of the decision for a WD that is gone or on its way out.

use fedhub_api::conditions::{find, said};
use fedhub_api::reason::Reason;
use fedhub_api::transitions::TERMINATION_OVERDUE;
use fedhub_core::names::{
    FEDERATOR_FINALIZER, HUB_LOST, HUB_NAMESPACE_UID, RECALLED, REFERENCED_DATA_FINALIZER, SOURCE_UID,
};
use fedhub_core::object::{Object, ObjectView};
use fedhub_federator::cleanup::CleanupBlocked;
use jiff::Timestamp;

use super::super::cause::Cause;
use super::super::chain::{Chain, created_at, deleted_at, turned_at};
use super::super::hop::Hop;
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
    let lost = lost(chain, wd);
    if let Some(hub) = chain.hub.wd.found().filter(|_| lost.is_none()) {
        return on_hub(chain, wd, hub, since);
    }
    if let Some(why) = lost {
        return Diagnosis::blocked(Cause::HubStateLost, since, why);
    }
    if let Some(why) = said_held(wd) {
        return why;
    }
    let evidence = "the hub WD is gone, and fedhub's finalizer is not released yet";
    Diagnosis::fedhub_behind(chain, Cause::FederatorBehind, Hop::ProjectWd, since, evidence)
}

/// Why the hub has lost the state of the WD, if it has.
fn lost(chain: &Chain, wd: &Object) -> Option<String> {
    let recorded = wd.annotation(HUB_NAMESPACE_UID)?;
    match chain.hub.namespace.found() {
        Some(namespace) if namespace.uid() == recorded => None,
        Some(namespace) => {
            Some(format!("the hub namespace has the UID {}, the WD records {recorded}", namespace.uid()))
        }
        None => chain.hub.namespace.is_absent().then(|| "the hub namespace is missing".to_owned()),
    }
}

/// A deleted WD whose hub WD is still there.
fn on_hub(chain: &Chain, wd: &Object, hub: &Object, since: Option<Timestamp>) -> Diagnosis {
    if hub.annotation(SOURCE_UID).is_some_and(|uid| uid != wd.uid()) {
        let evidence = "the hub WD's origin mark names another UID than the deleted WD's";
        return Diagnosis::blocked(Cause::CleanupConflict, since, evidence);
    }
    if hub.annotation(HUB_LOST).is_some() {
        let evidence = "the hub lost the WD before, and waits for the cell's report";
        return Diagnosis::behind(chain, Cause::DeletionAwaitsCell, Hop::CellWd, since, evidence);
    }
    if hub.is_terminating() {
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
    if hub.annotation(RECALLED).is_some() {
        if let Some(left) = chain.cells.values().find_map(|cell| cell.wd.found()) {
            return awaits_cell(chain, left);
        }
        let evidence = "the hub WD is recalled, and the hub still has copies of its Instances";
        return Diagnosis::behind(chain, Cause::DeletionAwaitsCell, Hop::CellWd, since, evidence);
    }
    let evidence = "the hub WD is not deleted yet";
    Diagnosis::fedhub_behind(chain, Cause::FederatorBehind, Hop::HubWd, since, evidence)
}

/// The cause that the federator reports for a cleanup that is blocked.
fn said_held(wd: &Object) -> Option<Diagnosis> {
    let available = find(wd.status(), "Available").filter(|it| said(it).1 == Reason::CleanupHeld)?;
    let (_, _, message) = said(available);
    let cause = match CleanupBlocked::of_message(message) {
        Some(CleanupBlocked::HubUnreachable) => Cause::CleanupHubUnreachable,
        Some(CleanupBlocked::HubRefuses | CleanupBlocked::ProjectRefuses) => Cause::CleanupRefused,
        Some(CleanupBlocked::CellHolds | CleanupBlocked::CellUnreachable) => Cause::DeletionAwaitsCell,
        Some(CleanupBlocked::HubObjectHeld) => Cause::KarmadaSlow,
        Some(CleanupBlocked::HubStateLost) => Cause::HubStateLost,
        Some(CleanupBlocked::NamespaceGone) => Cause::NamespaceGone,
        // Another version's words: in any case there is something on the hub to look into.
        Some(CleanupBlocked::TenantConflict) | None => Cause::CleanupConflict,
    };
    Some(Diagnosis::blocked(cause, turned_at(available), message))
}

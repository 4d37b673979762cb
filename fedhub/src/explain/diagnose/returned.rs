//! Steps of the decision on the way back: from the cell to the project.

use fedhub_api::conditions::{find, said};
use fedhub_api::reason::{Reason, needs_action};
use fedhub_api::transitions::TERMINATION_OVERDUE;
use fedhub_core::names::{PROJECTED_FROM, SUSPENDED};
use fedhub_core::object::{Object, ObjectView};
use fedhub_projector::verdict::{DeletionUnconfirmed, ProjectionVerdict};
use jiff::Timestamp;
use serde_json::Value;

use super::super::cause::Cause;
use super::super::chain::{
    Chain, SubjectKind, condition_turned_at, created_at, deleted_at, reported_at, source_generation,
    turned_at, written_at,
};
use super::super::hop::Hop;
use super::super::plans;
use super::diagnosis::Diagnosis;

/// The WD in the cell, where the cell was read; else what the hub has of it.
pub fn cell_wd(chain: &Chain) -> Option<Diagnosis> {
    let hub = chain.hub.wd.found()?;
    let since = written_at(hub);
    if let Some(misconfigured) = misconfigured(chain.cell().and_then(|cell| cell.wd.found()).unwrap_or(hub)) {
        return Some(misconfigured);
    }
    let Some(cell) = chain.cell().filter(|cell| cell.wd.failure().is_none()) else {
        return observed(chain, hub);
    };
    let Some(wd) = cell.wd.found() else {
        let evidence = "the cell does not have the WD yet";
        return Some(Diagnosis::behind(chain, Cause::KarmadaSlow, Hop::CellWd, since, evidence));
    };
    if source_generation(wd) < chain.generation() {
        let evidence = format!("the cell has the WD of generation {}", source_generation(wd));
        return Some(Diagnosis::behind(chain, Cause::KarmadaSlow, Hop::CellWd, since, evidence));
    }
    let observed = &wd.status()["observedGeneration"];
    let own = wd.metadata.generation;
    let evidence =
        format!("the cell's WD has the generation {}, observed is {observed}", own.unwrap_or_default());
    (observed.as_i64() != own)
        .then(|| Diagnosis::behind(chain, Cause::CellControllerBehind, Hop::CellWd, written_at(wd), evidence))
}

/// Diagnoses a cell that is misconfigured, and so observes no generation.
fn misconfigured(wd: &Object) -> Option<Diagnosis> {
    let available = find(wd.status(), "Available").filter(|it| said(it).1 == Reason::CellMisconfigured)?;
    Some(Diagnosis::blocked(Cause::CellMisconfigured, turned_at(available), said(available).2))
}

/// What the hub has of the cell's status, where the cell was not read.
fn observed(chain: &Chain, hub: &Object) -> Option<Diagnosis> {
    let observed = &hub.status()["observedGeneration"];
    let generation = chain.generation();
    let evidence = format!("the cell has reported on generation {observed}, the project's is {generation}");
    (observed.as_i64() != Some(generation)).then(|| {
        Diagnosis::behind(chain, Cause::CellControllerBehind, Hop::CellWd, written_at(hub), evidence)
    })
}

/// The status on its way from the cell through the hub to the project.
pub fn status(chain: &Chain) -> Option<Diagnosis> {
    let wd = chain.wd()?;
    let hub = chain.hub.wd.found()?;
    let generation = Some(chain.generation());
    let of = |object: &Object| object.status()["observedGeneration"].as_i64();
    let cell = chain.cell().and_then(|cell| cell.wd.found());
    let slow = |evidence: String| {
        let since = reported(cell.or(Some(hub)));
        Diagnosis::behind(chain, Cause::KarmadaStatusSlow, Hop::HubWd, since, evidence)
    };
    if of(hub) != generation {
        return Some(slow(format!("the hub has the status of generation {}", of(hub).unwrap_or_default())));
    }
    if let Some(kind) = cell.and_then(|cell| differing(cell.status(), hub.status())) {
        return Some(slow(format!("the cell's condition {kind} is newer than the hub's")));
    }
    let what = match differing(hub.status(), wd.status()) {
        Some(kind) => format!("the hub's condition {kind} is newer than the project's"),
        None if of(wd) == generation => return None,
        None => "the status of the newest generation is on the hub".to_owned(),
    };
    let since = reported(Some(hub));
    Some(Diagnosis::fedhub_behind(chain, Cause::FederatorBehind, Hop::ProjectWd, since, what))
}

/// When the status that is on its way was written; else when the WD was.
fn reported(object: Option<&Object>) -> Option<Timestamp> {
    object.and_then(|object| reported_at(object).or_else(|| written_at(object)))
}

/// The condition of readiness whose status or reason differs. The project's may stand for a cell that is in
/// doubt.
fn differing(from: &Value, to: &Value) -> Option<&'static str> {
    ["Available", "ReplicasReady"].into_iter().find(|kind| {
        let Some(source) = find(from, kind) else { return false };
        let (status, reason, _) = said(source);
        find(to, kind).is_none_or(|it| (said(it).0, said(it).1) != (status, reason))
    })
}

/// What the cell says of the WD and its Instances.
pub fn conditions(chain: &Chain) -> Option<Diagnosis> {
    let wd = chain.cell().and_then(|cell| cell.wd.found()).or(chain.hub.wd.found()).or(chain.wd())?;
    let instances = chain.instances().unwrap_or_else(|| chain.copies());
    if chain.subject.kind == SubjectKind::Instance {
        if instances.is_empty() && chain.copies().is_empty() && chain.projections().is_empty() {
            return Some(missing(chain, wd));
        }
        return instances.into_iter().find_map(|instance| of_instance(chain, instance));
    }
    let overdue = find(wd.status(), TERMINATION_OVERDUE).filter(|it| said(it).0 == "True");
    if let Some(overdue) = overdue {
        return Some(torn_down(overdue));
    }
    if wd.annotation(SUSPENDED) == Some("true") {
        let evidence = "the WD is annotated with compute.datumapis.com/suspended=true";
        return Some(Diagnosis::blocked(Cause::WdSuspended, written_at(wd), evidence));
    }
    let unreported =
        ["Available", "ReplicasReady"].into_iter().find(|kind| find(wd.status(), kind).is_none());
    if let Some(kind) = unreported {
        let evidence = format!("the WD has no condition {kind} yet");
        let cause = Cause::InstancesChanging;
        let since = written_at(wd);
        return Some(Diagnosis::behind(chain, cause, Hop::Instances, since, evidence));
    }
    of_wd(chain, wd, &instances)
}

/// What keeps an Instance of a WD from being torn down, by the condition [`TERMINATION_OVERDUE`].
pub fn torn_down(overdue: &Value) -> Diagnosis {
    let (_, reason, message) = said(overdue);
    let cause =
        if reason == Reason::DeletionRefused { Cause::DeletionRefused } else { Cause::TerminationOverdue };
    Diagnosis::blocked(cause, turned_at(overdue), message)
}

/// What keeps a WD from being ready that has reported: first what needs action, then what its Instances say,
/// then a stage.
fn of_wd(chain: &Chain, wd: &Object, instances: &[&Object]) -> Option<Diagnosis> {
    let own: Vec<&Value> = ["Available", "ReplicasReady"]
        .into_iter()
        .filter_map(|kind| find(wd.status(), kind).filter(|it| said(it).0 != "True"))
        .collect();
    let worst = own.iter().find(|it| needs_action(said(it).1)).map(|it| judged(chain, it, None));
    let of_instances: Vec<Diagnosis> = instances.iter().filter_map(|it| of_instance(chain, it)).collect();
    if worst.as_ref().is_some_and(|it| it.cause == Cause::QuotaDenied) {
        // The WD has one reason for quota that is denied, and for quota that is pending.
        let quota = |it: &&Diagnosis| matches!(it.cause, Cause::QuotaDenied | Cause::QuotaPending);
        let told = of_instances.iter().filter(quota).min_by_key(|it| it.cause == Cause::QuotaPending);
        return told.cloned().or(worst);
    }
    // A WD that wants no Instance is never available, and in sync.
    let is_idle = wd.status()["desiredReplicas"] == 0;
    // A stage lasts as long as none of the Instances moves.
    let moved = |it: &&Object| condition_turned_at(it, "Ready").max(created_at(it)).max(deleted_at(it));
    let moved = instances.iter().filter_map(moved).max();
    worst
        .or_else(|| of_instances.into_iter().max_by_key(|it| it.state))
        .or_else(|| own.first().filter(|_| !is_idle).map(|it| judged(chain, it, moved)))
}

/// The Instance that is explained is nowhere.
fn missing(chain: &Chain, wd: &Object) -> Diagnosis {
    let desired = wd.status()["desiredReplicas"].as_i64().unwrap_or_default();
    let ordinal = chain.subject.name.rsplit('-').next().and_then(|text| text.parse::<i64>().ok());
    if ordinal.is_some_and(|ordinal| ordinal < desired) {
        let evidence = format!("the WD has {desired} replicas, and this Instance is not there yet");
        return Diagnosis::behind(chain, Cause::InstancesChanging, Hop::Instances, written_at(wd), evidence);
    }
    let replicas = if desired == 1 { "replica" } else { "replicas" };
    let evidence = format!("the WD {} has {desired} {replicas}", chain.deployment);
    Diagnosis::blocked(Cause::InstanceNotFound, None, evidence)
}

/// What an Instance says of itself.
fn of_instance(chain: &Chain, instance: &Object) -> Option<Diagnosis> {
    if instance.is_terminating() {
        let ready = find(instance.status(), "Ready").map(said);
        let overdue = ready.filter(|(_, reason, _)| *reason == Reason::TerminationDeadlineExceeded);
        let since = deleted_at(instance);
        let evidence = format!("Instance {} is being deleted", instance.name());
        return Some(match overdue {
            Some((_, _, message)) => Diagnosis::blocked(Cause::TerminationOverdue, since, message),
            None => Diagnosis::behind(chain, Cause::InstancesChanging, Hop::Instances, since, evidence),
        });
    }
    let ready = find(instance.status(), "Ready");
    let Some(ready) = ready else {
        let evidence = format!("Instance {} has reported nothing yet", instance.name());
        let since = created_at(instance);
        return Some(Diagnosis::behind(chain, Cause::InstancesChanging, Hop::Instances, since, evidence));
    };
    if said(ready).0 == "True" {
        return None;
    }
    // While its gates stand, its quota may be what somebody has to act on.
    let quota =
        find(instance.status(), "QuotaGranted").filter(|it| said(it).0 != "True" && needs_action(said(it).1));
    let condition = quota.filter(|_| said(ready).1 == Reason::SchedulingGatesPresent).unwrap_or(ready);
    let mut diagnosis = judged(chain, condition, created_at(instance));
    diagnosis.evidence = format!("Instance {}: {}", instance.name(), diagnosis.evidence);
    Some(diagnosis)
}

/// A condition that is not True: blocked where its reason needs action, else a stage since it turned, or
/// since `moved`.
fn judged(chain: &Chain, condition: &Value, moved: Option<Timestamp>) -> Diagnosis {
    let (_, reason, message) = said(condition);
    let cause = Cause::of_reason(Reason::parse(reason));
    let since = turned_at(condition).max(moved);
    let evidence = if message.is_empty() { reason.to_owned() } else { format!("{reason}: {message}") };
    let passes = !needs_action(reason);
    if (passes && cause != Cause::WdSuspended) || cause == Cause::QuotaPending {
        return Diagnosis::behind(chain, cause, cause.hop(), since, evidence);
    }
    Diagnosis::blocked(cause, since, evidence)
}

/// The copies of the cell's Instances on the hub.
pub fn copies(chain: &Chain) -> Option<Diagnosis> {
    let copies = chain.copies();
    if let Some(instances) = chain.instances() {
        let missing = instances.into_iter().find(|it| copies.iter().all(|copy| copy.name() != it.name()))?;
        let evidence = format!("Instance {} of the cell has no copy on the hub", missing.name());
        return Some(Diagnosis::behind(
            chain,
            Cause::CopyMissing,
            Hop::Copies,
            created_at(missing),
            evidence,
        ));
    }
    let hub = chain.hub.wd.found()?;
    let whole = chain.subject.kind == SubjectKind::WorkloadDeployment;
    let replicas = hub.status()["replicas"].as_u64().unwrap_or_default();
    let count = u64::try_from(copies.len()).unwrap_or(u64::MAX);
    let evidence = format!("the cell reports {replicas} Instances, the hub has {count} copies");
    (whole && count < replicas)
        .then(|| Diagnosis::behind(chain, Cause::CopyMissing, Hop::Copies, reported(Some(hub)), evidence))
}

/// The projections of the copies in the project.
pub fn projections(chain: &Chain) -> Option<Diagnosis> {
    chain.copies().into_iter().find_map(|copy| projection(chain, copy))
}

fn projection(chain: &Chain, copy: &Object) -> Option<Diagnosis> {
    let name = copy.name();
    if let Some(ProjectionVerdict::Quarantined(reason)) = plans::projection(chain, name) {
        let evidence = format!("Instance {name} is not shown: {reason}");
        return Some(Diagnosis::blocked(Cause::ProjectionQuarantined, created_at(copy), evidence));
    }
    let projections = chain.projections();
    let stands = projections.iter().find(|it| it.name() == name).copied();
    let Some(projection) = stands else {
        let evidence = format!("the copy {name} has no Instance in the project");
        let cause = Cause::ProjectionMissing;
        let since = created_at(copy);
        return Some(Diagnosis::fedhub_behind(chain, cause, Hop::Projections, since, evidence));
    };
    let of_another = projection.annotation(PROJECTED_FROM).and_then(|from| from.rsplit('/').next());
    if of_another.is_some_and(|uid| uid != copy.uid()) {
        let evidence = format!("Instance {name} of the project is that of an earlier copy");
        let cause = Cause::ProjectorBehind;
        let since = created_at(copy);
        return Some(Diagnosis::fedhub_behind(chain, cause, Hop::Projections, since, evidence));
    }
    let ready = find(copy.status(), "Ready");
    let shown = find(projection.status(), "Ready");
    let same = |a: Option<&Value>, b: Option<&Value>| a.map(|it| said(it).0) == b.map(|it| said(it).0);
    let evidence = format!("Instance {name} shows another Ready than its copy on the hub");
    (ready.is_some() && !same(ready, shown)).then(|| {
        let since = ready.and_then(turned_at);
        Diagnosis::fedhub_behind(chain, Cause::ProjectorBehind, Hop::Projections, since, evidence)
    })
}

/// Projections whose copies are gone.
pub fn leftovers(chain: &Chain) -> Option<Diagnosis> {
    let copies = chain.copies();
    let is_left = |it: &Object| {
        it.annotation(PROJECTED_FROM).is_some() && copies.iter().all(|copy| copy.name() != it.name())
    };
    let left = chain.projections().into_iter().find(|it| is_left(it))?;
    let evidence = format!("Instance {} of the project has no copy on the hub any more", left.name());
    let (since, evidence) = match plans::projection(chain, left.name()) {
        Some(ProjectionVerdict::Withheld(DeletionUnconfirmed::Distrusted(_))) => {
            return Some(Diagnosis::blocked(Cause::HubRestored, None, evidence));
        }
        Some(ProjectionVerdict::Withheld(why)) => {
            (written_at(left), format!("{evidence}; fedhub keeps it: {}", why.label()))
        }
        Some(ProjectionVerdict::Parked | ProjectionVerdict::Quarantined(_)) | None => {
            (written_at(left), evidence)
        }
    };
    Some(Diagnosis::fedhub_behind(chain, Cause::ProjectorBehind, Hop::Projections, since, evidence))
}

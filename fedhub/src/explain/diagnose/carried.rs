//! Steps of the decision on the way down: from the project to the cell.

use fedhub_api::cells::CellDown;
use fedhub_api::conditions::{find, said};
use fedhub_api::facts::deployment::FEDERATED;
use fedhub_api::reason::Reason;
use fedhub_core::names::{CLAIMED_BY, MOVING, SOURCE_GENERATION, SUSPENDED};
use fedhub_core::object::{Object, ObjectView};
use jiff::{SignedDuration, Timestamp};

use super::super::cause::Cause;
use super::super::chain::{Chain, changed_at, condition_turned_at, source_generation, turned_at, written_at};
use super::super::hop::Hop;
use super::diagnosis::Diagnosis;

/// The reason of a condition of the project WD.
fn reason(wd: &Object, kind: &str) -> Option<Reason> {
    find(wd.status(), kind).and_then(|condition| Reason::parse(said(condition).1))
}

/// A WD that fedhub took from the hub because the service is not active in its project (W9).
pub fn inactive(chain: &Chain) -> Option<Diagnosis> {
    let wd = chain.wd()?;
    let removed = reason(wd, "Available") == Some(Reason::ServiceNotActive) && chain.hub.wd.found().is_none();
    let evidence = "the WD says so, and the hub has none";
    removed
        .then(|| Diagnosis::blocked(Cause::ServiceNotActive, condition_turned_at(wd, "Available"), evidence))
}

/// A project that is suspended is not written, so that nothing of it moves.
pub fn suspended(chain: &Chain) -> Option<Diagnosis> {
    let wd = chain.wd()?;
    let hub = chain.hub.wd.found()?;
    let by_project = hub.annotation(SUSPENDED) == Some("true") && wd.annotation(SUSPENDED) != Some("true");
    // The annotation of the WD itself may have been taken off a moment ago.
    let usual = SignedDuration::try_from(Hop::HubWd.limits().usual).unwrap_or(SignedDuration::ZERO);
    let settled = changed_at(wd).is_none_or(|at| chain.now.duration_since(at) > usual);
    let evidence = "the hub WD is suspended, and the project's WD is not";
    let service = reason(wd, "Available") == Some(Reason::ServiceSuspended);
    let cause = if service { Cause::ServiceSuspended } else { Cause::ProjectSuspended };
    (by_project && settled).then(|| Diagnosis::blocked(cause, written_at(hub), evidence))
}

/// What the condition says that keeps the WD from the hub, as long as the hub does not have its newest
/// generation.
pub fn refused(chain: &Chain) -> Option<Diagnosis> {
    let wd = chain.wd()?;
    if chain.hub.wd.found().is_some_and(|hub| source_generation(hub) >= chain.generation()) {
        return None;
    }
    let federated = find(wd.status(), FEDERATED).filter(|it| said(it).0 == "False");
    let available = find(wd.status(), "Available").filter(|it| said(it).0 == "False");
    let conflict = available.filter(|it| said(it).1 == Reason::FederationConflict);
    let condition = conflict.or(federated)?;
    let (_, reason, message) = said(condition);
    let cause = match Reason::parse(reason) {
        Some(Reason::Pending) => Cause::HubRefusesContent,
        // The objects themselves show these, and the condition may be out of date.
        Some(
            Reason::ObjectTooLarge
            | Reason::InvalidCityCode
            | Reason::InvalidName
            | Reason::NoCellForCity
            | Reason::AmbiguousCity
            | Reason::ServiceSuspended
            | Reason::ServiceNotActive
            | Reason::Moving
            | Reason::CleanupHeld
            | Reason::CellUnreachable
            | Reason::RefusedByCell
            | Reason::CellLost
            | Reason::AwaitingCell
            | Reason::Applied,
        ) => return None,
        // The condition alone shows any other.
        known @ Some(reason) if reason.is_reported_by_federation() => Cause::of_reason(known),
        _ => return None,
    };
    Some(Diagnosis::blocked(cause, turned_at(condition), message))
}

/// The cell, as the hub knows it.
pub fn cell(chain: &Chain) -> Option<Diagnosis> {
    let down = chain.clusters().find_map(CellDown::from_cluster)?;
    let cause = if down.lost { Cause::CellLost } else { Cause::CellNotReady };
    let since: Option<Timestamp> = down.since.parse().ok();
    Some(Diagnosis::blocked(cause, since, down.to_string()))
}

/// Karmada's decision on where the WD goes.
pub fn binding(chain: &Chain) -> Option<Diagnosis> {
    let hub = chain.hub.wd.found()?;
    let since = written_at(hub);
    let hop = Hop::Binding;
    let Some(binding) = chain.hub.binding.found() else {
        let claim = hub.annotation(CLAIMED_BY).or_else(|| hub.label(CLAIMED_BY));
        return Some(if let Some(policy) = claim {
            let evidence =
                format!("the policy {policy} has claimed the hub WD, which has no ResourceBinding yet");
            Diagnosis::behind(chain, Cause::KarmadaSlow, hop, since, evidence)
        } else {
            let evidence = "no policy has claimed the hub WD";
            Diagnosis::behind(chain, Cause::PolicyNotMatched, hop, since, evidence)
        });
    };
    if let Some(moving) = hub.annotation(MOVING) {
        let (from, at) = moving.split_once('/').unwrap_or((moving, ""));
        let evidence = format!("the WD leaves the city {from}, and the new city's cell has not reported");
        let since = at.parse().ok().or(since);
        return Some(Diagnosis::behind(chain, Cause::Moving, Hop::Work, since, evidence));
    }
    let scheduled = find(binding.status(), "Scheduled");
    if let Some(refusal) = scheduled.filter(|it| said(it).0 == "False") {
        let (_, reason, message) = said(refusal);
        let evidence = format!("Scheduled=False, {reason}: {message}");
        return Some(Diagnosis::blocked(Cause::KarmadaNotScheduled, turned_at(refusal), evidence));
    }
    let bound = binding.spec()["clusters"][0]["name"].as_str();
    let Some(bound) = bound else {
        let evidence = "the ResourceBinding names no cluster yet";
        return Some(Diagnosis::behind(chain, Cause::KarmadaSlow, hop, since, evidence));
    };
    let elsewhere = chain.clusters().all(|cluster| cluster.name() != bound);
    let evidence = format!("the ResourceBinding names {bound}, which does not serve {}", chain.city());
    elsewhere.then(|| Diagnosis::behind(chain, Cause::Moving, Hop::Work, since, evidence))
}

/// The generation of the project WD that a Work was made from.
fn sent_generation(work: &Object) -> Option<i64> {
    let manifest = &work.spec()["workload"]["manifests"][0];
    manifest["metadata"]["annotations"][SOURCE_GENERATION].as_str()?.parse().ok()
}

/// Karmada's Work, and whether it was applied.
pub fn work(chain: &Chain) -> Option<Diagnosis> {
    let hub = chain.hub.wd.found()?;
    let binding = chain.hub.binding.found()?;
    let since = written_at(hub);
    let works = chain.hub.works.found();
    if let Some(work) = works.into_iter().flatten().next()
        && let Some(refusal) = find(work.status(), "Applied").filter(|it| said(it).0 == "False")
    {
        let (_, reason, message) = said(refusal);
        let evidence = format!("Work {}: {reason}: {message}", work.name());
        return Some(Diagnosis::blocked(Cause::ApplyFailed, turned_at(refusal), evidence));
    }
    if let Some(sent) = works.into_iter().flatten().find_map(sent_generation)
        && sent < chain.generation()
    {
        let evidence =
            format!("the Work has the WD of generation {sent}, the project's is {}", chain.generation());
        return Some(Diagnosis::behind(chain, Cause::KarmadaSlow, Hop::Work, since, evidence));
    }
    let items = binding.status()["aggregatedStatus"].as_array();
    let item = items.into_iter().flatten().find(|item| item["clusterName"].as_str() == chain.cell_name());
    let Some(item) = item else {
        let evidence = match works.map(Vec::len) {
            Some(0) => "Karmada has made no Work for the cell yet",
            _ => "Karmada has not reported that it applied the WD in the cell",
        };
        return Some(Diagnosis::behind(chain, Cause::KarmadaSlow, Hop::Work, since, evidence));
    };
    if item["applied"] == true {
        return None;
    }
    if let Some(message) = item["appliedMessage"].as_str().filter(|message| !message.is_empty()) {
        let since = condition_turned_at(binding, "FullyApplied");
        return Some(Diagnosis::blocked(Cause::ApplyFailed, since, message));
    }
    let evidence = "Karmada has not applied the WD in the cell yet";
    Some(Diagnosis::behind(chain, Cause::KarmadaSlow, Hop::Work, since, evidence))
}

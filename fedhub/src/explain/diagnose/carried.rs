//! Steps of the decision on the way down: from the project to the cell.

use fedhub_api::cells::CellDown;
use fedhub_api::conditions::{find, said};
use fedhub_api::facts::deployment::FEDERATED;
use fedhub_api::reason::Reason;
use fedhub_core::names::{
    self, CITY_CODE, CLAIMED_BY, FEDERATION_NAMESPACE, FEDERATOR_FINALIZER, HUB_NAMESPACE_UID,
    MIRRORED_ANNOTATIONS, MOVING, SOURCE, SOURCE_GENERATION, SOURCE_UID, SUSPENDED, UPSTREAM_CLUSTER,
    UPSTREAM_NAMESPACE, decode_plane,
};
use fedhub_core::object::{Object, ObjectView};
use jiff::{SignedDuration, Timestamp};

use super::super::cause::Cause;
use super::super::chain::{
    Chain, all, changed_at, condition_turned_at, created_at, deleted_at, source_generation, turned_at,
    written_at,
};
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
    let (wd, hub) = (chain.wd()?, chain.hub.wd.found()?);
    let by_project = hub.annotation(SUSPENDED) == Some("true") && wd.annotation(SUSPENDED) != Some("true");
    // The annotation of the WD itself may have been taken off a moment ago.
    let usual = SignedDuration::try_from(Hop::HubWd.limits().usual).unwrap_or(SignedDuration::ZERO);
    let settled = changed_at(wd).is_none_or(|at| chain.now.duration_since(at) > usual);
    let evidence = "the hub WD is suspended, and the project's WD is not";
    let service = reason(wd, "Available") == Some(Reason::ServiceSuspended);
    let cause = if service { Cause::ServiceSuspended } else { Cause::ProjectSuspended };
    (by_project && settled).then(|| Diagnosis::blocked(cause, written_at(hub), evidence))
}

/// The cells of the city.
pub fn cities(chain: &Chain) -> Option<Diagnosis> {
    let since = chain.wd().and_then(|wd| condition_turned_at(wd, "Available"));
    let cells: Vec<&str> = chain.clusters().map(ObjectView::name).collect();
    match cells.as_slice() {
        [] => {
            let evidence = format!("no Cluster carries {CITY_CODE}={}", chain.city());
            Some(Diagnosis::blocked(Cause::NoCellForCity, since, evidence))
        }
        [_] => None,
        several => {
            let evidence = format!("{} carry {CITY_CODE}={}", several.join(", "), chain.city());
            Some(Diagnosis::blocked(Cause::AmbiguousCity, since, evidence))
        }
    }
}

/// What the condition says that keeps the WD from the hub, as long as the hub does not have its newest
/// generation.
pub fn refused(chain: &Chain) -> Option<Diagnosis> {
    if is_on_hub(chain) {
        return None;
    }
    let wd = chain.wd()?;
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

/// Whether the hub has the newest generation of the WD, by its origin mark.
fn is_on_hub(chain: &Chain) -> bool {
    chain
        .hub
        .wd
        .found()
        .is_some_and(|hub| !is_anothers(chain, hub) && source_generation(hub) >= chain.generation())
}

fn is_anothers(chain: &Chain, hub: &Object) -> bool {
    let subject = &chain.subject;
    let source = format!("{}/{}/{}", subject.plane, subject.namespace, chain.deployment);
    let other = |name: &str, expected: &str| hub.annotation(name).is_some_and(|value| value != expected);
    other(SOURCE, &source) || other(SOURCE_UID, chain.wd().map(ObjectView::uid).unwrap_or_default())
}

/// The federator's mark on the project WD.
pub fn marked(chain: &Chain) -> Option<Diagnosis> {
    let wd = chain.wd()?;
    let marked = wd.has_finalizer(FEDERATOR_FINALIZER) && wd.annotation(FEDERATION_NAMESPACE).is_some();
    let evidence = "the WD has no finalizer of the federator yet";
    (!marked).then(|| {
        Diagnosis::fedhub_behind(chain, Cause::FederatorBehind, Hop::ProjectWd, changed_at(wd), evidence)
    })
}

/// Why the hub namespace that the WD names is not the one of its project namespace. It may be none the less,
/// where the hub WD in it is its own: it stays there when its namespace is created again.
fn elsewhere(chain: &Chain, wd: &Object) -> Option<String> {
    let named = wd.annotation(FEDERATION_NAMESPACE)?;
    let expected = names::hub_namespace(chain.project.namespace.found()?.uid());
    let is_its = chain
        .hub
        .wd
        .found()
        .is_some_and(|hub| hub.namespace() == named && hub.annotation(SOURCE_UID) == Some(wd.uid()));
    (named != expected && !is_its).then(|| {
        format!("the WD names {named}, and the hub namespace of its project namespace is {expected}")
    })
}

/// The hub namespace: that it is there, and whose it is.
pub fn hub_namespace(chain: &Chain) -> Option<Diagnosis> {
    let (wd, hop) = (chain.wd()?, Hop::HubNamespace);
    let since = changed_at(wd);
    if let Some(evidence) = elsewhere(chain, wd) {
        return Some(Diagnosis::fedhub_behind(chain, Cause::NamespaceRecreated, hop, since, evidence));
    }
    let recorded = wd.annotation(HUB_NAMESPACE_UID);
    let Some(namespace) = chain.hub.namespace.found() else {
        return Some(if let Some(uid) = recorded {
            let evidence = format!("the hub namespace of the UID {uid} is missing");
            Diagnosis::fedhub_behind(chain, Cause::HubStateLost, hop, since, evidence)
        } else {
            let evidence = "the hub namespace is not there yet";
            Diagnosis::fedhub_behind(chain, Cause::FederatorBehind, hop, since, evidence)
        });
    };
    let plane = namespace.label(UPSTREAM_CLUSTER);
    let other_plane = plane
        .is_some_and(|label| decode_plane(label).is_none_or(|plane| plane.as_str() != chain.subject.plane));
    let other_namespace =
        namespace.label(UPSTREAM_NAMESPACE).is_some_and(|label| label != chain.subject.namespace);
    if other_plane || other_namespace {
        let evidence = format!("the labels of the hub namespace {} name another tenant", namespace.name());
        return Some(Diagnosis::blocked(Cause::HubIdentityRefused, written_at(namespace), evidence));
    }
    if plane.is_none() || namespace.label(UPSTREAM_NAMESPACE).is_none() {
        let evidence =
            format!("the hub namespace {} lacks the labels that say whose it is", namespace.name());
        return Some(Diagnosis::fedhub_behind(chain, Cause::FederatorBehind, hop, since, evidence));
    }
    if namespace.is_terminating() {
        let evidence = format!("the hub namespace {} is being deleted", namespace.name());
        let since = deleted_at(namespace);
        return Some(Diagnosis::behind(chain, Cause::HubStateLost, hop, since, evidence));
    }
    let differs = recorded.is_some_and(|uid| uid != namespace.uid());
    let evidence = format!("the hub namespace has the UID {}, the WD records another", namespace.uid());
    differs
        .then(|| Diagnosis::fedhub_behind(chain, Cause::HubStateLost, hop, created_at(namespace), evidence))
}

/// Diagnoses whether the hub WD is the subject's.
pub fn hub_wd(chain: &Chain) -> Option<Diagnosis> {
    let hub = chain.hub.wd.found()?;
    let evidence = format!("the origin mark of {}/{} names another WD", hub.namespace(), hub.name());
    is_anothers(chain, hub)
        .then(|| Diagnosis::blocked(Cause::HubIdentityRefused, written_at(hub), evidence).at(Hop::HubWd))
}

/// The policy of the city, which comes before the WD that it carries.
pub fn policy(chain: &Chain) -> Option<Diagnosis> {
    let stands = all(&chain.hub.policies).iter().any(|policy| !policy.is_terminating());
    let since = chain.wd().and_then(changed_at);
    let evidence = format!("no PropagationPolicy of the hub namespace carries {CITY_CODE}={}", chain.city());
    (!stands).then(|| Diagnosis::fedhub_behind(chain, Cause::PolicyMissing, Hop::Policy, since, evidence))
}

/// Whether the hub WD is there, with the newest generation, in its city.
pub fn generation(chain: &Chain) -> Option<Diagnosis> {
    let wd = chain.wd()?;
    let since = changed_at(wd);
    let behind = |evidence: String| {
        Diagnosis::fedhub_behind(chain, Cause::FederatorBehind, Hop::HubWd, since, evidence)
    };
    let Some(hub) = chain.hub.wd.found() else {
        return Some(behind("the hub WD is not there yet".to_owned()));
    };
    let (on_hub, generation) = (source_generation(hub), chain.generation());
    if on_hub < generation {
        let evidence = format!("the hub WD is of generation {on_hub}, the project's is {generation}");
        return Some(behind(evidence));
    }
    let mirrored = MIRRORED_ANNOTATIONS.iter().find(|name| wd.annotation(name) != hub.annotation(name));
    if let Some(name) = mirrored {
        return Some(behind(format!("the hub WD does not have the annotation {name} as the project's")));
    }
    let is_there = hub.label(CITY_CODE) == Some(chain.city());
    (!is_there).then(|| behind(format!("the hub WD does not carry {CITY_CODE}={} yet", chain.city())))
}

/// The cell, as the hub knows it.
pub fn cell(chain: &Chain) -> Option<Diagnosis> {
    let down = chain.clusters().find_map(CellDown::of)?;
    let cause = if down.lost { Cause::CellLost } else { Cause::CellNotReady };
    let since: Option<Timestamp> = down.since.parse().ok();
    Some(Diagnosis::blocked(cause, since, down.to_string()))
}

/// Karmada's decision on where the WD goes.
pub fn binding(chain: &Chain) -> Option<Diagnosis> {
    let hub = chain.hub.wd.found()?;
    let (since, hop) = (written_at(hub), Hop::Binding);
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
    let (hub, binding) = (chain.hub.wd.found()?, chain.hub.binding.found()?);
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

//! The decision about one Workload. Pure.
//!
//! While a rollout is paused, no WD gets another template ([`super::desired`]) and none is created. A WD that
//! is not wanted any more stays until those that take its place are available ([`super::rollout`]).
//!
//! Decides W1, W2 and W11.

use fedhub_api::facts::Workload;
use fedhub_core::hash;
use fedhub_core::object::ObjectView;
use fedhub_planes::{ServiceState, WriteState};
use serde_json::Value;

use super::rollout::Rollout;
use super::snapshot::{SiteState, Snapshot, is_held};
use super::summary::Summary;

/// The decision about a Workload.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkloadPlan {
    /// Nothing: everything is as it should be, until [`Snapshot::next_deadline`] at least.
    Synced,
    /// Wait until the project is resumed, or what is known of its service.
    AwaitResume,
    /// Record a new template, and store the finalizer and the annotations about the template and suspended
    /// WDs in one patch (W2, W10, W11).
    Mark {
        /// Whether the template is recorded.
        record: bool,
    },
    /// Read the Workload live, then plan again: WDs are deleted by the newest spec only.
    Confirm,
    /// Make, change and delete WDs, each by its name (W1).
    Write {
        /// The names to create.
        create: Vec<String>,
        /// The names to replace.
        update: Vec<String>,
        /// The names that are not wanted any more.
        delete: Vec<String>,
    },
    /// Write the status of the WorkloadRollout, before any WD (R2).
    WriteRollout(Value),
    /// Write the status (W3).
    WriteStatus(Box<Summary>),
    /// Wait until the WDs of a terminating Workload are gone, which its status says.
    AwaitDeletions,
    /// List its WDs live, then plan again (W2).
    ConfirmNoneLeft,
    /// Release the finalizer.
    Release,
}

/// Decides.
pub fn plan(seen: &Snapshot) -> WorkloadPlan {
    let (Some(workload), Some(facts)) = (&seen.workload, seen.facts()) else { return orphan(seen) };
    if seen.writes == WriteState::Paused {
        return WorkloadPlan::AwaitResume;
    }
    let uid = workload.uid.to_string();
    if workload.terminating {
        // The garbage collector takes its owner references off the WDs, which run on.
        return match (facts.held, facts.orphans) {
            (true, true) => WorkloadPlan::Release,
            (true, false) => finalize(seen, facts, &uid),
            (false, _) => WorkloadPlan::Synced,
        };
    }
    if seen.writes == WriteState::Suspended {
        return WorkloadPlan::AwaitResume;
    }
    if seen.service == ServiceState::Unknown {
        return WorkloadPlan::AwaitResume;
    }
    if seen.is_withdrawn() {
        // Once nothing of it is on the hub, nothing of ours holds it (W9).
        if facts.held && !seen.own(&uid).any(|(_, deployment, _)| is_held(deployment)) {
            return WorkloadPlan::Release;
        }
    } else if facts.placements.is_some() && facts.too_large().is_none() {
        let record = !facts.recorded && !seen.learnt.unrecorded;
        if !facts.held || record || seen.forgets_suspended(&uid) {
            return WorkloadPlan::Mark { record };
        }
        if let Some(status) = rollout_status(seen) {
            return WorkloadPlan::WriteRollout(status);
        }
        if let Some(plan) = deployments(seen, &uid) {
            return plan;
        }
    }
    status(seen, facts, &uid).unwrap_or(WorkloadPlan::Synced)
}

/// Plans a WorkloadRollout without its Workload: its status says so.
fn orphan(seen: &Snapshot) -> WorkloadPlan {
    if seen.writes != WriteState::Active || seen.service == ServiceState::Unknown || seen.is_withdrawn() {
        return WorkloadPlan::AwaitResume;
    }
    rollout_status(seen).map_or(WorkloadPlan::Synced, WorkloadPlan::WriteRollout)
}

/// The status that the WorkloadRollout is to have, where it does not say this already.
fn rollout_status(seen: &Snapshot) -> Option<Value> {
    let rollout = seen.rollout.as_ref()?;
    let status = seen.turns().status.as_ref()?;
    let stands = status == rollout.status() || seen.learnt.rollout_settled == Some(hash::json(status));
    (!stands).then(|| status.clone())
}

/// The write of the status, where it does not say this already.
fn status(seen: &Snapshot, facts: &Workload, uid: &str) -> Option<WorkloadPlan> {
    let summary = Box::new(Summary::new(seen, facts, uid));
    let stands = seen.learnt.status_settled.is_some_and(|settled| settled == summary.content())
        || summary.is_said_by(facts);
    (!stands).then_some(WorkloadPlan::WriteStatus(summary))
}

/// Plans the WDs of a terminating Workload.
fn finalize(seen: &Snapshot, facts: &Workload, uid: &str) -> WorkloadPlan {
    let living = seen
        .own(uid)
        .filter(|(name, deployment, _)| !deployment.terminating && !seen.learnt.refused.contains_key(*name));
    let living: Vec<_> = living.collect();
    if !living.is_empty() {
        if seen.writes == WriteState::Suspended {
            return WorkloadPlan::AwaitResume;
        }
        let delete = living.into_iter().map(|(name, ..)| name.clone()).collect();
        return WorkloadPlan::Write { create: Vec::new(), update: Vec::new(), delete };
    }
    if seen.own(uid).next().is_some() || seen.learnt.stranger.is_some() {
        let told = if seen.writes == WriteState::Active { status(seen, facts, uid) } else { None };
        return told.unwrap_or(WorkloadPlan::AwaitDeletions);
    }
    if seen.learnt.none_left { WorkloadPlan::Release } else { WorkloadPlan::ConfirmNoneLeft }
}

/// Plans the WDs of a Workload that is not being deleted; `None` if nothing is left to do.
fn deployments(seen: &Snapshot, uid: &str) -> Option<WorkloadPlan> {
    let sites = seen.sites(uid);
    let states = seen.states(uid, &sites);
    let mut create = Vec::new();
    let mut update = Vec::new();
    for (site, state) in sites.iter().flat_map(|(_, sites)| sites).zip(states.iter().flatten()) {
        match state {
            SiteState::Missing => create.push(site.name.clone()),
            SiteState::Placed(deployment, placed) => {
                if !deployment.terminating && !seen.is_as_wanted(site, placed) {
                    update.push(site.name.clone());
                }
            }
            SiteState::Withheld
            | SiteState::Unplaceable
            | SiteState::InvalidCity
            | SiteState::NameTaken
            | SiteState::Duplicate
            | SiteState::Refused(..) => {}
        }
    }
    let rollout = Rollout::new(seen, uid, &sites, &states);
    let mut delete = if rollout.gives_way() { rollout.unwanted } else { Vec::new() };
    delete.retain(|name| !seen.learnt.refused.contains_key(name));
    if !delete.is_empty() && seen.learnt.confirmed != seen.workload.as_ref().map(|it| it.version.clone()) {
        return Some(WorkloadPlan::Confirm);
    }
    let nothing = create.is_empty() && update.is_empty() && delete.is_empty();
    (!nothing).then_some(WorkloadPlan::Write { create, update, delete })
}

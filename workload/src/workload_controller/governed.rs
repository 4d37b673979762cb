//! Whose turn it is where the Workload has a WorkloadRollout. Pure.
//!
//! The object's spec is the policy, and its status what was decided before. The status is written before the
//! WDs are, so that a WD never carries what its city was not allowed (R2), and a restart in between goes on
//! from there (R10). A rollout that cannot be followed moves nothing.

use fedhub_api::facts::Workload;
use fedhub_api::reason::Reason;
use fedhub_core::object::{Object, ObjectView};
use fedhub_rollout::{
    Assignment, Carries, City, Decision, Direction, Revision, Status, Strategy, Verdict, World, assign,
};
use jiff::Timestamp;
use serde_json::Value;

use super::cities::{Newest, cities, deployments, templates};
use super::snapshot::{Snapshot, own};
use super::turns::Turns;
use super::unsettled::unsettled;
use crate::admission::fault::Faults;
use crate::admission::path::Path;
use crate::rollouts::{approvals, spec, status};

/// Decides by a WorkloadRollout.
pub fn governed(seen: &Snapshot, facts: &Workload, uid: &str, rollout: &Object) -> Turns {
    let newest = Newest::new(facts);
    let cities = cities(seen, facts, &newest, uid);
    let before = standing(rollout, facts);
    let is_allowed = |city: &City, revision: Revision| {
        let kept = before.cities.iter().find(|it| it.deployment == city.deployment);
        kept.and_then(|it| it.revision).is_none_or(|allowed| allowed == revision)
    };
    if let Some(turns) = unsettled(seen, facts, &newest, &cities, is_allowed) {
        return turns;
    }
    let Some(revision) = facts.revision else {
        // There is no number that could be assigned.
        let mut faults = Faults::default();
        let path = Path::from_field("spec").field("workloadRef");
        faults.forbidden(path, None, "the template of its Workload cannot be recorded as a revision");
        let said = status::invalid(rollout, &faults.into_vec(), seen.now);
        return Turns::new_still(seen, &newest, &cities, &before, said);
    };
    let named = deployments(seen, facts);
    let selected: Vec<_> =
        named.iter().map(|(name, placement, city)| spec::Deployment { name, placement, city }).collect();
    let is_frozen = spec::is_frozen(rollout, &before, Revision(revision));
    let read = spec::policy(rollout, &selected, is_frozen).and_then(|policy| {
        let requests = approvals::requests(rollout)?;
        Ok((policy, requests))
    });
    let (mut policy, requests) = match read {
        Ok(read) => read,
        Err(faults) => {
            let said = status::invalid(rollout, &faults, seen.now);
            return Turns::new_still(seen, &newest, &cities, &before, said);
        }
    };
    policy.paused |= facts.paused;
    let mut before = before;
    approvals::take(&requests, &mut before, seen.now);
    let newest_revision = Revision(revision);
    let world = World {
        policy: &policy,
        newest: newest_revision,
        cities: &cities,
        held: None,
        status: &before,
        now: seen.now,
    };
    let mut decision = assign(&world);
    if policy.strategy == Strategy::External {
        for (city, assignment) in cities.iter().zip(&mut decision.assignments) {
            *assignment = external(seen, uid, city, newest_revision).unwrap_or(*assignment);
        }
    }
    Turns {
        templates: templates(seen, &newest, &cities, &decision.assignments),
        held: None,
        status: Some(status::render(rollout, &decision.status, &decision.verdict, seen.now)),
        decided: None,
        outcome: outcome(&decision),
        next: decision.next,
        verdict: Some(decision.verdict),
    }
}

/// The status of a WorkloadRollout whose Workload does not exist; `None` while the rollout is being deleted.
pub fn orphaned(rollout: &Object, now: Timestamp) -> Option<Value> {
    if rollout.is_terminating() {
        return None;
    }
    let mut faults = Faults::default();
    let path = Path::from_field("spec").field("workloadRef").field("name");
    faults.not_found(
        path,
        rollout.name(),
        "the project has no workload of that name, create it or delete the rollout",
    );
    Some(status::invalid(rollout, &faults.into_vec(), now))
}

/// How a rollout ended, where that is not on the newest template.
fn outcome(decision: &Decision) -> Option<Reason> {
    match (&decision.verdict, decision.status.direction) {
        (Verdict::Complete, Direction::Abort) => Some(Reason::RolloutAborted),
        _ => None,
    }
}

/// The revision that another controller assigned to a WD (R9), where it is one that exists.
fn external(seen: &Snapshot, uid: &str, city: &City, newest: Revision) -> Option<Assignment> {
    let placed = own(seen.deployments.get(&*city.deployment)?, uid)?;
    let assigned = placed.assigned.map(Revision).filter(|assigned| *assigned <= newest)?;
    Some(Assignment::Carry(assigned))
}

/// What was decided of this Workload. A rollout outlives its Workload, and says nothing of one that was made
/// anew by the same name.
fn standing(rollout: &Object, facts: &Workload) -> Status {
    let status = status::read(rollout);
    let is_of_another =
        !status.cities.is_empty() && status.cities.iter().all(|it| it.since.as_second() < facts.created);
    if is_of_another { Status::default() } else { status }
}

impl Turns {
    /// Nothing moves: what stands keeps its revision, what was deleted comes back at the one that its city
    /// was allowed, and nothing else is created. `status` is what the WorkloadRollout says of that.
    fn new_still(
        seen: &Snapshot,
        newest: &Newest<'_>,
        cities: &[City],
        before: &Status,
        status: Value,
    ) -> Self {
        let allowed = |city: &City| {
            let kept = before.cities.iter().find(|it| it.deployment == city.deployment);
            kept.and_then(|it| it.revision)
        };
        let assignments: Vec<_> = cities
            .iter()
            .map(|city| match city.carries {
                Carries::Nothing => match allowed(city) {
                    Some(revision) => Assignment::Carry(revision),
                    // First creation changes no template, where there is one that could be created.
                    None if seen.facts().is_some_and(|facts| facts.revision.is_none()) => {
                        Assignment::Carry(newest.revision())
                    }
                    None => Assignment::Withhold,
                },
                Carries::Edited(revision) => Assignment::Carry(allowed(city).unwrap_or(revision)),
                Carries::Unknown | Carries::Known(_) => Assignment::Keep,
            })
            .collect();
        let templates = templates(seen, newest, cities, &assignments);
        let outcome = Some(Reason::InvalidRollout);
        Self { templates, status: Some(status), outcome, ..Self::default() }
    }
}

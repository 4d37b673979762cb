//! Whose turn it is: which template each WD of a Workload is to have now. Pure.
//!
//! A new template goes from city to city in the order of the placements (R1), unless the Workload or the
//! platform asks for all of them at once, or a WorkloadRollout asks for something else ([`super::governed`]).
//! The decision is [`fedhub_rollout::assign`]'s: [`super::cities`] reads a Workload and its WDs into its
//! terms. Without a WorkloadRollout nothing of it is stored but the revision that cities keep: each pass
//! decides anew by what the WDs carry and report, so that a restart in the middle goes on where it was (R10).

use fedhub_api::facts::Workload;
use fedhub_rollout::{
    Assignment, Carries, City, Health, Policy, Revision, Status, Strategy, Verdict, World, assign,
};

use super::cities::{Newest, cities, templates};
use super::governed::{governed, orphaned};
use super::rollout::PROGRESS_DEADLINE;
use super::snapshot::Snapshot;
use super::turns::Turns;
use super::unsettled::unsettled;

impl Snapshot {
    /// Whose turn it is by these inputs. It is decided once: a Workload has hundreds of cities.
    pub fn turns(&self) -> &Turns {
        self.turns.get_or_init(|| match (&self.workload, self.facts()) {
            (Some(workload), Some(facts)) => decide(self, facts, &workload.uid.to_string()),
            (None, _) => Turns {
                status: self.rollout.as_deref().and_then(|it| orphaned(it, self.now)),
                ..Turns::default()
            },
            (Some(_), None) => Turns::default(),
        })
    }
}

/// Decides for the Workload with this UID.
fn decide(seen: &Snapshot, facts: &Workload, uid: &str) -> Turns {
    if let Some(rollout) = &seen.rollout {
        return governed(seen, facts, uid, rollout);
    }
    if facts.paused {
        return paused(seen, facts, uid);
    }
    let all_at_once = seen.options.default_rollout == Strategy::AllAtOnce;
    if facts.all_at_once.unwrap_or(all_at_once) {
        return Turns::default();
    }
    let newest = Newest::new(facts);
    let cities = cities(seen, facts, &newest, uid);
    if let Some(turns) = unsettled(seen, facts, &newest, &cities, |_, _| true) {
        return turns;
    }
    let held = held(facts, &newest, &cities);
    let mut standing = cities.iter().filter(|city| city.carries != Carries::Nothing);
    if held.is_none() && standing.all(|city| newest.is(city.carries)) {
        return Turns::default();
    }
    let deployments = cities.iter().map(|city| city.deployment.clone());
    let policy = Policy::one_by_one(deployments, PROGRESS_DEADLINE);
    let world = World {
        policy: &policy,
        newest: newest.revision(),
        cities: &cities,
        held: held.map(Revision),
        status: &Status::default(),
        now: seen.now,
    };
    let decision = assign(&world);
    let templates = templates(seen, &newest, &cities, &decision.assignments);
    Turns {
        templates,
        held,
        decided: Some(decision.status),
        verdict: Some(decision.verdict),
        ..Turns::default()
    }
}

/// Decides while the rollout is paused: what stands keeps its revision, and nothing is created.
fn paused(seen: &Snapshot, facts: &Workload, uid: &str) -> Turns {
    let newest = Newest::new(facts);
    let cities = cities(seen, facts, &newest, uid);
    if let Some(turns) = unsettled(seen, facts, &newest, &cities, |_, revision| revision < newest.revision())
    {
        return turns;
    }
    let assignments: Vec<_> = cities
        .iter()
        .map(|city| match city.carries {
            Carries::Nothing => Assignment::Withhold,
            Carries::Edited(revision) if revision < newest.revision() => Assignment::Carry(revision),
            Carries::Edited(_) | Carries::Unknown | Carries::Known(_) => Assignment::Keep,
        })
        .collect();
    Turns {
        templates: templates(seen, &newest, &cities, &assignments),
        held: facts.held_revision,
        verdict: Some(Verdict::Paused),
        ..Turns::default()
    }
}

/// The revision that cities keep until it is their turn: the newest one that a WD carries which is not the
/// Workload's newest, and after its deletion the one that the status remembers, for as long as a city that
/// has the Workload's newest is on its way.
fn held(facts: &Workload, newest: &Newest<'_>, cities: &[City]) -> Option<u64> {
    let carried = cities.iter().filter_map(|city| match city.carries {
        Carries::Known(revision) | Carries::Edited(revision) if revision < newest.revision() => {
            Some(revision.0)
        }
        Carries::Nothing | Carries::Unknown | Carries::Known(_) | Carries::Edited(_) => None,
    });
    if let Some(carried) = carried.max() {
        return Some(carried);
    }
    let is_under_way = cities.iter().any(|city| newest.is(city.carries) && city.health != Health::Healthy);
    facts.held_revision.filter(|held| is_under_way && Revision(*held) < newest.revision())
}

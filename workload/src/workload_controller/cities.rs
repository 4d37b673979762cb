//! The cities of a Workload in the terms of [`fedhub_rollout`], and what its assignments mean for their WDs.
//! Pure.

use std::collections::BTreeSet;

use fedhub_api::facts::carried::{Carried, WantedTemplate};
use fedhub_api::facts::{Placed, Workload};
use fedhub_api::reason::attributed;
use fedhub_core::names::deployment_name;
use fedhub_rollout::{Assignment, Carries, Cause, City, Health, Revision};

use super::snapshot::{Snapshot, own};
use super::turns::Templates;
use crate::locations::Authority;

/// What is to be written by these assignments, less what gets the newest template anyway.
pub(super) fn templates(
    seen: &Snapshot,
    newest: &Newest<'_>,
    cities: &[City],
    assignments: &[Assignment],
) -> Templates {
    let templates = cities.iter().zip(assignments).filter_map(|(city, assignment)| {
        let template = match *assignment {
            Assignment::Withhold => None,
            Assignment::Keep => Some(WantedTemplate::Kept),
            Assignment::Carry(revision) if revision == newest.revision() => return None,
            Assignment::Carry(revision) if city.carries == Carries::Known(revision) => {
                Some(WantedTemplate::Kept)
            }
            Assignment::Carry(revision) => Some(earlier(seen, revision, city.carries)),
        };
        Some((city.deployment.clone(), template))
    });
    templates.collect()
}

/// An earlier revision, unless the history has it no more: then a WD keeps what it has, and one that does not
/// exist is created with the newest template.
fn earlier(seen: &Snapshot, revision: Revision, carries: Carries) -> WantedTemplate {
    if !seen.learnt.forgotten.contains(&revision.0) {
        return WantedTemplate::Earlier(revision.0);
    }
    let newest = seen.facts().and_then(|facts| facts.revision);
    match carries {
        Carries::Nothing => WantedTemplate::Newest(newest),
        Carries::Unknown | Carries::Known(_) | Carries::Edited(_) => WantedTemplate::Kept,
    }
}

/// The newest revision. Where its number is not recorded, it is later than all others.
pub(super) struct Newest<'a> {
    facts: &'a Workload,
}

impl<'a> Newest<'a> {
    pub fn new(facts: &'a Workload) -> Self {
        Self { facts }
    }

    pub fn revision(&self) -> Revision {
        Revision(self.facts.revision.unwrap_or(u64::MAX))
    }

    pub fn is(&self, carries: Carries) -> bool {
        carries == Carries::Known(self.revision())
    }

    /// The health of a WD. One that cannot be reached and was not healthy on the newest template when it was
    /// last heard of may be down by that template: it is judged by what it reported then. One that has the
    /// newest template since an earlier rollout is no part of this one.
    fn health(&self, placed: &Placed, carries: Carries) -> Health {
        let is_newest = self.is(carries);
        let reported = reported(placed);
        if placed.unreachable && (!is_newest || reported == Health::Healthy) {
            return Health::Unreachable;
        }
        let is_earlier =
            matches!(placed.carried, Carried::Intact(revision) if Revision(revision) < self.revision());
        if is_newest && is_earlier { Health::Healthy } else { reported }
    }

    /// The revision that a WD carries. One whose template is what the plane makes of the revision that it is
    /// marked with was not edited.
    fn carries(&self, seen: &Snapshot, name: &str, placed: &Placed) -> Carries {
        match self.carried(placed) {
            Carries::Edited(marked) if seen.is_made_of(name, marked.0) => Carries::Known(marked),
            carries => carries,
        }
    }

    /// The revision that a WD carries by what it shows. Its template decides, and then its mark: a tenant may
    /// write anything there.
    fn carried(&self, placed: &Placed) -> Carries {
        if placed.template == self.facts.template && placed.restart == self.facts.restart {
            return Carries::Known(self.revision());
        }
        match placed.carried {
            Carried::Intact(revision) if Revision(revision) < self.revision() => {
                Carries::Known(Revision(revision))
            }
            Carried::Edited(revision) | Carried::Intact(revision)
                if Revision(revision) <= self.revision() =>
            {
                Carries::Edited(Revision(revision))
            }
            Carried::Unmarked | Carried::Intact(_) | Carried::Edited(_) => Carries::Unknown,
        }
    }
}

/// The names of the WDs that the Workload asks for, with placement and city, in the order of the placements;
/// each once.
pub(super) fn deployments<'a>(seen: &Snapshot, facts: &'a Workload) -> Vec<(String, &'a str, &'a str)> {
    let mut known = BTreeSet::new();
    let placements = facts.placements.iter().flatten();
    let all = placements.flat_map(|placement| {
        placement
            .cities
            .iter()
            .map(|city| (deployment_name(&seen.key.name, &placement.name, city), &*placement.name, &**city))
    });
    all.filter(|(name, ..)| known.insert(name.clone())).collect()
}

/// The WDs that the Workload asks for and can have, as a rollout sees them.
pub(super) fn cities(seen: &Snapshot, facts: &Workload, newest: &Newest<'_>, uid: &str) -> Vec<City> {
    let mut cities: Vec<City> = Vec::new();
    let by_cells = seen.locations.by == Authority::Cells;
    for (deployment, _, city) in deployments(seen, facts) {
        let stands = seen.deployments.get(&deployment);
        let placed = stands.and_then(|digest| own(digest, uid));
        if placed.is_none() && (stands.is_some() || !seen.locations.contain(city)) {
            // No WD of the Workload can be there.
            continue;
        }
        let carries = placed.map_or(Carries::Nothing, |placed| newest.carries(seen, &deployment, placed));
        cities.push(City {
            deployment: deployment.into(),
            city: city.into(),
            carries,
            health: match placed {
                // No cell serves the city any more.
                Some(_) if by_cells && !seen.locations.contain(city) => Health::Unreachable,
                Some(placed) => newest.health(placed, carries),
                None => Health::Progressing,
            },
        });
    }
    cities
}

/// The health of a WD on the template that it has (R4), by what it reported last.
fn reported(placed: &Placed) -> Health {
    let [_, _, updated, desired, ready] = placed.counters;
    let ready = ready.saturating_add(placed.stopped);
    // What is suspended, or was stopped by its user, runs nothing, so that nothing waits for it.
    if placed.observed && (placed.suspended || updated == desired && ready == desired) {
        return Health::Healthy;
    }
    match placed.stuck {
        Some(reason) => Health::Stuck(Cause {
            reason: reason.as_str().into(),
            message: attributed(reason, "The deployment makes no progress").into(),
        }),
        None => Health::Progressing,
    }
}

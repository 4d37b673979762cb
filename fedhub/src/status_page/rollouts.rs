//! Collects the rollouts that are under way. Reads memory only: which there are, the facts of Workloads say;
//! how far each is, the plan of the Workload controller, as `fedhub explain` asks it.

use std::collections::{BTreeMap, BTreeSet};

use fedhub_api::facts::workload::RolloutSaid;
use fedhub_api::facts::{Digest, DigestExt, of_workload};
use fedhub_api::{RolloutCity, RolloutCityState};
use fedhub_core::names::{PlaneName, deployment_name};
use fedhub_core::object::{Key, Kind, PlaneId};
use fedhub_planes::{Plane, Planes};
use fedhub_workload::locations::Locations;
use jiff::Timestamp;

use super::data::{RolloutRow, RolloutState, Rollouts};
use crate::explain::{Rollout, Surroundings, decide};

/// How many rollouts are shown: how far one is takes a pass of the plan.
pub const SHOWN: usize = 50;

/// The states of a city, in the order in which they are shown.
const STATES: [RolloutCityState; 6] = [
    RolloutCityState::Failed,
    RolloutCityState::Updating,
    RolloutCityState::Soaking,
    RolloutCityState::Waiting,
    RolloutCityState::Skipped,
    RolloutCityState::Complete,
];

/// A Workload with its rollout, those that do not go on first.
type Found = (RolloutState, Box<str>, Box<str>, Box<str>);

/// The rollouts of all planes around a hub.
pub fn rollouts(planes: &Planes, now: Timestamp) -> Rollouts {
    let mut counts = BTreeMap::<RolloutState, usize>::new();
    let mut found = BTreeSet::<Found>::new();
    for project in planes.projects() {
        let PlaneId::Project(plane) = &project.id else { continue };
        project.store(Kind::Workload).select(None, |workload| -> Option<()> {
            let state = state(workload.digest.workload()?.rollout)?;
            *counts.entry(state).or_default() += 1;
            let last = found.last().map(|(state, plane, space, name)| (*state, &**plane, &**space, &**name));
            if found.len() < SHOWN || last > Some((state, plane.as_str(), workload.namespace, workload.name))
            {
                found.insert((state, plane.as_str().into(), workload.namespace.into(), workload.name.into()));
            }
            if found.len() > SHOWN {
                found.pop_last();
            }
            None
        });
    }
    let rows = found.into_iter().map(|found| {
        let rollout = PlaneName::new(&found.1)
            .ok()
            .and_then(|name| planes.project(&name))
            .and_then(|project| read(planes, &project, &found.2, &found.3))
            .and_then(|read| decide(read, now));
        row(found, rollout.as_ref())
    });
    Rollouts { rows: rows.collect(), counts: counts.into_iter().collect() }
}

/// The state of a rollout that is not complete.
fn state(said: RolloutSaid) -> Option<RolloutState> {
    match said {
        RolloutSaid::Stalled => Some(RolloutState::Stalled),
        RolloutSaid::Overdue => Some(RolloutState::Overdue),
        RolloutSaid::RolledBack => Some(RolloutState::RolledBack),
        RolloutSaid::Paused => Some(RolloutState::Paused),
        RolloutSaid::InProgress => Some(RolloutState::InProgress),
        RolloutSaid::Complete | RolloutSaid::Other => None,
    }
}

/// What the rollout of a Workload depends on, as the process knows it.
fn read(planes: &Planes, project: &Plane, namespace: &str, name: &str) -> Option<Surroundings> {
    let workload = project.store(Kind::Workload).digest(namespace, name)?;
    let placements = workload.workload()?.placements.iter().flatten();
    let cities: BTreeSet<String> =
        placements.clone().flat_map(|it| it.cities.iter().map(ToString::to_string)).collect();
    let wanted = placements.flat_map(|placement| {
        placement.cities.iter().map(|city| deployment_name(name, &placement.name, city))
    });
    let store = project.store(Kind::WorkloadDeployment);
    let wanted = wanted.filter_map(|wd| Some((wd.clone(), store.digest(namespace, &wd)?)));
    let naming_it = store
        .by_index(namespace, of_workload(name), |wd| Some((wd.name.to_owned(), Digest::clone(wd.digest))));
    Some(Surroundings {
        deployments: naming_it.into_iter().chain(wanted).collect(),
        rollout: project.store(Kind::WorkloadRollout).get(namespace, name).and_then(|known| known.object),
        locations: Locations::new(project, planes.hub(), &cities.iter().map(String::as_str).collect()),
        key: Key {
            plane: project.id.clone(),
            kind: Kind::Workload,
            namespace: namespace.into(),
            name: name.into(),
        },
        workload,
    })
}

/// A line of the page; without a `rollout`, nothing is held back for a city.
fn row((state, plane, namespace, workload): Found, rollout: Option<&Rollout>) -> RolloutRow {
    let cities: Vec<&RolloutCity> = rollout.into_iter().flat_map(|it| it.turns.cities()).collect();
    // The city that decides how the rollout goes on.
    let decisive = STATES[..4].iter().find_map(|of| cities.iter().find(|city| city.state == *of));
    // Without a WorkloadRollout the wave has no name of the user's, and no time is kept.
    let is_governed = rollout.is_some_and(|rollout| rollout.is_governed);
    let named = if is_governed { decisive } else { None };
    let waiting = cities.iter().find(|city| city.state == RolloutCityState::Waiting);
    let wait = waiting.and_then(|city| rollout?.turns.wait(&city.deployment));
    let cause = decisive.and_then(|city| Some((city, city.cause.as_ref()?)));
    RolloutRow {
        state,
        plane: plane.into(),
        namespace: namespace.into(),
        workload: workload.into(),
        wave: named.map(|city| city.wave.clone()),
        since: named.and_then(|city| city.since.parse().ok()),
        deployment: decisive.map(|city| city.deployment.clone()),
        remark: match (cause, wait) {
            (Some((city, cause)), _) => {
                Some(format!("{} failed by {}: {}", city.city, cause.reason, cause.message))
            }
            (None, Some(wait)) => waiting.map(|city| format!("{} {wait}", city.city)),
            (None, None) => None,
        },
        cities: STATES
            .iter()
            .map(|of| (*of, cities.iter().filter(|city| city.state == *of).count()))
            .filter(|(_, count)| *count > 0)
            .collect(),
    }
}

#[cfg(test)]
mod tests;

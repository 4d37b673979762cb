//! Whose turn it is in the rollout of a Workload over its cities: what the Workload controller's own plan
//! says of what was read, so that no rule of R1 to R10 is decided here.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use fedhub_api::facts::carried::{Carried, marked_revision};
use fedhub_api::facts::{Digest, DigestExt};
use fedhub_api::rollout_turns::{RolloutTurns, RolloutWait};
use fedhub_core::message::Quoted;
use fedhub_core::names::{CITY_CODE, CURRENT_REVISION, PlaneName, WORKLOAD_NAME};
use fedhub_core::object::{Key, Kind, Object, ObjectRef, ObjectView, PlaneId};
use fedhub_planes::{ServiceState, WriteState};
use fedhub_workload::locations::{Authority, Locations};
use fedhub_workload::networks::Networks;
use fedhub_workload::workload_controller::snapshot::{Learnt, Snapshot};
use fedhub_workload::workload_controller::{Options, Strategy};
use jiff::Timestamp;
use serde_json::Value;

use crate::operator::connect::Connection;
use crate::operator::read::{Failure, Read};
use crate::operator::requests::{get, list};

/// The rollout of a Workload, as its controller's plan decides it.
#[derive(Clone, Debug, PartialEq)]
pub struct Rollout {
    /// The number of the Workload's newest revision.
    pub newest: u64,
    /// What is said of each WD.
    pub turns: RolloutTurns,
    /// The WDs that do not have the newest template, with the revision that each is marked with.
    pub behind: BTreeMap<String, u64>,
    /// Whether a WorkloadRollout decides.
    pub is_governed: bool,
}

/// A Workload and what its rollout depends on.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The Workload's key.
    pub key: Key,
    /// The Workload.
    pub workload: Digest,
    /// The WorkloadRollout of its name.
    pub rollout: Option<ObjectRef>,
    /// Its WDs by name, others too.
    pub deployments: BTreeMap<String, Digest>,
    /// The cities that WDs can be placed in.
    pub locations: Locations,
}

impl Surroundings {
    /// Digests what was read of a project plane.
    pub fn from_objects(
        plane: PlaneName,
        workload: &Object,
        rollout: Option<Object>,
        deployments: &[Object],
        locations: Locations,
    ) -> Self {
        let plane = PlaneId::Project(plane);
        Self {
            workload: Digest::new(&plane, Kind::Workload, workload),
            rollout: rollout.map(Into::into),
            deployments: deployments
                .iter()
                .map(|wd| (wd.name().to_owned(), Digest::new(&plane, Kind::WorkloadDeployment, wd)))
                .collect(),
            locations,
            key: Key {
                kind: Kind::Workload,
                namespace: workload.namespace().into(),
                name: workload.name().into(),
                plane: plane.clone(),
            },
        }
    }
}

/// Reads the rollout of the Workload that a WD belongs to; `None` where the WD carries the newest revision,
/// or where what its plan needs cannot be read.
pub async fn of_deployment(
    project: &Connection,
    hub: &Connection,
    wd: &Object,
    plane: &str,
    now: Timestamp,
) -> Option<Arc<Rollout>> {
    let carried = marked_revision(wd)?;
    let owners = wd.metadata.owner_references.iter().flatten();
    let name = owners.into_iter().find(|owner| owner.kind == "Workload").map(|owner| owner.name.as_str())?;
    let workload = get(project, Kind::Workload.resource(), wd.namespace(), name).await;
    let workload = workload.found().filter(|workload| newest(workload) > Some(carried))?;
    // A name that is no label value is on none of its WDs (W1).
    let labels = wd.label(WORKLOAD_NAME).map_or_else(String::new, |name| format!("{WORKLOAD_NAME}={name}"));
    let kind = Kind::WorkloadDeployment.resource();
    let deployments = list(project, kind, wd.namespace(), &labels).await;
    of_workload(project, hub, workload, deployments.found()?, plane, now).await
}

/// Reads the rollout of a Workload with these WDs; `None` where all its cities simply get the newest
/// revision, or where what the plan needs cannot be read.
pub async fn of_workload(
    project: &Connection,
    hub: &Connection,
    workload: &Object,
    deployments: &[Object],
    plane: &str,
    now: Timestamp,
) -> Option<Arc<Rollout>> {
    // fedhub itself, which explains for its status page, may list them and get none.
    let rollouts = list(project, Kind::WorkloadRollout.resource(), workload.namespace(), "").await;
    let rollout = match rollouts {
        Read::Found(rollouts) => rollouts.into_iter().find(|rollout| rollout.name() == workload.name()),
        // A plane that does not serve the kind has none.
        Read::Failed(error) if error.failure == Failure::NotServed => None,
        Read::Failed(_) | Read::Absent | Read::Skipped => return None,
    };
    let locations = locations(project, hub).await?;
    let plane = PlaneName::new(plane).ok()?;
    let read = Surroundings::from_objects(plane, workload, rollout, deployments, locations);
    decide(read, now).map(Arc::new)
}

/// The cities that WDs can be placed in (W7).
async fn locations(project: &Connection, hub: &Connection) -> Option<Locations> {
    let plane = PlaneId::Hub;
    match list(project, Kind::LocationBinding.resource(), "", "").await {
        Read::Found(bindings) => {
            let digests = bindings.iter().map(|it| Digest::new(&plane, Kind::LocationBinding, it));
            let cities = digests.filter_map(|digest| digest.location().map(str::to_owned)).collect();
            Some(Locations { by: Authority::LocationBindings, cities })
        }
        Read::Failed(error) if error.failure == Failure::NotServed => {
            let clusters = list(hub, Kind::Cluster.resource(), "", "").await;
            let cities = clusters.found()?.iter().filter_map(|cluster| cluster.label(CITY_CODE));
            Some(Locations { by: Authority::Cells, cities: cities.map(str::to_owned).collect() })
        }
        Read::Failed(_) | Read::Absent | Read::Skipped => None,
    }
}

/// The number of a Workload's newest revision, as it is recorded.
fn newest(workload: &Object) -> Option<u64> {
    workload.annotation(CURRENT_REVISION)?.parse().ok()
}

/// What the plan says; `None` where nothing is held back.
pub fn decide(read: Surroundings, now: Timestamp) -> Option<Rollout> {
    let Surroundings { key, workload, rollout, deployments, locations } = read;
    if workload.terminating {
        return None;
    }
    let facts = workload.workload()?.clone();
    let newest = facts.revision?;
    let uid = workload.uid.to_string();
    // Which way is the default is a flag of `fedhub run`. The status says whether cities are held back by it.
    let holds = facts.held_revision.is_some() || facts.all_at_once == Some(false);
    let default_rollout = if holds { Strategy::InOrder } else { Strategy::AllAtOnce };
    let seen = Snapshot {
        key,
        workload: Some(workload),
        deployments,
        rollout,
        locations,
        type_state: None,
        networks: Networks::Unknown,
        writes: WriteState::Active,
        service: ServiceState::Active,
        now,
        stalled: Duration::ZERO,
        options: Options { move_deadline: Duration::ZERO, default_rollout },
        learnt: Learnt::default(),
        turns: OnceLock::new(),
    };
    let status = seen.turns().shown(&seen.key, now)?;
    let behind = seen.own(&uid).filter_map(|(name, _, placed)| {
        let has_newest = placed.template == facts.template && placed.restart == facts.restart;
        match placed.carried {
            Carried::Intact(marked) | Carried::Edited(marked) if !has_newest => Some((name.clone(), marked)),
            Carried::Intact(_) | Carried::Edited(_) | Carried::Unmarked => None,
        }
    });
    Some(Rollout {
        newest,
        behind: behind.collect(),
        turns: RolloutTurns::read(seen.rollout.as_ref().map_or(&Value::Null, |it| it.spec()), &status),
        is_governed: seen.rollout.is_some(),
    })
}

/// Where a WD stands that does not have the newest template of its Workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// What it waits for; `None` where the plan lets it have the newest revision.
    pub wait: Option<RolloutWait>,
    /// Since when, as far as a WorkloadRollout tells.
    pub since: Option<Timestamp>,
    /// The revision that it carries, its wave, and what it waits for, in a sentence.
    pub evidence: String,
}

impl Rollout {
    /// Where a WD stands that does not have the newest template; `None` of any other.
    pub fn turn(&self, deployment: &str) -> Option<Turn> {
        let carried = self.behind.get(deployment)?;
        let wait = self.turns.wait(deployment);
        let what = match &wait {
            Some(wait) => wait.to_string(),
            None => "is to get the newest one now".to_owned(),
        };
        // Without a WorkloadRollout the wave has no name of the user's, and no time is kept.
        let city = if self.is_governed { self.turns.city(deployment) } else { None };
        let wave = city.map_or_else(String::new, |city| format!(", in the wave {}", Quoted(&city.wave)));
        Some(Turn {
            wait,
            since: city.and_then(|city| city.since.parse().ok()),
            evidence: format!("the WD carries revision {carried} of {}{wave}: it {what}", self.newest),
        })
    }
}

#[cfg(test)]
mod tests;

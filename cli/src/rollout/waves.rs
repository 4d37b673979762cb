//! A rollout over waves, as its WorkloadRollout says. Pure.
//!
//! What it says counts only where it is about the workload's newest template: the rollout before it says
//! nothing of this one.

use fedhub_api::conditions::{find, said};
use fedhub_api::facts::workload::recorded_template;
use fedhub_api::reason::Reason;
use fedhub_api::rollout_turns::{RolloutTurns, RolloutWait};
use fedhub_api::{RolloutApproved, RolloutAwaiting, RolloutCity, RolloutCityState, RolloutGate};
use fedhub_core::names::{CURRENT_REVISION, RECORDED_TEMPLATE};
use fedhub_core::object::{Object, ObjectView};
use fedhub_terminal::output::Colour;
use fedhub_terminal::table::age;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::approve::{approved, gate_of};
use crate::model::Obstacle;
use crate::model::status::{generation, is_observed};

/// A rollout over waves.
#[derive(Clone, Debug, PartialEq)]
pub struct Waves {
    /// The revision that it goes to.
    pub revision: Option<u64>,
    /// The waves, in their order.
    pub waves: Vec<Wave>,
    /// How far each city is.
    turns: RolloutTurns,
    now: Timestamp,
    /// What keeps it from going on.
    pub stop: Option<Stop>,
}

/// A wave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wave {
    /// Its name.
    pub name: String,
    /// How many cities it has.
    pub cities: usize,
    /// How many of them are complete.
    pub complete: usize,
    /// The side on which it requires approval.
    pub gate: Option<RolloutGate>,
    /// The user who approved it.
    pub approved_by: Option<String>,
    /// Whether the rollout waits for its approval.
    pub is_awaited: bool,
}

/// How far a city is in the rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The name of its wave.
    pub wave: String,
    /// How far it is.
    pub state: RolloutCityState,
    /// The revision that it may carry.
    pub revision: Option<i64>,
    /// Since when it is in this state.
    pub since: String,
    /// How long that is, as ages are shown.
    pub elapsed: String,
    /// Why it is not complete.
    pub cause: Option<Obstacle>,
}

/// What keeps a rollout from going on by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A wave requires approval.
    Approval {
        /// The name of the wave.
        wave: String,
        /// The side that is to be approved.
        gate: RolloutGate,
    },
    /// It failed, went back, was aborted, or cannot be followed.
    Ended(Obstacle),
}

impl Waves {
    /// Reads the rollout of a Workload; `None` where it says nothing of the newest template.
    pub fn read(workload: &Object, rollout: &Object, now: Timestamp) -> Option<Self> {
        let status = rollout.status();
        let progressing = find(status, "Progressing").filter(|condition| {
            condition["observedGeneration"] == json!(rollout.metadata.generation) && is_observed(workload)
        })?;
        let (_, reason, message) = said(progressing);
        if reason != Reason::InvalidRollout.as_str() && !is_of_newest(workload, rollout) {
            return None;
        }
        let turns = RolloutTurns::read(rollout.spec(), status);
        let mut waves: Vec<_> = items(&status["plan"]).map(|wave| Wave::new(rollout, wave, &turns)).collect();
        let stop = match Reason::parse(reason) {
            Some(Reason::RolloutAwaitingApproval) => awaited(&mut waves, status),
            Some(
                Reason::CityFailed
                | Reason::InvalidRollout
                | Reason::RolloutRolledBack
                | Reason::RolloutAborted,
            ) => Some(Stop::Ended(Obstacle::new(reason, message))),
            _ => None,
        };
        Some(Self { revision: status["targetRevision"].as_u64(), waves, turns, now, stop })
    }

    /// How far the city of a deployment is.
    pub fn turn(&self, deployment: &str) -> Option<Turn> {
        self.turns.city(deployment).map(|city| Turn::new(city, self.now))
    }

    /// What a deployment waits for.
    pub fn wait(&self, deployment: &str) -> Option<RolloutWait> {
        self.turns.wait(deployment)
    }
}

/// Whether the status is about the Workload's newest template; an abort has a target of its own.
fn is_of_newest(workload: &Object, rollout: &Object) -> bool {
    let status = rollout.status();
    let newest = workload.annotation(CURRENT_REVISION).and_then(|number| number.parse::<u64>().ok());
    let Some(newest) = newest else { return false };
    let template = recorded_template(newest, &workload.spec()["template"]);
    let is_recorded = workload.annotation(RECORDED_TEMPLATE) == Some(&*template);
    is_recorded && (status["targetRevision"] == newest || status["direction"] == "Abort")
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// The wave whose approval the status says is awaited.
fn awaited(waves: &mut [Wave], status: &Value) -> Option<Stop> {
    let RolloutAwaiting { wave, gate } = RolloutAwaiting::deserialize(&status["awaiting"]).ok()?;
    waves.iter_mut().find(|it| it.name == wave)?.is_awaited = true;
    Some(Stop::Approval { wave, gate })
}

impl Wave {
    fn new(rollout: &Object, wave: &Value, turns: &RolloutTurns) -> Self {
        let name = wave["name"].as_str().unwrap_or_default();
        let gate = gate_of(wave);
        let known = items(&wave["deployments"]).filter_map(|name| turns.city(name.as_str()?));
        Self {
            name: name.to_owned(),
            cities: items(&wave["deployments"]).count(),
            complete: known.filter(|city| city.state == RolloutCityState::Complete).count(),
            gate,
            approved_by: gate
                .and_then(|gate| approved(rollout, name, gate))
                .map(|RolloutApproved { by, .. }| by),
            is_awaited: false,
        }
    }
}

impl Turn {
    fn new(city: &RolloutCity, now: Timestamp) -> Self {
        let since = city.since.parse::<Timestamp>();
        Self {
            wave: city.wave.clone(),
            state: city.state,
            revision: city.revision,
            elapsed: since.map_or_else(|_| "?".to_owned(), |since| age(since, now)),
            since: city.since.clone(),
            cause: city.cause.as_ref().map(|cause| Obstacle::new(&cause.reason, &cause.message)),
        }
    }

    /// Its state as a word, in its colour.
    pub fn word(&self) -> (&'static str, Colour) {
        match self.state {
            RolloutCityState::Waiting => ("Waiting", Colour::Yellow),
            RolloutCityState::Updating => ("Updating", Colour::Yellow),
            RolloutCityState::Soaking => ("Soaking", Colour::Yellow),
            RolloutCityState::Complete => ("Complete", Colour::Green),
            RolloutCityState::Failed => ("Failed", Colour::Red),
            RolloutCityState::Skipped => ("Skipped", Colour::Yellow),
        }
    }
}

/// Whether a WorkloadRollout pauses its Workload's rollout, with what the platform says of that.
pub fn pause(workload: &Object, rollout: &Object) -> Option<(bool, String)> {
    if rollout.spec()["paused"] != true {
        return None;
    }
    let progressing = find(rollout.status(), "Progressing").filter(|condition| {
        condition["observedGeneration"] == json!(generation(rollout))
            && said(condition).1 == Reason::RolloutPaused
            && is_observed(workload)
    });
    Some((progressing.is_some(), progressing.map_or("", |it| said(it).2).to_owned()))
}

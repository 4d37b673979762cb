//! The status of a Workload (W3).
//!
//! A [`Summary`] is made of facts. Where it repeats the words of a WD it names that WD and the hash of its
//! words, so that a status that is right is recognised without any object.
//!
//! Decides W3.

use fedhub_api::conditions::{find, put, remove, stand};
use fedhub_api::facts::Workload;
use fedhub_api::facts::deployment::COUNTERS;
use fedhub_api::facts::placed::says;
use fedhub_api::facts::workload::{NETWORK_NOT_FOUND, TYPE_CONDITIONS, available_message, counters, told};
use fedhub_api::reason::{AnyReason, Reason, attributed};
use fedhub_api::{MOST_CITIES, MOST_PLACEMENTS};
use fedhub_core::hash;
use fedhub_core::message::{Quoted, named};
use fedhub_core::names::SERVICE_NAME;
use fedhub_core::object::{Object, ObjectView};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::lifecycle::TypeState;
use super::rollout::{Rollout, Sites};
use super::snapshot::{SiteState, Snapshot};
use super::terminating;
use crate::locations::Authority;

/// The status of a Workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    generation: i64,
    deployments: usize,
    held_revision: Option<u64>,
    counters: [i64; 5],
    placements: Vec<PlacementSummary>,
    available: Says,
    progressing: Says,
    type_state: Option<TypeState>,
    /// The message about networks that do not exist.
    networks: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
struct PlacementSummary {
    name: String,
    counters: [i64; 5],
    available: Says,
}

/// The content of a condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Says {
    status: &'static str,
    words: ConditionWords,
}

/// The words of a condition.
#[derive(Clone, Debug, PartialEq)]
pub enum ConditionWords {
    /// Our own.
    Own {
        /// The reason.
        reason: Reason,
        /// The message.
        message: String,
    },
    /// The message of the condition `Available` of the WD of that name, by its hash.
    Of {
        /// The WD's name.
        deployment: String,
        /// [`says`] of them.
        says: u64,
    },
}

impl Says {
    fn yes(reason: Reason, message: impl Into<String>) -> Self {
        let words = ConditionWords::Own { reason, message: message.into() };
        Self { status: "True", words }
    }

    /// Adds who has to act to the message (C9).
    fn no(reason: Reason, message: &str) -> Self {
        let message = attributed(reason, message).into_owned();
        Self { status: "False", words: ConditionWords::Own { reason, message } }
    }

    fn not(reason: Reason, message: String) -> Self {
        Self { status: "False", words: ConditionWords::Own { reason, message } }
    }

    fn comparable(&self, observed_generation: Option<i64>) -> Value {
        let says = match &self.words {
            ConditionWords::Own { reason, message } => says(reason.as_str(), message),
            ConditionWords::Of { says, .. } => *says,
        };
        told(self.status, says, observed_generation)
    }
}

impl Summary {
    /// Summarizes the Workload with these facts and this UID.
    pub fn new(seen: &Snapshot, facts: &Workload, uid: &str) -> Self {
        let sites = seen.sites(uid);
        let states = seen.states(uid, &sites);
        let mut own = [0; 5];
        for (_, _, placed) in seen.own(uid) {
            add(&mut own, &placed.counters);
        }
        let terminating = seen.workload.as_ref().is_some_and(|workload| workload.terminating);
        // Obstacles to creating WDs do not matter any more.
        let problems = if terminating { Vec::new() } else { problems(seen, facts, &sites, &states) };
        let placements: Vec<_> =
            sites.iter().zip(&states).map(|((name, _), states)| placement(name, states)).collect();
        Self {
            generation: facts.generation,
            deployments: seen.own(uid).count(),
            held_revision: if terminating { None } else { seen.turns().held },
            counters: own,
            available: unreadable(facts)
                .unwrap_or_else(|| available(&placements, &sites, &states, &problems)),
            progressing: if terminating {
                Says::not(Reason::Terminating, terminating::waits(seen, uid))
            } else {
                let rollout = Rollout::new(seen, uid, &sites, &states);
                let said = rollout.progressing(seen, &sites, &states);
                Says { status: said.0, words: ConditionWords::Own { reason: said.1, message: said.2 } }
            },
            type_state: seen.type_state.clone(),
            networks: seen.networks.message(facts),
            placements,
        }
    }

    /// Whether a status with these facts says this already.
    pub fn is_said_by(&self, facts: &Workload) -> bool {
        let same =
            |state: &TypeState| hash::json(&state.comparable(self.generation)) == facts.type_conditions;
        hash::json(&self.comparable()) == facts.status
            && hash::json(&self.networks_comparable()) == facts.network_condition
            && self.type_state.as_ref().is_none_or(same)
    }

    /// Hash of all that it says.
    pub fn content(&self) -> u64 {
        let types = self.type_state.as_ref().map(|state| state.comparable(self.generation));
        hash::json(&json!([self.comparable(), self.networks_comparable(), types]))
    }

    /// The status as [`fedhub_api::facts::workload::comparable`] shows it.
    pub fn comparable(&self) -> Value {
        let placement = |placement: &PlacementSummary| {
            let mut of = numbers(&placement.counters);
            of.insert("name".to_owned(), json!(placement.name));
            of.insert("Available".to_owned(), placement.available.comparable(None));
            Value::Object(of)
        };
        let mut of = numbers(&self.counters);
        of.insert("placements".to_owned(), self.placements.iter().map(placement).collect());
        of.insert("deployments".to_owned(), json!(self.deployments));
        of.insert("observedGeneration".to_owned(), json!(self.generation));
        of.insert("heldRevision".to_owned(), json!(self.held_revision));
        let generation = Some(self.generation);
        of.insert("Available".to_owned(), self.available.comparable(generation));
        of.insert("Progressing".to_owned(), self.progressing.comparable(generation));
        Value::Object(of)
    }

    /// The condition as [`fedhub_api::facts::workload::network_condition`] shows it.
    fn networks_comparable(&self) -> Value {
        let shown =
            |message: &String| told("True", says(NETWORK_NOT_FOUND.as_str(), message), Some(self.generation));
        self.networks.as_ref().map_or(Value::Null, shown)
    }

    /// The WD whose words it repeats, if it does, with their hash.
    pub fn quoted(&self) -> Option<(&str, u64)> {
        match &self.available.words {
            ConditionWords::Of { deployment, says } => Some((deployment, *says)),
            ConditionWords::Own { .. } => None,
        }
    }

    /// The whole status of `workload`: what others have written there stays. `quoted` is the reason and
    /// message of the WD that [`Self::quoted`] names.
    pub fn render(&self, workload: &Object, quoted: (&str, &str), now: Timestamp) -> Value {
        let old = workload.status();
        let mut status = if old.is_object() { old.clone() } else { json!({}) };
        let condition = |old: &Value, kind: &str, says: &Says| {
            let before = find(old, kind);
            let (reason, message) = match &says.words {
                ConditionWords::Own { reason, message } => (AnyReason::from(*reason), &**message),
                ConditionWords::Of { .. } => (AnyReason::parse(quoted.0), quoted.1),
            };
            stand(before, kind, says.status, reason, message, now)
        };
        let placement = |placement: &PlacementSummary| {
            let all = old["placements"].as_array().into_iter().flatten();
            let before = all.into_iter().find(|it| it["name"] == *placement.name).unwrap_or(&Value::Null);
            let mut new = if before.is_object() { before.clone() } else { json!({}) };
            new["name"] = json!(placement.name);
            set(&mut new, &placement.counters);
            put(&mut new, condition(before, "Available", &placement.available));
            new
        };
        status["placements"] = self.placements.iter().map(placement).collect();
        status["deployments"] = json!(self.deployments);
        status["observedGeneration"] = json!(self.generation);
        match (self.held_revision, status.as_object_mut()) {
            (None, Some(fields)) => drop(fields.remove("heldRevision")),
            (held, _) => status["heldRevision"] = json!(held),
        }
        set(&mut status, &self.counters);
        for (kind, says) in [("Available", &self.available), ("Progressing", &self.progressing)] {
            let mut condition = condition(old, kind, says);
            condition["observedGeneration"] = json!(self.generation);
            put(&mut status, condition);
        }
        let types =
            self.type_state.iter().flat_map(|state| TYPE_CONDITIONS.into_iter().zip(state.messages()));
        for (reason, message) in types.chain([(NETWORK_NOT_FOUND, self.networks.clone())]) {
            let Some(message) = message else {
                remove(&mut status, reason.as_str());
                continue;
            };
            let mut condition =
                stand(find(old, reason.as_str()), reason.as_str(), "True", reason, &message, now);
            condition["observedGeneration"] = json!(self.generation);
            put(&mut status, condition);
        }
        status
    }
}

/// Why a site has no WD, or its Instances do not run, by its reason.
struct Problem {
    reason: Reason,
    message: String,
}

/// Why nothing is done for a Workload that cannot be read.
fn unreadable(facts: &Workload) -> Option<Says> {
    if let Some(too_large) = facts.too_large() {
        return Some(Says::no(Reason::ObjectTooLarge, &format!("The Workload is not read: {too_large}")));
    }
    facts
        .placements
        .is_none()
        .then(|| {
            let message = format!(
                "The Workload's placements or its template cannot be read, or there are more than {MOST_PLACEMENTS} \
                 placements, or more than {MOST_CITIES} cities in one"
            );
            Says::no(Reason::ConfigurationError, &message)
        })
}

fn placement(name: &str, states: &[SiteState<'_>]) -> PlacementSummary {
    let mut sum = [0; 5];
    let placed: Vec<_> = states.iter().filter_map(SiteState::placed).collect();
    for placed in &placed {
        add(&mut sum, &placed.counters);
    }
    let available = if placed.iter().any(|placed| placed.available) {
        Says::yes(Reason::AvailableDeploymentFound, "At least one available deployment was found")
    } else if states.iter().all(|state| matches!(state, SiteState::Unplaceable | SiteState::InvalidCity)) {
        Says::no(Reason::NoMatchingLocations, "Nothing can be placed in the placement's cities")
    } else {
        Says::no(Reason::NoAvailableDeployments, "No deployment of the placement is available")
    };
    PlacementSummary { name: name.to_owned(), counters: sum, available }
}

fn available(
    placements: &[PlacementSummary],
    sites: &Sites<'_>,
    states: &[Vec<SiteState<'_>>],
    problems: &[Problem],
) -> Says {
    if placements.iter().any(|placement| placement.available.status == "True") {
        let message = available_message(problems.iter().map(|problem| problem.message.as_str()));
        return Says::yes(Reason::AvailablePlacementFound, message);
    }
    let blocked = states.iter().zip(sites).flat_map(|(states, (_, sites))| states.iter().zip(sites));
    let quoted = blocked.filter_map(|(state, site)| {
        let placed = state.placed().filter(|placed| !placed.available && placed.says != 0)?;
        let words = ConditionWords::Of { deployment: site.name.clone(), says: placed.says };
        Some((placed.priority, Says { status: "False", words }))
    });
    let own = problems.iter().map(|it| (it.reason.weight_in_workload(), Says::no(it.reason, &it.message)));
    let nothing = (0, Says::no(Reason::NoAvailablePlacements, "No placement is available"));
    // Strictly greater wins.
    let worst = |worst: (u8, Says), next: (u8, Says)| if next.0 > worst.0 { next } else { worst };
    quoted.chain(own).fold(nothing, worst).1
}

/// Returns why sites have no WD, and why all of them have no Instances.
fn problems(
    seen: &Snapshot,
    facts: &Workload,
    sites: &Sites<'_>,
    states: &[Vec<SiteState<'_>>],
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut unplaceable = Vec::new();
    for (site, state) in sites.iter().flat_map(|(_, sites)| sites).zip(states.iter().flatten()) {
        let city = Quoted(site.wanted.city);
        let (reason, message) = match state {
            SiteState::Placed(..) | SiteState::Missing | SiteState::Withheld => continue,
            SiteState::Unplaceable => {
                unplaceable.push(city.to_string());
                continue;
            }
            SiteState::InvalidCity => {
                (Reason::InvalidCityCode, format!("City code {city} is not a valid label value"))
            }
            SiteState::NameTaken => (Reason::DeploymentNameTaken, name_taken(&site.name)),
            SiteState::Duplicate => (
                Reason::ConfigurationError,
                format!("City code {city} makes a deployment of the same name as another one"),
            ),
            SiteState::Refused(refusal, _) => (refusal.reason, refusal.message.clone()),
        };
        problems.push(Problem { reason, message });
    }
    if seen.is_withdrawn() && states.iter().flatten().any(|state| state.placed().is_none()) {
        let message =
            format!("The service {} is not active in this project: no deployment is made", SERVICE_NAME.1);
        problems.push(Problem { reason: Reason::ServiceNotActive, message });
    }
    problems.extend(not_placed(seen.locations.by, &mut unplaceable));
    let networks = seen.networks.message(facts);
    problems.extend(networks.map(|message| Problem { reason: Reason::NetworkNotFound, message }));
    problems
}

fn not_placed(by: Authority, cities: &mut Vec<String>) -> Option<Problem> {
    cities.sort_unstable();
    cities.dedup();
    let names = named(cities)?;
    let why = match by {
        Authority::LocationBindings => "the project has no ready LocationBinding there",
        Authority::Cells if cities.len() > 1 => "no cell serves them",
        Authority::Cells => "no cell serves it",
    };
    Some(Problem {
        reason: Reason::NoMatchingLocations,
        message: format!("No new deployment in {names}: {why}"),
    })
}

/// The message of [`Reason::DeploymentNameTaken`].
pub fn name_taken(deployment: &str) -> String {
    format!("WorkloadDeployment {} is not of this Workload", Quoted(deployment))
}

fn add(sum: &mut [i64; 5], counters: &[i32; 5]) {
    for (sum, count) in sum.iter_mut().zip(counters) {
        *sum += i64::from(*count);
    }
}

fn numbers(numbers: &[i64; 5]) -> Map<String, Value> {
    counters(|counter| COUNTERS.iter().position(|it| *it == counter).map_or(0, |at| numbers[at]))
}

fn set(status: &mut Value, counters: &[i64; 5]) {
    for (counter, count) in COUNTERS.iter().zip(counters) {
        status[*counter] = json!(count);
    }
}

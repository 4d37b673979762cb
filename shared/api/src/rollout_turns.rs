//! How far each deployment is in a rollout over cities, and what it waits for, as the status of a
//! WorkloadRollout says it. Whatever shows a rollout reads it here.
//!
//! Nothing is decided here: the plan of the Workload controller has decided, and wrote it into that status.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use fedhub_core::clock::{parse_duration, stamp};
use fedhub_core::message::{Quoted, named};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::conditions::{find, said};
use crate::reason::{Reason, separated};
use crate::{
    RolloutAwaiting, RolloutCause, RolloutCity, RolloutCityState, RolloutDirection, RolloutGate,
    RolloutPlannedWave,
};

/// What the plan of a rollout says of each deployment.
#[derive(Clone, Debug, PartialEq)]
pub struct RolloutTurns {
    /// The revision that the rollout goes to.
    pub target: Option<i64>,
    waves: Vec<RolloutPlannedWave>,
    cities: BTreeMap<String, RolloutCity>,
    awaiting: Option<RolloutAwaiting>,
    direction: Option<RolloutDirection>,
    reason: Option<Reason>,
    message: String,
    is_external: bool,
}

/// What a deployment waits for before it gets another revision.
#[derive(Clone, Debug, PartialEq)]
pub enum RolloutWait {
    /// These cities have to become healthy first.
    Cities(Vec<String>),
    /// This city is healthy, and has to stay so until then.
    Soak {
        /// The code of the city.
        city: String,
        /// When it is complete, unless it fails before.
        until: Timestamp,
    },
    /// The cells of these cities cannot be reached, and the rollout waits for them.
    CellsAway(Vec<String>),
    /// The cell of the deployment itself cannot be reached.
    CellAway,
    /// A gate of a wave requires approval.
    Approval(RolloutAwaiting),
    /// Another controller assigns revisions, and has not assigned a newer one.
    Assignment,
    /// The rollout is paused.
    Paused,
    /// Too many cities failed: no other one starts.
    Failed(Option<Failed>),
    /// Too many cities failed: each returned to its last good revision.
    RolledBack(Option<Failed>),
    /// The rollout was aborted.
    Aborted,
    /// The WorkloadRollout cannot be followed, as the message says.
    Invalid(String),
}

/// A city that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct Failed {
    /// The code of the city.
    pub city: String,
    /// Why.
    pub cause: RolloutCause,
}

impl RolloutTurns {
    /// Reads the spec and the status of a WorkloadRollout. What cannot be read of it counts as not there.
    pub fn read(spec: &Value, status: &Value) -> Self {
        let (_, reason, message) = find(status, "Progressing").map_or(("", "", ""), said);
        Self {
            target: status["targetRevision"].as_i64(),
            waves: items(&status["plan"]).collect(),
            cities: items(&status["cities"])
                .map(|city: RolloutCity| (city.deployment.clone(), city))
                .collect(),
            awaiting: RolloutAwaiting::deserialize(&status["awaiting"]).ok(),
            direction: RolloutDirection::deserialize(&status["direction"]).ok(),
            reason: Reason::parse(reason),
            message: message.to_owned(),
            is_external: spec["strategy"] == "External",
        }
    }

    /// What the plan says of a deployment; `None` where the plan does not have it.
    pub fn city(&self, deployment: &str) -> Option<&RolloutCity> {
        self.cities.get(deployment)
    }

    /// All that the plan has, in its order.
    pub fn cities(&self) -> impl Iterator<Item = &RolloutCity> {
        self.waves.iter().flat_map(|wave| &wave.deployments).filter_map(|name| self.cities.get(name))
    }

    /// What the deployment waits for; `None` where it does not wait.
    pub fn wait(&self, deployment: &str) -> Option<RolloutWait> {
        match self.reason {
            Some(Reason::InvalidRollout) => return Some(RolloutWait::Invalid(self.message.clone())),
            // One that is paused by its Workload alone has no plan.
            Some(Reason::RolloutPaused) if self.cities.is_empty() => return Some(RolloutWait::Paused),
            _ => {}
        }
        let city = self.city(deployment)?;
        match self.direction {
            Some(RolloutDirection::Abort) => return Some(RolloutWait::Aborted),
            Some(RolloutDirection::Back) if city.revision != self.target => {
                return Some(RolloutWait::RolledBack(self.failed()));
            }
            Some(RolloutDirection::Back | RolloutDirection::Forward) | None => {}
        }
        match city.state {
            RolloutCityState::Waiting => Some(self.before(city)),
            RolloutCityState::Skipped => Some(RolloutWait::CellAway),
            RolloutCityState::Updating
            | RolloutCityState::Soaking
            | RolloutCityState::Complete
            | RolloutCityState::Failed => None,
        }
    }

    /// What has to be done before the turn of this city.
    fn before(&self, city: &RolloutCity) -> RolloutWait {
        match (self.reason, &self.awaiting) {
            (Some(Reason::RolloutPaused), _) => return RolloutWait::Paused,
            (Some(Reason::CityFailed), _) => return RolloutWait::Failed(self.failed()),
            (_, Some(awaiting)) => return RolloutWait::Approval(awaiting.clone()),
            _ if self.is_external => return RolloutWait::Assignment,
            _ => {}
        }
        let last = self.waves.iter().position(|wave| wave.name == city.wave).map_or(0, |at| at + 1);
        let mut ahead = Vec::new();
        let mut soaking = Vec::new();
        let mut away = Vec::new();
        for wave in &self.waves[..last] {
            for it in wave.deployments.iter().filter_map(|name| self.cities.get(name)) {
                match it.state {
                    RolloutCityState::Soaking => soaking.extend(soaks_until(wave, it)),
                    RolloutCityState::Updating => ahead.push(it.city.clone()),
                    RolloutCityState::Skipped => away.push(it.city.clone()),
                    RolloutCityState::Waiting | RolloutCityState::Complete | RolloutCityState::Failed => {}
                }
            }
        }
        // The end of a soak is known, that of an update is not: then the time says nothing.
        match soaking.into_iter().max_by_key(|(_, until)| *until) {
            Some((city, until)) if ahead.is_empty() => RolloutWait::Soak { city, until },
            _ if ahead.is_empty() && !away.is_empty() => RolloutWait::CellsAway(away),
            _ => RolloutWait::Cities(ahead),
        }
    }

    /// The city that failed first.
    fn failed(&self) -> Option<Failed> {
        let failed = self.cities.values().filter(|city| city.cause.is_some());
        // On the way back, the city that failed is in another state, and keeps its cause.
        let first =
            failed.min_by_key(|city| (city.state != RolloutCityState::Failed, city.since.as_str()))?;
        Some(Failed { city: first.city.clone(), cause: first.cause.clone()? })
    }
}

fn items<'a, T: Deserialize<'a>>(list: &'a Value) -> impl Iterator<Item = T> {
    list.as_array().into_iter().flatten().filter_map(|item| T::deserialize(item).ok())
}

/// A city that soaks, and when it is complete.
fn soaks_until(wave: &RolloutPlannedWave, city: &RolloutCity) -> Option<(String, Timestamp)> {
    let soak = wave.soak.as_deref().map_or(Some(Duration::ZERO), |text| parse_duration(text).ok())?;
    let until = city.since.parse::<Timestamp>().ok()?.checked_add(soak).ok()?;
    Some((city.city.clone(), until))
}

impl RolloutWait {
    /// The reason of a condition that stands for it: who has to act, and how.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Cities(_) | Self::Soak { .. } | Self::CellsAway(_) | Self::Assignment => {
                Reason::WaveInProgress
            }
            Self::CellAway => Reason::CellUnreachable,
            Self::Approval(_) => Reason::RolloutAwaitingApproval,
            Self::Paused => Reason::RolloutPaused,
            Self::Failed(_) => Reason::CityFailed,
            Self::RolledBack(_) => Reason::RolloutRolledBack,
            Self::Aborted => Reason::RolloutAborted,
            Self::Invalid(_) => Reason::InvalidRollout,
        }
    }
}

/// As the rest of a sentence about the deployment: `waits until "DFW" is healthy on the new revision`.
impl fmt::Display for RolloutWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cities(cities) => match quoted(cities) {
                Some(names) => {
                    let verb = if cities.len() > 1 { "are" } else { "is" };
                    write!(f, "waits until {names} {verb} healthy on the new revision")
                }
                None => f.write_str("waits for the next pass of the rollout"),
            },
            Self::Soak { city, until } => {
                write!(f, "waits until {} has stayed healthy, at {}", Quoted(city), stamp(*until))
            }
            Self::CellsAway(cities) => {
                let names = quoted(cities).unwrap_or_default();
                write!(f, "waits until the cell of {names} can be reached")
            }
            Self::CellAway => f.write_str("is passed over until its cell can be reached"),
            Self::Approval(RolloutAwaiting { wave, gate }) => {
                let side = match gate {
                    RolloutGate::Before => "before its first city",
                    RolloutGate::After => "after its last city",
                };
                write!(f, "waits until the wave {} is approved {side}", Quoted(wave))
            }
            Self::Assignment => f.write_str("waits until the external controller assigns another revision"),
            Self::Paused => f.write_str("keeps its revision while the rollout is paused"),
            Self::Failed(failed) => {
                f.write_str("keeps its revision, since the rollout has stopped")?;
                by(f, failed.as_ref())
            }
            Self::RolledBack(failed) => {
                f.write_str("returns to its last good revision, since the rollout turned back")?;
                by(f, failed.as_ref())
            }
            Self::Aborted => {
                f.write_str("gets the same revision as all cities, since the rollout was aborted")
            }
            Self::Invalid(message) => write!(f, "keeps its revision: {}", separated("", message).what),
        }
    }
}

fn by(f: &mut fmt::Formatter<'_>, failed: Option<&Failed>) -> fmt::Result {
    let Some(Failed { city, cause: RolloutCause { reason, message } }) = failed else { return Ok(()) };
    write!(f, ": {} failed by {reason}: {}", Quoted(city), separated(reason, message).what)
}

fn quoted(cities: &[String]) -> Option<String> {
    named(&cities.iter().map(|city| Quoted(city).to_string()).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SINCE: &str = "2026-01-02T12:00:00Z";

    /// Two waves: DFW and LHR, then ORD, which waits.
    fn status(reason: &str, first: &str, second: &str) -> Value {
        let city = |city: &str, wave: &str, state: &str, revision: u64| {
            json!({
                "deployment": city.to_lowercase(), "city": city, "wave": wave, "state": state,
                "revision": revision, "since": SINCE,
            })
        };
        json!({
            "targetRevision": 2, "direction": "Forward",
            "plan": [
                {"name": "canary", "deployments": ["dfw", "lhr"], "soak": "5m"},
                {"name": "rest", "deployments": ["ord"]},
            ],
            "cities": [
                city("DFW", "canary", first, 2), city("LHR", "canary", second, 2), city("ORD", "rest", "Waiting", 1),
            ],
            "conditions": [{"type": "Progressing", "status": "True", "reason": reason, "message": "in words"}],
        })
    }

    fn said(spec: &Value, status: &Value, deployment: &str) -> Option<String> {
        RolloutTurns::read(spec, status).wait(deployment).map(|wait| wait.to_string())
    }

    #[test]
    fn r3_r4_a_wait_names_what_is_before_the_city_and_nothing_that_comes_after() {
        let none = json!({});
        for (first, second, waits) in [
            ("Updating", "Complete", "waits until \"DFW\" is healthy on the new revision"),
            ("Updating", "Updating", "waits until \"DFW\", \"LHR\" are healthy on the new revision"),
            ("Updating", "Soaking", "waits until \"DFW\" is healthy on the new revision"),
            ("Soaking", "Skipped", "waits until \"DFW\" has stayed healthy, at 2026-01-02T12:05:00Z"),
            ("Complete", "Skipped", "waits until the cell of \"LHR\" can be reached"),
            ("Complete", "Failed", "waits for the next pass of the rollout"),
        ] {
            let status = status("WaveInProgress", first, second);
            assert_eq!(said(&none, &status, "ord").as_deref(), Some(waits), "{first}, {second}");
            assert_eq!(said(&none, &status, "other"), None);
        }
        let status = status("WaveInProgress", "Updating", "Skipped");
        assert_eq!(said(&none, &status, "dfw"), None, "it is under way");
        assert_eq!(
            said(&none, &status, "lhr").as_deref(),
            Some("is passed over until its cell can be reached")
        );
    }

    #[test]
    fn r3_r6_r7_what_stops_a_rollout_comes_before_what_is_under_way() {
        let none = json!({});
        let mut awaiting = status("WaveInProgress", "Complete", "Complete");
        awaiting["awaiting"] = json!({"wave": "rest", "gate": "Before"});
        for (spec, status, reason) in [
            (&none, awaiting, Reason::RolloutAwaitingApproval),
            (&none, status("RolloutPaused", "Updating", "Waiting"), Reason::RolloutPaused),
            (&none, status("CityFailed", "Failed", "Updating"), Reason::CityFailed),
            (&none, status("InvalidRollout", "Updating", "Waiting"), Reason::InvalidRollout),
            (
                &json!({"strategy": "External"}),
                status("WaveInProgress", "Waiting", "Waiting"),
                Reason::WaveInProgress,
            ),
        ] {
            let wait = RolloutTurns::read(spec, &status).wait("ord").unwrap();
            assert_eq!(wait.reason(), reason, "{wait:?}");
        }
        for (direction, reason) in [("Back", Reason::RolloutRolledBack), ("Abort", Reason::RolloutAborted)] {
            let mut status = status("WaveInProgress", "Updating", "Waiting");
            status["direction"] = json!(direction);
            assert_eq!(RolloutTurns::read(&none, &status).wait("ord").unwrap().reason(), reason);
        }
    }

    /// Tenants may write anything there.
    #[test]
    fn i15_what_cannot_be_read_counts_as_not_there() {
        for status in [json!(null), json!({"cities": 5, "plan": "x", "awaiting": [], "conditions": {}})] {
            let turns = RolloutTurns::read(&json!("x"), &status);
            assert_eq!((turns.wait("dfw"), turns.cities().count(), turns.target), (None, 0, None));
        }
        let mut status = status("WaveInProgress", "Soaking", "Complete");
        status["plan"][0]["soak"] = json!("999999999999999h");
        status["cities"][0]["since"] = json!("tomorrow");
        assert!(RolloutTurns::read(&json!({}), &status).wait("ord").is_some());
    }
}

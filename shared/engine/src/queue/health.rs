//! The health of planes, as reconciles learn it from responses, and its effect on the schedule.

use fedhub_core::object::{Key, PlaneId};
use fedhub_planes::PlaneResponses;
use fedhub_planes::registry::pump::outages::Recovery;
use rand::Rng;
use tokio::time::Instant;

use super::job::Learned;
use super::lane::{Alarm, KeyState};
use super::scheduler::{Mode, Scheduler};
use crate::circuit::Circuit;

/// The name of the project planes together in logs: a queue knows no servers.
const PROJECTS: &str = "projects";

impl Scheduler {
    /// Learns from the responses that the reconcile of a key got from planes.
    pub fn learn(
        &mut self,
        key: &Key,
        lane: &PlaneId,
        began: Instant,
        responses: &PlaneResponses,
        now: Instant,
    ) -> Learned {
        let nothing = Learned { interrupted: false, news: true };
        if self.mode == Mode::Held {
            return nothing;
        }
        let unhealthy = responses.unhealthy.as_ref();
        if responses.hub && unhealthy != Some(&PlaneId::Hub) {
            self.hub_answered(now);
        }
        // A key that was put into the hub's lane before its tenant was known says nothing of a plane.
        if responses.answered(lane) && unhealthy != Some(lane) && *lane != PlaneId::Hub {
            self.mark_healthy(lane, now);
        }
        match unhealthy {
            Some(PlaneId::Hub) => self.hub_failed(key, lane, began),
            Some(plane) if plane == lane => self.plane_failed(key, plane, began, now),
            _ => nothing,
        }
    }

    /// The plane of a lane failed the reconcile of one of its keys.
    fn plane_failed(&mut self, key: &Key, plane: &PlaneId, began: Instant, now: Instant) -> Learned {
        let first_of_key = self.entries.get(key).is_none_or(|entry| entry.failures == 0);
        let chance = self.rng.random_range(0.0..=1.0);
        let Some(before) = self.lanes.get(plane).map(|lane| lane.circuit) else {
            return Learned { interrupted: false, news: true };
        };
        let circuit = self.update_circuit(plane, |circuit| circuit.failed(began, now, chance));
        let interrupted = circuit.interrupts();
        let news = (before.is_well() || (first_of_key && !interrupted))
            && self.failing(plane, "failed", now).is_some();
        if interrupted && !before.interrupts() {
            let retry_in = circuit.until().map(|until| until - now);
            match self.failing(plane, "circuit_open", now) {
                Some(planes) => tracing::warn!(controller = self.controller, %plane, planes, ?retry_in,
                    "circuit breaker opened"),
                None => {
                    tracing::debug!(controller = self.controller, %plane, ?retry_in, "circuit breaker opened");
                }
            }
        }
        Learned { interrupted, news }
    }

    /// The number of project planes that have failed this way, where a log line is due; for other planes one
    /// always is.
    fn failing(&mut self, plane: &PlaneId, how: &str, now: Instant) -> Option<usize> {
        match plane {
            PlaneId::Project(_) => self.outages.failed(PROJECTS, plane, how, now),
            PlaneId::Hub | PlaneId::Cell | PlaneId::Management => Some(1),
        }
    }

    /// A plane has recovered, or was disengaged.
    pub fn recovered(&mut self, plane: &PlaneId, now: Instant) {
        if let Some(Recovery { planes, failing, after }) = self.outages.recovered(PROJECTS, plane, now) {
            tracing::info!(controller = self.controller, %plane, planes, failing, ?after, "planes recovered");
        }
    }

    pub fn mark_healthy(&mut self, plane: &PlaneId, now: Instant) {
        if *plane == PlaneId::Hub {
            return self.hub_answered(now);
        }
        self.recovered(plane, now);
        let Some(before) = self.lanes.get(plane).map(|lane| lane.circuit).filter(|c| !c.is_well()) else {
            return;
        };
        self.update_circuit(plane, |circuit| circuit.answered(now));
        if before.interrupts() && !matches!(plane, PlaneId::Project(_)) {
            tracing::info!(controller = self.controller, %plane, "circuit breaker closed");
        }
        self.line_up(plane);
    }

    /// Changes the circuit of a lane, and its alarm with it. Returns what it is now.
    pub fn update_circuit(&mut self, plane: &PlaneId, change: impl FnOnce(&mut Circuit)) -> Circuit {
        let Some(lane) = self.lanes.get_mut(plane) else { return Circuit::default() };
        let before = lane.circuit.until();
        change(&mut lane.circuit);
        let after = lane.circuit.until();
        if before != after {
            if let Some(at) = before {
                self.timers.remove(&(at, Alarm::Circuit(plane.clone())));
            }
            if let Some(at) = after {
                self.timers.insert((at, Alarm::Circuit(plane.clone())));
            }
        }
        lane.circuit
    }

    /// Timers that are due make their keys ready, and their circuits half open.
    pub fn ripen(&mut self, now: Instant) {
        while self.timers.first().is_some_and(|(at, _)| *at <= now) {
            match self.timers.pop_first() {
                Some((_, Alarm::Key(key))) => {
                    if let Some(entry) = self.entries.get_mut(&key) {
                        entry.timer = None;
                        if entry.failures == 0 && entry.state != KeyState::Paced {
                            entry.since = now;
                        }
                        self.ready(key, now);
                    }
                }
                Some((_, Alarm::Add(key))) => {
                    self.later.remove(&key);
                    let lane = key.plane.clone();
                    self.add(key, &lane, true, now);
                }
                // The next turn comes with the next who takes a key.
                Some((_, Alarm::Hub)) => {}
                Some((_, Alarm::Circuit(plane))) => {
                    self.update_circuit(&plane, |circuit| circuit.ripen(now));
                    self.line_up(&plane);
                }
                None => return,
            }
        }
    }

    /// When the next timer is due.
    pub fn alarm(&self) -> Option<Instant> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Whether there may be more for a worker, now or later.
    pub fn more(&self) -> bool {
        !self.line.is_empty() || !self.timers.is_empty()
    }
}

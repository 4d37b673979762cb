//! The health of planes, as reconciles learn it from responses, and its effect on the schedule.

use fedhub_core::object::{Key, PlaneId};
use fedhub_planes::outages::Recovery;
use fedhub_planes::plane_responses::PlaneResponses;
use rand::Rng;
use tokio::time::Instant;

use super::job::Learned;
use super::lane::{Alarm, Position, State};
use super::scheduler::{Mode, Scheduler};
use crate::circuit::{Circuit, Stance};

/// What the project planes are together, for what is logged of them: a queue knows no servers.
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
        if responses.hub && responses.unhealthy != Some(PlaneId::Hub) {
            self.mark_healthy(&PlaneId::Hub, now);
        }
        // A key that was put into the hub's lane before its tenant was known says nothing of a plane.
        if responses.answered(lane) && responses.unhealthy.as_ref() != Some(lane) && *lane != PlaneId::Hub {
            self.mark_healthy(lane, now);
        }
        let Some(plane) = &responses.unhealthy else { return nothing };
        let may_open = if *plane == PlaneId::Hub { self.hub_failed(key, lane) } else { plane == lane };
        let chance = self.rng.random_range(0.0..=1.0);
        let before = self.circuit(plane).is_some_and(Circuit::interrupts);
        let first = self.circuit(plane).is_none_or(|circuit| circuit.stance() == Stance::Closed);
        let first_of_key = self.entries.get(key).is_none_or(|entry| entry.failures == 0);
        self.update_circuit(plane, |circuit| circuit.failed(began, now, chance, may_open));
        let Some(circuit) = self.circuit(plane) else { return nothing };
        let interrupted = circuit.interrupts();
        let retry_in = circuit.until().map(|until| until - now);
        let mut news = first || (first_of_key && !interrupted);
        if news {
            news = self.failing(plane, "failed", now).is_some();
        }
        if interrupted && !before {
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

    /// The number of project planes that have failed this way, where a log line is due; for other planes one always is.
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
            self.hub_answered(now);
        }
        self.recovered(plane, now);
        let Some(circuit) = self.circuit(plane).filter(|c| c.stance() != Stance::Closed) else { return };
        let interrupted = circuit.interrupts();
        self.update_circuit(plane, |circuit| circuit.answered(now));
        if interrupted && !matches!(plane, PlaneId::Project(_)) {
            tracing::info!(controller = self.controller, %plane, "circuit breaker closed");
        }
        // While it was unhealthy it may have waited for another unhealthy one.
        self.back_in_line(plane, Position::Unhealthy);
        self.line_up(plane);
    }

    /// The hub's, also for the lane of keys that are the hub's alone.
    fn circuit(&self, plane: &PlaneId) -> Option<&Circuit> {
        if *plane == PlaneId::Hub { Some(&self.hub) } else { self.lanes.get(plane).map(|lane| &lane.circuit) }
    }

    /// Changes a circuit, and its alarm with it.
    pub fn update_circuit(&mut self, plane: &PlaneId, change: impl FnOnce(&mut Circuit)) {
        let circuit = if *plane == PlaneId::Hub {
            &mut self.hub
        } else {
            let Some(lane) = self.lanes.get_mut(plane) else { return };
            &mut lane.circuit
        };
        let before = circuit.until();
        change(circuit);
        let after = circuit.until();
        if before != after {
            if let Some(at) = before {
                self.timers.remove(&(at, Alarm::Circuit(plane.clone())));
            }
            if let Some(at) = after {
                self.timers.insert((at, Alarm::Circuit(plane.clone())));
            }
        }
    }

    /// Timers that are due make their keys ready, and their circuits half open.
    pub fn ripen(&mut self, now: Instant) {
        while self.timers.first().is_some_and(|(at, _)| *at <= now) {
            match self.timers.pop_first() {
                Some((_, Alarm::Key(key))) => {
                    if let Some(entry) = self.entries.get_mut(&key) {
                        entry.timer = None;
                        if entry.failures == 0 && entry.state != State::Paced {
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
                Some((_, Alarm::Hub)) => self.awaiting.alarm = None,
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

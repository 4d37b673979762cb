//! Keys that need the hub while it fails.
//!
//! Whether a key needs the hub is known only when its pass asks for something there. So while the hub's circuit is open
//! every key has its turn, and a pass that asks is held back: its key waits here, and those that need nothing of the hub
//! do not wait at all (I8).
//!
//! Two things end the wait. When the circuit is half open one key tries, of those first that have before. And a key that the hub has not failed yet need
//! not wait for that: every [`APART`] one of them tries, those first whose planes the hub has failed in nothing, one of
//! each plane at a time. So where the hub fails on some objects only, what it would take is taken, whatever becomes of
//! those; and a hub that is down is asked twice a second at most.

use std::collections::BTreeSet;
use std::time::Duration;

use fedhub_core::object::{Key, PlaneId};
use tokio::time::Instant;

use super::awaiting::Awaiting;
use super::lane::{Alarm, State};
use super::scheduler::Scheduler;
use crate::circuit::{Stance, THRESHOLD};

/// Between two tries of keys that the hub has not failed yet.
const APART: Duration = Duration::from_millis(500);

impl Scheduler {
    /// The hub failed the reconcile of a key of that lane. Returns whether that may open its circuit: as many objects as
    /// open one have failed in a row, so that it is not a few of them.
    pub fn hub_failed(&mut self, key: &Key, lane: &PlaneId) -> bool {
        self.awaiting.failed_planes.insert(lane.clone());
        if self.awaiting.failed.len() < THRESHOLD as usize {
            self.awaiting.failed.insert(key.clone());
        }
        if let Some(entry) = self.entries.get_mut(key) {
            entry.hub_failed = true;
        }
        self.awaiting.failed.len() >= THRESHOLD as usize
    }

    /// The hub answered: all keys that wait for it are ready.
    pub fn hub_answered(&mut self, now: Instant) {
        let awaiting = &mut self.awaiting;
        awaiting.failed.clear();
        awaiting.failed_planes.clear();
        let mut keys = std::mem::take(&mut awaiting.fresh);
        keys.append(&mut awaiting.tried);
        for key in keys.into_values() {
            self.ready(key, now);
        }
    }

    /// Forgets the health of the hub and the keys that wait for it.
    pub fn forget_hub(&mut self) {
        self.awaiting = Awaiting::default();
    }

    /// The key needs the hub, and waits until it may try it. Where the circuit has closed meanwhile, it need not.
    pub fn await_hub(&mut self, key: &Key, now: Instant) {
        let Some(entry) = self.entries.get_mut(key).filter(|_| self.hub.interrupts()) else {
            return self.ready(key.clone(), now);
        };
        let place = self.awaiting.next;
        self.awaiting.next += 1;
        entry.state = State::AwaitsHub(place);
        let line = if entry.hub_failed { &mut self.awaiting.tried } else { &mut self.awaiting.fresh };
        line.insert(place, key.clone());
    }

    /// Lets the next key try the hub, when it is time.
    pub fn try_hub(&mut self, now: Instant) {
        let waits = self.awaiting.not_before.is_some_and(|at| at > now);
        if !self.hub.interrupts() || self.awaiting.len() == 0 {
            return;
        }
        let half_open = self.hub.stance() == Stance::HalfOpen;
        if !waits {
            // Also where none may try just now: looking through all of them costs more than a pass that is held back.
            self.awaiting.not_before = Some(now + APART);
            let probe = half_open && !self.awaiting.is_probed();
            let next = if probe { self.tried().or_else(|| self.fresh()) } else { self.fresh() };
            if let Some((place, key)) = next.filter(|_| self.awaiting.trying.len() < self.unhealthy_share()) {
                self.let_try(place, key, probe, now);
            }
        }
        if (half_open || !self.awaiting.fresh.is_empty()) && self.awaiting.alarm.is_none() {
            self.awaiting.alarm = self.awaiting.not_before;
            self.timers.extend(self.awaiting.alarm.map(|at| (at, Alarm::Hub)));
        }
    }

    /// The key that waits for longest of those that the hub has failed.
    fn tried(&self) -> Option<(u64, Key)> {
        let mut tried = self.awaiting.tried.iter();
        tried.find(|(_, key)| self.plane_is_well(key)).map(|(place, key)| (*place, key.clone()))
    }

    /// The next key of those that the hub has not failed.
    fn fresh(&self) -> Option<(u64, Key)> {
        let lane = |key: &Key| self.entries.get(key).map(|entry| &entry.lane);
        let trying: BTreeSet<_> = self.awaiting.trying.keys().filter_map(lane).collect();
        let may = |key: &Key| self.plane_is_well(key) && lane(key).is_some_and(|lane| !trying.contains(lane));
        let failed = |key: &Key| lane(key).is_some_and(|lane| self.awaiting.failed_planes.contains(lane));
        let candidates = self.awaiting.fresh.iter().filter(|(_, key)| may(key));
        candidates.min_by_key(|(place, key)| (failed(key), **place)).map(|(place, key)| (*place, key.clone()))
    }

    /// Whether the key's own plane is not in its way.
    fn plane_is_well(&self, key: &Key) -> bool {
        let lane = self.entries.get(key).and_then(|entry| self.lanes.get(&entry.lane));
        lane.is_some_and(|lane| lane.circuit.stance() == Stance::Closed)
    }

    fn let_try(&mut self, place: u64, key: Key, probe: bool, now: Instant) {
        self.awaiting.remove(place);
        let Some(entry) = self.entries.get_mut(&key) else { return };
        (entry.state, entry.ready_at) = (State::Ready, now);
        let id = entry.lane.clone();
        self.awaiting.trying.insert(key.clone(), probe);
        self.lanes.entry(id.clone()).or_default().push_first(key);
        self.line_up(&id);
    }
}

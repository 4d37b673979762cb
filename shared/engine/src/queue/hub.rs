//! Keys that need the hub while it fails.
//!
//! Whether a key needs the hub is known only when its pass asks for something there. So while the hub fails
//! every key has its turn, and a pass that asks is held back: its key waits here, and those that need nothing
//! of the hub do not wait at all (I8). One of those that wait may ask every [`APART`], one of each plane at a
//! time, first those of planes that the hub has failed in nothing: where it fails on some objects only, what
//! it would take is taken, whatever becomes of those. Keys that the hub has failed ask again when no other
//! does, ever more rarely. Its first answer ends this.

use std::time::Duration;

use fedhub_core::object::{Key, PlaneId};
use tokio::time::Instant;

use super::hub_access::HubAccess;
use super::job::Learned;
use super::lane::{Alarm, KeyState};
use super::scheduler::Scheduler;
use crate::circuit::LONGEST;

/// The least time between two keys that may ask the hub while it fails.
const APART: Duration = Duration::from_millis(500);

impl Scheduler {
    /// The hub failed a pass over a key of that lane.
    pub fn hub_failed(&mut self, key: &Key, lane: &PlaneId, began: Instant) -> Learned {
        let first_of_key = self.entries.get(key).is_none_or(|entry| entry.failures == 0);
        let first = self.hub.failed.is_empty();
        let before = self.hub.is_out();
        if self.hub.back.is_none_or(|back| began >= back) {
            self.hub.failed_lanes.insert(lane.clone());
            if !before {
                self.hub.failed.insert(key.clone());
            }
        }
        let interrupted = self.hub.is_out();
        if interrupted && !before {
            tracing::warn!(controller = self.controller, plane = %PlaneId::Hub, retry_in = ?APART,
                "circuit breaker opened");
        }
        Learned { interrupted, news: first || (first_of_key && !interrupted) }
    }

    /// The hub answered: all keys that wait for it are ready.
    pub fn hub_answered(&mut self, now: Instant) {
        let was_out = self.hub.is_out();
        self.hub.failed.clear();
        self.hub.failed_lanes.clear();
        if !was_out {
            return;
        }
        tracing::info!(controller = self.controller, plane = %PlaneId::Hub, "circuit breaker closed");
        self.hub = HubAccess { back: Some(now), ..HubAccess::default() };
        let mut waiting = Vec::new();
        for lane in self.lanes.values_mut() {
            lane.queued_for_hub = false;
            waiting.extend(std::mem::take(&mut lane.awaits_hub).into_values());
        }
        for key in waiting {
            self.ready(key, now);
        }
    }

    /// The key needs the hub, which has failed it or was not asked, and waits until it may ask. Where the hub
    /// has answered meanwhile, it need not.
    pub fn await_hub(&mut self, key: &Key, failed: bool, now: Instant) {
        let Some(entry) = self.entries.get_mut(key).filter(|_| self.hub.is_out()) else {
            return self.ready(key.clone(), now);
        };
        self.hub.places += 1;
        let place = (failed, self.hub.places);
        entry.state = KeyState::AwaitsHub(place);
        let id = entry.lane.clone();
        self.lanes.entry(id.clone()).or_default().awaits_hub.insert(place, key.clone());
        self.line_up_for_hub(&id);
    }

    /// The pass over a key that may have asked the hub has ended.
    pub fn asked_hub(&mut self, key: &Key, lane: &PlaneId) {
        if self.hub.asking.get(lane) == Some(key) {
            self.hub.asking.remove(lane);
            self.line_up_for_hub(lane);
        }
    }

    /// Puts a lane into the line of those that wait for the hub, if it has a key that does and none that
    /// asks.
    fn line_up_for_hub(&mut self, id: &PlaneId) {
        let Some(lane) = self.lanes.get_mut(id) else { return };
        if lane.awaits_hub.is_empty() || lane.queued_for_hub || self.hub.asking.contains_key(id) {
            return;
        }
        lane.queued_for_hub = true;
        if self.hub.failed_lanes.contains(id) {
            self.hub.line.push_back(id.clone());
        } else {
            self.hub.line.push_front(id.clone());
        }
    }

    /// Lets the next key ask the hub, when it is time.
    pub fn let_one_ask(&mut self, now: Instant) {
        if self.hub.line.is_empty() {
            return;
        }
        if let Some(at) = self.hub.next_at.filter(|at| *at > now) {
            self.timers.insert((at, Alarm::Hub));
            return;
        }
        // This is set even if no key may ask just now: looking through all lanes costs more than a pass that
        // is held back.
        self.hub.next_at = Some(now + APART);
        self.timers.insert((now + APART, Alarm::Hub));
        if self.hub.asking.len() >= self.probes() {
            return;
        }
        let again = self.hub.again_at.is_none_or(|at| at <= now);
        // A lane whose own plane is in the way has its turn later.
        let may_ask = |id: &PlaneId| {
            let lane = self.lanes.get(id).filter(|lane| !lane.circuit.interrupts());
            let first = lane.and_then(|lane| lane.awaits_hub.first_key_value());
            first.is_some_and(|((failed, _), _)| again || !failed)
        };
        let next = self.hub.line.iter().position(may_ask).and_then(|at| self.hub.line.remove(at));
        let Some((id, lane)) = next.and_then(|id| self.lanes.get_mut(&id).map(|lane| (id, lane))) else {
            return;
        };
        lane.queued_for_hub = false;
        let Some(((failed, _), key)) = lane.awaits_hub.pop_first() else { return };
        lane.push_first(key.clone());
        if let Some(entry) = self.entries.get_mut(&key) {
            (entry.state, entry.ready_at) = (KeyState::Ready, now);
        }
        if failed {
            let wait = APART.saturating_mul(2u32.saturating_pow(self.hub.again)).min(LONGEST);
            self.hub.again_at = Some(now + wait);
            self.hub.again = self.hub.again.saturating_add(1);
        }
        self.hub.asking.insert(id.clone(), key);
        self.line_up(&id);
    }
}

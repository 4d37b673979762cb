//! Which keys may ask the hub while it fails, see [`hub`](super::hub).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use fedhub_core::object::{Key, PlaneId};
use tokio::time::Instant;

use crate::circuit::THRESHOLD;

/// The hub's failures, and the keys that take turns to ask it.
#[derive(Default)]
pub(super) struct HubAccess {
    /// Keys that it has failed since it last answered, no more than it takes to be out: one or two objects
    /// that it chokes on meet their own back-off.
    pub failed: BTreeSet<Key>,
    /// Lanes of which it has failed a key since then.
    pub failed_lanes: BTreeSet<PlaneId>,
    /// When it came back. What began before that says nothing.
    pub back: Option<Instant>,
    /// The number of the last key that began to wait for it.
    pub places: u64,
    /// Lanes with keys that wait for it, in the order of their turns, but for those of which one asks.
    pub line: VecDeque<PlaneId>,
    /// Keys that may ask, until their passes end.
    pub asking: BTreeMap<PlaneId, Key>,
    /// When the next one may.
    pub next_at: Option<Instant>,
    /// When one may that it has failed, and how many have asked again so far.
    pub again_at: Option<Instant>,
    pub again: u32,
}

impl HubAccess {
    /// Whether it fails as a whole, so that keys wait for it.
    pub fn is_out(&self) -> bool {
        self.failed.len() >= THRESHOLD as usize
    }

    /// Whether a pass over that key may ask it.
    pub fn admits(&self, key: &Key, lane: &PlaneId) -> bool {
        !self.is_out() || self.asking.get(lane) == Some(key)
    }

    /// Removes a lane of which no key waits for the hub any more; `runs` says whether a key's pass is under
    /// way.
    pub fn forget(&mut self, lane: &PlaneId, runs: impl FnOnce(&Key) -> bool) {
        self.line.retain(|id| id != lane);
        if self.asking.get(lane).is_some_and(|key| !runs(key)) {
            self.asking.remove(lane);
        }
    }
}

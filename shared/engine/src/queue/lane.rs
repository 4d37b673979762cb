//! The queue's entry of a key that is not in sync, and its lane: those of one plane.

use std::collections::VecDeque;
use std::time::Duration;

use fedhub_core::object::{Key, PlaneId};
use tokio::time::Instant;

use crate::circuit::Circuit;

/// For how long a lane that was full counts as behind.
const RECENTLY: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Known only for its back-off or its age.
    Idle,
    /// It changed again, but has written too often just now.
    Paced,
    Ready,
    /// It needs the hub, which fails: the number of its place among those that do.
    AwaitsHub(u64),
    Running {
        began: Instant,
        /// Whether it counts as one of the reconciles of unhealthy planes.
        unhealthy: bool,
    },
}

pub(super) struct Entry {
    pub state: State,
    pub lane: PlaneId,
    /// Since when it has been out of sync.
    pub since: Instant,
    /// The first event that came while it ran.
    pub next_since: Option<Instant>,
    pub ready_at: Instant,
    pub failures: u32,
    pub timer: Option<Instant>,
    /// The hub failed its last pass.
    pub hub_failed: bool,
}

impl Entry {
    pub fn new(lane: PlaneId, since: Instant, now: Instant) -> Self {
        let (state, next_since, timer) = (State::Idle, None, None);
        Self { state, lane, since, next_since, ready_at: now, failures: 0, timer, hub_failed: false }
    }

    pub fn unsynced(&self) -> bool {
        self.state != State::Idle || self.failures > 0
    }

    pub fn runs(&self) -> bool {
        matches!(self.state, State::Running { .. })
    }
}

/// Where a lane waits for its turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Position {
    /// In no line: it has no key ready, its limit is reached, or its circuit is open.
    #[default]
    Unqueued,
    /// In the line of turns.
    Queued,
    /// It has its share of the idle workers, and waits for that to grow.
    Crowded,
    /// It is unhealthy, and waits for the reconcile of another unhealthy lane to end.
    Unhealthy,
}

#[derive(Default)]
pub(super) struct Lane {
    pub ready: VecDeque<Key>,
    /// The number of its entries; the lane is removed with the last.
    pub keys: usize,
    pub in_flight: usize,
    /// When it last had as many in flight as it may have.
    pub full_at: Option<Instant>,
    pub position: Position,
    pub circuit: Circuit,
}

impl Lane {
    /// Whether it has more to do than its turns take, or had a moment ago: the keys of a burst come in waves.
    pub fn is_behind(&self, now: Instant) -> bool {
        let was_full = self.full_at.is_some_and(|at| now.saturating_duration_since(at) < RECENTLY);
        (was_full || !self.ready.is_empty()) && !self.circuit.interrupts()
    }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alarm {
    /// The open circuit of a plane becomes half open.
    Circuit(PlaneId),
    /// The next key may try the hub.
    Hub,
    Key(Key),
}

//! The queue's entry of a key that is not in sync, and its lane: those of one plane.

use std::collections::{BTreeMap, VecDeque};

use fedhub_core::object::{Key, PlaneId};
use tokio::time::Instant;

use crate::circuit::Circuit;

/// How many repeats one project plane may have in flight: enough to show its users what goes on, and too few
/// to keep the hub and this process from the others, however often the same objects change (I8).
const REPEATS: usize = 2;

/// The place of a key among those that wait for the hub: whether it has failed the key, and a number.
pub(super) type Place = (bool, u64);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyState {
    /// Known only for its back-off or its age.
    Idle,
    /// The key changed again, but has written too often just now.
    Paced,
    Ready,
    /// The key needs the hub, which fails; its place among those that do.
    AwaitsHub(Place),
    Running {
        began: Instant,
        /// Whether it counts as one of the probes of planes that fail.
        probes: bool,
        /// Whether it counts as one of its lane's repeats.
        repeat: bool,
    },
}

pub(super) struct KeyEntry {
    pub state: KeyState,
    pub lane: PlaneId,
    /// When the key went out of sync, counted like [`Job::since`](super::Job::since).
    pub since: Instant,
    /// When the first event came that no pass has settled yet.
    pub unsettled_since: Instant,
    /// The first event that came while it ran.
    pub next_since: Option<Instant>,
    pub ready_at: Instant,
    pub failures: u32,
    pub timer: Option<Instant>,
    /// How many passes in a row did not come into sync.
    pub diverged: u32,
    /// Whether it is ready because its time has come, and for no event.
    pub timed: bool,
    /// When all events of the last of these passes' own writes have arrived.
    pub deaf_until: Option<Instant>,
}

impl KeyEntry {
    pub fn new(lane: PlaneId, since: Instant, now: Instant) -> Self {
        Self {
            state: KeyState::Idle,
            lane,
            since,
            unsettled_since: since,
            next_since: None,
            ready_at: now,
            failures: 0,
            timer: None,
            diverged: 0,
            timed: false,
            deaf_until: None,
        }
    }

    pub fn unsynced(&self) -> bool {
        self.state != KeyState::Idle || self.failures > 0
    }

    /// Whether what is told of the key now is what its own passes have caused.
    pub fn ignores_events(&self, now: Instant) -> bool {
        self.deaf_until.is_some_and(|until| now < until)
    }

    pub fn runs(&self) -> bool {
        matches!(self.state, KeyState::Running { .. })
    }
}

#[derive(Default)]
pub(super) struct Lane {
    /// Keys that are ready, repeats aside, each with its number.
    ready: VecDeque<(u64, Key)>,
    /// Keys that are ready and have just written, see `write_throttle`, or whose time has come.
    repeats: VecDeque<(u64, Key)>,
    repeats_in_flight: usize,
    /// The number of the next key that becomes ready.
    number: u64,
    /// The number of its entries; the lane is removed with the last.
    pub keys: usize,
    pub in_flight: usize,
    /// Whether it is in the line of turns.
    pub queued: bool,
    pub circuit: Circuit,
    /// Keys that need the hub, which fails, by their place, see `hub`.
    pub awaits_hub: BTreeMap<Place, Key>,
    /// Whether it is in the line of lanes that wait for the hub.
    pub queued_for_hub: bool,
}

impl Lane {
    /// Adds a key that is ready.
    pub fn push(&mut self, key: Key, repeat: bool) {
        self.number += 1;
        if repeat { &mut self.repeats } else { &mut self.ready }.push_back((self.number, key));
    }

    /// Adds a key whose time has come as a repeat before all others: it has waited.
    pub fn push_timed(&mut self, key: Key) {
        self.repeats.push_front((0, key));
    }

    /// Adds a key that is ready before all others.
    pub fn push_first(&mut self, key: Key) {
        self.ready.push_front((0, key));
    }

    /// Keys that are ready.
    pub fn waiting(&self) -> usize {
        self.ready.len() + self.repeats.len()
    }

    /// Whether keys are ready, repeats aside.
    pub fn is_behind(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Whether a key may have a turn, as far as the keys are concerned.
    pub fn has_next(&self) -> bool {
        !self.ready.is_empty() || self.next_repeat().is_some()
    }

    /// The number of the repeat that may have the next turn of them.
    fn next_repeat(&self) -> Option<u64> {
        self.repeats.front().filter(|_| self.repeats_in_flight < REPEATS).map(|(number, _)| *number)
    }

    /// The key whose turn it is, and whether it is a repeat: first come, first served.
    pub fn next(&mut self) -> Option<(Key, bool)> {
        let first = self.ready.front().map_or(u64::MAX, |(number, _)| *number);
        let repeat = self.next_repeat().is_some_and(|number| number < first);
        let (_, key) = if repeat { self.repeats.pop_front() } else { self.ready.pop_front() }?;
        self.in_flight += 1;
        self.repeats_in_flight += usize::from(repeat);
        Some((key, repeat))
    }

    /// A reconcile has ended.
    pub fn ended(&mut self, repeat: bool) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.repeats_in_flight = self.repeats_in_flight.saturating_sub(usize::from(repeat));
    }

    /// Without the keys that are not running, and without what is known of its plane.
    pub fn emptied(&self) -> Self {
        let Self { in_flight, repeats_in_flight, .. } = *self;
        Self { keys: in_flight, in_flight, repeats_in_flight, ..Self::default() }
    }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alarm {
    /// The open circuit of a plane becomes half open.
    Circuit(PlaneId),
    /// The next key may try the hub.
    Hub,
    /// The back-off of a key, or what it was told to wait, is over.
    Key(Key),
    /// A key is to be added.
    Add(Key),
}

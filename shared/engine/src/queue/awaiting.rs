//! The keys that wait for the hub.

use std::collections::{BTreeMap, BTreeSet};

use fedhub_core::object::{Key, PlaneId};
use tokio::time::Instant;

/// The keys that wait for the hub.
#[derive(Default)]
pub(super) struct Awaiting {
    /// Those that it has not failed, in the order in which they came.
    pub fresh: BTreeMap<u64, Key>,
    /// Those that it has.
    pub tried: BTreeMap<u64, Key>,
    pub next: u64,
    /// Those that may ask it now, until their passes end; and whether one is the probe of the circuit.
    pub trying: BTreeMap<Key, bool>,
    /// When the next fresh one may try.
    pub not_before: Option<Instant>,
    /// The timer that is set for that.
    pub alarm: Option<Instant>,
    /// Keys and planes that the hub has failed since it last answered; of the keys no more than open its circuit.
    pub failed: BTreeSet<Key>,
    pub failed_planes: BTreeSet<PlaneId>,
}

impl Awaiting {
    /// How many wait.
    pub fn len(&self) -> usize {
        self.fresh.len() + self.tried.len()
    }

    /// That one waits no more.
    pub fn remove(&mut self, place: u64) {
        self.fresh.remove(&place);
        self.tried.remove(&place);
    }

    /// Whether a key may ask the hub.
    pub fn tries(&self, key: &Key) -> bool {
        self.trying.contains_key(key)
    }

    /// A key that may have tried the hub does so no more.
    pub fn ended(&mut self, key: &Key) {
        self.trying.remove(key);
    }

    /// Whether one of those that try is the probe of the circuit.
    pub fn is_probed(&self) -> bool {
        self.trying.values().any(|probe| *probe)
    }
}

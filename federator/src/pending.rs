//! The WDs whose condition `Federated` may have to be written, and what keeps them from the hub (U2).

use std::collections::BTreeMap;
use std::time::Duration;

use dashmap::DashMap;
use fedhub_core::object::{Key, PlaneId};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use crate::progress::Failure;

/// How long a status is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long it takes until one that was put off is due again.
const PUT_OFF: Duration = Duration::from_secs(1);

/// Since when a WD is pending.
#[derive(Clone, Copy)]
pub(crate) struct Wait {
    pub since: Instant,
    due: Instant,
    pub generation: i64,
    /// Its hub WD was made, and the Event `Federated` is due (F10).
    pub federated: bool,
}

/// The pending WDs, and what their last passes failed with.
#[derive(Default)]
pub(crate) struct PendingConditions {
    waits: Mutex<BTreeMap<Key, Wait>>,
    failures: DashMap<Key, Failure>,
}

impl PendingConditions {
    /// Marks a WD as pending. The time begins again with each generation.
    pub fn notice(&self, key: &Key, generation: i64, now: Instant) {
        let new = Wait { since: now, due: now + PATIENCE, generation, federated: false };
        let mut waits = self.waits();
        let wait = waits.entry(key.clone()).or_insert(new);
        if wait.generation != generation {
            *wait = Wait { federated: wait.federated, ..new };
        }
    }

    /// The hub WD of that WD was created: the Event `Federated` is due with its condition.
    pub fn federated(&self, key: &Key, generation: i64, now: Instant) {
        self.notice(key, generation, now);
        self.waits().entry(key.clone()).and_modify(|wait| wait.federated = true);
    }

    /// Those whose time has come; they are no longer pending.
    pub fn due(&self, now: Instant) -> Vec<(Key, Wait)> {
        self.waits().extract_if(.., |_, wait| wait.due <= now).collect()
    }

    /// Whether any WD is pending.
    pub fn any(&self) -> bool {
        !self.waits().is_empty()
    }

    /// Keeps a WD pending, as it was, for a while.
    pub fn put_off(&self, key: Key, wait: Wait, now: Instant) {
        let mut waits = self.waits();
        let known = waits.entry(key).or_insert(Wait { due: now + PUT_OFF, ..wait });
        known.federated |= wait.federated;
    }

    fn waits(&self) -> MutexGuard<'_, BTreeMap<Key, Wait>> {
        self.waits.lock()
    }

    /// What the last pass over that WD failed with.
    pub fn failure(&self, key: &Key) -> Option<Failure> {
        self.failures.get(key).map(|failure| failure.clone())
    }

    /// Whether the hub fails any pass over a WD of that plane. Of another's it may be its object that the hub fails on.
    pub fn hub_fails(&self, plane: &PlaneId) -> bool {
        let is_of = |failed: &Key| failed.plane == *plane;
        self.failures.iter().any(|failed| is_of(failed.key()) && *failed.value() == Failure::HubUnreachable)
    }

    /// Remembers how a pass ended.
    pub fn ended(&self, key: &Key, failure: Option<Failure>) {
        match failure {
            Some(failure) => drop(self.failures.insert(key.clone(), failure)),
            None => drop(self.failures.remove(key)),
        }
    }

    /// Forgets what is not kept.
    pub fn retain(&self, keep: impl Fn(&Key) -> bool) {
        self.waits().retain(|key, _| keep(key));
        self.failures.retain(|key, _| keep(key));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.waits().len() + self.failures.len()
    }
}

//! Moments by key, each remembered until it has come.

use std::collections::BTreeMap;

use tokio::time::Instant;

/// Moments that are remembered before it is seen which of them have passed.
const FEW: usize = 1024;

/// Moments by key. What has passed is forgotten now and then, as if it had never been set.
pub(super) struct Expiring<K> {
    moments: BTreeMap<K, Instant>,
    prune_at: usize,
}

impl<K> Default for Expiring<K> {
    fn default() -> Self {
        Self { moments: BTreeMap::new(), prune_at: FEW }
    }
}

impl<K: Ord> Expiring<K> {
    /// Sets the moment of a key.
    pub fn set(&mut self, key: K, at: Instant, now: Instant) {
        if self.moments.len() >= self.prune_at {
            self.moments.retain(|_, at| *at > now);
            self.prune_at = FEW.max(self.moments.len() * 2);
        }
        self.moments.insert(key, at);
    }

    /// The moment of a key, if it is to come.
    pub fn get(&self, key: &K, now: Instant) -> Option<Instant> {
        self.moments.get(key).copied().filter(|at| *at > now)
    }

    /// Forgets the moment of a key.
    pub fn remove(&mut self, key: &K) {
        self.moments.remove(key);
    }
}

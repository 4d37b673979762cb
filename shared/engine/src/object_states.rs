//! States of objects that no reconcile can bring in sync by itself: each is logged once, and shown by a gauge
//! for as long as it lasts. They are kept in memory and derived again after a restart.

use std::collections::BTreeMap;

use fedhub_core::metrics::Metrics;
use fedhub_core::object::Key;
use parking_lot::Mutex;

/// The state of one object.
pub trait ObjectState: Copy + PartialEq {
    /// Moves the gauges of this state by `change`.
    fn count(self, metrics: &Metrics, change: i64);
}

/// The objects that are not in sync, with their states.
pub struct ObjectStates<S>(Mutex<BTreeMap<Key, S>>);

impl<S> Default for ObjectStates<S> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<S: ObjectState> ObjectStates<S> {
    /// Sets the state of `key`, or clears it; returns whether that changes it.
    pub fn set(&self, key: &Key, state: Option<S>, metrics: &Metrics) -> bool {
        let mut states = self.0.lock();
        let before = match state {
            Some(state) => states.insert(key.clone(), state),
            None => states.remove(key),
        };
        if before == state {
            return false;
        }
        if let Some(before) = before {
            before.count(metrics, -1);
        }
        if let Some(state) = state {
            state.count(metrics, 1);
        }
        true
    }

    /// The state of `key`, if it has one.
    pub fn get(&self, key: &Key) -> Option<S> {
        self.0.lock().get(key).copied()
    }

    /// Keeps the states of the keys that `keep` accepts.
    pub fn retain(&self, metrics: &Metrics, keep: impl Fn(&Key) -> bool) {
        let mut states = self.0.lock();
        states.retain(|key, state| {
            let kept = keep(key);
            if !kept {
                state.count(metrics, -1);
            }
            kept
        });
    }

    /// The number of objects that have a state.
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }

    /// Whether no object has a state.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

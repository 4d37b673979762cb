//! What a controller remembers of objects that are not in order and that no pass will put right by itself: so that it
//! is said once, and shown by a gauge for as long as it stands. A state in memory, drawn afresh after a restart.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use fedhub_core::metrics::Metrics;
use fedhub_core::object::Key;

/// What is remembered of an object.
pub trait Counted: Copy + PartialEq {
    /// Moves the gauges of this verdict by `change`.
    fn count(self, metrics: &Metrics, change: i64);
}

/// The objects that are not in order, and why.
pub struct Verdicts<V>(Mutex<BTreeMap<Key, V>>);

impl<V> Default for Verdicts<V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<V: Counted> Verdicts<V> {
    /// Remembers the verdict on `key`, or with `None` that there is none; says whether that is news.
    pub fn set(&self, key: &Key, verdict: Option<V>, metrics: &Metrics) -> bool {
        let mut verdicts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match verdict {
            Some(verdict) => verdicts.insert(key.clone(), verdict),
            None => verdicts.remove(key),
        };
        if before == verdict {
            return false;
        }
        if let Some(before) = before {
            before.count(metrics, -1);
        }
        if let Some(verdict) = verdict {
            verdict.count(metrics, 1);
        }
        true
    }

    /// What is remembered of `key`.
    pub fn get(&self, key: &Key) -> Option<V> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).copied()
    }

    /// Keeps what is to be kept.
    pub fn retain(&self, metrics: &Metrics, keep: impl Fn(&Key) -> bool) {
        let mut verdicts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        verdicts.retain(|key, verdict| {
            let kept = keep(key);
            if !kept {
                verdict.count(metrics, -1);
            }
            kept
        });
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

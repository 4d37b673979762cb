//! Finalizers that are held because their work is not proven done, and how that is shown (I3): a condition and an
//! Event on the WD, a gauge by reason.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use fedhub_shared::metrics::Metrics;
use fedhub_shared::object::{Key, PlaneId};

/// Why a finalizer is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Held {
    /// The hub does not answer, or refuses.
    HubUnreachable,
    /// The hub namespace is missing, or not the one recorded: the hub has lost state, which proves nothing.
    HubStateLost,
    /// What stands on the hub in this WD's place may be ours, and may be somebody else's.
    TenantConflict,
}

impl Held {
    /// The metric label.
    pub fn label(self) -> &'static str {
        match self {
            Self::HubUnreachable => "hub_unreachable",
            Self::HubStateLost => "hub_state_lost",
            Self::TenantConflict => "tenant_conflict",
        }
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HubUnreachable => "deletion waits: the federation hub cannot be reached",
            Self::HubStateLost => {
                "deletion waits: the federation hub has lost its state, so that it is not proven that the cell has let go"
            }
            Self::TenantConflict => {
                "deletion waits: what the federation hub holds in this WorkloadDeployment's place is not proven to be its own"
            }
        })
    }
}

/// The finalizers that are held now.
#[derive(Default)]
pub struct Holds(Mutex<BTreeMap<Key, Held>>);

impl Holds {
    /// Remembers why the finalizer of `key` is held, or that it is not; says whether that is news.
    pub fn set(&self, key: &Key, why: Option<Held>, metrics: &Metrics) -> bool {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = match why {
            Some(why) => held.insert(key.clone(), why),
            None => held.remove(key),
        };
        if before == why {
            return false;
        }
        count(metrics, before, -1);
        count(metrics, why, 1);
        true
    }

    /// Keeps of one plane what is to be kept.
    pub fn retain(&self, plane: &PlaneId, metrics: &Metrics, keep: impl Fn(&Key) -> bool) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|key, why| {
            let kept = key.plane != *plane || keep(key);
            if !kept {
                count(metrics, Some(*why), -1);
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

fn count(metrics: &Metrics, why: Option<Held>, change: i64) {
    if let Some(why) = why {
        metrics.finalizers_held.with_label_values(&[why.label()]).add(change);
    }
}

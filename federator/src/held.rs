//! Finalizers that are held because their work is not proven done, and how that is shown (I3): a condition and an
//! Event on the WD, a gauge by reason.

use std::fmt;

use fedhub_shared::metrics::Metrics;
use fedhub_shared::verdicts::{Counted, Verdicts};

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
pub type Holds = Verdicts<Held>;

impl Counted for Held {
    fn count(self, metrics: &Metrics, change: i64) {
        metrics.finalizers_held.with_label_values(&[self.label()]).add(change);
    }
}

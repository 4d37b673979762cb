//! Finalizers that stay because their work is not proven done (I3): why, and which.

use std::fmt;

use fedhub_api::responsibility::attributed;
use fedhub_core::metrics::Metrics;
use fedhub_engine::object_states::{ObjectState, ObjectStates};
use strum::VariantArray;

/// Why a finalizer stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::VariantArray)]
pub enum CleanupBlocked {
    /// The hub does not answer, or refuses.
    HubUnreachable,
    /// The hub has lost its state, and no cell has reported on what was federated again since.
    HubStateLost,
    /// What stands on the hub in this WD's place may be ours, and may be another's.
    TenantConflict,
    /// The project namespace was removed by force, so that its API server refuses every change of what is in it.
    NamespaceGone,
}

impl CleanupBlocked {
    /// The metric label.
    pub fn label(self) -> &'static str {
        match self {
            Self::HubUnreachable => "hub_unreachable",
            Self::HubStateLost => "hub_state_lost",
            Self::TenantConflict => "tenant_conflict",
            Self::NamespaceGone => "namespace_gone",
        }
    }

    /// The reason that the message of a condition with the reason `CleanupHeld` reports. A condition has no other field
    /// for it.
    pub fn of_message(message: &str) -> Option<Self> {
        Self::VARIANTS.iter().copied().find(|why| message.starts_with(&why.to_string()))
    }

    /// The note of the Event that reports it, with who has to act (C9). It is the user who creates the namespace again.
    pub fn note(self) -> String {
        let message = self.to_string();
        match self {
            Self::NamespaceGone => message,
            Self::HubUnreachable | Self::HubStateLost | Self::TenantConflict => {
                attributed("CleanupHeld", &message).into_owned()
            }
        }
    }
}

impl fmt::Display for CleanupBlocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HubUnreachable => "cleanup blocked: the federation hub cannot be reached",
            Self::HubStateLost => {
                "cleanup blocked: the federation hub lost its state, waiting until the cell reports on this WorkloadDeployment again"
            }
            Self::TenantConflict => {
                "cleanup blocked: cannot verify that the federation hub's WorkloadDeployment of this name belongs to this one"
            }
            Self::NamespaceGone => {
                "cleanup blocked: the namespace was removed before its WorkloadDeployments. Action required by the user: create it again so that they can be deleted"
            }
        })
    }
}

/// The finalizers that stay now.
pub type BlockedFinalizers = ObjectStates<CleanupBlocked>;

impl ObjectState for CleanupBlocked {
    fn count(self, metrics: &Metrics, change: i64) {
        metrics.finalizers_held.with_label_values(&[self.label()]).add(change);
    }
}

#[cfg(test)]
mod tests {
    use fedhub_api::conditions::{find, said};
    use serde_json::json;

    use super::*;
    use crate::status::blocked;

    #[test]
    fn u4_each_reason_is_recognised_from_the_condition_and_the_event_that_report_it() {
        for &why in CleanupBlocked::VARIANTS {
            let status = blocked(&json!({}), why, jiff::Timestamp::UNIX_EPOCH);
            let (_, reason, message) = said(find(&status, "Available").unwrap());
            assert_eq!(
                (reason, CleanupBlocked::of_message(message)),
                ("CleanupHeld", Some(why)),
                "{message}"
            );
            assert_eq!(CleanupBlocked::of_message(&why.note()), Some(why));
        }
        assert_eq!(CleanupBlocked::of_message("cleanup blocked"), None);
    }
}

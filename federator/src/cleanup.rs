//! Finalizers that stay because their work is not proven done (I3): why, and which.

use std::fmt;

use fedhub_api::reason::{Reason, attributed};
use fedhub_core::errors::{Category, Error};
use fedhub_core::metrics::Metrics;
use fedhub_core::object::PlaneId;
use fedhub_engine::object_states::{ObjectState, ObjectStates};
use strum::VariantArray;

/// Why a finalizer stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::VariantArray)]
pub enum CleanupBlocked {
    /// The hub does not answer.
    HubUnreachable,
    /// The hub refuses a request, by its rights or its admission.
    HubRefuses,
    /// The project's own plane does.
    ProjectRefuses,
    /// A cell has not torn down the WD's Instances in time.
    CellHolds,
    /// A cell that has Instances of the WD is not reached.
    CellUnreachable,
    /// The hub WD is being deleted and does not go: finalizers of others hold it there.
    HubObjectHeld,
    /// The hub has lost its state, and no cell has reported on what was federated again since.
    HubStateLost,
    /// The object on the hub in this WD's place may be ours, and may be another's.
    TenantConflict,
    /// The project namespace was removed by force, so that its API server refuses every change of what is in
    /// it.
    NamespaceGone,
}

impl CleanupBlocked {
    /// The metric label.
    pub fn label(self) -> &'static str {
        match self {
            Self::HubUnreachable => "hub_unreachable",
            Self::HubRefuses => "hub_refuses",
            Self::ProjectRefuses => "project_refuses",
            Self::CellHolds => "cell_holds",
            Self::CellUnreachable => "cell_unreachable",
            Self::HubObjectHeld => "hub_object_held",
            Self::HubStateLost => "hub_state_lost",
            Self::TenantConflict => "tenant_conflict",
            Self::NamespaceGone => "namespace_gone",
        }
    }

    /// The reason that the message of a condition with the reason `CleanupHeld` reports. A condition has no
    /// other field for it.
    pub fn of_message(message: &str) -> Option<Self> {
        Self::VARIANTS.iter().copied().find(|why| message.starts_with(&why.to_string()))
    }

    /// Returns how an error of a pass blocks the cleanup of a WD that is being deleted; `None` if the error
    /// does not last. `project` is the WD's own plane.
    pub fn from_error(error: &Error, project: &PlaneId) -> Option<Self> {
        let answered = match error {
            Error::Request(request) => request.code(),
            _ => None,
        };
        let is_refusal =
            answered.is_some() && matches!(error.category(), Category::Forbidden | Category::Invalid);
        // So an API server answers where a webhook of its admission fails.
        let is_answer = is_refusal || answered == Some(500);
        if error.lacks_namespace(project) {
            Some(Self::NamespaceGone)
        } else if error.is_of(&PlaneId::Hub) {
            Some(if is_refusal { Self::HubRefuses } else { Self::HubUnreachable })
        } else {
            (error.is_of(project) && is_answer).then_some(Self::ProjectRefuses)
        }
    }

    /// Whether the error that shows it has the words of who refused.
    pub fn is_refusal(self) -> bool {
        matches!(self, Self::HubRefuses | Self::ProjectRefuses)
    }

    /// The message that reports it, with what a plane answered or what is waited for, if that is known, and
    /// with who has to act (C9). It is the user who creates the namespace again.
    pub fn message(self, answer: Option<&str>) -> String {
        let what = answer.map_or_else(|| self.to_string(), |answer| format!("{self}: {answer}"));
        match self {
            Self::NamespaceGone => what,
            Self::ProjectRefuses => attributed(Reason::DeploymentsRefused, &what).into_owned(),
            Self::CellHolds => attributed(Reason::TerminationDeadlineExceeded, &what).into_owned(),
            Self::CellUnreachable => attributed(Reason::CellUnreachable, &what).into_owned(),
            Self::HubUnreachable
            | Self::HubRefuses
            | Self::HubObjectHeld
            | Self::HubStateLost
            | Self::TenantConflict => attributed(Reason::CleanupHeld, &what).into_owned(),
        }
    }
}

impl fmt::Display for CleanupBlocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HubUnreachable => "cleanup blocked: the federation hub cannot be reached",
            Self::HubRefuses => "cleanup blocked: the federation hub refuses a request of fedhub",
            Self::ProjectRefuses => "cleanup blocked: the project's control plane refuses a request of fedhub",
            Self::CellHolds => "cleanup blocked: its cell has not torn down the Instances in time",
            Self::CellUnreachable => {
                "cleanup blocked: the federation hub does not reach the cell that has the Instances"
            }
            Self::HubObjectHeld => {
                "cleanup blocked: finalizers hold the WorkloadDeployment on the federation hub, which is being deleted"
            }
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
            let status = blocked(&json!({}), why, None, jiff::Timestamp::UNIX_EPOCH);
            let (_, reason, message) = said(find(&status, "Available").unwrap());
            assert_eq!(
                (reason, CleanupBlocked::of_message(message)),
                ("CleanupHeld", Some(why)),
                "{message}"
            );
            for answer in [None, Some("no")] {
                assert_eq!(CleanupBlocked::of_message(&why.message(answer)), Some(why));
            }
        }
        assert_eq!(CleanupBlocked::of_message("cleanup blocked"), None);
    }
}

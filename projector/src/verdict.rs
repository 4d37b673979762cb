//! The verdict of a plan on a hub Instance that is not projected, or of a projection that is kept.

use std::time::Duration;

use fedhub_core::metrics::Metrics;
use fedhub_engine::object_states::{ObjectState, ObjectStates};
use fedhub_engine::{Intent, Outcome, Plan};
use fedhub_planes::Distrust;

use crate::quarantine::Reason;

/// What is done about one hub Instance and its projection; a verdict where it is not projected.
pub type ProjectionPlan = Plan<Option<ProjectionVerdict>>;

/// Waits for an event, as that of a living owner (I5), and for this time at most.
pub(crate) fn park(wait: Option<Duration>) -> ProjectionPlan {
    let end = wait.map_or(Outcome::AwaitChange, Outcome::RequeueAfter);
    Plan::new(Intent::End(end), Some(ProjectionVerdict::Parked))
}

/// Why an Instance is not projected for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectionVerdict {
    /// Its owner is not there yet; the owner's event brings it back (I5).
    Parked,
    /// No retry can change it (P7).
    Quarantined(Reason),
    /// The Instance is gone, and its projection is kept for this reason (I4).
    Withheld(DeletionUnconfirmed),
}

/// The Instances that are not projected, and why.
pub type UnprojectedInstances = ObjectStates<ProjectionVerdict>;

impl ObjectState for ProjectionVerdict {
    fn count(self, metrics: &Metrics, change: i64) {
        let objects = |state| metrics.objects.with_label_values(&["projector", state]);
        match self {
            Self::Parked => objects("parked").add(change),
            Self::Quarantined(reason) => {
                objects("quarantined").add(change);
                metrics.quarantined.with_label_values(&[reason.label()]).add(change);
            }
            // It waits in the queue, and is pending there.
            Self::Withheld(_) => {}
        }
    }
}

/// Why a deletion is not confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletionUnconfirmed {
    /// The hub namespace is missing, terminating or another one: the hub may have lost its state.
    NamespaceLost,
    /// The WD is missing, being deleted, or no cell has reported on it: a cell may be about to write back.
    DeploymentSilent,
    /// The hub was restored from a backup, or it is not known whether it was.
    Distrusted(Distrust),
    /// The project plane has seen enough of such deletions for now.
    RateLimited,
}

impl DeletionUnconfirmed {
    /// The metric label.
    pub fn label(self) -> &'static str {
        match self {
            Self::NamespaceLost => "namespace_lost",
            Self::DeploymentSilent => "deployment_silent",
            Self::Distrusted(distrust) => distrust.label(),
            Self::RateLimited => "rate",
        }
    }
}

//! What a reconcile of one hub Instance may do.

use std::time::Duration;

use fedhub_planes::{Distrust, WriteMode};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::quarantine::Reason;

/// What to do about one hub Instance and its projection.
#[derive(Clone, Debug, PartialEq)]
pub enum ProjectionPlan {
    /// Nothing: everything is as it should be (P8).
    Synced,
    /// Create the projection, or replace its metadata and spec.
    Write {
        /// The metadata that the projector manages, see [`crate::desired::managed`].
        managed: Box<ObjectMeta>,
        /// Whether a dry run comes first.
        mode: WriteMode,
    },
    /// Write the projection's status, where its rendering differs.
    WriteStatus {
        /// Whether a dry run comes first.
        mode: WriteMode,
    },
    /// Delete the projection; its UID is the precondition.
    Delete {
        /// Whether its absence on the hub was proven after a gap: those deletions are rate-limited (I4).
        inferred: bool,
    },
    /// Read the hub live, then plan again (I4).
    ReadHub,
    /// Read the owner live, then plan again (P2).
    ConfirmOwner,
    /// Keep a projection whose deletion is not confirmed (I4).
    Withhold(DeletionUnconfirmed),
    /// Wait for an event, as that of a living owner (I5), and for this time at most.
    Park(Option<Duration>),
    /// Report an Instance that no retry can project (P7).
    Quarantine(Reason),
    /// Wait until the project is resumed.
    AwaitResume,
}

impl ProjectionPlan {
    /// Whether applying it fetches whole objects.
    pub fn fetches(&self) -> bool {
        matches!(self, Self::Write { .. } | Self::WriteStatus { .. } | Self::ReadHub | Self::ConfirmOwner)
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
}

impl DeletionUnconfirmed {
    /// The metric label.
    pub fn label(self) -> &'static str {
        match self {
            Self::NamespaceLost => "namespace_lost",
            Self::DeploymentSilent => "deployment_silent",
            Self::Distrusted(distrust) => distrust.label(),
        }
    }
}

//! A projection whose hub Instance is not there (P5, I4).
//!
//! One that was seen deleted on a watch without a gap: the projection goes. After a gap absence proves nothing by itself;
//! then live reads have to show that the Instance is gone *while* the hub stands as it stood: the namespace with the UID
//! that the mark records, and its WD alive and reported on by a cell. A hub that was restored from a backup proves nothing
//! before its cells have written back. Where the service of the project was withdrawn, the WD is not alive: that nothing of
//! it is left on the hub was proven when its finalizer was released (W9).
//!
//! Decides I4 and P5.

use fedhub_api::facts::deployment::reported;
use fedhub_api::facts::{Digest, DigestExt, Instance};
use fedhub_core::object::{ObjectRef, ObjectView};

use crate::intents::{DeletionUnconfirmed, ProjectionPlan};
use crate::snapshot::{Live, Snapshot};

/// What becomes of the projection.
pub fn plan(seen: &Snapshot) -> ProjectionPlan {
    let alive = seen.projection.as_ref().filter(|p| !p.terminating).and_then(Digest::instance);
    // Without a mark of this hub namespace it is not known to be the projection of what is gone.
    let Some(projection) = alive.filter(|p| p.is_from_namespace(seen.hub_namespace.name())) else {
        return ProjectionPlan::Synced;
    };
    if seen.seen_deleted.as_deref().is_some_and(|uid| projection.is_projection_of(uid)) {
        return ProjectionPlan::Delete { inferred: false };
    }
    if let Some(distrust) = seen.distrust {
        return ProjectionPlan::Withhold(DeletionUnconfirmed::Distrusted(distrust));
    }
    seen.live.as_ref().map_or(ProjectionPlan::ReadHub, |live| confirm(seen, projection, live))
}

fn confirm(seen: &Snapshot, projection: &Instance, live: &Live) -> ProjectionPlan {
    if live.instance.as_ref().is_some_and(|i| projection.is_projection_of(i.uid())) {
        // It is there after all: the watch will bring it.
        return ProjectionPlan::Park(None);
    }
    let stands = |n: &ObjectRef| projection.is_from_namespace_uid(n.uid()) && !n.is_terminating();
    if !live.namespace.as_ref().is_some_and(stands) {
        return ProjectionPlan::Withhold(DeletionUnconfirmed::NamespaceLost);
    }
    let withdrawn = seen.withdrawn && live.instance.is_none() && live.deployment.is_none();
    if !withdrawn && !live.deployment.as_ref().is_some_and(|d| !d.is_terminating() && reported(d.status())) {
        return ProjectionPlan::Withhold(DeletionUnconfirmed::DeploymentSilent);
    }
    ProjectionPlan::Delete { inferred: true }
}

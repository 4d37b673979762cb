//! A projection whose hub Instance is not there (P5, I4).
//!
//! One that was seen deleted on a watch without a gap: the projection goes. After a gap absence proves
//! nothing by itself; then live reads have to show that the Instance is gone *while* the hub stands as it
//! stood: the namespace with the UID that the mark records, and its WD alive and reported on by a cell. A hub
//! that was restored from a backup proves nothing before its cells have written back. Where the namespace was
//! lost and made again, a report on the WD comes before the copies of its Instances do; so there have to be
//! as many of them as the cell reports, and then one more has gone. Where the service of the project was
//! withdrawn, the WD is not alive: that nothing of it is left on the hub was proven when its finalizer was
//! released (W9).
//!
//! Decides I4 and P5.

use std::time::Duration;

use fedhub_api::facts::deployment::reported;
use fedhub_api::facts::{Digest, DigestExt, Instance};
use fedhub_core::object::{Object, ObjectView};
use fedhub_engine::{Intent, Outcome, Plan};
use fedhub_planes::Precondition;

use crate::snapshot::{Live, Snapshot};
use crate::verdict::{DeletionUnconfirmed, ProjectionPlan, ProjectionVerdict, park};

/// When a deletion that is not confirmed is reconsidered.
const WITHHELD: Duration = Duration::from_mins(1);

/// Plans the deletion of the projection.
pub fn plan(seen: &Snapshot) -> ProjectionPlan {
    let alive = seen.projection.as_ref().filter(|p| !p.terminating).and_then(Digest::instance);
    // Without a mark of this hub namespace it is not known to be the projection of what is gone.
    let Some(projection) = alive.filter(|p| p.is_from_namespace(seen.hub_namespace.name())) else {
        return Plan::default();
    };
    if seen.seen_deleted.as_deref().is_some_and(|uid| projection.is_projection_of(uid)) {
        return delete(seen, false);
    }
    if let Some(distrust) = seen.distrust {
        return withhold(DeletionUnconfirmed::Distrusted(distrust));
    }
    if let Some(live) = &seen.live {
        return confirm(seen, projection, live);
    }
    // The hub is read where the projection is still what the plan takes it for.
    let fetch = seen.projection_subject().map(Intent::Fetch);
    Plan { intents: fetch.into_iter().chain([Intent::ReadHub]).collect(), verdict: None }
}

fn confirm(seen: &Snapshot, projection: &Instance, live: &Live) -> ProjectionPlan {
    if live.instance.as_ref().is_some_and(|i| projection.is_projection_of(i.uid())) {
        // It is there after all: the watch will bring it.
        return park(None);
    }
    let Some(namespace) = live.namespace.as_ref().filter(|namespace| !namespace.is_terminating()) else {
        return withhold(DeletionUnconfirmed::NamespaceLost);
    };
    if seen.withdrawn && live.instance.is_none() && live.deployment.is_none() {
        return delete(seen, true);
    }
    let is_recorded = projection.is_from_namespace_uid(namespace.uid());
    let deployment = live.deployment.as_ref().filter(|wd| !wd.is_terminating() && reported(wd.status()));
    match deployment {
        Some(wd) if is_recorded || is_written_back(wd, live.copies) => delete(seen, true),
        None if is_recorded => withhold(DeletionUnconfirmed::DeploymentSilent),
        _ => withhold(DeletionUnconfirmed::NamespaceLost),
    }
}

/// Whether the hub has a copy of every Instance that the cell reports of that WD.
fn is_written_back(deployment: &Object, copies: u64) -> bool {
    deployment.status()["replicas"].as_u64().is_some_and(|replicas| copies >= replicas)
}

/// Deletes the projection. The deletion of one that was seen to lack its Instance only after a gap is
/// inferred, and limited in its rate (I4).
fn delete(seen: &Snapshot, inferred: bool) -> ProjectionPlan {
    let precondition = Precondition::Uid;
    let delete = seen.projection_subject().map(|subject| Intent::Delete { subject, precondition, inferred });
    Plan { intents: delete.into_iter().collect(), verdict: None }
}

/// Keeps the projection, and considers it again.
fn withhold(why: DeletionUnconfirmed) -> ProjectionPlan {
    Plan::new(Intent::End(Outcome::RequeueAfter(WITHHELD)), Some(ProjectionVerdict::Withheld(why)))
}

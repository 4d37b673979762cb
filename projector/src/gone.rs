//! A projection whose hub Instance is not there (P5, I4).
//!
//! Seen deleted on a watch without a gap: the projection goes. After a gap absence proves nothing by itself; then
//! live reads have to show that the Instance is gone *while* the hub stands as it stood: the namespace with the UID
//! that the mark records, and its WD alive and reported on by a cell. A hub that was restored from a backup proves nothing before
//! its cells have written back.
//!
//! Decides I4 and P5.

use fedhub_cache::digest::deployment::reported;
use fedhub_core::object::{ObjectRef, ObjectView};
use fedhub_planes::Distrust;

use crate::mark::Mark;
use crate::observe::{Live, Observed};
use crate::plan::Decision;

/// Why a deletion is not proven right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unproven {
    /// The hub namespace is missing, terminating or another one: the hub may have lost its state.
    NamespaceLost,
    /// The WD is missing, being deleted, or no cell has reported on it: a cell may be about to write back.
    DeploymentSilent,
    /// The hub was restored from a backup, or it is not known whether it was.
    Distrusted(Distrust),
}

impl Unproven {
    /// The metric label.
    pub fn label(self) -> &'static str {
        match self {
            Self::NamespaceLost => "namespace_lost",
            Self::DeploymentSilent => "deployment_silent",
            Self::Distrusted(why) => why.label(),
        }
    }
}

/// What becomes of the projection.
pub fn plan(seen: &Observed) -> Decision {
    let Some(projection) = &seen.projection else { return Decision::InOrder };
    // Without a mark of this hub namespace it is not known to be the projection of what is gone.
    let Some(mark) = Mark::of(projection).filter(|m| m.namespace == seen.hub_namespace.name()) else {
        return Decision::InOrder;
    };
    if projection.is_terminating() {
        return Decision::InOrder;
    }
    if seen.seen_deleted.as_deref() == Some(mark.instance_uid.as_str()) {
        return Decision::Delete { projection: projection.clone(), inferred: false };
    }
    if let Some(why) = seen.distrust {
        return Decision::Withhold(Unproven::Distrusted(why));
    }
    match &seen.live {
        None => Decision::ReadLive,
        Some(live) => judge(projection, &mark, live),
    }
}

fn judge(projection: &ObjectRef, mark: &Mark, live: &Live) -> Decision {
    if live.instance.as_ref().is_some_and(|i| i.uid() == mark.instance_uid) {
        // It is there after all: the watch will bring it.
        return Decision::Park(None);
    }
    let stands = |n: &ObjectRef| n.uid() == mark.namespace_uid && !n.is_terminating();
    if !live.namespace.as_ref().is_some_and(stands) {
        return Decision::Withhold(Unproven::NamespaceLost);
    }
    if !live.deployment.as_ref().is_some_and(|d| !d.is_terminating() && reported(d.status())) {
        return Decision::Withhold(Unproven::DeploymentSilent);
    }
    Decision::Delete { projection: projection.clone(), inferred: true }
}

//! The orphans on the hub that are known, and why; see [`crate::orphans`].

use fedhub_api::facts::deployment::mark_hash;
use fedhub_api::facts::{Digest, DigestExt};
use fedhub_cache::digest::Uid;
use fedhub_core::metrics::Metrics;
use fedhub_engine::object_states::{ObjectState, ObjectStates};

/// Why a hub WD is an orphan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Orphan {
    /// Its plane has no WD of that name and UID.
    DeploymentGone,
    /// Its plane is gone.
    PlaneGone,
}

impl Orphan {
    /// As logs name it.
    pub fn label(self) -> &'static str {
        match self {
            Self::DeploymentGone => "deployment_gone",
            Self::PlaneGone => "plane_gone",
        }
    }
}

impl ObjectState for Orphan {
    fn count(self, metrics: &Metrics, change: i64) {
        metrics.objects.with_label_values(&["federator", "orphaned"]).add(change);
    }
}

/// The hub WDs that are orphans, by their key on the hub.
pub type Orphans = ObjectStates<Orphan>;

/// Whether a hub WD is of the project WD with that UID.
pub(crate) fn is_of(hub: &Digest, project_uid: Option<&Uid>) -> bool {
    let Some(uid) = project_uid.map(Uid::to_string) else { return false };
    hub.deployment().is_some_and(|facts| facts.counterpart_uid == mark_hash(Some(&uid)))
}

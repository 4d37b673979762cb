//! The orphans on the hub that are known, and why; see [`crate::orphans`].

use fedhub_api::facts::deployment::mark_hash;
use fedhub_api::facts::{Digest, DigestExt};
use fedhub_cache::digest::Uid;
use fedhub_core::metrics::Metrics;
use fedhub_core::names::{SOURCE, SOURCE_UID};
use fedhub_core::object::{Object, ObjectView};
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
    /// Returns the name for logs.
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

/// Whether a hub WD is an orphan (F11): it is ours by its origin mark, and `living`, what a live read of its
/// project plane found under its name, is not the WD that it was made for. `origin` is the mark of the WD of
/// that name.
pub fn is_orphaned(hub: &Object, living: Option<&Object>, origin: &str) -> bool {
    // What is marked as another's is not ours to name (I6).
    let ours = hub.annotation(SOURCE).is_none_or(|source| source == origin);
    !hub.is_terminating()
        && ours
        && !hub
            .annotation(SOURCE_UID)
            .map_or(living.is_some(), |uid| living.is_some_and(|living| living.uid() == uid))
}

//! Hub WDs that were seen deleted (F9).
//!
//! What a restored hub lacks may have been lost, and run on in its cell. Not so what was seen deleted on a watch, unless
//! the hub went back to an earlier state since: Karmada may not have deleted it in the cell by then, and has forgotten
//! it. A state in memory, of WDs that are being deleted: where it is lost, the WD is federated once more.

use dashmap::DashMap;
use fedhub_cache::Change;
use fedhub_cache::digest::{Digest, Uid};
use fedhub_core::object::{Key, Kind};
use fedhub_planes::ProjectNamespace;

use crate::Federator;
use crate::controller::is_leaving;
use crate::orphans::is_of;

/// A hub WD that was seen deleted.
#[derive(PartialEq, Eq)]
struct Deleted {
    /// The UID of its project WD.
    uid: Uid,
    /// Where it was.
    hub_namespace: String,
    /// How often the hub had gone back to an earlier state.
    life: u64,
}

/// The hub WDs that were seen deleted, by the keys of their project WDs.
#[derive(Default)]
pub(crate) struct SeenDeleted(DashMap<Key, Deleted>);

impl SeenDeleted {
    /// Forgets a WD.
    pub fn forget(&self, key: &Key) {
        self.0.remove(key);
    }

    /// Forgets what is not kept.
    pub fn retain(&self, keep: impl Fn(&Key) -> bool) {
        self.0.retain(|key, _| keep(key));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl Federator {
    /// Whether the hub WD of `wd` in that hub namespace was seen deleted, and nothing that makes it doubtful since.
    pub(crate) fn was_seen_deleted(&self, key: &Key, wd: &Digest, hub_namespace: &str) -> bool {
        let deleted = self.deletion(wd, hub_namespace);
        self.seen_deleted.0.get(key).is_some_and(|seen| *seen == deleted)
    }

    fn deletion(&self, wd: &Digest, hub_namespace: &str) -> Deleted {
        let life = self.planes.hub().lives();
        Deleted { uid: wd.uid.clone(), hub_namespace: hub_namespace.to_owned(), life }
    }

    /// A hub WD changed. Where it went while this process looked on and its WD is being deleted, that is remembered.
    pub(crate) fn note_deletion(
        &self,
        ProjectNamespace { plane, namespace }: &ProjectNamespace,
        change: &Change,
    ) {
        let (hub_wd, Some(project)) = (change.known(), self.planes.project(plane)) else { return };
        let key = project.key(Kind::WorkloadDeployment, namespace, &hub_wd.name);
        let wd = project.store(key.kind).digest(namespace, &hub_wd.name);
        let goes = |wd: &Digest| is_leaving(wd) && is_of(&hub_wd.digest, Some(&wd.uid));
        match (change, wd.filter(goes)) {
            (Change::Deleted { inferred: false, .. }, Some(wd)) if !awaits_cell(&hub_wd.digest) => {
                self.seen_deleted.0.insert(key, self.deletion(&wd, &hub_wd.namespace));
            }
            _ => _ = self.seen_deleted.0.remove_if(&key, |_, seen| *seen.hub_namespace == *hub_wd.namespace),
        }
    }
}

/// Whether no cell has reported on a hub WD that was made in place of one that was lost: its deletion proves nothing.
fn awaits_cell(hub: &Digest) -> bool {
    hub.deployment().is_some_and(|d| d.lost && !d.reported)
}

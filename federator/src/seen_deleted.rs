//! Hub WDs that were seen deleted, while their project WDs are being deleted.
//!
//! A [`Deletion`] distinguishes what was deleted from what was lost (F9). What a restored hub lacks may have
//! been lost, and run on in its cell. Not so what was seen deleted on a watch, unless the hub went back to an
//! earlier state since: Karmada may not have deleted it in the cell by then, and has forgotten it. Where this
//! memory is lost, the WD is federated once more.
//!
//! Nothing is remembered beyond the release. A create that its sender has given up may land after it, and
//! what it makes is an orphan like others (F11, see [`crate::orphans`]).

use fedhub_api::facts::{Change, Digest, DigestExt};
use fedhub_cache::digest::Uid;
use fedhub_core::object::{Key, Kind};
use fedhub_planes::ProjectNamespace;

use crate::Federator;
use crate::loss::{Deletion, is_awaiting_cell};
use crate::orphan::is_of;
use crate::snapshot::awaits_cleanup;

impl Federator {
    /// Whether the hub WD of the WD with that UID in that hub namespace was seen deleted, and nothing that
    /// makes it doubtful since.
    pub(crate) fn was_seen_deleted(&self, key: &Key, uid: &Uid, hub_namespace: &str) -> bool {
        self.seen_deleted.get(key).is_some_and(|seen| *seen == self.deletion(uid, hub_namespace))
    }

    fn deletion(&self, uid: &Uid, hub_namespace: &str) -> Deletion {
        let life = self.planes.hub().lives();
        Deletion { uid: uid.clone(), hub_namespace: hub_namespace.to_owned(), life }
    }

    /// Remembers that a hub WD was seen deleted while its WD is being deleted. The deletion of one that
    /// awaits its cell proves nothing.
    pub(crate) fn note_deletion(&self, home: &ProjectNamespace, change: &Change) {
        let (hub_wd, Some(project)) = (change.known(), self.planes.project(&home.plane)) else { return };
        let key = project.key(Kind::WorkloadDeployment, &home.namespace, &hub_wd.name);
        let wd = project.store(key.kind).digest(&key.namespace, &key.name);
        let goes = |wd: &Digest| awaits_cleanup(&project, wd) && is_of(&hub_wd.digest, Some(&wd.uid));
        let proves = !hub_wd.digest.deployment().is_some_and(is_awaiting_cell);
        match (change, wd.filter(goes)) {
            (Change::Deleted { inferred: false, .. }, Some(wd)) if proves => {
                self.seen_deleted.insert(key, self.deletion(&wd.uid, &hub_wd.namespace));
            }
            _ => _ = self.seen_deleted.remove_if(&key, |_, seen| *seen.hub_namespace == *hub_wd.namespace),
        }
    }
}

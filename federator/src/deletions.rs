//! Deletions that are remembered, and creates that land after them: see [`crate::tombstones`].

use fedhub_api::facts::{Change, Digest, DigestExt, Known};
use fedhub_cache::digest::Uid;
use fedhub_core::errors::Error;
use fedhub_core::names::{
    DELETION_PROTECTED, FEDERATION_NAMESPACE, FEDERATOR_MANAGER, PlaneName, SOURCE, SOURCE_UID,
};
use fedhub_core::object::{Key, Kind, Object, ObjectView, PlaneId};
use fedhub_planes::{DryRun, Precondition, ProjectNamespace};
use tokio::time::Instant;

use crate::Federator;
use crate::controller::Target;
use crate::loss::is_awaiting_cell;
use crate::orphan::is_of;
use crate::snapshot::is_leaving;
use crate::tombstones::{Deletion, Tombstone};

impl Federator {
    /// Whether the hub WD of the WD with that UID in that hub namespace was seen deleted, and nothing that makes it
    /// doubtful since.
    pub(crate) fn was_seen_deleted(&self, key: &Key, uid: &Uid, hub_namespace: &str) -> bool {
        self.seen_deleted.get(key).is_some_and(|seen| *seen == self.deletion(uid, hub_namespace))
    }

    fn deletion(&self, uid: &Uid, hub_namespace: &str) -> Deletion {
        let life = self.planes.hub().lives();
        Deletion { uid: uid.clone(), hub_namespace: hub_namespace.to_owned(), life }
    }

    /// Remembers that a hub WD was seen deleted while its WD is being deleted. The deletion of one that awaits its cell
    /// proves nothing.
    pub(crate) fn note_deletion(&self, home: &ProjectNamespace, change: &Change) {
        let (hub_wd, Some(project)) = (change.known(), self.planes.project(&home.plane)) else { return };
        let key = project.key(Kind::WorkloadDeployment, &home.namespace, &hub_wd.name);
        let wd = project.store(key.kind).digest(&key.namespace, &key.name);
        let goes = |wd: &Digest| is_leaving(&project, wd) && is_of(&hub_wd.digest, Some(&wd.uid));
        let proves = !hub_wd.digest.deployment().is_some_and(is_awaiting_cell);
        match (change, wd.filter(goes)) {
            (Change::Deleted { inferred: false, .. }, Some(wd)) if proves => {
                self.seen_deleted.insert(key, self.deletion(&wd.uid, &hub_wd.namespace));
            }
            _ => _ = self.seen_deleted.remove_if(&key, |_, seen| *seen.hub_namespace == *hub_wd.namespace),
        }
    }

    /// Remembers, whoever leads, that a WD was seen deleted and its hub WD is gone too.
    pub(crate) fn note_departure(&self, plane: &PlaneName, wd: &Known) {
        let hub = self.planes.hub();
        let (true, true, Some(object)) = (wd.digest.terminating, hub.synced(), &wd.object) else { return };
        let Some(hub_namespace) = object.annotation(FEDERATION_NAMESPACE) else { return };
        if hub.store(Kind::WorkloadDeployment).digest(hub_namespace, &wd.name).is_none() {
            let gone = Tombstone { uid: object.uid().to_owned(), hub_namespace: hub_namespace.to_owned() };
            let (kind, plane) = (Kind::WorkloadDeployment, PlaneId::Project(plane.clone()));
            let (namespace, name) = (wd.namespace.clone(), wd.name.clone());
            let key = Key { plane, kind, namespace, name };
            self.tombstones.note(&key, gone, Instant::now());
        }
    }

    /// Deletes a hub WD that a create made too late. Returns whether there is one, deleted by now or on its way out.
    pub(crate) async fn delete_late_create(&self, of: Target<'_>) -> Result<bool, Error> {
        let (wd, hub, key) = (of.key.kind, self.planes.hub(), of.key);
        let Some(gone) = self.tombstones.get(key, Instant::now()) else { return Ok(false) };
        let Some(late) = hub.get_or_fetch(wd, &gone.hub_namespace, &key.name).await? else {
            return Ok(false);
        };
        let mark = [late.annotation(SOURCE), late.annotation(SOURCE_UID)];
        if mark != [Some(&*of.source()), Some(&*gone.uid)]
            || self.labelled(&gone.hub_namespace).as_ref() != Some(of.home)
        {
            return Ok(false);
        }
        if of.digest().is_some_and(|known| known.uid.is(&gone.uid)) {
            return Ok(false);
        }
        let live = of.project.get_live(wd, &key.namespace, &key.name).await?;
        if live.is_some_and(|live| live.uid() == gone.uid) {
            return Ok(false);
        }
        if late.is_terminating() {
            return Ok(true);
        }
        tracing::warn!(
            plane = %key.plane, namespace = key.namespace, name = key.name, uid = gone.uid,
            "deleting a hub WorkloadDeployment that was created after its source had gone"
        );
        let mut target = late.clone();
        if late.label(DELETION_PROTECTED.0).is_some() {
            let mut free = Object::clone(&late);
            free.metadata.labels.get_or_insert_default().remove(DELETION_PROTECTED.0);
            target = hub.replace(wd, &free, FEDERATOR_MANAGER, DryRun::No).await?;
        }
        hub.delete(wd, &target, Precondition::Uid).await?;
        Ok(true)
    }
}

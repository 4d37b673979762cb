//! Events to keys: which change concerns which Instance.

use std::collections::BTreeSet;

use fedhub_api::facts::{Change, DigestExt, Known, View};
use fedhub_cache::digest::Uid;
use fedhub_core::names::{SOURCE_UID, WORKLOAD_DEPLOYMENT_NAME};
use fedhub_core::object::{Key, Kind, ObjectView, PlaneId};
use fedhub_planes::{Listener, Plane, ProjectNamespace};

use super::WriteBack;
use super::plan::{plan, source};
use super::snapshot::LiveReads;
use crate::identity::Identity;

impl WriteBack {
    /// Enqueues an Instance of the cell. Lanes are the project planes that they belong to: a hub that fails
    /// two of them is unhealthy, and one Instance that it cannot digest is not.
    fn enqueue(&self, key: Key) {
        if !self.cell.anchor().synced() {
            // All are enqueued then.
            return;
        }
        let namespace = self.hub.hub().store(Kind::Namespace).object("", &key.namespace);
        let home = namespace.and_then(|namespace| ProjectNamespace::from_hub_namespace(&namespace));
        let lane = home.map_or(PlaneId::Cell, |home| PlaneId::Project(home.plane));
        self.queue.add(key, &lane);
    }

    fn key(&self, namespace: &str, name: &str) -> Key {
        self.cell.anchor().key(Kind::Instance, namespace, name)
    }

    /// The cell's Instances in a namespace that are like that.
    fn enqueue_instances(&self, namespace: &str, of: impl Fn(View<'_>) -> bool) {
        let instances = self.cell.anchor().store(Kind::Instance);
        for name in instances.select(Some(namespace), |i| of(i).then(|| i.name.to_owned())) {
            self.enqueue(self.key(namespace, &name));
        }
    }

    /// The Instances of a WD of the cell, or of the hub.
    fn enqueue_deployment(&self, wd: &Known) {
        self.enqueue_instances(&wd.namespace, |i| {
            i.object.and_then(|i| i.label(WORKLOAD_DEPLOYMENT_NAME)) == Some(&*wd.name)
        });
    }

    /// Enqueues all Instances and copies, but for those in sync: after a restart that is almost every one.
    fn enqueue_all(&self) {
        let cell = self.cell.anchor();
        let hub = self.hub.hub();
        let Some(id) = self.identity.get().filter(|_| cell.synced() && hub.synced()) else { return };
        let here = |i: View<'_>| Some(self.key(i.namespace, i.name));
        let mut keys: BTreeSet<Key> = cell.store(Kind::Instance).select(None, here).into_iter().collect();
        keys.extend(hub.store(Kind::Instance).select(None, here));
        for key in keys {
            let snapshot = self.snapshot(&key, &id, &LiveReads::default());
            if self.is_synced(&key, &snapshot) || plan(&snapshot).intents.is_empty() {
                self.hub.metrics().reconciles_skipped.with_label_values(&["write_back"]).inc();
                self.set_state(&key, None);
                self.mark_synced(&key, &snapshot, snapshot.fingerprint());
            } else {
                self.enqueue(key);
            }
        }
    }

    /// A cell was declared lost, or is no longer: it may be this one.
    fn log_declaration(&self, change: &Change) {
        let lost = self.identity.get().and_then(|cell| self.identity.declared_lost(&cell));
        let name = &*change.known().name;
        match lost {
            Some((cluster, since)) if cluster == name => {
                tracing::warn!(cluster, %since, "cell declared lost, no longer writing to the hub");
            }
            _ => tracing::info!(cluster = name, "declaration of a lost cell changed"),
        }
    }

    /// Notes that the cell's watch has shown the end of an Instance, whose copy stands on the hub.
    fn note_gone(&self, key: &Key, instance: &Known) {
        let Some((instance, cell)) = instance.object.as_ref().zip(self.identity.get()) else { return };
        let source = source(instance, &cell);
        let copy = self.hub.hub().store(Kind::Instance).digest(&key.namespace, &key.name);
        if let Some(copied) = copy.as_ref().and_then(|copy| copy.instance()).map(|copy| copy.source)
            && source == Some(copied)
        {
            self.seen_gone.lock().insert(key.clone(), copied);
        }
    }

    fn hub_changed(&self, kind: Kind, change: &Change) {
        let seen = change.known();
        match kind {
            Kind::Instance if matches!(change, Change::Deleted { .. }) => {
                let copy = self.hub.hub().key(kind, &seen.namespace, &seen.name);
                self.identity.note(&copy, None);
                self.seen_gone.lock().remove(&self.key(&seen.namespace, &seen.name));
                self.enqueue(self.key(&seen.namespace, &seen.name));
            }
            Kind::Instance => self.enqueue(self.key(&seen.namespace, &seen.name)),
            Kind::WorkloadDeployment => {
                // Only its digest is needed.
                let deployments = self.hub.hub().store(kind);
                deployments.mark_synced(&seen.namespace, &seen.name, &seen.digest.version, 0);
                // The status that its cell reports does not concern the cell.
                if change.old().is_none_or(|old| identity(old) != identity(seen)) {
                    self.enqueue_deployment(seen);
                }
            }
            Kind::Namespace => self.enqueue_instances(&seen.name, |_| true),
            _ => {}
        }
    }
}

/// The part of a hub's WD that decides about the copies of its Instances (I5): whether it lives, its UID, and
/// the UID of the project's WD.
fn identity(wd: &Known) -> (bool, &Uid, Option<u64>) {
    let source = wd.digest.deployment().map(|facts| facts.counterpart_uid);
    (wd.digest.terminating, &wd.digest.uid, source)
}

/// The part of a cell's WD that decides about the copies: whether it is terminating, its UID, and the UID of
/// the project's WD.
fn origin(wd: &Known) -> Option<(bool, &str, Option<&str>)> {
    wd.object.as_ref().map(|wd| (wd.is_terminating(), wd.uid(), wd.annotation(SOURCE_UID)))
}

impl Listener for WriteBack {
    fn changed(&self, plane: &Plane, kind: Kind, change: &Change) {
        if Identity::is_changed_by(plane, kind, change) {
            self.enqueue_all();
        }
        if Identity::declares(plane, kind, change) {
            self.log_declaration(change);
            self.enqueue_all();
        }
        match (&plane.id, kind) {
            (PlaneId::Cell, Kind::Instance) => {
                let seen = change.known();
                let key = self.key(&seen.namespace, &seen.name);
                match change {
                    Change::Applied { .. } => {
                        self.seen_gone.lock().remove(&key);
                    }
                    Change::Deleted { last, inferred } => {
                        self.set_state(&key, None);
                        if !inferred {
                            self.note_gone(&key, last);
                        }
                    }
                }
                self.enqueue(key);
            }
            (PlaneId::Cell, Kind::WorkloadDeployment) => {
                let wd = change.known();
                if change.old().and_then(origin) != origin(wd) {
                    self.enqueue_deployment(wd);
                }
            }
            (PlaneId::Hub, kind) => self.hub_changed(kind, change),
            _ => {}
        }
    }

    fn synced(&self, plane: &Plane, _kind: Kind) {
        if matches!(plane.id, PlaneId::Cell | PlaneId::Hub) && plane.synced() {
            self.queue.mark_healthy(&plane.id);
            self.enqueue_all();
        }
    }

    fn left(&self, _plane: &Plane) {}
}

//! Events to keys: which change concerns which WD.

use std::collections::BTreeSet;

use fedhub_api::facts::Change;
use fedhub_api::facts::instance::{deployment_name, of_deployment};
use fedhub_core::object::{Kind, Object, ObjectView, PlaneId};
use fedhub_planes::{Listener, Plane};

use super::DeploymentController;
use super::unread::unread;

impl DeploymentController {
    fn enqueue(&self, namespace: &str, name: &str) {
        let cell = self.cell.anchor();
        // Before the cell is in sync there is nothing to decide by, but that it may not come into sync.
        if (cell.synced() || !unread(cell).is_empty())
            && cell.store(Kind::WorkloadDeployment).digest(namespace, name).is_some()
        {
            self.queue.add(cell.key(Kind::WorkloadDeployment, namespace, name), &cell.id);
        }
    }

    /// Enqueues every WD: one in sync costs no request.
    fn enqueue_all(&self) {
        let deployments = self.cell.anchor().store(Kind::WorkloadDeployment);
        for (namespace, name) in
            deployments.select(None, |wd| Some((wd.namespace.to_owned(), wd.name.to_owned())))
        {
            self.enqueue(&namespace, &name);
        }
    }
}

/// The name of the WD that controls an object.
fn owner(object: &Object) -> Option<&str> {
    let mut owners = object.metadata.owner_references.iter().flatten();
    owners.find(|o| o.controller == Some(true) && of_deployment(o)).map(|o| o.name.as_str())
}

/// The WDs that an Instance may concern: its controller, the one that its label names, and the one that its
/// name is of (C3).
fn concerned(instance: &Object) -> impl Iterator<Item = &str> {
    let by_name = instance.name().rsplit_once('-').map(|(name, _)| name);
    [owner(instance), deployment_name(instance), by_name].into_iter().flatten()
}

impl Listener for DeploymentController {
    fn changed(&self, plane: &Plane, kind: Kind, change: &Change) {
        if plane.id != PlaneId::Cell {
            return;
        }
        let seen = change.known();
        let both = [seen.object.as_ref(), change.old().and_then(|old| old.object.as_ref())];
        let objects = || both.iter().flatten();
        self.networks.note(kind, change);
        match kind {
            // An autoscaler has the name of its WD, and so has one that is in the way of it.
            Kind::WorkloadDeployment | Kind::HorizontalPodAutoscaler => {
                self.enqueue(&seen.namespace, &seen.name);
            }
            Kind::Instance => {
                // This also covers an Instance whose name another one took.
                let gone = change.old().filter(|old| old.digest.uid != seen.digest.uid);
                let gone = gone.or_else(|| matches!(change, Change::Deleted { .. }).then_some(seen));
                if let Some(gone) = gone {
                    self.gone().remove(&gone.digest.uid.to_string());
                }
                let names: BTreeSet<_> = objects().flat_map(|object| concerned(object)).collect();
                for name in names {
                    self.enqueue(&seen.namespace, name);
                }
            }
            Kind::NetworkBinding => {
                let names: BTreeSet<_> = objects().filter_map(|object| owner(object)).collect();
                for name in names {
                    self.enqueue(&seen.namespace, name);
                }
            }
            Kind::NetworkContext | Kind::SubnetClaim | Kind::Subnet => {
                for binding in objects().flat_map(|object| self.networks.bindings(plane, kind, object)) {
                    if let Some(owner) = owner(&binding) {
                        self.enqueue(binding.namespace(), owner);
                    }
                }
            }
            Kind::LocationBinding => self.enqueue_all(),
            _ => {}
        }
    }

    fn synced(&self, plane: &Plane, _kind: Kind) {
        if plane.id == PlaneId::Cell && !plane.synced() {
            self.enqueue_all();
        }
        if plane.id == PlaneId::Cell && plane.synced() {
            self.queue.mark_healthy(&plane.id);
            self.enqueue_all();
            if !self.config.networking {
                self.queue.add(plane.key(Kind::NetworkBinding, "", ""), &plane.id);
            }
        }
    }

    fn failing(&self, plane: &Plane) {
        if plane.id == PlaneId::Cell && !plane.synced() {
            self.enqueue_all();
        }
    }

    fn left(&self, _plane: &Plane) {}
}

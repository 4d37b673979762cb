//! Events to keys: which change concerns which Instance.

use fedhub_api::facts::{Change, View};
use fedhub_core::names::{INSTANCE_POWER, SUSPENDED};
use fedhub_core::object::{Kind, Object, ObjectView, PlaneId};
use fedhub_planes::{Listener, Plane, ProjectNamespace};

use super::ProviderController;
use crate::contract::Provider;

impl<P: Provider> ProviderController<P> {
    fn enqueue(&self, namespace: &str, name: &str) {
        let cell = self.cell.anchor();
        // Before it is in sync nothing is: then all are enqueued.
        if cell.synced() {
            self.queue.add(cell.key(Kind::Instance, namespace, name), &PlaneId::Cell);
        }
    }

    /// Enqueues the Instances of a namespace, or of all, that are like that.
    fn enqueue_all(&self, namespace: Option<&str>, are: impl Fn(&Object) -> bool) {
        let found = self.cell.anchor().store(Kind::Instance).select(namespace, |view: View<'_>| {
            let is = view.object.is_some_and(|instance| are(instance));
            is.then(|| (view.namespace.to_owned(), view.name.to_owned()))
        });
        for (namespace, name) in found {
            self.enqueue(&namespace, &name);
        }
    }

    fn deployment_changed(&self, change: &Change) {
        let power = |object: &Object| {
            [SUSPENDED, INSTANCE_POWER].map(|key| object.annotation(key).map(str::to_owned))
        };
        let seen = change.known();
        let before = change.old().and_then(|old| old.object.as_deref()).map(power);
        let now = seen.object.as_deref().map(power);
        let uid = seen.digest.uid.to_string();
        if matches!(change, Change::Applied { .. }) && before != now {
            self.enqueue_all(Some(&seen.namespace), |instance| {
                let mut owners = instance.metadata.owner_references.iter().flatten();
                owners.any(|owner| owner.uid == uid)
            });
        }
    }

    fn namespace_changed(&self, change: &Change) {
        let project = |object: &Object| ProjectNamespace::from_hub_namespace(object);
        let seen = change.known();
        let before = change.old().and_then(|old| old.object.as_deref()).and_then(project);
        let now = seen.object.as_deref().and_then(project);
        if matches!(change, Change::Applied { .. }) && before != now {
            self.enqueue_all(Some(&seen.name), |_| true);
        }
    }
}

impl<P: Provider> Listener for ProviderController<P> {
    fn changed(&self, plane: &Plane, kind: Kind, change: &Change) {
        if plane.id != PlaneId::Cell {
            return;
        }
        let seen = change.known();
        match (kind, change) {
            (Kind::Instance, Change::Deleted { .. }) => {
                let key = plane.key(Kind::Instance, &seen.namespace, &seen.name);
                self.passes.forget(&key, &seen.digest.uid.to_string());
                self.enqueue(&seen.namespace, &seen.name);
            }
            (Kind::Instance, Change::Applied { .. }) => self.enqueue(&seen.namespace, &seen.name),
            (Kind::WorkloadDeployment, _) => self.deployment_changed(change),
            (Kind::Namespace, _) => self.namespace_changed(change),
            _ => {}
        }
    }

    fn synced(&self, plane: &Plane, _kind: Kind) {
        if plane.id == PlaneId::Cell && plane.synced() {
            self.queue.mark_healthy(&plane.id);
            self.enqueue_all(None, |_| true);
        }
    }

    fn left(&self, _plane: &Plane) {}
}

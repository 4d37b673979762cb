//! Events to the one key of the catalogue.

use fedhub_api::facts::Change;
use fedhub_core::names::CATALOG_POLICY;
use fedhub_core::object::{Kind, PlaneId};
use fedhub_planes::{Listener, Plane};

use super::{InstanceTypes, key};

impl InstanceTypes {
    /// Enqueues the catalogue, where both ends are in sync: until they are nothing can be decided, and then
    /// it is enqueued.
    fn enqueue(&self) {
        let source = self.source.anchor();
        if self.planes.hub().synced() && source.synced() {
            self.queue.add(key(), &source.id);
        }
    }
}

impl Listener for InstanceTypes {
    fn changed(&self, plane: &Plane, kind: Kind, change: &Change) {
        match (&plane.id, kind) {
            (PlaneId::Management | PlaneId::Hub, Kind::InstanceType) => self.enqueue(),
            (PlaneId::Hub, Kind::ClusterPropagationPolicy) if *change.known().name == *CATALOG_POLICY => {
                self.enqueue();
            }
            _ => {}
        }
    }

    fn synced(&self, plane: &Plane, _kind: Kind) {
        if plane.synced() && matches!(plane.id, PlaneId::Management | PlaneId::Hub) {
            self.queue.mark_healthy(&plane.id);
            self.enqueue();
        }
    }

    /// Project planes have no part in it.
    fn left(&self, _plane: &Plane) {}
}

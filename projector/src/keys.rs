//! Events to keys: which change concerns which hub Instance.

use fedhub_shared::engine::{Change, Listener};
use fedhub_shared::names::PlaneName;
use fedhub_shared::object::{Key, Kind, Object, ObjectView, PlaneId};
use fedhub_shared::planes::Plane;

use crate::controller::Projector;
use crate::mark::Mark;
use crate::observe::{Home, deployment_name};

impl Projector {
    /// Keys are those of hub Instances; turns are the project planes'.
    fn enqueue(&self, hub_namespace: &str, name: &str) {
        let lane = self.home(hub_namespace).map_or(PlaneId::Hub, |home| PlaneId::Project(home.plane));
        self.queue.add(self.planes.hub().key(Kind::Instance, hub_namespace, name), &lane);
    }

    fn home(&self, hub_namespace: &str) -> Option<Home> {
        Home::of(&*self.planes.hub().store(Kind::Namespace).get("", hub_namespace)?)
    }

    fn enqueue_instances(&self, hub_namespace: &str, of: impl Fn(&Object) -> bool) {
        for instance in self.planes.hub().store(Kind::Instance).in_namespace(hub_namespace) {
            if of(&instance) {
                self.enqueue(hub_namespace, instance.called());
            }
        }
    }

    /// The hub namespaces whose labels name that project namespace.
    fn hub_namespaces(&self, plane: &PlaneName, namespace: &str) -> Vec<String> {
        self.homes.of(&Home { plane: plane.clone(), namespace: namespace.to_owned() })
    }

    fn hub_changed(&self, kind: Kind, change: &Change) {
        let object = change.object();
        match kind {
            Kind::Instance => {
                if let Change::Deleted { last, gap: false } = change {
                    let key = self.planes.hub().key(kind, last.space(), last.called());
                    self.seen_deleted.insert(key, last.uid().to_owned());
                }
                self.enqueue(object.space(), object.called());
            }
            Kind::WorkloadDeployment => {
                let name = object.called();
                self.enqueue_instances(object.space(), |i| deployment_name(i) == Some(name));
            }
            Kind::Namespace => {
                self.homes.changed(change);
                self.enqueue_instances(object.called(), |_| true);
            }
            Kind::PropagationPolicy | Kind::Cluster => {}
        }
    }

    fn project_changed(&self, plane: &PlaneName, kind: Kind, change: &Change) {
        let object = change.object();
        match kind {
            Kind::WorkloadDeployment => {
                for namespace in self.hub_namespaces(plane, object.space()) {
                    self.enqueue_instances(&namespace, |i| deployment_name(i) == Some(object.called()));
                }
            }
            Kind::Instance => {
                // By its place and not by its mark, which a tenant may have edited (P4).
                for namespace in self.hub_namespaces(plane, object.space()) {
                    self.enqueue(&namespace, object.called());
                }
                if let Change::Deleted { last, .. } = change {
                    self.echoes.forget(&projection_key(plane, last.space(), last.called()));
                }
            }
            _ => {}
        }
    }
}

fn projection_key(plane: &PlaneName, namespace: &str, name: &str) -> Key {
    Key {
        plane: PlaneId::Project(plane.clone()),
        kind: Kind::Instance,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

impl Listener for Projector {
    fn changed(&self, plane: &Plane, kind: Kind, change: &Change) {
        match &plane.id {
            PlaneId::Hub => self.hub_changed(kind, change),
            PlaneId::Project(name) => self.project_changed(name, kind, change),
            PlaneId::Management => {}
        }
    }

    fn synced(&self, plane: &Plane, _kind: Kind) {
        if !plane.synced() {
            return;
        }
        self.queue.works(&plane.id);
        // Passes that came too early ended without a trace, and projections may have lost their Instance meanwhile.
        let concerned = |home: &Home| match &plane.id {
            PlaneId::Project(name) => home.plane == *name,
            _ => true,
        };
        for namespace in self.planes.hub().store(Kind::Namespace).all() {
            if Home::of(&namespace).is_none_or(|home| concerned(&home)) {
                self.enqueue_instances(namespace.called(), |_| true);
            }
        }
        for project in self.planes.projects() {
            if plane.id == PlaneId::Hub || plane.id == project.id {
                for projection in project.store(Kind::Instance).all() {
                    if let Some(mark) = Mark::of(&projection) {
                        self.enqueue(&mark.namespace, projection.called());
                    }
                }
            }
        }
    }

    fn left(&self, plane: &Plane) {
        // What was judged by the plane's objects is not known any more. Its bucket stays: coming back fills none (I4).
        let PlaneId::Project(name) = &plane.id else { return };
        for namespace in self.planes.hub().store(Kind::Namespace).all() {
            if Home::of(&namespace).is_some_and(|home| home.plane == *name) {
                self.enqueue_instances(namespace.called(), |_| true);
            }
        }
    }
}

//! Events to keys: which change concerns which hub Instance.

use fedhub_shared::engine::{Change, Listener, View};
use fedhub_shared::names::PlaneName;
use fedhub_shared::object::{Kind, ObjectView, PlaneId};
use fedhub_shared::planes::Plane;

use crate::controller::Projector;
use crate::observe::Home;

impl Projector {
    /// Keys are those of hub Instances; turns are the project planes'.
    fn enqueue(&self, hub_namespace: &str, name: &str) {
        let lane = self.home(hub_namespace).map_or(PlaneId::Hub, |home| PlaneId::Project(home.plane));
        self.queue.add(self.planes.hub().key(Kind::Instance, hub_namespace, name), &lane);
    }

    fn home(&self, hub_namespace: &str) -> Option<Home> {
        Home::of(&*self.planes.hub().store(Kind::Namespace).object("", hub_namespace)?)
    }

    fn enqueue_instances(&self, hub_namespace: &str, of: impl Fn(View<'_>) -> bool) {
        let instances = self.planes.hub().store(Kind::Instance);
        for name in instances.select(Some(hub_namespace), |i| of(i).then(|| i.name.to_owned())) {
            self.enqueue(hub_namespace, &name);
        }
    }

    fn enqueue_of_deployment(&self, hub_namespace: &str, deployment: &str) {
        self.enqueue_instances(hub_namespace, |i| {
            i.digest.instance().and_then(|facts| facts.deployment(i.name)) == Some(deployment)
        });
    }

    /// The hub namespaces whose labels name that project namespace.
    fn hub_namespaces(&self, plane: &PlaneName, namespace: &str) -> Vec<String> {
        self.homes.of(&Home { plane: plane.clone(), namespace: namespace.to_owned() })
    }

    fn hub_changed(&self, kind: Kind, change: &Change) {
        let seen = change.known();
        match kind {
            Kind::Instance => {
                if let Change::Deleted { last, gap: false } = change {
                    let key = self.planes.hub().key(kind, &last.namespace, &last.name);
                    self.seen_deleted.insert(key, last.digest.uid.to_string());
                }
                self.enqueue(&seen.namespace, &seen.name);
            }
            Kind::WorkloadDeployment => self.enqueue_of_deployment(&seen.namespace, &seen.name),
            Kind::Namespace => {
                self.homes.changed(change);
                self.enqueue_instances(&seen.name, |_| true);
            }
            Kind::PropagationPolicy | Kind::Cluster => {}
        }
    }

    fn project_changed(&self, plane: &PlaneName, kind: Kind, change: &Change) {
        let seen = change.known();
        for namespace in self.hub_namespaces(plane, &seen.namespace) {
            match kind {
                Kind::WorkloadDeployment => self.enqueue_of_deployment(&namespace, &seen.name),
                // By its place and not by its mark, which a tenant may have edited (P4).
                Kind::Instance => self.enqueue(&namespace, &seen.name),
                _ => {}
            }
        }
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
        // Passes that came too early ended without a trace, and projections may have lost their Instance meanwhile.
        let concerned = |home: &Home| match &plane.id {
            PlaneId::Project(name) => home.plane == *name,
            _ => true,
        };
        for namespace in self.planes.hub().store(Kind::Namespace).objects(None) {
            if Home::of(&namespace).is_none_or(|home| concerned(&home)) {
                self.enqueue_instances(namespace.called(), |_| true);
            }
        }
        for project in self.planes.projects() {
            let PlaneId::Project(name) = &project.id else { continue };
            if plane.id == PlaneId::Hub || plane.id == project.id {
                let here = |i: View<'_>| Some((i.namespace.to_owned(), i.name.to_owned()));
                for (space, projection) in project.store(Kind::Instance).select(None, here) {
                    for namespace in self.hub_namespaces(name, &space) {
                        self.enqueue(&namespace, &projection);
                    }
                }
            }
        }
    }

    fn left(&self, plane: &Plane) {
        // What was judged by the plane's objects is not known any more. Its bucket stays: coming back fills none (I4).
        let PlaneId::Project(name) = &plane.id else { return };
        for namespace in self.planes.hub().store(Kind::Namespace).objects(None) {
            if Home::of(&namespace).is_some_and(|home| home.plane == *name) {
                self.enqueue_instances(namespace.called(), |_| true);
            }
        }
    }
}

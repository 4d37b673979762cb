//! Events to keys: which change concerns which hub Instance.

use std::sync::PoisonError;

use fedhub_shared::engine::{Change, Listener};
use fedhub_shared::names::PlaneName;
use fedhub_shared::object::{Key, Kind, Object, ObjectView, PlaneId};
use fedhub_shared::planes::Plane;
use tokio::time::Instant;

use crate::controller::Projector;
use crate::mark::Mark;
use crate::observe::{Home, deployment_name};

/// How many hub Instances that were seen deleted are remembered at most; a few hundred bytes each.
const MOST: usize = 16_384;

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
                if let Change::Deleted { last, gap } = change {
                    let key = self.planes.hub().key(kind, last.space(), last.called());
                    if !*gap && self.to_be_remembered(last) {
                        self.seen_deleted.insert(key.clone(), last.uid().to_owned());
                    }
                    if !self.planes.leads() {
                        // No pass will.
                        self.wards.set(&key, None, self.planes.metrics());
                    }
                }
                self.enqueue(object.space(), object.called());
            }
            Kind::WorkloadDeployment => {
                let name = object.called();
                self.enqueue_instances(object.space(), |i| deployment_name(i) == Some(name));
            }
            Kind::Namespace => {
                self.homes.changed(change);
                if matches!(change, Change::Deleted { .. }) {
                    self.seen_deleted.retain(|key, _| key.namespace != object.called());
                    self.wards.forget(object.called(), self.planes.metrics());
                }
                self.enqueue_instances(object.called(), |_| true);
            }
            Kind::PropagationPolicy | Kind::Cluster => {}
        }
    }

    /// Whether it is worth remembering that this hub Instance was seen deleted: until its pass, where there will be one,
    /// else for as long as its projection stands. What is not remembered is a gap, and has to be proven (I4).
    fn to_be_remembered(&self, instance: &Object) -> bool {
        if self.seen_deleted.len() >= MOST {
            let known = |home: Home| self.planes.project(&home.plane).is_some();
            self.seen_deleted.retain(|key, _| self.home(&key.namespace).is_some_and(known));
        }
        let awaited = || self.projected(instance).is_some_and(|uid| uid == instance.uid());
        self.seen_deleted.len() < MOST && (self.planes.leads() || awaited())
    }

    /// A plane is in sync: what it has no projection of is nothing to remember.
    fn remember_only_projected(&self, name: &PlaneName, project: &Plane) {
        self.seen_deleted.retain(|key, _| match self.home(&key.namespace) {
            Some(home) if home.plane == *name => {
                project.store(Kind::Instance).get(&home.namespace, &key.name).is_some()
            }
            _ => true,
        });
    }

    /// The hub Instance that the projection in this one's place was made of, by UID.
    fn projected(&self, instance: &Object) -> Option<String> {
        let home = self.home(instance.space())?;
        let project = self.planes.project(&home.plane)?;
        let projection = project.store(Kind::Instance).get(&home.namespace, instance.called())?;
        Some(Mark::of(&projection)?.instance_uid)
    }

    /// A projection is gone, and with it what was remembered of its hub Instance.
    fn deleted_with_its_source(&self, projection: &Object) {
        let Some(mark) = Mark::of(projection) else { return };
        let key = self.planes.hub().key(Kind::Instance, &mark.namespace, projection.called());
        self.seen_deleted.remove_if(&key, |_, uid| *uid == mark.instance_uid);
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
                    self.deleted_with_its_source(last);
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
        if let PlaneId::Project(name) = &plane.id {
            self.remember_only_projected(name, plane);
        }
        // What went unseen: while a plane's client was replaced, or as the answer to a write came after the event.
        self.echoes.retain(&plane.id, |key| plane.store(key.kind).get(&key.namespace, &key.name).is_some());
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
        let PlaneId::Project(name) = &plane.id else { return };
        self.queue.forget(&plane.id);
        self.echoes.retain(&plane.id, |_| false);
        // Its bucket stays until it is full: coming back fills none (I4).
        let now = Instant::now();
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, bucket| !bucket.is_full(now));
        for namespace in self.planes.hub().store(Kind::Namespace).all() {
            if Home::of(&namespace).is_some_and(|home| home.plane == *name) {
                self.wards.forget(namespace.called(), self.planes.metrics());
            }
        }
    }
}

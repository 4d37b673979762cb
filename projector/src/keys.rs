//! Events to keys: which change concerns which hub Instance.

use std::sync::PoisonError;

use fedhub_cache::{Change, Known, View};
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Key, Kind, ObjectView, PlaneId};
use fedhub_planes::Listener;
use fedhub_planes::Plane;
use tokio::time::Instant;

use crate::controller::Projector;
use crate::observe::ProjectNamespace;

/// How many hub Instances that were seen deleted are remembered at most; a few hundred bytes each.
const MOST: usize = 16_384;

impl Projector {
    /// Keys are those of hub Instances; turns are the project planes'. What cannot be worked on yet is looked at when its
    /// plane comes into sync. Says whether there will be a pass.
    fn enqueue(&self, hub_namespace: &str, name: &str) -> bool {
        let home = self.home(hub_namespace);
        if !home.as_ref().map_or_else(|| self.planes.hub().synced(), |home| self.planes.ready(&home.plane)) {
            return false;
        }
        let lane = home.map_or(PlaneId::Hub, |home| PlaneId::Project(home.plane));
        self.queue.add(self.planes.hub().key(Kind::Instance, hub_namespace, name), &lane)
    }

    fn home(&self, hub_namespace: &str) -> Option<ProjectNamespace> {
        ProjectNamespace::of(&*self.planes.hub().store(Kind::Namespace).object("", hub_namespace)?)
    }

    fn enqueue_instances(&self, hub_namespace: &str, of: impl Fn(View<'_>) -> bool) {
        let instances = self.planes.hub().store(Kind::Instance);
        for name in instances.select(Some(hub_namespace), |i| of(i).then(|| i.name.to_owned())) {
            self.enqueue(hub_namespace, &name);
        }
    }

    /// All Instances and projections of a project plane, but for those that are in order: after a restart that is almost
    /// every one.
    fn enqueue_plane(&self, project: &Plane, name: &PlaneName) {
        if !self.planes.ready(name) {
            return;
        }
        let hub = self.planes.hub();
        for namespace in self.planes.tenants().of_plane(name) {
            let Some(object) = hub.store(Kind::Namespace).object("", &namespace) else { continue };
            let Some(home) = ProjectNamespace::of(&object) else { continue };
            let here = |i: View<'_>| Some(i.name.to_owned());
            let mut names = hub.store(Kind::Instance).select(Some(&namespace), here);
            names.extend(project.store(Kind::Instance).select(Some(&home.namespace), here));
            names.sort_unstable();
            names.dedup();
            for name in names {
                let key = hub.key(Kind::Instance, &namespace, &name);
                let sight = self.look(project, &key, &home, &object);
                if self.in_order(project, &key, &sight) {
                    self.planes.metrics().reconciles_skipped.with_label_values(&["projector"]).inc();
                    self.wards.set(&key, None, self.planes.metrics());
                } else {
                    self.enqueue(&namespace, &name);
                }
            }
        }
    }

    fn enqueue_of_deployment(&self, hub_namespace: &str, deployment: &str) {
        self.enqueue_instances(hub_namespace, |i| {
            i.digest.instance().and_then(|facts| facts.deployment(i.name)) == Some(deployment)
        });
    }

    /// The hub namespaces whose labels name that project namespace.
    fn hub_namespaces(&self, plane: &PlaneName, namespace: &str) -> Vec<String> {
        self.planes.tenants().of(&ProjectNamespace { plane: plane.clone(), namespace: namespace.to_owned() })
    }

    /// Says whether there will be a pass over the Instance that changed.
    fn hub_changed(&self, kind: Kind, change: &Change) -> bool {
        let seen = change.known();
        match kind {
            Kind::Instance => {
                if let Change::Deleted { last, inferred } = change {
                    let key = self.planes.hub().key(kind, &last.namespace, &last.name);
                    if !*inferred && self.to_be_remembered(last) {
                        self.seen_deleted.insert(key.clone(), last.digest.uid.to_string());
                    }
                    if !self.planes.leads() {
                        // No pass will.
                        self.wards.set(&key, None, self.planes.metrics());
                    }
                }
                let wanted = self.enqueue(&seen.namespace, &seen.name);
                if let Some(home) = self.home(&seen.namespace) {
                    self.planes.count_dropped(&home.plane);
                }
                return wanted;
            }
            Kind::WorkloadDeployment => self.enqueue_of_deployment(&seen.namespace, &seen.name),
            Kind::Cluster => self.cells_changed(),
            Kind::Namespace => {
                if matches!(change, Change::Deleted { .. }) {
                    self.seen_deleted.retain(|key, _| key.namespace != *seen.name);
                    self.wards.retain(self.planes.metrics(), |key| key.namespace != *seen.name);
                }
                self.enqueue_instances(&seen.name, |_| true);
            }
            _ => {}
        }
        false
    }

    /// Has the Instances looked at whose cell is down, or is so no more.
    fn cells_changed(&self) {
        let hub = self.planes.hub();
        let cities = self.unreachable.learn(&self.planes.clusters());
        if cities.is_empty() {
            return;
        }
        let there = |i: View<'_>| {
            let facts = i.digest.instance().filter(|facts| cities.contains(&facts.city))?;
            (facts.city != 0).then(|| (i.namespace.to_owned(), i.name.to_owned()))
        };
        for (namespace, name) in hub.store(Kind::Instance).select(None, there) {
            self.enqueue(&namespace, &name);
        }
    }

    /// Whether it is worth remembering that this hub Instance was seen deleted: until its pass, where there will be one,
    /// else for as long as its projection stands. What is not remembered is a gap, and has to be proven (I4).
    fn to_be_remembered(&self, instance: &Known) -> bool {
        if self.seen_deleted.len() >= MOST {
            let known = |home: ProjectNamespace| self.planes.project(&home.plane).is_some();
            self.seen_deleted.retain(|key, _| self.home(&key.namespace).is_some_and(known));
        }
        let key = self.planes.hub().key(Kind::Instance, &instance.namespace, &instance.name);
        self.seen_deleted.len() < MOST && (self.planes.leads() || self.stands(&key))
    }

    /// Whether an Instance stands in the project plane in the place of that hub Instance.
    fn stands(&self, key: &Key) -> bool {
        let project =
            self.home(&key.namespace).and_then(|home| Some((self.planes.project(&home.plane)?, home)));
        project.is_some_and(|(project, home)| {
            project.store(Kind::Instance).digest(&home.namespace, &key.name).is_some()
        })
    }

    /// A plane is in sync: what it has no projection of is nothing to remember.
    fn remember_only_projected(&self, name: &PlaneName) {
        self.seen_deleted.retain(|key, _| {
            self.home(&key.namespace).is_none_or(|home| home.plane != *name) || self.stands(key)
        });
    }

    /// Likewise.
    fn project_changed(&self, plane: &PlaneName, kind: Kind, change: &Change) -> bool {
        let (seen, mut wanted) = (change.known(), false);
        for namespace in self.hub_namespaces(plane, &seen.namespace) {
            match kind {
                Kind::WorkloadDeployment => self.enqueue_of_deployment(&namespace, &seen.name),
                // By its place and not by its mark, which a tenant may have edited (P4).
                Kind::Instance => {
                    wanted |= self.enqueue(&namespace, &seen.name);
                    if matches!(change, Change::Deleted { .. }) {
                        // And with it goes what was remembered of its hub Instance.
                        let key = self.planes.hub().key(Kind::Instance, &namespace, &seen.name);
                        self.seen_deleted.remove_if(&key, |key, _| !self.stands(key));
                    }
                }
                _ => {}
            }
        }
        wanted
    }
}

impl Listener for Projector {
    fn changed(&self, plane: &Plane, kind: Kind, change: &Change) {
        let wanted = match &plane.id {
            PlaneId::Hub => self.hub_changed(kind, change),
            PlaneId::Project(name) => self.project_changed(name, kind, change),
            PlaneId::Management | PlaneId::Cell => false,
        };
        if kind == Kind::Instance && !wanted {
            let seen = change.known();
            plane.store(kind).release(&seen.namespace, &seen.name);
        }
    }

    fn synced(&self, plane: &Plane, _kind: Kind) {
        if !plane.synced() {
            return;
        }
        self.queue.mark_healthy(&plane.id);
        if plane.id == PlaneId::Hub {
            self.cells_changed();
        }
        if let PlaneId::Project(name) = &plane.id {
            self.remember_only_projected(name);
        }
        // Projections may have lost their Instance meanwhile, and Instances have none yet.
        if let PlaneId::Project(name) = &plane.id {
            self.enqueue_plane(plane, name);
            return;
        }
        for namespace in self.planes.hub().store(Kind::Namespace).objects(None) {
            if ProjectNamespace::of(&namespace).is_none() {
                self.enqueue_instances(namespace.name(), |_| true);
            }
        }
        for project in self.planes.projects() {
            if let PlaneId::Project(name) = &project.id {
                self.enqueue_plane(&project, name);
            }
        }
    }

    fn left(&self, plane: &Plane) {
        let PlaneId::Project(name) = &plane.id else { return };
        self.queue.forget(&plane.id);
        // Its bucket stays until it is full: coming back fills none (I4).
        let now = Instant::now();
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, bucket| !bucket.is_full(now));
        for namespace in self.planes.tenants().of_plane(name) {
            self.wards.retain(self.planes.metrics(), |key| key.namespace != namespace);
        }
    }
}

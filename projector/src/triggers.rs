//! Which event enqueues which key: the hub Instances that a change concerns.

use fedhub_api::facts::{Change, DigestExt, Known, View};
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Key, Kind, ObjectView, PlaneId};
use fedhub_planes::{Listener, Plane, ProjectNamespace, ServiceState};

use crate::controller::{Projector, is_synced};
use crate::plan::plan;

/// The most hub Instances that are remembered as seen deleted; a few hundred bytes each.
const MAX_SEEN_DELETED: usize = 16_384;

impl Projector {
    /// Enqueues a hub Instance in the lane of its project plane. Returns whether it will be reconciled: what
    /// cannot be yet is enqueued when its plane is in sync.
    fn enqueue(&self, hub_namespace: &str, name: &str) -> bool {
        let home = self.home(hub_namespace);
        if !home.as_ref().map_or_else(|| self.planes.hub().synced(), |home| self.planes.ready(&home.plane)) {
            return false;
        }
        let lane = home.map_or(PlaneId::Hub, |home| PlaneId::Project(home.plane));
        self.queue.add(self.planes.hub().key(Kind::Instance, hub_namespace, name), &lane)
    }

    fn home(&self, hub_namespace: &str) -> Option<ProjectNamespace> {
        ProjectNamespace::from_hub_namespace(
            &*self.planes.hub().store(Kind::Namespace).object("", hub_namespace)?,
        )
    }

    fn enqueue_instances(&self, hub_namespace: &str, of: impl Fn(View<'_>) -> bool) {
        let instances = self.planes.hub().store(Kind::Instance);
        for name in instances.select(Some(hub_namespace), |i| of(i).then(|| i.name.to_owned())) {
            self.enqueue(hub_namespace, &name);
        }
    }

    /// Enqueues all Instances and projections of a project plane that are not in sync: after a restart these
    /// are few.
    fn enqueue_plane(&self, project: &Plane, name: &PlaneName) {
        if !self.planes.ready(name) {
            return;
        }
        let hub = self.planes.hub();
        for namespace in self.planes.tenants().of_plane(name) {
            let Some(object) = hub.store(Kind::Namespace).object("", &namespace) else { continue };
            let Some(home) = ProjectNamespace::from_hub_namespace(&object) else { continue };
            let here = |i: View<'_>| Some(i.name.to_owned());
            let mut names = hub.store(Kind::Instance).select(Some(&namespace), here);
            names.extend(project.store(Kind::Instance).select(Some(&home.namespace), here));
            names.sort_unstable();
            names.dedup();
            for name in names {
                let key = hub.key(Kind::Instance, &namespace, &name);
                let seen = self.snapshot(project, &key, &home, &object);
                if is_synced(project, &seen) || plan(&seen).intents.is_empty() {
                    self.mark_synced(project, &seen);
                    self.planes.metrics().reconciles_skipped.with_label_values(&["projector"]).inc();
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

    /// Enqueues the projections of a WD that left the hub with its project's service (W9).
    fn enqueue_withdrawn(&self, plane: &PlaneName, hub_namespace: &str, wd: &Known) {
        let Some(project) =
            self.planes.project(plane).filter(|project| project.service() == ServiceState::Withdrawn)
        else {
            return;
        };
        let its = |i: View<'_>| {
            let deployment = i.digest.instance().and_then(|facts| facts.deployment(i.name));
            (deployment == Some(&*wd.name)).then(|| i.name.to_owned())
        };
        for name in project.store(Kind::Instance).select(Some(&wd.namespace), its) {
            self.enqueue(hub_namespace, &name);
        }
    }

    /// The hub namespaces whose labels name that project namespace.
    fn hub_namespaces(&self, plane: &PlaneName, namespace: &str) -> Vec<String> {
        self.planes.tenants().of(&ProjectNamespace { plane: plane.clone(), namespace: namespace.to_owned() })
    }

    /// Returns whether the Instance that changed will be reconciled.
    fn hub_changed(&self, kind: Kind, change: &Change) -> bool {
        let seen = change.known();
        match kind {
            Kind::Instance => {
                if let Change::Deleted { last, inferred } = change {
                    let key = self.planes.hub().key(kind, &last.namespace, &last.name);
                    if !*inferred && self.remembers_deletion(last) {
                        self.seen_deleted.insert(key.clone(), last.digest.uid.to_string());
                    }
                    if !self.planes.leads() {
                        // No reconcile of this process will.
                        self.unprojected.set(&key, None, self.planes.metrics());
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
                    self.seen_deleted.retain(|key, _| key.namespace != seen.name);
                    self.unprojected.retain(self.planes.metrics(), |key| key.namespace != seen.name);
                }
                self.enqueue_instances(&seen.name, |_| true);
            }
            _ => {}
        }
        false
    }

    /// Enqueues the Instances of the cells that have gone down or come back.
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

    /// Whether to remember that this hub Instance was seen deleted: until its reconcile, where there will be
    /// one, else for as long as its projection stands. A deletion that is not remembered has to be confirmed
    /// (I4).
    fn remembers_deletion(&self, instance: &Known) -> bool {
        if self.seen_deleted.len() >= MAX_SEEN_DELETED {
            self.seen_deleted.retain(|key, _| {
                self.home(&key.namespace).is_some_and(|home| self.planes.project(&home.plane).is_some())
            });
        }
        let key = self.planes.hub().key(Kind::Instance, &instance.namespace, &instance.name);
        self.seen_deleted.len() < MAX_SEEN_DELETED && (self.planes.leads() || self.has_projection(&key))
    }

    /// Whether the project plane has an Instance of that hub Instance's name.
    fn has_projection(&self, key: &Key) -> bool {
        let project =
            self.home(&key.namespace).and_then(|home| Some((self.planes.project(&home.plane)?, home)));
        project.is_some_and(|(project, home)| {
            project.store(Kind::Instance).digest(&home.namespace, &key.name).is_some()
        })
    }

    /// Forgets the deletions of Instances that a plane in sync has no projection of.
    fn forget_unprojected(&self, name: &PlaneName) {
        self.seen_deleted.retain(|key, _| {
            self.home(&key.namespace).is_none_or(|home| home.plane != *name) || self.has_projection(key)
        });
    }

    /// Returns whether the projection that changed will be reconciled.
    fn project_changed(&self, plane: &PlaneName, kind: Kind, change: &Change) -> bool {
        let seen = change.known();
        let mut wanted = false;
        for namespace in self.hub_namespaces(plane, &seen.namespace) {
            match kind {
                Kind::WorkloadDeployment => {
                    self.enqueue_of_deployment(&namespace, &seen.name);
                    self.enqueue_withdrawn(plane, &namespace, seen);
                }
                // By its name and not by its mark, which a tenant may have edited (P4).
                Kind::Instance => {
                    wanted |= self.enqueue(&namespace, &seen.name);
                    if matches!(change, Change::Deleted { .. }) {
                        let key = self.planes.hub().key(Kind::Instance, &namespace, &seen.name);
                        self.seen_deleted.remove_if(&key, |key, _| !self.has_projection(key));
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
        // Projections may have lost their Instance meanwhile, and Instances have none yet.
        if let PlaneId::Project(name) = &plane.id {
            self.forget_unprojected(name);
            self.enqueue_plane(plane, name);
            return;
        }
        if plane.id == PlaneId::Hub {
            self.cells_changed();
        }
        for namespace in self.planes.hub().store(Kind::Namespace).objects(None) {
            if ProjectNamespace::from_hub_namespace(&namespace).is_none() {
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
        // Its own bucket stays until it is full: reengaging refills none (I4).
        self.delete_limits.forget_full();
        for namespace in self.planes.tenants().of_plane(name) {
            self.unprojected.retain(self.planes.metrics(), |key| *key.namespace != *namespace);
        }
    }
}

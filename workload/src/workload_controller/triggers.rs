//! Events to keys: which event concerns which Workload.

use std::collections::BTreeSet;

use fedhub_api::facts::{Change, DigestExt, View, Workload};
use fedhub_api::instance_types;
use fedhub_core::names::{PlaneName, deployment_name};
use fedhub_core::object::{Kind, PlaneId};
use fedhub_planes::{Listener, Plane};

use super::WorkloadController;
use super::plan::{WorkloadPlan, plan};
use super::reconcile::{is_synced, mark_synced};
use super::snapshot::placed;
use crate::locations::{Authority, changed_cities};
use crate::networks::comes_or_goes;

impl WorkloadController {
    /// Enqueues a Workload, also one that does not exist and has a WorkloadRollout. Returns whether it will
    /// be reconciled: what cannot be yet is enqueued when its plane is in sync.
    fn enqueue(&self, project: &Plane, namespace: &str, name: &str) -> bool {
        let PlaneId::Project(plane) = &project.id else { return false };
        let mut kinds = [Kind::Workload, Kind::WorkloadRollout].into_iter();
        let is_known = kinds.any(|kind| project.store(kind).digest(namespace, name).is_some());
        is_known
            && self.planes.ready(plane)
            && self.queue.add(project.key(Kind::Workload, namespace, name), &project.id)
    }

    fn enqueue_where(
        &self,
        project: &Plane,
        namespace: Option<&str>,
        is_so: impl Fn(&View<'_>, &Workload) -> bool,
    ) {
        let pick = |it: View<'_>| {
            let facts = it.digest.workload()?;
            is_so(&it, facts).then(|| (it.namespace.to_owned(), it.name.to_owned()))
        };
        for (namespace, name) in project.store(Kind::Workload).select(namespace, pick) {
            self.enqueue(project, &namespace, &name);
        }
    }

    /// Enqueues the Workloads of a plane that are not in sync: after a restart these are few.
    fn enqueue_plane(&self, project: &Plane, name: &PlaneName) {
        if !self.planes.ready(name) {
            return;
        }
        let all = |it: View<'_>| Some(project.key(Kind::Workload, it.namespace, it.name));
        let mut keys: BTreeSet<_> = project.store(Kind::Workload).select(None, all).into_iter().collect();
        keys.extend(project.store(Kind::WorkloadRollout).select(None, all));
        for key in keys {
            let seen = self.snapshot(project, &key);
            let is_settled = seen.next_deadline().is_none() && plan(&seen) == WorkloadPlan::Synced;
            if is_synced(project, &seen) || is_settled {
                mark_synced(project, &seen);
                self.planes.metrics().reconciles_skipped.with_label_values(&["workloads"]).inc();
            } else {
                self.queue.add(key, &project.id);
            }
        }
    }

    fn workload_changed(&self, project: &Plane, change: &Change) {
        let seen = change.known();
        if matches!(change, Change::Deleted { .. }) {
            let gone = project.key(Kind::Workload, &seen.namespace, &seen.name);
            self.stalls.lock().forget(&gone);
        }
        if !self.enqueue(project, &seen.namespace, &seen.name) {
            project.store(Kind::Workload).release(&seen.namespace, &seen.name);
        }
    }

    fn deployment_changed(&self, project: &Plane, change: &Change) {
        let seen = change.known();
        let workloads: BTreeSet<_> = [Some(seen), change.old()]
            .into_iter()
            .flatten()
            .filter_map(|known| placed(&known.digest).map(|placed| placed.workload.clone()))
            .collect();
        for name in &workloads {
            self.enqueue(project, &seen.namespace, name);
        }
        // A name that another Workload's WD had may be free now, or the last that a terminating one owns may
        // be gone.
        if matches!(change, Change::Deleted { .. }) {
            self.enqueue_where(project, Some(&seen.namespace), |workload, facts| {
                let wanted = |city: &str, placement: &str| {
                    deployment_name(workload.name, placement, city) == *seen.name
                };
                let wants_it = || {
                    let mut placements = facts.placements.iter().flatten();
                    is_prefix(workload.name, &seen.name)
                        && placements.any(|it| it.cities.iter().any(|city| wanted(city, &it.name)))
                };
                !workloads.contains(workload.name) && (workload.digest.terminating || wants_it())
            });
        }
    }

    /// Enqueues the Workloads of a plane that name one of these cities.
    fn enqueue_naming(&self, project: &Plane, cities: &BTreeSet<String>) {
        if cities.is_empty() {
            return;
        }
        self.enqueue_where(project, None, |_, facts| {
            let mut named = facts.placements.iter().flatten().flat_map(|it| &it.cities);
            named.any(|named| cities.contains(&**named))
        });
    }

    fn binding_changed(&self, project: &Plane, change: &Change) {
        let seen = change.known();
        project.store(Kind::LocationBinding).release(&seen.namespace, &seen.name);
        self.enqueue_naming(project, &changed_cities(Kind::LocationBinding, change));
    }

    fn network_changed(&self, project: &Plane, change: &Change) {
        let seen = change.known();
        project.store(Kind::Network).release(&seen.namespace, &seen.name);
        if comes_or_goes(change) {
            self.enqueue_where(project, Some(&seen.namespace), |_, facts| {
                facts.networks.contains(&seen.name)
            });
        }
    }

    fn cluster_changed(&self, change: &Change) {
        let cities = changed_cities(Kind::Cluster, change);
        for project in self.planes.projects() {
            if Authority::on(&project) == Authority::Cells {
                self.enqueue_naming(&project, &cities);
            }
        }
    }
}

impl WorkloadController {
    /// Enqueues the Workloads of a type that has changed.
    fn type_changed(&self, name: &str) {
        let is_it = |known: &str| instance_types::find(known, |of| (of == name).then_some(())).is_some();
        for project in self.planes.projects() {
            self.enqueue_where(&project, None, |_, facts| is_it(&facts.instance_type));
        }
    }

    fn enqueue_all(&self) {
        for project in self.planes.projects() {
            if let PlaneId::Project(name) = &project.id {
                self.enqueue_plane(&project, name);
            }
        }
    }
}

/// Whether the WD of that name can be one of the Workload's by the beginning of both.
fn is_prefix(workload: &str, deployment: &str) -> bool {
    /// As much of a name as is never cut nor changed.
    const SURE: usize = 8;
    workload.bytes().zip(deployment.bytes()).take(SURE).all(|(a, b)| a == b || a == b'.')
}

impl Listener for WorkloadController {
    fn changed(&self, plane: &Plane, kind: Kind, change: &Change) {
        let seen = change.known();
        match (&plane.id, kind) {
            (PlaneId::Project(_), Kind::Workload) => self.workload_changed(plane, change),
            (PlaneId::Project(_), Kind::WorkloadDeployment) => self.deployment_changed(plane, change),
            (PlaneId::Project(_), Kind::WorkloadRollout) => {
                self.enqueue(plane, &seen.namespace, &seen.name);
            }
            (PlaneId::Project(_), Kind::LocationBinding) => self.binding_changed(plane, change),
            (PlaneId::Project(_), Kind::Network) => self.network_changed(plane, change),
            (PlaneId::Hub, Kind::Cluster) => self.cluster_changed(change),
            (PlaneId::Management, Kind::InstanceType) => self.type_changed(&seen.name),
            _ => {}
        }
    }

    fn synced(&self, plane: &Plane, _kind: Kind) {
        if !plane.synced() {
            return;
        }
        self.queue.mark_healthy(&plane.id);
        match &plane.id {
            PlaneId::Project(name) => self.enqueue_plane(plane, name),
            // On the management plane, or beside it, there is the catalogue of instance types.
            PlaneId::Hub | PlaneId::Management => self.enqueue_all(),
            PlaneId::Cell => {}
        }
    }

    fn left(&self, plane: &Plane) {
        self.queue.forget(&plane.id);
        self.unrecorded.lock().forget(&plane.id);
        self.stalls.lock().forget_plane(&plane.id);
    }
}

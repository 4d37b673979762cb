//! What the process tells of itself: readiness, and gauges that are read when they are scraped.

use std::collections::BTreeMap;

use fedhub_cell::identity::IdentityFault;
use fedhub_core::metrics::Metrics;
use fedhub_core::names::CITY_CODE;
use fedhub_core::object::{Kind, ObjectView, PlaneId};
use fedhub_planes::transport::Transport;
use fedhub_planes::{Health, Plane, Planes};

use crate::admin;
use crate::run::runtime::{Controlled, Role, Runtime};

/// How many of the planes that lag most are named.
const WORST: usize = 10;

/// The status of the process, whatever its roles.
pub struct Status {
    roles: Vec<Role>,
    metrics: Metrics,
    transport: Transport,
}

impl admin::Status for Status {
    /// Ready once the watches of each role's anchor are in sync: the hub's for the management role, the cell's for the
    /// role of a cell. Other planes do not count: one that cannot be reached must not keep the others waiting. A cell has
    /// to be who its name says, besides (C10).
    fn ready(&self) -> Result<(), Vec<String>> {
        let anchors = self.roles.iter().filter_map(|role| Some(role.registries.first()?.anchor()));
        let missing = anchors.filter(|anchor| !anchor.synced()).map(|anchor| match anchor.health() {
            Health::Unreachable(why) => format!("{}: {why}", anchor.id),
            _ => format!("{}: the first lists are not complete", anchor.id),
        });
        let faults = self.faults().into_iter().map(|fault| fault.to_string());
        let missing: Vec<_> = missing.chain(faults).collect();
        if missing.is_empty() { Ok(()) } else { Err(missing) }
    }

    fn metrics(&self) -> Result<String, String> {
        let metrics = &self.metrics;
        let number = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        let registries: Vec<_> = self.roles.iter().flat_map(|role| &role.registries).collect();
        // In a process of two roles both have to lead.
        let leads = self.roles.iter().filter_map(|role| role.registries.first()).all(|planes| planes.leads());
        metrics.leader.set(i64::from(leads));
        let (mut states, mut objects, mut bytes) = (BTreeMap::<_, i64>::new(), 0, 0);
        for planes in &registries {
            for (state, count) in planes.states() {
                *states.entry(state).or_default() += count;
            }
            for plane in planes.projects().iter().chain([planes.anchor()]) {
                objects += plane.objects();
                bytes += plane.bytes();
            }
        }
        for (state, count) in states {
            metrics.planes.with_label_values(&[state]).set(count);
        }
        metrics.plane_connections.set(number(self.transport.connections()));
        metrics.cache_objects.set(number(objects));
        metrics.cache_bytes.set(number(bytes));
        let faults = self.faults();
        for label in IdentityFault::LABELS {
            let stands = faults.iter().any(|fault| fault.label() == label);
            metrics.cell_refused.with_label_values(&[label]).set(stands.into());
        }
        metrics.oldest_unsynced_plane.reset();
        for Controlled { name, kind, queue } in self.roles.iter().flat_map(|role| &role.controllers) {
            metrics.queue_depth.with_label_values(&[name]).set(number(queue.depth()));
            metrics.circuit_breakers_open.with_label_values(&[name]).set(number(queue.circuits_open()));
            if let Some(kind) = kind {
                metrics.objects.with_label_values(&[name, "pending"]).set(number(queue.unsynced(*kind)));
            }
            // What gathers on a standby is the leader's business, and in sync as far as the standby can know.
            let ages = if leads { queue.oldest_by_lane() } else { Vec::new() };
            let oldest = ages.first().map_or(0.0, |(_, age)| age.as_secs_f64());
            metrics.oldest_unsynced.with_label_values(&[name]).set(oldest);
            for (plane, age) in ages.iter().take(WORST) {
                let plane = plane.to_string();
                metrics
                    .oldest_unsynced_plane
                    .with_label_values(&[name, plane.as_str()])
                    .set(age.as_secs_f64());
            }
        }
        for role in &self.roles {
            let Some(planes) = role.registries.first() else { continue };
            self.synced(role, planes);
            if planes.anchor().id == PlaneId::Hub {
                self.cities(planes.hub());
            }
        }
        metrics.encode().map_err(|e| e.to_string())
    }
}

impl Status {
    /// Of these roles.
    pub fn of(roles: &[&Role], runtime: &Runtime) -> Self {
        let (metrics, transport) = (runtime.metrics.clone(), runtime.transport.clone());
        Self { roles: roles.iter().map(|role| (*role).clone()).collect(), metrics, transport }
    }

    /// Why the cell is not held to be who its name says, in the role of a cell.
    fn faults(&self) -> Vec<IdentityFault> {
        self.roles
            .iter()
            .filter_map(|role| role.identity.as_ref())
            .flat_map(|identity| identity.faults())
            .collect()
    }

    /// How many objects each controller has in order: those that it is there for, less those that it has something to
    /// do about.
    fn synced(&self, role: &Role, planes: &Planes) {
        for Controlled { name, kind, .. } in &role.controllers {
            let Some(kind) = kind else { continue };
            // A WD begins on its project plane, or is the cell's own; an Instance begins on the hub or in the cell.
            let from_projects = planes.anchor().id == PlaneId::Hub && *kind == Kind::WorkloadDeployment;
            let all: usize = if from_projects {
                planes.projects().iter().map(|plane| plane.store(*kind).len()).sum()
            } else {
                planes.anchor().store(*kind).len()
            };
            let state = |s| self.metrics.objects.with_label_values(&[*name, s]).get();
            let others = state("pending") + state("parked") + state("quarantined");
            let synced = i64::try_from(all).unwrap_or(i64::MAX).saturating_sub(others).max(0);
            self.metrics.objects.with_label_values(&[name, "synced"]).set(synced);
        }
    }

    fn cities(&self, hub: &Plane) {
        let codes = |kind| {
            let all = hub.store(kind).objects(None);
            all.iter().filter_map(|o| o.label(CITY_CODE).map(str::to_owned)).collect::<Vec<_>>()
        };
        let cells = codes(Kind::Cluster);
        let mut used = codes(Kind::PropagationPolicy);
        used.sort();
        used.dedup();
        let mut counts = [0i64; 3];
        for city in used {
            counts[cells.iter().filter(|c| **c == city).count().min(2)] += 1;
        }
        for (state, count) in ["none", "one", "many"].into_iter().zip(counts) {
            self.metrics.cells_for_city.with_label_values(&[state]).set(count);
        }
    }
}

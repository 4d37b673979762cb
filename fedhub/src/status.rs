//! The status of the process: readiness, and gauges that are read when they are scraped.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fedhub_api::cells::is_reachable;
use fedhub_api::facts::DigestExt;
use fedhub_api::facts::workload::RolloutSaid;
use fedhub_cell::identity::IdentityFault;
use fedhub_core::metrics::{Metrics, encoded};
use fedhub_core::names::CITY_CODE;
use fedhub_core::object::{Kind, ObjectRef, ObjectView, PlaneId};
use fedhub_planes::transport::Transport;
use fedhub_planes::{Health, Plane, Planes};
use prometheus::proto::MetricFamily;
use strum::{EnumCount, VariantArray};

use crate::admin;
use crate::process_metrics::ProcessMetrics;
use crate::run::runtime::{Controlled, Role, Runtime};
use crate::webhooks::readiness::Readiness;

/// How many of the planes that lag most are named.
const WORST: usize = 10;
/// The age from which on a change makes its plane count as lagging: what is slow, and not stuck, is done by
/// then.
const LAGGING: Duration = Duration::from_mins(5);

/// The status of the process, whatever its roles.
pub struct Status {
    roles: Vec<Role>,
    metrics: Metrics,
    process: ProcessMetrics,
    /// Held by a scrape: gauges that are emptied and filled are not to be read in between by another.
    scraping: Mutex<()>,
    transport: Transport,
    admission: Option<Readiness>,
}

impl admin::Status for Status {
    /// Ready once the watches of each role's anchor are in sync: the hub's for the management role, the
    /// cell's for the role of a cell. Other planes do not count: one that cannot be reached must not keep the
    /// others waiting. A cell has to be who its name says, besides (C10); and who answers reviews waits a
    /// while at its start for what it needs for that.
    fn ready(&self) -> Result<(), Vec<String>> {
        let anchors = self.roles.iter().filter_map(|role| Some(role.registries.first()?.anchor()));
        let missing = anchors.filter(|anchor| !anchor.synced()).map(|anchor| match anchor.health() {
            Health::Unreachable(why) => format!("{}: {why}", anchor.id),
            _ if !anchor.knows_pauses() => format!("{}: it is not known yet what is paused", anchor.id),
            _ => format!("{}: the first lists are not complete", anchor.id),
        });
        let faults = self.faults().into_iter().map(|fault| fault.to_string());
        let admission = self.admission.iter().flat_map(Readiness::missing);
        let missing: Vec<_> = missing.chain(faults).chain(admission).collect();
        if missing.is_empty() { Ok(()) } else { Err(missing) }
    }

    fn metrics(&self) -> Result<String, String> {
        let text = encoded(&self.gather()).map_err(|e| e.to_string())?;
        Ok(text + &self.process.encode().map_err(|e| e.to_string())?)
    }
}

impl Status {
    /// Creates the status of a process with these roles.
    pub fn from_roles(roles: &[&Role], runtime: &Runtime) -> anyhow::Result<Self> {
        let metrics = runtime.metrics.clone();
        let transport = runtime.transport.clone();
        let roles = roles.iter().map(|role| (*role).clone()).collect();
        let process = ProcessMetrics::new()?;
        let scraping = Mutex::new(());
        Ok(Self { roles, metrics, process, scraping, transport, admission: None })
    }

    /// Sets what says whether a process that answers reviews is ready to.
    pub fn reviewing(self, admission: Option<Readiness>) -> Self {
        Self { admission, ..self }
    }

    /// The roles of the process.
    pub fn roles(&self) -> &[Role] {
        &self.roles
    }

    /// The metrics of fedhub with the gauges as they were last read, which takes no time.
    pub fn gathered(&self) -> Vec<MetricFamily> {
        self.metrics.gather(|_| true)
    }

    /// The metrics of fedhub, with the gauges as they are now.
    pub fn gather(&self) -> Vec<MetricFamily> {
        let _one_at_a_time = self.scraping.lock().unwrap_or_else(PoisonError::into_inner);
        let metrics = &self.metrics;
        // Each role has a Lease of its own, which may have another holder.
        for role in &self.roles {
            metrics.leader.with_label_values(&[role.name]).set(role.leads().into());
        }
        self.planes();
        let faults = self.faults();
        for label in IdentityFault::LABELS {
            let stands = faults.iter().any(|fault| fault.label() == label);
            metrics.cell_refused.with_label_values(&[label]).set(stands.into());
        }
        metrics.oldest_unsynced_plane.reset();
        for role in &self.roles {
            role.controllers.iter().for_each(|controlled| self.queued(role, controlled));
        }
        for role in &self.roles {
            let Some(planes) = role.registries.first() else { continue };
            self.synced(role, planes);
            if planes.anchor().id == PlaneId::Hub {
                self.cities(planes);
                self.rollouts(planes);
            }
        }
        // The backlog of a standby is the leader's business.
        let leads = |controller: Option<&str>| {
            self.roles.iter().filter(|role| controller.is_none_or(|name| role.has(name))).any(Role::leads)
        };
        metrics.gather(leads)
    }

    fn planes(&self) {
        let metrics = &self.metrics;
        let mut states = BTreeMap::<_, i64>::new();
        let mut objects = 0;
        let mut bytes = 0;
        let mut entitlements_missing = 0;
        for planes in self.roles.iter().flat_map(|role| &role.registries) {
            for (state, count) in planes.states() {
                *states.entry(state).or_default() += count;
            }
            let [missing] = planes.sum(|plane| [plane.misses_entitlement().into()]);
            entitlements_missing += missing;
            let size = |plane: &Plane| [plane.objects(), plane.bytes()];
            for [more_objects, more_bytes] in [planes.sum(size), size(planes.anchor())] {
                objects += more_objects;
                bytes += more_bytes;
            }
        }
        for (state, count) in states {
            metrics.planes.with_label_values(&[state]).set(count);
        }
        metrics.entitlements_missing.set(number(entitlements_missing));
        metrics.plane_connections.set(number(self.transport.connections()));
        metrics.cache_objects.set(number(objects));
        metrics.cache_bytes.set(number(bytes));
    }

    fn queued(&self, role: &Role, Controlled { name, kind, queue }: &Controlled) {
        let metrics = &self.metrics;
        metrics.queue_depth.with_label_values(&[name]).set(number(queue.depth()));
        let hub = usize::from(queue.hub_is_out());
        let others = queue.circuits_open().saturating_sub(hub);
        let bridges = role.registries.first().is_some_and(|planes| planes.anchor().id == PlaneId::Hub);
        for (kind, open) in [("hub", hub), (if bridges { "project" } else { "cell" }, others)] {
            metrics.circuit_breakers_open.with_label_values(&[name, kind]).set(number(open));
        }
        if let Some(kind) = kind {
            metrics.objects.with_label_values(&[name, "pending"]).set(number(queue.unsynced(*kind)));
        }
        // Changes of a paused plane are not overdue, even if the plane fails meanwhile.
        let mut ages = queue.oldest_by_lane();
        ages.retain(|(plane, _)| !role.registries.iter().any(|planes| planes.is_paused(plane)));
        let oldest = ages.first().map_or(0.0, |(_, age)| age.as_secs_f64());
        metrics.oldest_unsynced.with_label_values(&[name]).set(oldest);
        let lagging = ages.iter().filter(|(_, age)| *age > LAGGING).count();
        metrics.lagging_planes.with_label_values(&[name]).set(number(lagging));
        let planes = if bridges { projects(role) } else { 0 };
        metrics.lagging_planes_ratio.with_label_values(&[name]).set(share(lagging, planes));
        for (plane, age) in ages.iter().take(WORST) {
            let plane = plane.to_string();
            let age = age.as_secs_f64();
            metrics.oldest_unsynced_plane.with_label_values(&[name, plane.as_str()]).set(age);
        }
    }

    /// Why the cell is not held to be who its name says, in the role of a cell.
    fn faults(&self) -> Vec<IdentityFault> {
        self.roles
            .iter()
            .filter_map(|role| role.identity.as_ref())
            .flat_map(|identity| identity.faults())
            .collect()
    }

    /// How many objects each controller has in order: those that it is there for, less those that it has
    /// something to do about.
    fn synced(&self, role: &Role, planes: &Planes) {
        for Controlled { name, kind, .. } in &role.controllers {
            let Some(kind) = kind else { continue };
            // Workloads and WDs begin on their project plane, or are the cell's own; an Instance begins on
            // the hub or in the cell.
            let from_projects = planes.anchor().id == PlaneId::Hub
                && matches!(kind, Kind::Workload | Kind::WorkloadDeployment);
            let [all] = if from_projects {
                planes.sum(|plane| [plane.store(*kind).len()])
            } else {
                [planes.anchor().store(*kind).len()]
            };
            let state = |s| self.metrics.objects.with_label_values(&[*name, s]).get();
            let others = state("pending") + state("parked") + state("quarantined");
            let synced = i64::try_from(all).unwrap_or(i64::MAX).saturating_sub(others).max(0);
            self.metrics.objects.with_label_values(&[name, "synced"]).set(synced);
        }
    }

    /// How many Workloads have a rollout that is not complete, by its state.
    fn rollouts(&self, planes: &Planes) {
        let mut counts = [0i64; RolloutSaid::COUNT];
        for project in planes.projects() {
            project.store(Kind::Workload).select(None, |workload| -> Option<()> {
                counts[workload.digest.workload()?.rollout as usize] += 1;
                None
            });
        }
        for (state, count) in RolloutSaid::VARIANTS.iter().zip(counts) {
            if !matches!(state, RolloutSaid::Other | RolloutSaid::Complete) {
                let state: &str = state.into();
                self.metrics.rollouts.with_label_values(&[state]).set(count);
            }
        }
    }

    fn cities(&self, planes: &Planes) {
        self.metrics.cell_ready.reset();
        let mut counts = [0i64; 3];
        for (code, city) in cities(planes) {
            for cell in &city.cells {
                let Some(ready) = is_reachable(cell) else { continue };
                self.metrics.cell_ready.with_label_values(&[cell.name(), &code]).set(ready.into());
            }
            if city.policies > 0 {
                counts[city.cells.len().min(2)] += 1;
            }
        }
        for (state, count) in ["none", "one", "many"].into_iter().zip(counts) {
            self.metrics.cells_for_city.with_label_values(&[state]).set(count);
        }
    }
}

/// A city, as the hub has it.
#[derive(Default)]
pub struct City {
    /// The `PropagationPolicies` for it: it is in use where there is one.
    pub policies: usize,
    /// The Clusters that carry its code.
    pub cells: Vec<ObjectRef>,
}

/// The cities that are in use or have a cell, by their codes.
pub fn cities(planes: &Planes) -> BTreeMap<String, City> {
    let mut cities = BTreeMap::<_, City>::new();
    // Thousands of policies name a few cities, and need not be copied for that.
    planes.hub().store(Kind::PropagationPolicy).select(None, |policy| -> Option<()> {
        let code = policy.object?.label(CITY_CODE)?;
        match cities.get_mut(code) {
            Some(city) => city.policies += 1,
            None => drop(cities.insert(code.to_owned(), City { policies: 1, cells: Vec::new() })),
        }
        None
    });
    for cell in planes.clusters() {
        if let Some(code) = cell.label(CITY_CODE).map(str::to_owned) {
            cities.entry(code).or_default().cells.push(cell);
        }
    }
    cities
}

/// The project planes that a role works on: those that are neither paused nor suspended.
fn projects(role: &Role) -> u32 {
    let states = role.registries.iter().flat_map(|planes| planes.states());
    let at_work = states.filter(|(state, _)| matches!(*state, "engaging" | "engaged" | "unreachable"));
    u32::try_from(at_work.map(|(_, count)| count).sum::<i64>()).unwrap_or_default()
}

/// The share of the planes that lag. A cell, which works on no project plane, lags as a whole.
fn share(lagging: usize, planes: u32) -> f64 {
    let lagging = u32::try_from(lagging).unwrap_or(u32::MAX);
    f64::from(lagging) / f64::from(planes.max(lagging).max(1))
}

fn number(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

#[cfg(test)]
pub mod tests;

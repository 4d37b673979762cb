//! The workload controller: Workloads of project planes to WDs and back (W1, W2, W3, W10).
//!
//! # The way through
//!
//! 1. `triggers` maps an event to the Workloads that it concerns.
//! 2. `reconcile` is the reconcile of one Workload, for the engine's loop.
//! 3. [`snapshot`] is what the caches say of one Workload, its WDs and its cities.
//! 4. [`plan`] decides by that, as a pure function, what is done; [`summary`] what the status says;
//!    [`rollout`] how far it is.
//! 5. `apply` fetches what is to be written, renders it ([`desired`], [`revisions`]) and writes where that
//!    differs.
//!
//! # Reconciling a Workload
//!
//! 1. Terminating: its WDs are deleted; when neither the watch nor a live list shows one, the finalizer is
//!    released (W2).
//! 2. Finalizer first, then WDs. A new template is recorded before it is passed on (W10); where that fails,
//!    the WDs do not wait for it.
//! 3. One WD for each placement and city (W1). A city that nothing can be placed in gets no new WD (W7). WDs
//!    that are not wanted any more give way when what takes their place is available ([`rollout`]), after a
//!    live read has confirmed the Workload's spec. While the rollout is paused, WDs keep their templates and
//!    none is created ([`paused`]).
//! 4. The status, where it differs (W3).

mod apply;
mod cities;
pub mod desired;
pub mod governed;
mod history;
pub mod lifecycle;
mod options;
mod order;
pub mod paused;
pub mod plan;
mod reconcile;
pub mod revisions;
pub mod rollout;
pub mod snapshot;
pub mod summary;
pub mod terminating;
mod triggers;
pub mod turns;
mod unsettled;

use std::collections::BTreeMap;
use std::sync::Arc;

use fedhub_core::names::WORKLOAD_MANAGER;
use fedhub_core::object::{Key, PlaneId};
use fedhub_engine::Queue;
use fedhub_planes::{Pass, Plane, PlaneWriter, Planes};
pub use fedhub_rollout::Strategy;
pub use options::Options;
use parking_lot::Mutex;
use rollout::Stalls;

use crate::instance_types::Catalog;

/// Makes WDs of Workloads.
pub struct WorkloadController {
    planes: Arc<Planes>,
    queue: Arc<Queue>,
    catalog: Option<Catalog>,
    options: Options,
    unrecorded: Mutex<Unrecorded>,
    stalls: Mutex<Stalls>,
}

/// The newest template of each Workload that a plane did not let be recorded, by its hash: each is told once.
#[derive(Default)]
struct Unrecorded(BTreeMap<Key, u64>);

impl Unrecorded {
    /// How many are remembered. What comes beyond is told as if the others were not.
    const MOST: usize = 1024;

    /// Notes one, and returns whether that is news.
    fn is_news(&mut self, workload: &Key, template: u64) -> bool {
        if self.0.len() >= Self::MOST && !self.0.contains_key(workload) {
            self.0.clear();
        }
        self.0.insert(workload.clone(), template) != Some(template)
    }

    /// Drops those of a plane.
    fn forget(&mut self, plane: &PlaneId) {
        self.0.retain(|workload, _| workload.plane != *plane);
    }
}

impl WorkloadController {
    /// A controller over the registry around the hub, fed through `queue`. With a catalogue, it says which
    /// Workloads have a type that is not Active any more (W8).
    pub fn new(
        planes: Arc<Planes>,
        queue: Arc<Queue>,
        catalog: Option<Catalog>,
        options: Options,
    ) -> Arc<Self> {
        Arc::new(Self {
            planes,
            queue,
            catalog,
            options,
            unrecorded: Mutex::default(),
            stalls: Mutex::default(),
        })
    }

    fn writer<'a>(&'a self, project: &'a Plane, pass: &'a Pass) -> PlaneWriter<'a> {
        PlaneWriter { plane: project, pass, manager: WORKLOAD_MANAGER, metrics: self.planes.metrics() }
    }
}

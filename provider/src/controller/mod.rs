//! The controller of a cell's Instances that drives a provider.
//!
//! It listens to the registry around the cell, whose kinds [`kinds`] names, and is fed through a queue of its
//! own. One key is one Instance. It needs these rights in the cell: `get`, `list`, `watch` and `patch` of
//! `instances`, `update` of `instances/status`; `get`, `list` and `watch` of `workloaddeployments` and
//! `namespaces`; `create` and `patch` of `events`. A program of its own needs `get`, `list`, `watch`,
//! `create` and `patch` of `leases` in the namespace of its Lease as well.

mod cell;
mod power;
mod reconcile;
mod triggers;

use std::sync::Arc;

use fedhub_core::object::{Key, Kind, PlaneId};
use fedhub_engine::Queue;
use fedhub_planes::Planes;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::contract::Provider;
use crate::memory::Memory;
use crate::pass::Passes;
pub use crate::plan::Settings as ProviderSettings;
use crate::watch::{Surroundings, Watch};

/// The kinds that the registry around the cell has to watch.
pub fn kinds() -> [Kind; 3] {
    [Kind::Instance, Kind::WorkloadDeployment, Kind::Namespace]
}

/// Runs servers for the Instances of a cell, by a provider.
pub struct ProviderController<P: Provider> {
    cell: Arc<Planes>,
    queue: Arc<Queue>,
    passes: Passes<P>,
    /// Ends the tasks that list servers when the controller goes.
    _tasks: tokio_util::sync::DropGuard,
}

impl<P: Provider> ProviderController<P> {
    /// A controller of the Instances of `cell`, fed through `queue`. Its lists of servers are among `tasks`,
    /// and end when `stopping` is cancelled or the controller is dropped.
    pub fn new(
        cell: Arc<Planes>,
        queue: Arc<Queue>,
        provider: Arc<P>,
        settings: ProviderSettings,
        tasks: TaskTracker,
        stopping: &CancellationToken,
    ) -> Arc<Self> {
        let clock = cell.clock().clone();
        let stop = stopping.child_token();
        let surroundings = Arc::new(Woken { cell: cell.clone(), queue: queue.clone() });
        let watch = Watch::new(provider.clone(), clock.clone(), surroundings, tasks, stop.clone());
        let passes = Passes { provider, watch, memory: Memory::default(), clock, settings };
        Arc::new(Self { cell, queue, passes, _tasks: stop.drop_guard() })
    }
}

/// Enqueues the Instances whose servers changed.
struct Woken {
    cell: Arc<Planes>,
    queue: Arc<Queue>,
}

impl Surroundings for Woken {
    fn wake(&self, instance: &Key) {
        self.queue.add(instance.clone(), &PlaneId::Cell);
    }

    fn leads(&self) -> bool {
        self.cell.leads()
    }
}

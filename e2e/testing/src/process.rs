//! A process under test, put together by hand.

use std::ops::Deref;
use std::sync::Arc;

use fedhub_core::clock::Clock;
use fedhub_core::metrics::Metrics;
use fedhub_engine::{Controller, Queue, QueueConfig, run_workers};
use fedhub_fake_apiserver::{ApiServer, quiet};
use fedhub_planes::transport::Connection;
use fedhub_planes::{Planes, Settings};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

/// Registries, queues and workers of one process, before it runs.
pub struct Process {
    /// The metrics of the process.
    pub metrics: Metrics,
    /// The clock of the process.
    pub clock: Clock,
    /// Cancelled when the process stops.
    pub stopping: CancellationToken,
    guard: DropGuard,
    tasks: TaskTracker,
    queues: Vec<Arc<Queue>>,
    registries: Vec<Arc<Planes>>,
}

impl Process {
    /// A process that has the time of this server.
    pub fn on(server: &ApiServer) -> Self {
        let stopping = CancellationToken::new();
        Self {
            metrics: Metrics::new().unwrap(),
            clock: Clock::from_tokio(server.clock().now()),
            guard: stopping.clone().drop_guard(),
            stopping,
            tasks: TaskTracker::new(),
            queues: Vec::new(),
            registries: Vec::new(),
        }
    }

    /// Another registry of the process, not started yet.
    pub fn planes(&mut self, anchor: impl Into<Connection>, settings: Settings) -> Arc<Planes> {
        let planes = Planes::with(anchor, self.metrics.clone(), self.clock.clone(), settings);
        self.registries.push(planes.clone());
        planes
    }

    /// Another queue of the process, with this seed.
    pub fn queue(&mut self, seed: u64) -> Arc<Queue> {
        self.queue_with(QueueConfig { seed, ..QueueConfig::default() })
    }

    /// Another queue of the process.
    pub fn queue_with(&mut self, config: QueueConfig) -> Arc<Queue> {
        let queue = Arc::new(Queue::new(config));
        self.queues.push(queue.clone());
        queue
    }

    /// Starts so many workers of a controller.
    pub fn work<C: Controller>(&self, controller: &Arc<C>, queue: &Arc<Queue>, workers: usize) {
        run_workers(controller, queue, &self.metrics, workers, &self.tasks);
    }

    /// The process, with the parts of it that the test looks at.
    pub fn running<P>(self, parts: P) -> Run<P> {
        Run { metrics: self.metrics.clone(), process: self, parts }
    }
}

/// A process that runs; its parts are at hand as if they were its own.
pub struct Run<P> {
    /// The metrics of the process.
    pub metrics: Metrics,
    process: Process,
    parts: P,
}

impl<P> Deref for Run<P> {
    type Target = P;

    fn deref(&self) -> &P {
        &self.parts
    }
}

impl<P> Run<P> {
    /// Ends the process: passes under way are finished, what it knew is forgotten.
    pub async fn stop(self) {
        let Process { guard, tasks, queues, registries, .. } = self.process;
        drop(guard);
        for queue in queues {
            queue.close();
        }
        tasks.close();
        tasks.wait().await;
        for planes in registries {
            planes.stop().await;
        }
    }

    /// Runs for so many seconds, then stops.
    pub async fn stop_after(self, seconds: u64) {
        quiet(seconds).await;
        self.stop().await;
    }

    /// How many objects of a controller are in this state.
    pub fn objects(&self, controller: &str, state: &str) -> i64 {
        self.metrics.objects.with_label_values(&[controller, state]).get()
    }

    /// How many finalizers are held for this reason.
    pub fn held(&self, reason: &str) -> i64 {
        self.metrics.finalizers_held.with_label_values(&[reason]).get()
    }

    /// How many objects are quarantined for this reason.
    pub fn quarantined(&self, reason: &str) -> i64 {
        self.metrics.quarantined.with_label_values(&[reason]).get()
    }

    /// How many deletions were withheld for this reason.
    pub fn withheld(&self, reason: &str) -> u64 {
        self.metrics.deletes_withheld.with_label_values(&[reason]).get()
    }

    /// How many passes of a controller failed.
    pub fn failed(&self, controller: &str) -> u64 {
        ["transient", "conflict", "throttled", "forbidden", "invalid", "bug"]
            .into_iter()
            .map(|category| self.metrics.reconciles.with_label_values(&[controller, category]).get())
            .sum()
    }
}

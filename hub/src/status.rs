//! What the process tells of itself: readiness, and gauges that are read when they are scraped.

use std::sync::Arc;

use fedhub_shared::admin;
use fedhub_shared::engine::Queue;
use fedhub_shared::names::CITY_CODE;
use fedhub_shared::object::{Kind, ObjectView};
use fedhub_shared::planes::transport::Transport;
use fedhub_shared::planes::{Health, Planes};

/// How many of the planes that lag most are named.
const WORST: usize = 10;

/// The status of the management role.
pub struct Status {
    /// The registry.
    pub planes: Arc<Planes>,
    /// The queues, by controller.
    pub queues: Vec<(&'static str, Arc<Queue>)>,
    /// The connections.
    pub transport: Transport,
}

impl admin::Status for Status {
    /// Ready once the hub's watches are in sync. Project planes do not count: one that cannot be reached must not
    /// keep the others waiting.
    fn ready(&self) -> Result<(), Vec<String>> {
        if self.planes.hub().synced() {
            return Ok(());
        }
        Err(vec![match self.planes.hub().health() {
            Health::Unreachable(why) => format!("hub: {why}"),
            _ => "hub: the first lists are not complete".to_owned(),
        }])
    }

    fn metrics(&self) -> Result<String, String> {
        let metrics = self.planes.metrics();
        let leads = self.planes.leads();
        metrics.leader.set(i64::from(leads));
        let number = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        for (state, count) in self.planes.states() {
            metrics.planes.with_label_values(&[state]).set(count);
        }
        metrics.plane_connections.set(number(self.transport.connections()));
        let projects = self.planes.projects();
        let cached = self.planes.hub().objects() + projects.iter().map(|p| p.objects()).sum::<usize>();
        metrics.cache_objects.set(number(cached));
        let bytes = self.planes.hub().bytes() + projects.iter().map(|p| p.bytes()).sum::<usize>();
        metrics.cache_bytes.set(number(bytes));
        metrics.oldest_unsynced_plane.reset();
        for (name, queue) in &self.queues {
            metrics.queue_depth.with_label_values(&[name]).set(number(queue.depth()));
            let kind = if *name == "federator" { Kind::WorkloadDeployment } else { Kind::Instance };
            metrics.objects.with_label_values(&[name, "pending"]).set(number(queue.unsynced(kind)));
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
        self.synced(metrics, &projects);
        self.cities(metrics);
        metrics.encode().map_err(|e| e.to_string())
    }
}

impl Status {
    fn synced(
        &self,
        metrics: &fedhub_shared::metrics::Metrics,
        projects: &[Arc<fedhub_shared::planes::Plane>],
    ) {
        let deployments: usize = projects.iter().map(|p| p.store(Kind::WorkloadDeployment).len()).sum();
        let instances = self.planes.hub().store(Kind::Instance).len();
        for (controller, all) in [("federator", deployments), ("projector", instances)] {
            let state = |s| metrics.objects.with_label_values(&[controller, s]).get();
            let others = state("pending") + state("parked") + state("quarantined");
            let synced = i64::try_from(all).unwrap_or(i64::MAX).saturating_sub(others).max(0);
            metrics.objects.with_label_values(&[controller, "synced"]).set(synced);
        }
    }

    fn cities(&self, metrics: &fedhub_shared::metrics::Metrics) {
        let hub = self.planes.hub();
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
            metrics.cells_for_city.with_label_values(&[state]).set(count);
        }
    }
}

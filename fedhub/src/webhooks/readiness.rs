//! Whether a process that has just started can answer reviews: until then others do (W4).
//!
//! It is asked for at the start only, and for so long: a plane that cannot be reached, or one that comes
//! later, keeps no process from being ready (specification, section 2).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fedhub_planes::{Health, Planes};
use fedhub_workload::instance_types::Catalog;
use tokio::time::Instant;

/// How long a process waits for what it needs for reviews: less than a rollout takes to be given up.
pub const WAITS: Duration = Duration::from_mins(2);

/// The state that admission needs besides the anchors.
pub struct Readiness {
    planes: Arc<Planes>,
    catalog: Option<Catalog>,
    end: Instant,
    /// Whether it was complete once, or was waited for long enough.
    settled: AtomicBool,
}

impl Readiness {
    /// Creates the readiness of admission for the planes of that registry, with that catalogue of instance
    /// types, in a process that starts now.
    pub fn new(planes: Arc<Planes>, catalog: Option<Catalog>) -> Self {
        Self { planes, catalog, end: Instant::now() + WAITS, settled: AtomicBool::new(false) }
    }

    /// Returns what is missing, a line for each.
    pub fn missing(&self) -> Vec<String> {
        if self.settled.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let missing = self.not_known();
        if missing.is_empty() || Instant::now() >= self.end {
            self.settled.store(true, Ordering::Relaxed);
            return Vec::new();
        }
        missing
    }

    fn not_known(&self) -> Vec<String> {
        let mut missing = Vec::new();
        if self.catalog.as_ref().is_some_and(|catalog| !catalog.is_known()) {
            missing.push("admission: the catalog of instance types is not read yet".to_owned());
        }
        if !self.planes.discovered() {
            missing.push("admission: it is not known yet which project planes there are".to_owned());
        }
        let mut planes = self.planes.projects();
        planes.retain(|plane| plane.health() == Health::Engaging);
        if let Some(first) = planes.first() {
            let count = planes.len();
            let id = &first.id;
            missing.push(format!("admission: project planes not tried yet: {count}, {id} among them"));
        }
        missing
    }
}

//! The status of each plane in a queue, for pages and commands.

use std::collections::BTreeMap;
use std::time::Duration;

use fedhub_core::object::PlaneId;
use tokio::time::Instant;

use super::Queue;
use super::lane::Lane;
use super::scheduler::Scheduler;
use crate::circuit::{Circuit, Stance};

/// The status of one plane in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneStatus {
    /// Keys that are ready, running, failed, or wait for a time of their own.
    pub keys: usize,
    /// Keys of which a reconcile runs.
    pub running: usize,
    /// The age of the oldest change that is not in sync.
    pub oldest: Option<Duration>,
    /// Which keys the plane's circuit breaker lets through.
    pub circuit: Stance,
}

impl Queue {
    /// Returns the status of each plane that has keys. The hub is included while it fails as a whole.
    pub fn lane_status(&self) -> BTreeMap<PlaneId, LaneStatus> {
        let now = Instant::now();
        let scheduler = self.lock();
        let status = |keys, running, circuit: &Circuit| LaneStatus {
            keys,
            running,
            oldest: None,
            circuit: circuit.stance(),
        };
        let mut lanes: BTreeMap<_, _> = scheduler
            .lanes
            .iter()
            .map(|(plane, lane)| (plane.clone(), status(lane.keys, lane.in_flight, &lane.circuit)))
            .collect();
        if scheduler.hub.is_out() {
            let hub = lanes.entry(PlaneId::Hub).or_insert_with(|| status(0, 0, &Circuit::default()));
            hub.circuit = Stance::Open;
        }
        for (plane, since) in scheduler.oldest() {
            if let Some(lane) = lanes.get_mut(plane) {
                lane.oldest = Some(now.saturating_duration_since(since));
            }
        }
        lanes
    }

    /// The age of each plane's oldest change that is ready, running or failed; the oldest first.
    pub fn oldest_by_lane(&self) -> Vec<(PlaneId, Duration)> {
        let now = Instant::now();
        let scheduler = self.lock();
        let age = |(plane, since): (&PlaneId, _)| (plane.clone(), now.saturating_duration_since(since));
        let mut ages: Vec<_> = scheduler.oldest().into_iter().map(age).collect();
        drop(scheduler);
        ages.sort_by_key(|(_, age)| std::cmp::Reverse(*age));
        ages
    }
}

impl Scheduler {
    /// Returns, for each plane, since when its oldest change is not in sync.
    fn oldest(&self) -> BTreeMap<&PlaneId, Instant> {
        let mut oldest = BTreeMap::<_, Instant>::new();
        for entry in self.entries.values().filter(|entry| entry.unsynced()) {
            let since = oldest.entry(&entry.lane).or_insert(entry.since);
            *since = entry.since.min(*since);
        }
        oldest
    }

    /// Whether a plane that works has more to do than its turns take, or had a moment ago. Repeats do not
    /// count: they leave turns to others.
    pub fn is_behind(&self, plane: &PlaneId, now: Instant) -> bool {
        let lane = self.lanes.get(plane);
        let works = lane.is_none_or(|lane| !lane.circuit.interrupts());
        works && (lane.is_some_and(Lane::is_behind) || self.behind_until.get(plane, now).is_some())
    }
}

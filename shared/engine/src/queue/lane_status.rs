//! What a queue has for each plane: for those who look.

use std::collections::BTreeMap;
use std::time::Duration;

use fedhub_core::object::PlaneId;
use tokio::time::Instant;

use super::Queue;
use crate::circuit::{Circuit, Stance};

/// What a queue has for one plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneStatus {
    /// Keys that are ready, running, failed, or wait for a time of their own.
    pub keys: usize,
    /// Keys of which a reconcile runs.
    pub running: usize,
    /// The age of the oldest change that is not in sync.
    pub oldest: Option<Duration>,
    /// What the plane's circuit breaker lets through.
    pub circuit: Stance,
}

impl Queue {
    /// What it has for each plane; nothing for a plane without keys. The hub is among them while its circuit is not
    /// closed.
    pub fn lane_status(&self) -> BTreeMap<PlaneId, LaneStatus> {
        let (now, scheduler) = (Instant::now(), self.lock());
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
        if scheduler.hub.stance() != Stance::Closed {
            let hub = lanes.entry(PlaneId::Hub).or_insert_with(|| status(0, 0, &scheduler.hub));
            hub.circuit = scheduler.hub.stance();
        }
        for entry in scheduler.entries.values().filter(|entry| entry.unsynced()) {
            if let Some(lane) = lanes.get_mut(&entry.lane) {
                lane.oldest = lane.oldest.max(Some(now.saturating_duration_since(entry.since)));
            }
        }
        lanes
    }
}

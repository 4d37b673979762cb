//! What the region holds, what becomes of it in time, and what it shows.

mod allocations;
mod bodies;
mod catalogue;
mod invariants;
mod model;
mod servers;
mod steps;
mod timeline;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use tokio::time::Instant;

pub use allocations::AllocationBody;
pub use bodies::{CreateBody, UpdateBody};
use model::Step;
pub use model::{Allocation, Hidden, Overlay, Plant, ResourceAllocation, Server, Tag};
pub use servers::{Power, ServerQuery};
use timeline::Timeline;

use crate::faults::{Fault, FaultAction};
use crate::ids;
use crate::journal::{Event, Journal};
use crate::operation::Operation;
use crate::options::{Options, RateLimit};

/// All that the region knows.
#[derive(Debug)]
pub struct World {
    pub options: Options,
    pub journal: Journal,
    pub faults: Vec<Fault>,
    /// When each token ends.
    pub tokens: BTreeMap<String, Instant>,
    began: (Instant, Timestamp),
    rng: SmallRng,
    servers: BTreeMap<String, Server>,
    shown: BTreeMap<String, Timeline<Server>>,
    allocations: BTreeMap<String, Allocation>,
    shown_allocations: BTreeMap<String, Timeline<Allocation>>,
    references: BTreeSet<(String, String)>,
    /// What is due, and when: the number keeps apart what is due at the same time.
    agenda: BTreeMap<(Instant, u64), (String, Step)>,
    /// How many numbers and addresses were given out.
    given: u64,
    violations: Vec<String>,
    /// How many requests may come now, and since when that holds.
    budget: (f64, Instant),
}

impl World {
    pub fn new(options: Options) -> Self {
        let now = Instant::now();
        let limit = options.rate_limit;
        let mut world = Self {
            rng: SmallRng::seed_from_u64(options.seed),
            journal: Journal::new(options.journal),
            options,
            faults: Vec::new(),
            tokens: BTreeMap::new(),
            began: (now, Timestamp::now()),
            servers: BTreeMap::new(),
            shown: BTreeMap::new(),
            allocations: BTreeMap::new(),
            shown_allocations: BTreeMap::new(),
            references: BTreeSet::new(),
            agenda: BTreeMap::new(),
            given: 0,
            violations: Vec::new(),
            budget: (0.0, now),
        };
        world.limit(limit, now);
        world
    }

    /// Limits requests, with a whole burst to begin with; or does not.
    pub fn limit(&mut self, limit: Option<RateLimit>, now: Instant) {
        self.options.rate_limit = limit;
        self.budget = (limit.map_or(0.0, |limit| f64::from(limit.burst)), now);
    }

    /// The time of a moment, as the service writes it.
    fn timestamp(&self, at: Instant) -> Timestamp {
        let passed = SignedDuration::try_from(at - self.began.0).unwrap_or_default();
        self.began.1.checked_add(passed).unwrap_or(Timestamp::MAX)
    }

    pub fn random_id(&mut self) -> String {
        ids::random(&mut self.rng)
    }

    /// What goes wrong with a request, if anything does.
    pub fn befalls(&mut self, operation: Operation) -> Option<FaultAction> {
        for at in 0..self.faults.len() {
            let fault = &mut self.faults[at];
            if !fault.operations.is_empty() && !fault.operations.contains(&operation) {
                continue;
            }
            if fault.skip > 0 {
                fault.skip -= 1;
                continue;
            }
            let action = fault.action.clone();
            if let Some(times) = &mut fault.times {
                *times = times.saturating_sub(1);
                if *times == 0 {
                    self.faults.remove(at);
                }
            }
            return Some(action);
        }
        let chaos = self.options.chaos?;
        chaos.draw(operation, &mut self.rng)
    }

    /// Takes a request from the budget, or says after how many seconds there is one.
    pub fn admit(&mut self, now: Instant) -> Result<(), u64> {
        let Some(limit) = self.options.rate_limit else { return Ok(()) };
        let rate = f64::from(limit.per_second.max(1));
        let filled = self.budget.0 + (now - self.budget.1).as_secs_f64() * rate;
        let budget = filled.min(f64::from(limit.burst.max(1)));
        if budget >= 1.0 {
            self.budget = (budget - 1.0, now);
            return Ok(());
        }
        self.budget = (budget, now);
        Err(1)
    }

    /// How long ago what is shown now was so.
    fn lag(&mut self, fixed: u64) -> Duration {
        let drawn = match self.options.chaos {
            Some(chaos) if chaos.lag > 0 => self.rng.random_range(0..=chaos.lag),
            _ => 0,
        };
        Duration::from_millis(fixed.max(drawn))
    }

    fn write(&mut self, at: Instant, event: Event) {
        self.journal.write(self.timestamp(at), event);
    }

    /// Writes a request down, as it was answered.
    pub fn asked(&mut self, event: Event) {
        self.write(Instant::now(), event);
    }
}

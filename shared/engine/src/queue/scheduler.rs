//! The scheduler: which key is reconciled next.
//!
//! Four things keep one plane's trouble its own (I8), and none of them counts planes:
//!
//! - **A share of the idle workers.** Passes are futures that mostly wait for servers, and planes may be silent for a
//!   whole time-out. If each plane simply had its limit, forty planes that hang would hold 40 × 16 passes, more than
//!   there are workers, and the others would have no turn for that long. So a plane may take its first worker always,
//!   and one more only while it holds fewer than a quarter of the idle ones: the fewer are idle, the less one plane
//!   may hold, and some are left as long as fewer planes than workers begin to hang in one instant.
//! - **A circuit for each plane**: after a few failures of the plane itself its keys wait without running, and one at
//!   a time tries. All planes that are not known to be well together hold at most a quarter of the workers, so that
//!   even thousands of them leave the rest to the others; what comes first of a plane's watch and its probe ends this.
//! - **Few turns for repeats**: keys of a project plane that have just written and have changed again, and those that no
//!   event has made ready. A plane where the
//!   same objects change all the time would else have as many writes under way on the hub as it may have turns.
//! - **One circuit for the hub**, which most keys need: while it fails, a few of them try, and not each of ten thousand,
//!   see [`hub`](super::hub). Only failures of several objects open it: one or two that the hub chokes on meet their own
//!   back-off. A failure of the hub does not open the circuit of the plane whose key it was.
//!
//! Decides I8.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use fedhub_core::object::{Key, PlaneId};
use fedhub_planes::outages::Outages;
use fedhub_planes::plane_responses::PlaneResponses;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use tokio::time::Instant;

use super::awaiting::Awaiting;
use super::expiring::Expiring;
use super::job::{Ended, Job, Learned, Outcome, QueueConfig};
use super::lane::{Alarm, Entry, Lane, Position, State};
use super::write_throttle::{APART, WriteThrottle};
use crate::circuit::{Circuit, Stance};

/// The share of the idle workers that one plane may hold, and of all workers that all unhealthy planes may: one in so
/// many.
const SHARE: usize = 4;
/// For how long a lane that was full counts as behind: the keys of a burst come in waves.
const RECENTLY: Duration = Duration::from_secs(5);

/// Whether keys are given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// No, and none are kept: another process leads.
    Held,
    /// Not yet: a term is about to begin. What is added may have changed any time since then.
    Gathers(Instant),
    Leads,
}

pub(super) struct Scheduler {
    pub config: QueueConfig,
    pub controller: &'static str,
    /// Project planes that fail: they are logged together, as those behind one server fail together.
    pub outages: Outages,
    workers: usize,
    pub mode: Mode,
    pub closed: bool,
    epoch: i32,
    pub entries: BTreeMap<Key, Entry>,
    pub lanes: BTreeMap<PlaneId, Lane>,
    /// Lanes in the order of their turns.
    pub line: VecDeque<PlaneId>,
    crowded: BTreeSet<PlaneId>,
    /// The smallest share that a lane was held to be crowded by.
    crowded_by: usize,
    unhealthy: VecDeque<PlaneId>,
    /// Reconciles in flight: all, and those of unhealthy lanes.
    busy: usize,
    unhealthy_busy: usize,
    pub hub: Circuit,
    /// Keys that need it while it fails.
    pub awaiting: Awaiting,
    pub timers: BTreeSet<(Instant, Alarm)>,
    /// Keys that are to be added, and when.
    pub later: BTreeMap<Key, Instant>,
    write_throttle: WriteThrottle,
    /// Until when lanes count as behind that had as many in flight as they may have, also where nothing is left of them.
    pub behind_until: Expiring<PlaneId>,
    pub rng: SmallRng,
}

impl Scheduler {
    pub fn new(config: QueueConfig) -> Self {
        Self {
            rng: SmallRng::seed_from_u64(config.seed),
            config,
            controller: "",
            outages: Outages::default(),
            workers: 0,
            mode: Mode::Leads,
            closed: false,
            epoch: 0,
            entries: BTreeMap::new(),
            lanes: BTreeMap::new(),
            line: VecDeque::new(),
            crowded: BTreeSet::new(),
            crowded_by: usize::MAX,
            unhealthy: VecDeque::new(),
            busy: 0,
            unhealthy_busy: 0,
            hub: Circuit::default(),
            awaiting: Awaiting::default(),
            timers: BTreeSet::new(),
            later: BTreeMap::new(),
            write_throttle: WriteThrottle::default(),
            behind_until: Expiring::default(),
        }
    }

    pub fn staff(&mut self, controller: &'static str, workers: usize) {
        (self.controller, self.workers) = (controller, self.workers + workers);
    }

    // === What there is ===

    pub fn add(&mut self, key: Key, lane: &PlaneId, timed: bool, now: Instant) -> bool {
        let since = match self.mode {
            Mode::Held => return false,
            Mode::Gathers(since) => since,
            Mode::Leads => now,
        };
        let entry = self.entries.entry(key.clone()).or_insert_with(|| {
            self.lanes.entry(lane.clone()).or_default().keys += 1;
            Entry::new(lane.clone(), since, now)
        });
        if entry.ignores_events(now) {
            return true;
        }
        entry.failures = 0;
        // As it is now the hub may take it.
        entry.hub_failed = false;
        if let State::AwaitsHub(place) = entry.state {
            self.awaiting.remove(place);
            entry.state = State::Idle;
        }
        if let Some(at) = entry.timer.take_if(|_| entry.state != State::Paced) {
            self.timers.remove(&(at, Alarm::Key(key.clone())));
        }
        match entry.state {
            State::Ready | State::Paced | State::AwaitsHub(_) => {}
            State::Running { .. } => {
                entry.next_since.get_or_insert(since);
            }
            State::Idle => {
                entry.timed = timed;
                if entry.lane != *lane {
                    let old = std::mem::replace(&mut entry.lane, lane.clone());
                    self.lanes.entry(lane.clone()).or_default().keys += 1;
                    self.leave(&old);
                }
                self.ready(key, now);
            }
        }
        true
    }

    pub fn add_after(&mut self, key: Key, wait: Duration, now: Instant) {
        if self.mode == Mode::Held {
            return;
        }
        let at = now + wait;
        if let Some(before) = self.later.insert(key.clone(), at) {
            self.timers.remove(&(before, Alarm::Add(key.clone())));
        }
        self.timers.insert((at, Alarm::Add(key)));
    }

    pub fn hold(&mut self) {
        self.mode = Mode::Held;
        self.entries.retain(|_, entry| entry.runs());
        for lane in self.lanes.values_mut() {
            *lane = lane.emptied();
        }
        self.lanes.retain(|_, lane| lane.keys > 0);
        self.line.clear();
        self.crowded.clear();
        self.unhealthy.clear();
        self.timers.clear();
        self.later.clear();
        self.behind_until = Expiring::default();
        // The next term starts without a history of failures.
        self.hub = Circuit::default();
        self.forget_hub();
    }

    pub fn lead(&mut self, epoch: i32, now: Instant) {
        (self.mode, self.epoch) = (Mode::Leads, epoch);
        self.entries.values_mut().for_each(|entry| entry.ready_at = now);
    }

    pub fn forget(&mut self, lane: &PlaneId) {
        let gone = |entry: &Entry| entry.lane == *lane && !entry.runs();
        let keys: Vec<_> = self.entries.iter().filter(|(_, e)| gone(e)).map(|(k, _)| k.clone()).collect();
        for key in keys {
            self.awaiting.ended(&key);
            let Some(entry) = self.entries.remove(&key) else { continue };
            if let State::AwaitsHub(place) = entry.state {
                self.awaiting.remove(place);
            }
            if let Some(at) = entry.timer {
                self.timers.remove(&(at, Alarm::Key(key)));
            }
        }
        for (key, at) in self.later.extract_if(.., |key, _| key.plane == *lane) {
            self.timers.remove(&(at, Alarm::Add(key)));
        }
        self.update_circuit(lane, |circuit| *circuit = Circuit::default());
        self.recovered(lane, Instant::now());
        self.line.retain(|id| id != lane);
        self.unhealthy.retain(|id| id != lane);
        self.crowded.remove(lane);
        self.behind_until.remove(lane);
        if let Some(known) = self.lanes.get_mut(lane) {
            *known = known.emptied();
        }
        self.lanes.retain(|id, known| id != lane || known.keys > 0);
    }

    /// One entry less in that lane.
    pub fn leave(&mut self, id: &PlaneId) {
        let Some(lane) = self.lanes.get_mut(id) else { return };
        lane.keys = lane.keys.saturating_sub(1);
        if lane.keys == 0 {
            if let Some(until) = lane.circuit.until() {
                self.timers.remove(&(until, Alarm::Circuit(id.clone())));
            }
            self.lanes.remove(id);
        }
    }

    pub fn ready(&mut self, key: Key, now: Instant) {
        let Some(entry) = self.entries.get_mut(&key) else { return };
        // A project plane has neighbours, which what it floods with is kept from.
        let spares = matches!(entry.lane, PlaneId::Project(_));
        if let Some(mut at) = self.write_throttle.not_before(&key, now) {
            if spares {
                // Keys that are throttled together would else be ready together, again and again.
                at += APART.mul_f64(self.rng.random_range(0.0..=1.0));
            }
            (entry.state, entry.timer) = (State::Paced, Some(at));
            self.timers.insert((at, Alarm::Key(key)));
            return;
        }
        (entry.state, entry.ready_at) = (State::Ready, now);
        let id = entry.lane.clone();
        let lane = self.lanes.entry(id.clone()).or_default();
        if spares && entry.timed {
            lane.push_timed(key);
        } else {
            let repeat = spares && self.write_throttle.is_repeat(&key, now);
            lane.push(key, repeat);
        }
        self.line_up(&id);
    }

    // === Scheduler ===

    /// Puts a lane at the end of the line of turns, if it has a key ready, its circuit is not open and it is in no line.
    pub fn line_up(&mut self, id: &PlaneId) {
        let Some(lane) = self.lanes.get_mut(id) else { return };
        if lane.position == Position::Unqueued && lane.has_next() && lane.circuit.stance() != Stance::Open {
            lane.position = Position::Queued;
            self.line.push_back(id.clone());
        }
    }

    /// How many more workers than its first a lane may hold now, counting that first.
    fn share(&self) -> usize {
        if self.workers == 0 { usize::MAX } else { (self.workers.saturating_sub(self.busy) / SHARE).max(1) }
    }

    /// How many reconciles of unhealthy lanes may be in flight.
    pub fn unhealthy_share(&self) -> usize {
        if self.workers == 0 { usize::MAX } else { (self.workers / SHARE).max(1) }
    }

    /// The key whose turn it is, if any plane may have one more in flight.
    pub fn take(&mut self, now: Instant) -> Option<Job> {
        if self.mode != Mode::Leads {
            return None;
        }
        self.try_hub(now);
        let (share, unhealthy_share) = (self.share(), self.unhealthy_share());
        for _ in self.unhealthy_busy..unhealthy_share {
            let Some(id) = self.unhealthy.pop_front() else { break };
            self.back_in_line(&id, Position::Unhealthy);
        }
        for _ in 0..self.line.len() {
            let id = self.line.pop_front()?;
            let Some(lane) = self.lanes.get_mut(&id).filter(|lane| lane.position == Position::Queued) else {
                continue;
            };
            lane.position = Position::Unqueued;
            let unhealthy = lane.circuit.stance() != Stance::Closed;
            let limit = if unhealthy { 1 } else { self.config.per_plane };
            if lane.in_flight >= limit || lane.circuit.stance() == Stance::Open {
                // Its turn comes back when one of its keys is done, or with the alarm of its circuit.
                continue;
            }
            if lane.in_flight >= share {
                lane.position = Position::Crowded;
                self.crowded.insert(id);
                self.crowded_by = share.min(self.crowded_by);
                continue;
            }
            if unhealthy && self.unhealthy_busy >= unhealthy_share {
                lane.position = Position::Unhealthy;
                self.unhealthy.push_back(id);
                continue;
            }
            let Some((key, repeat)) = lane.next() else { continue };
            if !repeat && lane.in_flight >= self.config.per_plane {
                self.behind_until.set(id.clone(), now + RECENTLY, now);
            }
            self.line_up(&id);
            let entry = self.entries.get_mut(&key)?;
            (entry.state, entry.timed) = (State::Running { began: now, unhealthy, repeat }, false);
            let waited = now.saturating_duration_since(entry.ready_at);
            let asks_hub = !self.hub.interrupts() || self.awaiting.tries(&key);
            let Entry { since, unsettled_since, .. } = *entry;
            let job = Job { key, since, unsettled_since, waited, epoch: self.epoch, asks_hub };
            self.busy += 1;
            self.unhealthy_busy += usize::from(unhealthy);
            return Some(job);
        }
        None
    }

    /// A reconcile has ended. Returns whether its failure is new.
    pub fn ended(&mut self, key: &Key, outcome: Outcome, responses: &PlaneResponses, now: Instant) -> bool {
        let Some(entry) = self.entries.get_mut(key) else { return true };
        let State::Running { began, unhealthy, repeat } = entry.state else { return true };
        entry.state = State::Idle;
        let (next_since, id) = (entry.next_since.take(), entry.lane.clone());
        self.busy = self.busy.saturating_sub(1);
        self.unhealthy_busy = self.unhealthy_busy.saturating_sub(usize::from(unhealthy));
        self.awaiting.ended(key);
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.ended(repeat);
        }
        let Learned { interrupted, news } = self.learn(key, &id, began, responses, now);
        let needs_hub = responses.held_back || (interrupted && responses.unhealthy == Some(PlaneId::Hub));
        if responses.wrote {
            self.write_throttle.wrote(key, now);
        }
        self.settle(key, outcome, Ended { interrupted, needs_hub, again: next_since }, now);
        self.crowded.remove(&id);
        self.back_in_line(&id, Position::Crowded);
        self.line_up(&id);
        if self.share() > self.crowded_by {
            self.crowded_by = usize::MAX;
            for id in std::mem::take(&mut self.crowded) {
                self.back_in_line(&id, Position::Crowded);
            }
        }
        news
    }

    /// Puts a lane that waited elsewhere back into the line of turns.
    pub fn back_in_line(&mut self, id: &PlaneId, from: Position) {
        if let Some(lane) = self.lanes.get_mut(id).filter(|lane| lane.position == from) {
            lane.position = Position::Unqueued;
            self.line_up(id);
        }
    }
}

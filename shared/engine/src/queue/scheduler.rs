//! The scheduler: which key is reconciled next.
//!
//! Three things keep one plane's trouble its own (I8), and none of them counts planes; the throttle of writes
//! ([`write_throttle`](super::write_throttle)) is a fourth.
//!
//! - **The limit of a lane.** Passes are futures that mostly wait for servers, and planes may be silent for a
//!   whole time-out. If each plane simply had its limit, forty planes that hang would hold 40 × 16 passes,
//!   more than there are workers, and the others would have no turn for that long. So the limit shrinks: a
//!   plane may take its first worker always, and one more only while it holds fewer than a quarter of the
//!   idle ones. Of the keys of a project plane that have just written and have changed again, and of those
//!   that no event has made ready, two may run: a plane where the same objects change all the time would else
//!   have as many writes under way on the hub as it may have turns.
//! - **A back-off**, of each key that failed, and of each plane that fails, which is its circuit: after a
//!   failure of the plane itself one key at a time has its turn, and after a few its keys wait without
//!   running, until one tries. All such turns hold at most a quarter of the workers, and a plane that finds
//!   no room waits for as long as after its last failure, so that even thousands of planes leave the rest to
//!   the others; what comes first of a plane's watch and its probe ends this.
//! - **One stream of keys that may ask the hub while it fails**, see [`hub`](super::hub): most keys need it,
//!   and each of ten thousand would try. A failure of the hub does not open the circuit of the plane whose
//!   key it was.
//!
//! Decides I8.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use fedhub_core::object::{Key, PlaneId};
use fedhub_core::trace::Answered;
use fedhub_planes::registry::pump::outages::Outages;
use fedhub_planes::{Pass, PlaneResponses};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use tokio::time::Instant;

use super::expiring::Expiring;
use super::hub_access::HubAccess;
use super::job::{Ended, Job, Learned, Outcome, QueueConfig};
use super::lane::{Alarm, KeyEntry, KeyState, Lane};
use super::write_throttle::{APART, WriteThrottle};
use crate::circuit::{Circuit, Stance};

/// The share of the idle workers that one plane may hold, and of all workers that probes of planes that fail
/// may, and keys that ask the hub while it fails: one in so many.
const SHARE: usize = 4;
/// How long a lane that was full counts as behind: the keys of a burst come in waves.
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
    pub entries: BTreeMap<Key, KeyEntry>,
    pub lanes: BTreeMap<PlaneId, Lane>,
    /// Lanes in the order of their turns.
    pub line: VecDeque<PlaneId>,
    /// Reconciles in flight: all, and those that probe a plane.
    busy: usize,
    probing: usize,
    pub hub: HubAccess,
    pub timers: BTreeSet<(Instant, Alarm)>,
    /// Keys that are to be added, and when.
    pub later: BTreeMap<Key, Instant>,
    write_throttle: WriteThrottle,
    /// When the lanes that had as many keys in flight as allowed no longer count as behind. Includes lanes
    /// that are empty by now.
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
            busy: 0,
            probing: 0,
            hub: HubAccess::default(),
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
            KeyEntry::new(lane.clone(), since, now)
        });
        if entry.ignores_events(now) {
            return true;
        }
        entry.failures = 0;
        // As it is now it may need nothing of the hub.
        if let KeyState::AwaitsHub(place) = entry.state
            && let Some(lane) = self.lanes.get_mut(&entry.lane)
        {
            lane.awaits_hub.remove(&place);
            entry.state = KeyState::Idle;
        }
        if let Some(at) = entry.timer.take_if(|_| entry.state != KeyState::Paced) {
            self.timers.remove(&(at, Alarm::Key(key.clone())));
        }
        match entry.state {
            KeyState::Ready | KeyState::Paced | KeyState::AwaitsHub(_) => {}
            KeyState::Running { .. } => {
                entry.next_since.get_or_insert(since);
            }
            KeyState::Idle => {
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
        let before = self.later.get(&key).copied();
        if before.is_some_and(|before| before <= at) {
            return;
        }
        if let Some(before) = before {
            self.timers.remove(&(before, Alarm::Add(key.clone())));
        }
        self.later.insert(key.clone(), at);
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
        self.timers.clear();
        self.later.clear();
        self.behind_until = Expiring::default();
        // The next term starts without a history of failures.
        self.hub = HubAccess::default();
    }

    pub fn lead(&mut self, epoch: i32, now: Instant) {
        (self.mode, self.epoch) = (Mode::Leads, epoch);
        self.entries.values_mut().for_each(|entry| entry.ready_at = now);
    }

    pub fn forget(&mut self, lane: &PlaneId) {
        let gone = |entry: &KeyEntry| entry.lane == *lane && !entry.runs();
        let keys: Vec<_> = self.entries.iter().filter(|(_, e)| gone(e)).map(|(k, _)| k.clone()).collect();
        for key in keys {
            if let Some(at) = self.entries.remove(&key).and_then(|entry| entry.timer) {
                self.timers.remove(&(at, Alarm::Key(key)));
            }
        }
        for (key, at) in self.later.extract_if(.., |key, _| key.plane == *lane) {
            self.timers.remove(&(at, Alarm::Add(key)));
        }
        self.update_circuit(lane, |circuit| *circuit = Circuit::default());
        self.recovered(lane, Instant::now());
        self.line.retain(|id| id != lane);
        self.hub.forget(lane, |key| self.entries.contains_key(key));
        self.behind_until.remove(lane);
        if let Some(known) = self.lanes.get_mut(lane) {
            *known = known.emptied();
        }
        self.lanes.retain(|id, known| id != lane || known.keys > 0);
    }

    /// Counts one entry less in a lane.
    pub fn leave(&mut self, id: &PlaneId) {
        let Some(lane) = self.lanes.get_mut(id) else { return };
        lane.keys = lane.keys.saturating_sub(1);
        if lane.keys == 0 {
            if let Some(until) = lane.circuit.until() {
                self.timers.remove(&(until, Alarm::Circuit(id.clone())));
            }
            if lane.queued_for_hub {
                self.hub.forget(id, |_| true);
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
            (entry.state, entry.timer) = (KeyState::Paced, Some(at));
            self.timers.insert((at, Alarm::Key(key)));
            return;
        }
        (entry.state, entry.ready_at) = (KeyState::Ready, now);
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

    /// Puts a lane at the end of the line of turns, if it has a key ready, its circuit is not open and it is
    /// in no line.
    pub fn line_up(&mut self, id: &PlaneId) {
        let Some(lane) = self.lanes.get_mut(id) else { return };
        if !lane.queued && lane.has_next() && lane.circuit.stance() != Stance::Open {
            lane.queued = true;
            self.line.push_back(id.clone());
        }
    }

    /// How many more workers than its first a lane may hold now, counting that first.
    fn share(&self) -> usize {
        if self.workers == 0 { usize::MAX } else { (self.workers.saturating_sub(self.busy) / SHARE).max(1) }
    }

    /// How many probes of planes that fail may be in flight, and how many keys may ask the hub while it
    /// fails.
    pub fn probes(&self) -> usize {
        if self.workers == 0 { usize::MAX } else { (self.workers / SHARE).max(1) }
    }

    /// The key whose turn it is, if any plane may have one more in flight.
    pub fn take(&mut self, now: Instant) -> Option<Job> {
        if self.mode != Mode::Leads {
            return None;
        }
        self.let_one_ask(now);
        let share = self.share();
        let probes = self.probes();
        for _ in 0..self.line.len() {
            let id = self.line.pop_front()?;
            let Some(lane) = self.lanes.get_mut(&id) else { continue };
            lane.queued = false;
            let is_probe = !lane.circuit.is_well();
            let limit = if is_probe { 1 } else { self.config.per_plane };
            if lane.in_flight >= limit || lane.circuit.stance() == Stance::Open {
                // Its turn comes back when one of its keys is done, or with the alarm of its circuit.
                continue;
            }
            if lane.in_flight >= share {
                // The lane waits for more idle workers. There are at most as many such lanes as busy workers.
                lane.queued = true;
                self.line.push_back(id);
                continue;
            }
            if is_probe && self.probing >= probes {
                let chance = self.rng.random_range(0.0..=1.0);
                self.update_circuit(&id, |circuit| circuit.put_off(now, chance));
                continue;
            }
            let Some((key, repeat)) = lane.next() else { continue };
            if !repeat && lane.in_flight >= self.config.per_plane {
                self.behind_until.set(id.clone(), now + RECENTLY, now);
            }
            self.line_up(&id);
            let entry = self.entries.get_mut(&key)?;
            entry.state = KeyState::Running { began: now, probes: is_probe, repeat };
            entry.timed = false;
            let waited = now.saturating_duration_since(entry.ready_at);
            let asks_hub = self.hub.admits(&key, &id);
            let KeyEntry { since, unsettled_since, .. } = *entry;
            let pass = Pass::new(self.epoch, asks_hub);
            let job = Job { key, since, unsettled_since, waited, pass, answered: Answered::recorded() };
            self.busy += 1;
            self.probing += usize::from(is_probe);
            return Some(job);
        }
        None
    }

    /// A reconcile has ended. Returns whether its failure is new.
    pub fn ended(&mut self, key: &Key, outcome: Outcome, responses: &PlaneResponses, now: Instant) -> bool {
        let Some(entry) = self.entries.get_mut(key) else { return true };
        let KeyState::Running { began, probes, repeat } = entry.state else { return true };
        entry.state = KeyState::Idle;
        let next_since = entry.next_since.take();
        let id = entry.lane.clone();
        self.busy = self.busy.saturating_sub(1);
        self.probing = self.probing.saturating_sub(usize::from(probes));
        self.asked_hub(key, &id);
        if let Some(lane) = self.lanes.get_mut(&id) {
            lane.ended(repeat);
        }
        let Learned { interrupted, news } = self.learn(key, &id, began, responses, now);
        let needs_hub = responses.held_back || (interrupted && responses.unhealthy == Some(PlaneId::Hub));
        if responses.wrote {
            self.write_throttle.wrote(key, now);
        }
        self.settle(key, outcome, Ended { interrupted, needs_hub, again: next_since }, now);
        self.line_up(&id);
        news
    }
}

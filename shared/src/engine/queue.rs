//! The queue of one controller: keys in fair turns over planes.
//!
//! A key waits at most once and runs at most once at a time. Turns go round robin over planes, each with a limit on
//! keys in flight, so a plane with ten thousand changes delays another's one change by one turn (I8). A key that
//! failed waits for its own back-off, which ends at once when an event says that something changed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::object::{Key, Kind, PlaneId};

/// Limits of a queue.
#[derive(Clone, Debug)]
pub struct QueueConfig {
    /// Keys of one plane that may be in flight at once.
    pub per_plane: usize,
    /// First back-off of a key that failed.
    pub backoff_first: Duration,
    /// Longest back-off; each failure doubles the last one until here.
    pub backoff_max: Duration,
    /// Seed of the jitter (a tenth of the back-off, either way).
    pub seed: u64,
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self {
            per_plane: 16,
            backoff_first: Duration::from_millis(500),
            backoff_max: Duration::from_mins(5),
            seed: 0,
        }
    }
}

/// A key that a worker has taken.
#[derive(Clone, Debug)]
pub struct Job {
    /// The key.
    pub key: Key,
    /// When the first event came that this pass answers.
    pub since: Instant,
    /// How long the key was ready before it was taken.
    pub waited: Duration,
    /// The term of leadership that the pass belongs to.
    pub epoch: i32,
}

/// How a pass over a key ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything was as it should be; nothing was written.
    InOrder,
    /// Something was written; now everything is as it should be.
    Wrote,
    /// An event will bring it back: nothing to do before that.
    Waits,
    /// To be looked at again after this time; not a failure.
    After(Duration),
    /// It failed: again after the back-off.
    Failed,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Known only for its back-off or its age.
    Idle,
    Ready,
    Running {
        /// An event came meanwhile.
        again: bool,
    },
}

struct Entry {
    state: State,
    lane: PlaneId,
    /// Since when it is not in order.
    since: Instant,
    /// The first event that came while it ran.
    next_since: Option<Instant>,
    ready_at: Instant,
    failures: u32,
    timer: Option<Instant>,
}

impl Entry {
    fn unsynced(&self) -> bool {
        self.state != State::Idle || self.failures > 0
    }
}

#[derive(Default)]
struct Lane {
    ready: VecDeque<Key>,
    in_flight: usize,
}

struct Inner {
    entries: BTreeMap<Key, Entry>,
    lanes: BTreeMap<PlaneId, Lane>,
    /// Planes that have keys ready, in the order of their turns.
    turns: VecDeque<PlaneId>,
    timers: BTreeSet<(Instant, Key)>,
    rng: SmallRng,
    closed: bool,
    /// Whether keys only gather.
    held: bool,
    epoch: i32,
}

/// The queue of one controller.
pub struct Queue {
    config: QueueConfig,
    inner: Mutex<Inner>,
    wake: Notify,
}

impl Queue {
    /// An empty queue.
    pub fn new(config: QueueConfig) -> Self {
        let rng = SmallRng::seed_from_u64(config.seed);
        let inner = Inner {
            entries: BTreeMap::new(),
            lanes: BTreeMap::new(),
            turns: VecDeque::new(),
            timers: BTreeSet::new(),
            rng,
            closed: false,
            held: false,
            epoch: 0,
        };
        Self { config, inner: Mutex::new(inner), wake: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something that concerns `key` changed: it is ready now, in the turn of `lane`, its back-off forgotten.
    pub fn add(&self, key: Key, lane: &PlaneId) {
        let now = Instant::now();
        {
            let mut inner = self.lock();
            let inner = &mut *inner;
            let entry = inner.entries.entry(key.clone()).or_insert_with(|| Entry {
                state: State::Idle,
                lane: lane.clone(),
                since: now,
                next_since: None,
                ready_at: now,
                failures: 0,
                timer: None,
            });
            entry.failures = 0;
            if let Some(at) = entry.timer.take() {
                inner.timers.remove(&(at, key.clone()));
            }
            match entry.state {
                State::Ready => return,
                State::Running { .. } => {
                    entry.state = State::Running { again: true };
                    entry.next_since.get_or_insert(now);
                    return;
                }
                State::Idle => {
                    entry.lane = lane.clone();
                    ready(&mut inner.lanes, &mut inner.turns, entry, key, now);
                }
            }
        }
        self.wake.notify_one();
    }

    /// No key is given out before [`Self::lead`]; keys gather meanwhile.
    pub fn hold(&self) {
        self.lock().held = true;
    }

    /// Keys are given out from now on, to passes of this term. `since`: when the leader before was last known to
    /// lead; what gathered earlier was its business, and counts from then.
    pub fn lead(&self, epoch: i32, since: Instant) {
        {
            let mut inner = self.lock();
            (inner.held, inner.epoch) = (false, epoch);
            let now = Instant::now();
            for entry in inner.entries.values_mut() {
                entry.since = entry.since.max(since);
                entry.ready_at = now;
            }
        }
        self.wake.notify_one();
    }

    /// The next key whose turn it is; waits for one. `None` once the queue is closed.
    pub async fn next(&self) -> Option<Job> {
        loop {
            let notified = self.wake.notified();
            let timer = {
                let mut inner = self.lock();
                if inner.closed {
                    // Pass it on: one notification wakes one worker.
                    self.wake.notify_one();
                    return None;
                }
                let now = Instant::now();
                if !inner.held {
                    inner.ripen(now);
                }
                if let Some(job) = inner.take(now, self.config.per_plane) {
                    if !inner.turns.is_empty() || !inner.timers.is_empty() {
                        // Who is awake goes to work: another one sees to the next key, or waits for the next timer.
                        self.wake.notify_one();
                    }
                    return Some(job);
                }
                inner.timers.first().map(|(at, _)| *at).filter(|_| !inner.held)
            };
            match timer {
                Some(at) => {
                    tokio::select! { biased; () = notified => (), () = tokio::time::sleep_until(at) => () }
                }
                None => notified.await,
            }
        }
    }

    /// The pass over `job` has ended.
    pub fn done(&self, job: &Job, outcome: Outcome) {
        let now = Instant::now();
        {
            let mut inner = self.lock();
            let inner = &mut *inner;
            let Some(entry) = inner.entries.get_mut(&job.key) else { return };
            if let Some(lane) = inner.lanes.get_mut(&entry.lane) {
                lane.in_flight = lane.in_flight.saturating_sub(1);
                if !lane.ready.is_empty() && !inner.turns.contains(&entry.lane) {
                    inner.turns.push_back(entry.lane.clone());
                } else if lane.ready.is_empty() && lane.in_flight == 0 {
                    inner.lanes.remove(&entry.lane);
                }
            }
            let again = entry.state == State::Running { again: true };
            entry.state = State::Idle;
            let next_since = entry.next_since.take();
            let wait = match outcome {
                Outcome::InOrder | Outcome::Wrote | Outcome::Waits => {
                    entry.failures = 0;
                    None
                }
                Outcome::After(wait) => {
                    entry.failures = 0;
                    Some(wait)
                }
                Outcome::Failed => {
                    entry.failures = entry.failures.saturating_add(1);
                    Some(jittered(&mut inner.rng, backoff(&self.config, entry.failures)))
                }
            };
            if again {
                if outcome != Outcome::Failed {
                    entry.since = next_since.unwrap_or(now);
                }
                ready(&mut inner.lanes, &mut inner.turns, entry, job.key.clone(), now);
            } else if let Some(wait) = wait {
                let at = now + wait;
                entry.timer = Some(at);
                inner.timers.insert((at, job.key.clone()));
            } else {
                inner.entries.remove(&job.key);
            }
        }
        self.wake.notify_one();
    }

    /// Forgets the keys that `gone` names and that are not running.
    pub fn forget(&self, gone: impl Fn(&Key) -> bool) {
        let mut inner = self.lock();
        let inner = &mut *inner;
        let keys: Vec<_> = inner
            .entries
            .iter()
            .filter(|(k, e)| gone(k) && !matches!(e.state, State::Running { .. }))
            .map(|(k, _)| k.clone())
            .collect();
        for key in keys {
            if let Some(entry) = inner.entries.remove(&key) {
                if let Some(at) = entry.timer {
                    inner.timers.remove(&(at, key.clone()));
                }
                if let Some(lane) = inner.lanes.get_mut(&entry.lane) {
                    lane.ready.retain(|k| *k != key);
                    if lane.ready.is_empty() && lane.in_flight == 0 {
                        inner.lanes.remove(&entry.lane);
                    }
                }
            }
        }
    }

    /// No key is given out any more; [`Self::next`] answers `None`.
    pub fn close(&self) {
        self.lock().closed = true;
        self.wake.notify_one();
    }

    /// Keys that are ready.
    pub fn depth(&self) -> usize {
        self.lock().lanes.values().map(|l| l.ready.len()).sum()
    }

    /// Keys that are ready, running or waiting to be tried again.
    pub fn pending(&self) -> usize {
        self.lock().entries.len()
    }

    /// Keys of a kind that are ready, running or failed: what waits for a time of its own is not counted.
    pub fn unsynced(&self, kind: Kind) -> usize {
        self.lock().entries.iter().filter(|(key, e)| key.kind == kind && e.unsynced()).count()
    }

    /// The age of each plane's oldest change that is ready, running or failed; the oldest first.
    pub fn oldest_by_lane(&self) -> Vec<(PlaneId, Duration)> {
        let now = Instant::now();
        let mut ages: BTreeMap<PlaneId, Duration> = BTreeMap::new();
        for entry in self.lock().entries.values() {
            if entry.unsynced() {
                let age = now.saturating_duration_since(entry.since);
                let oldest = ages.entry(entry.lane.clone()).or_default();
                *oldest = age.max(*oldest);
            }
        }
        let mut ages: Vec<_> = ages.into_iter().collect();
        ages.sort_by_key(|(_, age)| std::cmp::Reverse(*age));
        ages
    }
}

fn ready(
    lanes: &mut BTreeMap<PlaneId, Lane>,
    turns: &mut VecDeque<PlaneId>,
    entry: &mut Entry,
    key: Key,
    now: Instant,
) {
    entry.state = State::Ready;
    entry.ready_at = now;
    let lane = lanes.entry(entry.lane.clone()).or_default();
    lane.ready.push_back(key);
    if !turns.contains(&entry.lane) {
        turns.push_back(entry.lane.clone());
    }
}

impl Inner {
    /// Timers that are due make their keys ready.
    fn ripen(&mut self, now: Instant) {
        while self.timers.first().is_some_and(|(at, _)| *at <= now) {
            let Some((_, key)) = self.timers.pop_first() else { return };
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.timer = None;
                if entry.failures == 0 {
                    entry.since = now;
                }
                ready(&mut self.lanes, &mut self.turns, entry, key, now);
            }
        }
    }

    /// The key whose turn it is, if any plane may have one more in flight.
    fn take(&mut self, now: Instant, per_plane: usize) -> Option<Job> {
        if self.held {
            return None;
        }
        for _ in 0..self.turns.len() {
            let id = self.turns.pop_front()?;
            let Some(lane) = self.lanes.get_mut(&id) else { continue };
            if lane.in_flight >= per_plane {
                // Its turn comes back when one of its keys is done.
                continue;
            }
            let Some(key) = lane.ready.pop_front() else { continue };
            lane.in_flight += 1;
            if !lane.ready.is_empty() {
                self.turns.push_back(id);
            }
            let entry = self.entries.get_mut(&key)?;
            entry.state = State::Running { again: false };
            let waited = now.saturating_duration_since(entry.ready_at);
            return Some(Job { key, since: entry.since, waited, epoch: self.epoch });
        }
        None
    }
}

fn backoff(config: &QueueConfig, failures: u32) -> Duration {
    let doubled = 2u32.saturating_pow(failures.saturating_sub(1).min(20));
    config.backoff_first.saturating_mul(doubled).min(config.backoff_max)
}

fn jittered(rng: &mut SmallRng, wait: Duration) -> Duration {
    wait.mul_f64(rng.random_range(0.9..=1.1))
}

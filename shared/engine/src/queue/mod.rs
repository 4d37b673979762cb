//! The queue of one controller: keys in fair turns over planes.
//!
//! A key waits at most once and runs at most once at a time. Turns go round robin over planes, each with a
//! limit on keys in flight, so a plane with ten thousand changes delays another's one change by one turn
//! (I8). A key that failed waits for its own back-off, which ends at once when an event says that something
//! changed. Keys of a plane that fails as a whole wait for its [`Circuit`](crate::circuit::Circuit) instead,
//! see `scheduler`. A key that changes without end has its writes spaced out, see `write_throttle`, and all
//! such keys of a project plane share few turns. One that its own reconciles do not bring into sync waits out
//! its back-off whatever events they cause, see `settle`.

mod expiring;
mod health;
mod hub;
mod hub_access;
mod job;
mod lane;
mod lane_status;
mod scheduler;
mod settle;
mod write_throttle;

use std::time::Duration;

use fedhub_core::object::{Key, Kind, PlaneId};
use fedhub_planes::PlaneResponses;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::Instant;

pub use job::{Job, Outcome, QueueConfig};
pub use lane_status::LaneStatus;

use scheduler::{Mode, Scheduler};

/// What a worker does next.
enum Next {
    /// The queue is closed.
    Closed,
    /// A key is ready.
    Job(Job),
    /// No key is ready until a change, or until the next timer fires.
    Wait(Option<Instant>),
}

/// The queue of one controller.
pub struct Queue {
    scheduler: Mutex<Scheduler>,
    wake: Notify,
}

impl Queue {
    /// An empty queue.
    pub fn new(config: QueueConfig) -> Self {
        Self { scheduler: Mutex::new(Scheduler::new(config)), wake: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Scheduler> {
        self.scheduler.lock()
    }

    /// That many more workers will take keys, for the controller of that name. What a plane may have in
    /// flight depends on how many of them are idle; in a queue without any, on nothing but its own limit.
    pub fn staff(&self, controller: &'static str, workers: usize) {
        self.lock().staff(controller, workers);
    }

    /// Enqueues `key` in the lane of a plane, without its back-off: something that concerns it changed.
    /// Returns whether it will be reconciled.
    pub fn add(&self, key: Key, lane: &PlaneId) -> bool {
        let added = self.lock().add(key, lane, false, Instant::now());
        self.wake.notify_one();
        added
    }

    /// Adds `key` in the lane of its plane after this time, or at an earlier one that was already asked for:
    /// something may be due then that no event tells of. It is a repeat, which leaves turns to what changes.
    pub fn add_after(&self, key: Key, wait: Duration) {
        self.lock().add_after(key, wait, Instant::now());
        self.wake.notify_one();
    }

    /// No key is given out before [`Self::lead`], and none is kept: what was waiting is forgotten and what is
    /// added goes nowhere, for the beginning of a term looks at everything that there is by then.
    pub fn hold(&self) {
        self.lock().hold();
    }

    /// Keys gather from now on, for a term that is about to begin. `since`: when the leader before was last
    /// known to lead; what changed earlier was its business, and what is found now may have changed any time
    /// since.
    pub fn gather(&self, since: Instant) {
        self.lock().mode = Mode::Gathers(since);
    }

    /// Keys are given out from now on, to passes of this term.
    pub fn lead(&self, epoch: i32) {
        self.lock().lead(epoch, Instant::now());
        self.wake.notify_one();
    }

    /// Closes the circuit of a plane whose watches are in sync again; all its keys are ready.
    pub fn mark_healthy(&self, plane: &PlaneId) {
        self.lock().mark_healthy(plane, Instant::now());
        self.wake.notify_one();
    }

    /// The next key whose turn it is; waits for one. `None` once the queue is closed.
    pub async fn next(&self) -> Option<Job> {
        loop {
            let notified = self.wake.notified();
            match self.take() {
                Next::Closed => {
                    // Pass it on: one notification wakes one who waits.
                    self.wake.notify_one();
                    return None;
                }
                Next::Job(job) => return Some(job),
                Next::Wait(Some(at)) => {
                    tokio::select! { biased; () = notified => (), () = tokio::time::sleep_until(at) => () }
                }
                Next::Wait(None) => notified.await,
            }
        }
    }

    /// The key whose turn it is now, if there is one.
    pub fn try_next(&self) -> Option<Job> {
        if let Next::Job(job) = self.take() { Some(job) } else { None }
    }

    fn take(&self) -> Next {
        let mut scheduler = self.lock();
        if scheduler.closed {
            return Next::Closed;
        }
        let now = Instant::now();
        scheduler.ripen(now);
        let Some(job) = scheduler.take(now) else { return Next::Wait(scheduler.alarm()) };
        if scheduler.more() {
            // Who is awake goes to work: another one sees to the next key, or waits for the next timer.
            self.wake.notify_one();
        }
        Next::Job(job)
    }

    /// Ends the reconcile of `job` without evidence of any plane's health. An outcome of `Updated` counts as
    /// a write.
    pub fn done(&self, job: &Job, outcome: Outcome) {
        let wrote = outcome == Outcome::Updated;
        self.ended(job, outcome, &PlaneResponses { wrote, ..PlaneResponses::default() });
    }

    /// The reconcile of `job` has ended, with these responses of planes. Returns whether its failure is new:
    /// where the plane's circuit is open, which is logged once, it is not.
    pub fn ended(&self, job: &Job, outcome: Outcome, responses: &PlaneResponses) -> bool {
        let news = self.lock().ended(&job.key, outcome, responses, Instant::now());
        self.wake.notify_one();
        news
    }

    /// Forgets the keys of a lane that are not running, and what is known of the plane's health.
    pub fn forget(&self, lane: &PlaneId) {
        self.lock().forget(lane);
        self.wake.notify_one();
    }

    /// No key is given out any more; [`Self::next`] answers `None`.
    pub fn close(&self) {
        self.lock().closed = true;
        self.wake.notify_one();
    }

    /// Keys that are ready.
    pub fn depth(&self) -> usize {
        let scheduler = self.lock();
        scheduler.lanes.values().map(|lane| lane.waiting() + lane.awaits_hub.len()).sum()
    }

    /// Whether more is ready for that plane than its turns take, now or a moment ago, and the plane works.
    pub fn is_behind(&self, plane: &PlaneId) -> bool {
        self.lock().is_behind(plane, Instant::now())
    }

    /// Keys that are ready, running or waiting to be tried again.
    pub fn pending(&self) -> usize {
        self.lock().entries.len()
    }

    /// Planes of which something is kept in memory: those that [`Self::pending`] keys belong to.
    pub fn lanes(&self) -> usize {
        self.lock().lanes.len()
    }

    /// Planes whose keys wait because they fail as a whole; the hub is one of them.
    pub fn circuits_open(&self) -> usize {
        let scheduler = self.lock();
        scheduler.lanes.values().filter(|l| l.circuit.interrupts()).count()
            + usize::from(scheduler.hub.is_out())
    }

    /// Whether the hub fails as a whole, so that keys wait for it.
    pub fn hub_is_out(&self) -> bool {
        self.lock().hub.is_out()
    }

    /// Keys of a kind that are ready, running or failed: what waits for a time of its own is not counted.
    pub fn unsynced(&self, kind: Kind) -> usize {
        self.lock().entries.iter().filter(|(key, e)| key.kind == kind && e.unsynced()).count()
    }
}

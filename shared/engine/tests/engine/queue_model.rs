//! The queue against a simple model, over random schedules.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fedhub_core::object::{Key, PlaneId};
use fedhub_engine::{Job, Outcome, Queue, QueueConfig};
use futures::FutureExt;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use tokio::time::Instant;

use crate::support::{key, project};

#[derive(Clone, Debug)]
enum Step {
    /// An event for this key of this plane.
    Event(u8, u8),
    /// A worker asks for a key.
    Take,
    /// One of the running passes ends so.
    Done(u8, Outcome),
    /// Time passes, in milliseconds.
    Pass(u16),
    /// A plane is forgotten.
    Forget(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let outcome = prop_oneof![
        Just(Outcome::Unchanged),
        Just(Outcome::Updated),
        Just(Outcome::AwaitChange),
        Just(Outcome::Failed),
        (0..5000u64).prop_map(|ms| Outcome::RequeueAfter(Duration::from_millis(ms))),
    ];
    let step = prop_oneof![
        4 => (0..3u8, 0..4u8).prop_map(|(p, k)| Step::Event(p, k)),
        4 => Just(Step::Take),
        3 => (any::<u8>(), outcome).prop_map(|(n, o)| Step::Done(n, o)),
        2 => (0..3000u16).prop_map(Step::Pass),
        1 => (0..3u8).prop_map(Step::Forget),
    ];
    prop::collection::vec(step, 1..200)
}

/// When a key that waits is ready: surely from `latest` on, not before `earliest`.
#[derive(Clone, Copy, Debug)]
struct Ready {
    earliest: Instant,
    latest: Instant,
    /// It wrote a moment ago: when its turn comes depends on others that did.
    repeat: bool,
}

/// What the queue promises, in the plainest words.
#[derive(Default)]
struct Model {
    waiting: BTreeMap<Key, Ready>,
    running: BTreeSet<Key>,
    again: BTreeSet<Key>,
    failures: BTreeMap<Key, u32>,
    /// When a key will be as if it had never written.
    quiet_at: BTreeMap<Key, Instant>,
    /// How many keys of other planes were taken since a plane was surely ready and below its limit.
    passed_over: BTreeMap<PlaneId, usize>,
}

impl Model {
    fn in_flight(&self, plane: &PlaneId) -> usize {
        self.running.iter().filter(|k| k.plane == *plane).count()
    }

    fn event(&mut self, key: Key, now: Instant) {
        self.failures.remove(&key);
        if self.running.contains(&key) {
            self.again.insert(key);
        } else {
            self.waits(key, now, now);
        }
    }

    fn waits(&mut self, key: Key, earliest: Instant, latest: Instant) {
        let repeat = self.quiet_at.get(&key).is_some_and(|at| *at > earliest + Duration::from_millis(500))
            || self.waiting.get(&key).is_some_and(|ready| ready.repeat);
        self.waiting.insert(key, Ready { earliest, latest, repeat });
    }

    fn done(&mut self, key: &Key, outcome: Outcome, now: Instant) {
        self.running.remove(key);
        if outcome == Outcome::Updated {
            let quiet_at = self.quiet_at.entry(key.clone()).or_insert(now);
            *quiet_at = (*quiet_at).max(now) + Duration::from_secs(1);
        }
        let wait = match outcome {
            Outcome::Failed => {
                let failures = self.failures.entry(key.clone()).or_default();
                *failures += 1;
                let full = Duration::from_millis(100).saturating_mul(1 << (*failures - 1).min(20));
                let full = full.min(Duration::from_secs(1));
                Some((full.mul_f64(0.9), full.mul_f64(1.1)))
            }
            Outcome::RequeueAfter(wait) => {
                self.failures.remove(key);
                Some((wait, wait))
            }
            Outcome::Unchanged | Outcome::Updated | Outcome::AwaitChange => {
                self.failures.remove(key);
                None
            }
            Outcome::Diverged => unreachable!("it has tests of its own"),
        };
        if self.again.remove(key) {
            self.waits(key.clone(), now, now);
        } else if let Some((least, most)) = wait {
            // The clock's ticks are milliseconds.
            self.waits(key.clone(), now + least, now + most + Duration::from_millis(1));
        }
    }

    /// Planes that surely have a key for a worker.
    fn sure(&self, now: Instant, limit: usize) -> BTreeSet<PlaneId> {
        // Of repeats two may be in flight, and one that has written three times at once waits, up to a second
        // longer by chance.
        let throttled =
            |key: &Key| self.quiet_at.get(key).is_some_and(|at| *at > now + Duration::from_secs(1));
        let free = |key: &Key, ready: &Ready| {
            let most = if ready.repeat { limit.min(2) } else { limit };
            self.in_flight(&key.plane) < most && !throttled(key)
        };
        let ready = self.waiting.iter().filter(|(key, ready)| ready.latest <= now && free(key, ready));
        ready.map(|(key, _)| key.plane.clone()).collect()
    }

    fn took(&mut self, job: Option<&Job>, now: Instant, limit: usize) -> Result<(), TestCaseError> {
        let sure = self.sure(now, limit);
        self.passed_over.retain(|p, _| sure.contains(p));
        let Some(job) = job else {
            prop_assert!(sure.is_empty(), "nothing was given, but {sure:?} had keys ready");
            return Ok(());
        };
        let ready = self.waiting.remove(&job.key);
        let ready = ready.ok_or_else(|| TestCaseError::fail(format!("{} waited for nothing", job.key)))?;
        prop_assert!(ready.earliest <= now, "{} came too early", job.key);
        prop_assert!(self.running.insert(job.key.clone()), "{} runs twice", job.key);
        prop_assert!(self.in_flight(&job.key.plane) <= limit, "{} is over its limit", job.key.plane);
        self.passed_over.remove(&job.key.plane);
        for plane in sure.into_iter().filter(|p| *p != job.key.plane) {
            let times = self.passed_over.entry(plane.clone()).or_default();
            *times += 1;
            prop_assert!(*times <= 2, "{plane} was passed over {times} times, with two other planes");
        }
        Ok(())
    }
}

fn check(steps: &[Step], limit: usize) -> Result<(), TestCaseError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(async {
        let queue = Queue::new(QueueConfig {
            per_plane: limit,
            backoff_first: Duration::from_millis(100),
            backoff_max: Duration::from_secs(1),
            seed: 11,
        });
        let mut model = Model::default();
        let mut jobs = Vec::<Job>::new();
        for step in steps {
            let now = Instant::now();
            match step {
                Step::Event(plane, name) => {
                    let plane = project(&format!("p{plane}"));
                    let key = key(&plane, &name.to_string());
                    queue.add(key.clone(), &plane);
                    model.event(key, now);
                }
                Step::Take => {
                    let job = queue.next().now_or_never().flatten();
                    model.took(job.as_ref(), now, limit)?;
                    jobs.extend(job);
                }
                Step::Done(n, outcome) if !jobs.is_empty() => {
                    let job = jobs.swap_remove(usize::from(*n) % jobs.len());
                    queue.done(&job, *outcome);
                    model.done(&job.key, *outcome, now);
                }
                Step::Done(..) => {}
                Step::Pass(ms) => tokio::time::advance(Duration::from_millis((*ms).into())).await,
                Step::Forget(plane) => {
                    let plane = project(&format!("p{plane}"));
                    queue.forget(&plane);
                    model.waiting.retain(|k, _| k.plane != plane);
                    model.passed_over.remove(&plane);
                    let kept = &model.running;
                    model.failures.retain(|k, _| k.plane != plane || kept.contains(k));
                }
            }
            prop_assert_eq!(queue.pending(), model.waiting.len() + model.running.len());
        }
        // In the end everything that waits comes, and nothing else.
        for job in jobs.drain(..) {
            queue.done(&job, Outcome::Unchanged);
            model.done(&job.key, Outcome::Unchanged, Instant::now());
        }
        while !model.waiting.is_empty() {
            let job = tokio::time::timeout(Duration::from_secs(10), queue.next()).await;
            let job = job.map_err(|_| TestCaseError::fail(format!("lost: {:?}", model.waiting)))?;
            model.took(job.as_ref(), Instant::now(), limit)?;
            let key = job.as_ref().unwrap().key.clone();
            queue.done(&job.unwrap(), Outcome::Unchanged);
            model.done(&key, Outcome::Unchanged, Instant::now());
        }
        prop_assert_eq!((queue.pending(), queue.depth(), queue.lanes()), (0, 0, 0));
        Ok(())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::with_cases(300) })]

    #[test]
    fn i8_the_queue_keeps_its_promises(steps in steps(), limit in 1..4usize) {
        check(&steps, limit)?;
    }
}

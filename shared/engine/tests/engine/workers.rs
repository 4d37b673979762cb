//! Several workers on one queue: no wake-up is lost, one key runs once at a time, a failure is no end.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fedhub_core::errors::Error;
use fedhub_core::object::{Key, PlaneId};
use fedhub_engine::{Controller, Job, Outcome, Queue, QueueConfig, run_workers};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

use crate::support::*;

/// Passes of random length and outcome; notes what must not be.
struct Restless {
    rng: Mutex<SmallRng>,
    running: Mutex<BTreeMap<Key, usize>>,
    /// When a key that asked to come back is due.
    due: Mutex<BTreeMap<Key, Instant>>,
    /// Events that no pass has answered yet.
    owed: Mutex<BTreeMap<Key, usize>>,
    faults: Mutex<Vec<String>>,
    passes: AtomicUsize,
}

impl Restless {
    fn new(seed: u64) -> Arc<Self> {
        Arc::new(Self {
            rng: Mutex::new(SmallRng::seed_from_u64(seed)),
            running: Mutex::default(),
            due: Mutex::default(),
            owed: Mutex::default(),
            faults: Mutex::default(),
            passes: AtomicUsize::new(0),
        })
    }

    fn fault(&self, words: String) {
        self.faults.lock().unwrap().push(words);
    }
}

impl Controller for Restless {
    fn name(&self) -> &'static str {
        "restless"
    }

    async fn reconcile(&self, job: &Job) -> Result<Outcome, Error> {
        self.passes.fetch_add(1, Ordering::Relaxed);
        let now = Instant::now();
        // Of a project plane's three keys those that have just written share two turns, of forty milliseconds
        // each.
        let shares = job.key.plane != PlaneId::Hub;
        let most = Duration::from_millis(if shares { 80 } else { 0 });
        if let Some(due) = self.due.lock().unwrap().remove(&job.key).filter(|due| *due < now && !shares) {
            self.fault(format!("{} was due {:?} ago", job.key, now - due));
        }
        if job.waited > most {
            self.fault(format!("{} waited {:?} although workers were idle", job.key, job.waited));
        }
        let others = {
            let mut running = self.running.lock().unwrap();
            let here = running.entry(job.key.clone()).or_default();
            *here += 1;
            *here
        };
        if others > 1 {
            self.fault(format!("{} runs {others} times", job.key));
        }
        self.owed.lock().unwrap().remove(&job.key);
        let (length, ending, wait) = {
            let mut rng = self.rng.lock().unwrap();
            (rng.random_range(0..40), rng.random_range(0..4), rng.random_range(1..50))
        };
        tokio::time::sleep(Duration::from_millis(length)).await;
        self.running.lock().unwrap().remove(&job.key);
        let wait = Duration::from_millis(wait);
        Ok(match ending {
            0 => {
                self.due.lock().unwrap().insert(job.key.clone(), Instant::now() + wait);
                Outcome::RequeueAfter(wait)
            }
            1 => Outcome::Failed,
            2 => Outcome::Updated,
            _ => Outcome::Unchanged,
        })
    }
}

const KEYS: usize = 6;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::with_cases(40) })]

    /// With enough workers for one to be idle for each plane whenever a key is ready, no key of the hub ever
    /// waits, by event or by timer, and none of a plane forever.
    #[test]
    fn no_wake_up_is_lost(seed in any::<u64>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let faults = runtime.unwrap().block_on(async {
            let first = Duration::from_millis(20);
            let config = QueueConfig { backoff_first: first, backoff_max: first * 4, seed, ..QueueConfig::default() };
            let queue = Arc::new(Queue::new(config));
            let controller = Restless::new(seed);
            let tasks = TaskTracker::new();
            run_workers(&controller, &queue, &metrics(), 4 * KEYS, &tasks);
            let mut rng = SmallRng::seed_from_u64(seed ^ 1);
            for _ in 0..300 {
                let lane = if rng.random_bool(0.5) { project("a") } else { PlaneId::Hub };
                let name = if lane == project("a") { rng.random_range(0..3) } else { rng.random_range(3..KEYS) };
                let key = key(&lane, &name.to_string());
                controller.due.lock().unwrap().remove(&key);
                *controller.owed.lock().unwrap().entry(key.clone()).or_default() += 1;
                queue.add(key, &lane);
                tokio::time::sleep(Duration::from_millis(rng.random_range(0..30))).await;
            }
            // The longest wait: up to two seconds for a key that wrote three times at once, and its turn.
            tokio::time::sleep(Duration::from_secs(3)).await;
            let owed = std::mem::take(&mut *controller.owed.lock().unwrap());
            queue.close();
            tasks.close();
            tokio::time::timeout(Duration::from_secs(1), tasks.wait()).await.unwrap();
            let mut faults = std::mem::take(&mut *controller.faults.lock().unwrap());
            faults.extend(owed.keys().map(|k| format!("{k} was never answered")));
            faults
        });
        prop_assert!(faults.is_empty(), "{faults:#?}");
    }
}

/// One timer is due while the worker that waits for it takes another key: another worker has to wait for the
/// second.
#[tokio::test(start_paused = true)]
async fn a_timer_is_watched_by_somebody_while_workers_are_idle() {
    let lane = project("a");
    for busy in 1..8_usize {
        let queue = Arc::new(Queue::new(QueueConfig::default()));
        let took = Arc::new(Mutex::new(Vec::new()));
        let start = Instant::now();
        for _ in 0..8 {
            let queue = queue.clone();
            let took = took.clone();
            tokio::spawn(async move {
                while let Some(job) = queue.next().await {
                    took.lock().unwrap().push((job.key.name.clone(), start.elapsed().as_millis()));
                    if job.key.name.starts_with("long") {
                        tokio::time::sleep(Duration::from_mins(1)).await;
                        queue.done(&job, Outcome::Unchanged);
                    } else {
                        let wait: u64 = job.key.name.parse().unwrap();
                        let over =
                            took.lock().unwrap().iter().filter(|(n, _)| *n == job.key.name).count() > 1;
                        let after = Outcome::RequeueAfter(Duration::from_millis(wait));
                        queue.done(&job, if over { Outcome::Unchanged } else { after });
                    }
                }
            });
        }
        tokio::task::yield_now().await;
        for wait in ["100", "200", "300"] {
            queue.add(key(&lane, wait), &lane);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        for n in 0..busy {
            queue.add(key(&lane, &format!("long{n}")), &lane);
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        let times: Vec<_> = took.lock().unwrap().iter().filter(|(_, t)| *t >= 100).cloned().collect();
        let wanted: Vec<_> = [100_u128, 200, 300].into_iter().map(|t| (t.to_string().into(), t)).collect();
        assert_eq!(times, wanted, "{busy} busy");
        queue.close();
    }
}

struct Mixed;

impl Controller for Mixed {
    fn name(&self) -> &'static str {
        "mixed"
    }

    async fn reconcile(&self, job: &Job) -> Result<Outcome, Error> {
        match &*job.key.name {
            "away" => Err(Error::NotEngaged(job.key.plane.clone())),
            "bug" => Err(Error::Bug("on purpose".to_owned())),
            _ => Ok(Outcome::Updated),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn out_of_sync_waits_for_an_event_and_other_errors_are_tried_again() {
    let queue = Arc::new(Queue::new(QueueConfig::default()));
    let tasks = TaskTracker::new();
    let metrics = metrics();
    run_workers(&Arc::new(Mixed), &queue, &metrics, 2, &tasks);
    let lane = project("a");
    for name in ["away", "bug", "fine"] {
        queue.add(key(&lane, name), &lane);
    }
    quiet(10).await;
    let passes = |outcome| metrics.reconciles.with_label_values(&["mixed", outcome]).get();
    assert_eq!((passes("not_engaged"), passes("updated")), (1, 1));
    assert!((4..=6).contains(&passes("bug")), "0, 0.5, 1.5, 3.5, 7.5 s: {}", passes("bug"));
    assert_eq!(queue.pending(), 1, "only what failed is remembered");
    queue.close();
    tasks.close();
    tasks.wait().await;
}

struct Panics;

impl Controller for Panics {
    fn name(&self) -> &'static str {
        "panics"
    }

    async fn reconcile(&self, job: &Job) -> Result<Outcome, Error> {
        assert_ne!(&*job.key.name, "bad", "on purpose");
        Ok(Outcome::Updated)
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_takes_neither_the_worker_nor_the_key_with_it() {
    let queue = Arc::new(Queue::new(QueueConfig::default()));
    let tasks = TaskTracker::new();
    let metrics = metrics();
    run_workers(&Arc::new(Panics), &queue, &metrics, 1, &tasks);
    let lane = project("a");
    for name in ["bad", "good"] {
        queue.add(key(&lane, name), &lane);
    }
    quiet(3).await;
    let passes = |outcome| metrics.reconciles.with_label_values(&["panics", outcome]).get();
    assert_eq!(passes("updated"), 1);
    assert!(passes("bug") >= 2, "tried again: {}", passes("bug"));
    queue.close();
    tasks.close();
    tasks.wait().await;
}

/// Notes how many passes run at once at most.
#[derive(Default)]
struct Counted {
    running: AtomicUsize,
    most: AtomicUsize,
    passes: AtomicUsize,
}

impl Controller for Counted {
    fn name(&self) -> &'static str {
        "counted"
    }

    async fn reconcile(&self, _: &Job) -> Result<Outcome, Error> {
        let now = self.running.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(now, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_millis(100)).await;
        self.running.fetch_sub(1, Ordering::Relaxed);
        self.passes.fetch_add(1, Ordering::Relaxed);
        Ok(Outcome::Unchanged)
    }
}

/// Twice, so that those who were started for the first keys are gone when the others come.
#[tokio::test(start_paused = true)]
async fn as_many_workers_run_as_there_may_be_and_no_idle_one_is_a_task() {
    const WORKERS: usize = 4;
    const KEYS: usize = 20;
    let queue = Arc::new(Queue::new(QueueConfig::default()));
    let controller = Arc::new(Counted::default());
    let tasks = TaskTracker::new();
    run_workers(&controller, &queue, &metrics(), WORKERS, &tasks);
    for round in 1..=2 {
        for n in 0..KEYS {
            let lane = project(&format!("p{n}"));
            queue.add(key(&lane, "a"), &lane);
        }
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert_eq!(controller.passes.load(Ordering::Relaxed), round * KEYS);
        assert_eq!(controller.most.load(Ordering::Relaxed), WORKERS);
        assert_eq!(tasks.len(), 1, "only who waits for a key");
    }
    queue.close();
    tasks.close();
    tasks.wait().await;
}

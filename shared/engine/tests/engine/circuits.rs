//! Planes that fail as a whole: their keys wait, one tries, and the others do not notice (I8).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fedhub_core::errors::{Error, RequestError};
use fedhub_core::object::PlaneId;
use fedhub_engine::{Controller, Job, Outcome, Queue, QueueConfig, run_workers};
use fedhub_planes::PlaneResponses;
use futures::FutureExt;
use tokio::time::{Instant, advance};
use tokio_util::task::TaskTracker;

use crate::support::*;

fn queue() -> Queue {
    Queue::new(QueueConfig { seed: 3, per_plane: 4, ..QueueConfig::default() })
}

fn now(queue: &Queue) -> Option<Job> {
    queue.next().now_or_never().flatten()
}

fn unhealthy(plane: &PlaneId) -> PlaneResponses {
    PlaneResponses { unhealthy: Some(plane.clone()), ..PlaneResponses::default() }
}

fn answered() -> PlaneResponses {
    PlaneResponses { project: true, ..PlaneResponses::default() }
}

fn fill(queue: &Queue, lane: &PlaneId, keys: usize) {
    for n in 0..keys {
        queue.add(key(lane, &format!("{n:03}")), lane);
    }
}

/// As many keys as may be in flight are taken, and fail by `plane`.
fn fail_all(queue: &Queue, plane: &PlaneId) -> usize {
    let jobs: Vec<_> = std::iter::from_fn(|| now(queue)).collect();
    for job in &jobs {
        queue.ended(job, Outcome::Failed, &unhealthy(plane));
    }
    jobs.len()
}

#[tokio::test(start_paused = true)]
async fn i8_a_plane_that_fails_is_tried_by_one_key_at_a_time_ever_more_rarely() {
    let queue = queue();
    let alpha = project("alpha");
    fill(&queue, &alpha, 100);
    assert_eq!(fail_all(&queue, &alpha), 4);
    assert_eq!((queue.circuits_open(), queue.pending()), (1, 100));
    let mut tried = BTreeSet::new();
    let mut last = Instant::now();
    for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
        let job = queue.next().await.unwrap();
        assert!(now(&queue).is_none(), "never more than one probe");
        let waited = last.elapsed();
        let most = Duration::from_secs(wait);
        assert!(waited >= most / 2 && waited <= most + Duration::from_millis(1), "{waited:?} for {most:?}");
        advance(Duration::from_secs(9)).await;
        assert!(now(&queue).is_none(), "nor while it hangs");
        queue.ended(&job, Outcome::Failed, &unhealthy(&alpha));
        last = Instant::now();
        assert!(tried.insert(job.key.name), "another one each time");
    }
    let job = queue.next().await.unwrap();
    queue.ended(&job, Outcome::Updated, &answered());
    assert_eq!(queue.circuits_open(), 0);
    let mut rest = BTreeSet::from([job.key.name.clone()]);
    loop {
        let jobs: Vec<_> = std::iter::from_fn(|| now(&queue)).collect();
        if jobs.is_empty() {
            break;
        }
        assert!(jobs.len() <= 4, "as many as it may have in flight");
        for job in jobs {
            queue.done(&job, Outcome::Unchanged);
            rest.insert(job.key.name);
        }
    }
    // Two of the first four failed before the circuit opened, and are due by themselves.
    assert!(rest.len() >= 98, "all are ready at once: {}", rest.len());
    advance(Duration::from_secs(2)).await;
    rest.extend(std::iter::from_fn(|| now(&queue)).map(|job| job.key.name));
    assert_eq!(rest.len(), 100);
}

#[tokio::test(start_paused = true)]
async fn i8_a_refusal_is_an_answer_and_an_answer_closes_the_circuit() {
    let queue = queue();
    let alpha = project("alpha");
    fill(&queue, &alpha, 40);
    fail_all(&queue, &alpha);
    assert_eq!(queue.circuits_open(), 1);
    let probe = queue.next().await.unwrap();
    // It was refused: a failure of the key, which has a back-off of its own.
    queue.ended(&probe, Outcome::Failed, &answered());
    assert_eq!(queue.circuits_open(), 0);
    assert_eq!(std::iter::from_fn(|| now(&queue)).count(), 4);
}

#[tokio::test(start_paused = true)]
async fn i8_the_cells_answer_speaks_for_the_cell_and_for_no_project() {
    for (lane, closed) in [(PlaneId::Cell, 0), (project("alpha"), 1)] {
        let queue = queue();
        fill(&queue, &lane, 40);
        fail_all(&queue, &lane);
        assert_eq!(queue.circuits_open(), 1);
        let probe = queue.next().await.unwrap();
        queue.ended(
            &probe,
            Outcome::AwaitChange,
            &PlaneResponses { cell: true, ..PlaneResponses::default() },
        );
        assert_eq!(queue.circuits_open(), closed, "{lane}");
    }
}

#[tokio::test(start_paused = true)]
async fn i8_a_probe_that_says_nothing_of_the_plane_is_followed_by_another() {
    let queue = queue();
    let alpha = project("alpha");
    fill(&queue, &alpha, 40);
    fail_all(&queue, &alpha);
    for outcome in [
        Outcome::Unchanged,
        Outcome::AwaitChange,
        Outcome::RequeueAfter(Duration::from_hours(1)),
        Outcome::Failed,
    ] {
        let probe = queue.next().await.unwrap();
        assert!(now(&queue).is_none());
        queue.done(&probe, outcome);
        assert_eq!(queue.circuits_open(), 1);
    }
    assert!(now(&queue).is_some(), "at once");
}

#[tokio::test(start_paused = true)]
async fn i8_a_watch_that_works_again_closes_the_circuit_at_once() {
    let queue = queue();
    let alpha = project("alpha");
    fill(&queue, &alpha, 40);
    let late = now(&queue).unwrap();
    fail_all(&queue, &alpha);
    assert!(now(&queue).is_none());
    advance(Duration::from_millis(1)).await;
    queue.mark_healthy(&alpha);
    assert_eq!((queue.circuits_open(), std::iter::from_fn(|| now(&queue)).count()), (0, 3));
    queue.ended(&late, Outcome::Failed, &unhealthy(&alpha));
    assert!(now(&queue).is_some(), "what began before that is out of date");
}

/// The next key that may ask the hub; passes over others are held back.
async fn asks_hub(queue: &Queue) -> Job {
    loop {
        let job = queue.next().await.unwrap();
        if job.pass.asks_hub() {
            return job;
        }
        queue.ended(&job, Outcome::Failed, &PlaneResponses { held_back: true, ..PlaneResponses::default() });
    }
}

#[tokio::test(start_paused = true)]
async fn i8_a_failing_hub_is_tried_by_few_keys_and_opens_no_circuit_of_a_project() {
    let queue = queue();
    let a = project("a");
    let b = project("b");
    fill(&queue, &a, 2);
    for _ in 0..10 {
        // One or two objects that the hub fails on hold up no others.
        fail_all(&queue, &PlaneId::Hub);
        assert_eq!(queue.circuits_open(), 0);
        advance(Duration::from_secs(1)).await;
    }
    fill(&queue, &a, 40);
    fill(&queue, &b, 40);
    fail_all(&queue, &PlaneId::Hub);
    assert_eq!((queue.circuits_open(), queue.pending()), (1, 80), "the hub's");
    for _ in 0..5 {
        let start = Instant::now();
        let first = asks_hub(&queue).await;
        let second = asks_hub(&queue).await;
        assert!(start.elapsed() <= Duration::from_secs(1));
        assert_ne!(first.key.plane, second.key.plane, "one of each plane");
        queue.ended(&first, Outcome::Failed, &unhealthy(&PlaneId::Hub));
        queue.ended(&second, Outcome::Failed, &unhealthy(&PlaneId::Hub));
    }
    let probe = asks_hub(&queue).await;
    queue.ended(&probe, Outcome::Failed, &PlaneResponses { hub: true, ..PlaneResponses::default() });
    assert_eq!(queue.circuits_open(), 0);
    let taken: Vec<_> = std::iter::from_fn(|| now(&queue)).collect();
    assert_eq!(taken.len(), 8);
    assert!(taken.iter().all(|job| job.pass.asks_hub()));
    assert_ne!(taken[0].key.plane, taken[1].key.plane, "in fair turns");
}

#[tokio::test(start_paused = true)]
async fn i8_what_began_before_the_hub_came_back_says_nothing_of_it() {
    let queue = queue();
    let planes = ["a", "b", "c", "d"].map(project);
    for plane in &planes {
        fill(&queue, plane, 2);
    }
    let mut late: Vec<_> = std::iter::from_fn(|| now(&queue)).collect();
    for job in late.drain(..4) {
        queue.ended(&job, Outcome::Failed, &unhealthy(&PlaneId::Hub));
    }
    assert!(queue.hub_is_out());
    advance(Duration::from_millis(1)).await;
    queue.mark_healthy(&PlaneId::Hub);
    for job in late {
        queue.ended(&job, Outcome::Failed, &unhealthy(&PlaneId::Hub));
    }
    assert!(!queue.hub_is_out());
}

#[tokio::test(start_paused = true)]
async fn bounded_nothing_is_kept_of_planes_without_keys() {
    let queue = queue();
    let alpha = project("alpha");
    for _ in 0..20 {
        fill(&queue, &alpha, 40);
        let running = now(&queue).unwrap();
        fail_all(&queue, &alpha);
        queue.forget(&alpha);
        assert_eq!((queue.pending(), queue.depth(), queue.circuits_open()), (1, 0, 0), "what runs");
        queue.ended(&running, Outcome::AwaitChange, &PlaneResponses::default());
        assert_eq!((queue.pending(), queue.lanes()), (0, 0));
        // Its keys end without the plane having answered.
        fill(&queue, &alpha, 4);
        fail_all(&queue, &alpha);
        while queue.pending() > 0 {
            let job = queue.next().await.unwrap();
            queue.done(&job, Outcome::AwaitChange);
        }
        assert_eq!((queue.lanes(), queue.circuits_open()), (0, 0));
    }
    assert!(
        tokio::time::timeout(Duration::from_mins(5), queue.next()).await.is_err(),
        "no timer is left either"
    );
}

/// Planes by their names: `hangs-..` are silent for a whole time-out, the others take ten milliseconds.
#[derive(Default)]
struct Fleet {
    /// How many passes over keys of a plane are under way, and the most there were.
    flying: Mutex<BTreeMap<PlaneId, (usize, usize)>>,
    waits: Mutex<Vec<Duration>>,
    tries: Mutex<Vec<Instant>>,
}

impl Controller for Fleet {
    fn name(&self) -> &'static str {
        "fleet"
    }

    async fn reconcile(&self, job: &Job) -> Result<Outcome, Error> {
        let plane = job.key.plane.clone();
        let hangs = plane.to_string().contains("hangs");
        {
            let mut flying = self.flying.lock().unwrap();
            let (here, most) = flying.entry(plane.clone()).or_default();
            *here += 1;
            *most = (*most).max(*here);
        }
        if hangs {
            self.tries.lock().unwrap().push(Instant::now());
        } else {
            self.waits.lock().unwrap().push(job.waited);
        }
        tokio::time::sleep(if hangs { HEADERS } else { Duration::from_millis(10) }).await;
        self.flying.lock().unwrap().get_mut(&plane).unwrap().0 -= 1;
        if !hangs {
            return Ok(Outcome::Updated);
        }
        let source = kube::Error::Service("no answer".into()).into();
        Err(RequestError { verb: "update", resource: "instances".to_owned(), plane, source }.into())
    }
}

/// 40 of 100 planes hang, each with more keys than it may have in flight: 40 x 16 is more than the 256
/// workers.
#[tokio::test(start_paused = true)]
async fn i8_planes_that_hang_leave_workers_to_the_others() {
    let queue = Arc::new(Queue::new(QueueConfig::default()));
    let fleet = Arc::new(Fleet::default());
    let tasks = TaskTracker::new();
    run_workers(&fleet, &queue, &metrics(), 256, &tasks);
    let hanging: Vec<_> = (0..40).map(|n| project(&format!("hangs-{n}"))).collect();
    let fine: Vec<_> = (0..60).map(|n| project(&format!("fine-{n}"))).collect();
    for plane in &hanging {
        fill(&queue, plane, 100);
    }
    tokio::task::yield_now().await;
    for second in 0..60 {
        for plane in &fine {
            fill(&queue, plane, 1);
        }
        quiet(1).await;
        let waits = std::mem::take(&mut *fleet.waits.lock().unwrap());
        assert_eq!(waits.len(), 60, "second {second}");
        let longest = waits.iter().max().unwrap();
        // Sixty passes of ten milliseconds, over the workers that are left.
        assert!(*longest <= Duration::from_millis(30), "second {second}: {longest:?}");
    }
    let most: usize = hanging.iter().map(|plane| fleet.flying.lock().unwrap()[plane].1).max().unwrap();
    assert!(most <= 16, "{most}");
    // After the first time-out each of them is tried by one key at a time.
    let tries = std::mem::take(&mut *fleet.tries.lock().unwrap());
    let later = tries.iter().filter(|at| at.elapsed() < Duration::from_secs(45)).count();
    assert!(later <= 40 * 4, "{later} tries in 45 s");
    assert!(queue.circuits_open() >= 30, "{}", queue.circuits_open());
    assert_eq!(queue.pending(), 4000, "nothing is lost");
    queue.close();
}

/// Ten times as many planes as probes that may run begin to hang in one instant. Until each has failed once
/// it holds up the others, and no longer.
#[tokio::test(start_paused = true)]
async fn i8_planes_that_begin_to_hang_together_are_known_after_one_time_out_each() {
    for (planes, workers) in [(100_usize, 32_usize), (300, 256)] {
        let queue = Arc::new(Queue::new(QueueConfig::default()));
        let fleet = Arc::new(Fleet::default());
        let tasks = TaskTracker::new();
        run_workers(&fleet, &queue, &metrics(), workers, &tasks);
        (0..planes).for_each(|n| fill(&queue, &project(&format!("hangs-{n}")), 20));
        let rounds = u32::try_from(planes.div_ceil(workers)).unwrap();
        let known = HEADERS * rounds;
        let began = Instant::now();
        let mut last = Duration::ZERO;
        for _ in 0..known.as_secs() + 60 {
            fill(&queue, &project("fine"), 5);
            quiet(1).await;
            let waits = std::mem::take(&mut *fleet.waits.lock().unwrap());
            if waits.len() < 5 || waits.iter().any(|waited| *waited > Duration::from_millis(60)) {
                last = began.elapsed();
            }
        }
        assert!(last <= known + Duration::from_secs(1), "{planes} planes: the others waited for {last:?}");
        queue.close();
    }
}

/// More planes hang than there are workers: at first this is not known, later they hold a quarter.
#[tokio::test(start_paused = true)]
async fn i8_even_more_planes_than_workers_that_hang_leave_some_to_the_others() {
    let queue = Arc::new(Queue::new(QueueConfig::default()));
    let fleet = Arc::new(Fleet::default());
    let tasks = TaskTracker::new();
    run_workers(&fleet, &queue, &metrics(), 32, &tasks);
    (0..100).for_each(|n| fill(&queue, &project(&format!("hangs-{n}")), 20));
    // One time-out for each, 32 at once at most.
    quiet(9 * 20).await;
    fleet.waits.lock().unwrap().clear();
    for second in 0..60 {
        fill(&queue, &project("fine"), 20);
        quiet(1).await;
        let waits = std::mem::take(&mut *fleet.waits.lock().unwrap());
        assert!(
            waits.len() == 20 && waits.iter().all(|w| *w <= Duration::from_millis(60)),
            "second {second}: {waits:?}"
        );
    }
    queue.close();
}

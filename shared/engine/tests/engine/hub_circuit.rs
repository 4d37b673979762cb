//! A hub that fails, as a whole or on some objects only: what it would take is taken, and what needs nothing
//! of it does not wait (I8).

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fedhub_core::errors::Error;
use fedhub_core::object::PlaneId;
use fedhub_engine::{Controller, Job, Outcome, Queue, QueueConfig, run_workers};
use fedhub_fake_apiserver::{ApiServer, LogLines};
use fedhub_planes::Plane;
use fedhub_planes::transport::HeaderTimeoutLayer;
use http::{Request, Response};
use http_body_util::BodyExt;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use tower::{Layer, Service, service_fn};

use crate::support::*;

/// What a key of a plane waits for at most, whatever becomes of those of two others.
const BOUND: Duration = Duration::from_secs(2);

/// What goes wrong on the hub.
#[derive(Default)]
struct Trouble {
    /// It does not answer for objects called `bad..`, instead of answering 500.
    bad_hang: AtomicBool,
    /// It answers for those, too.
    mended: AtomicBool,
    /// It does not answer at all.
    hangs: AtomicBool,
    asked: AtomicUsize,
}

/// Reads an object of the hub's for each key, but for those called `local..`.
struct Reads {
    hub: Arc<Plane>,
    done: Mutex<BTreeMap<String, Instant>>,
}

impl Controller for Reads {
    fn name(&self) -> &'static str {
        "reads"
    }

    async fn reconcile(&self, job: &Job) -> Result<Outcome, Error> {
        if !job.key.name.starts_with("local") {
            self.hub.get_live(&job.pass, job.key.kind, &job.key.namespace, &job.key.name).await?;
        }
        self.done.lock().unwrap().insert(job.key.name.to_string(), Instant::now());
        Ok(Outcome::Unchanged)
    }
}

struct World {
    trouble: Arc<Trouble>,
    queue: Arc<Queue>,
    controller: Arc<Reads>,
}

impl World {
    fn new() -> Self {
        Self::staffed(64)
    }

    /// With so many workers.
    fn staffed(workers: usize) -> Self {
        let server = ApiServer::hub("hub");
        let trouble = Arc::new(Trouble::default());
        let service = server.service();
        let seen = trouble.clone();
        let failing = service_fn(move |request: Request<kube::client::Body>| {
            let trouble = seen.clone();
            let mut service = service.clone();
            async move {
                trouble.asked.fetch_add(1, Ordering::SeqCst);
                let mended = trouble.mended.load(Ordering::SeqCst);
                let bad = !mended && request.uri().path().contains("/bad");
                if trouble.hangs.load(Ordering::SeqCst) || (bad && trouble.bad_hang.load(Ordering::SeqCst)) {
                    std::future::pending::<()>().await;
                }
                if bad {
                    let body = http_body_util::Full::new(Vec::new().into()).map_err(|e| match e {});
                    return Ok(Response::builder().status(500).body(body.boxed_unsync())?);
                }
                service.call(request).await
            }
        });
        let client = kube::Client::new(HeaderTimeoutLayer::new(HEADERS).layer(failing), "default");
        let clock = fedhub_core::clock::Clock::from_tokio(server.clock().now());
        let planes = fedhub_planes::Planes::new(client, metrics(), clock, 7);
        let controller = Arc::new(Reads { hub: planes.hub().clone(), done: Mutex::default() });
        let queue = Arc::new(Queue::new(QueueConfig::default()));
        run_workers(&controller, &queue, &metrics(), workers, &TaskTracker::new());
        Self { trouble, queue, controller }
    }

    fn add(&self, plane: &PlaneId, name: &str) {
        self.queue.add(key(plane, name), plane);
    }

    fn done(&self, name: &str) -> Option<Instant> {
        self.controller.done.lock().unwrap().get(name).copied()
    }

    /// Adds a key, and waits until its pass has ended well.
    async fn takes(&self, plane: &PlaneId, name: &str) -> Duration {
        let start = Instant::now();
        self.add(plane, name);
        until(name, || self.done(name).is_some()).await;
        start.elapsed()
    }
}

#[tokio::test(start_paused = true)]
async fn i8_two_objects_that_the_hub_fails_on_hold_nobody_up() {
    let world = World::new();
    for (plane, name) in [("a", "bad-a"), ("b", "bad-b")] {
        world.add(&project(plane), name);
    }
    for round in 0..60 {
        quiet(2).await;
        assert_eq!(world.queue.circuits_open(), 0, "round {round}");
        if round > 10 {
            let took = world.takes(&project("c"), &format!("good-{round}")).await;
            assert!(took <= Duration::from_millis(10), "round {round}: {took:?}");
        }
    }
    assert_eq!(world.queue.pending(), 2);
    world.queue.close();
}

#[tokio::test(start_paused = true)]
async fn i8_a_good_key_waits_two_seconds_at_most_whatever_the_objects_of_two_planes_do() {
    for hang in [false, true] {
        let world = World::new();
        world.trouble.bad_hang.store(hang, Ordering::SeqCst);
        let longest = Cell::new(Duration::ZERO);
        let flood = async {
            for n in 0.. {
                for plane in ["a", "b"] {
                    // Some change all the time, and there are ever more.
                    world.add(&project(plane), &format!("bad-{plane}-{}", n % 40));
                    world.add(&project(plane), &format!("bad-{plane}-{n}"));
                }
                tokio::time::sleep(Duration::from_millis(300)).await;
            }
        };
        let good = async {
            for round in 0..12 {
                let took = world.takes(&project("c"), &format!("good-{round}")).await;
                longest.set(took.max(longest.get()));
                // For long enough that the circuit is open again.
                quiet(20).await;
            }
        };
        tokio::select! { () = flood => (), () = good => () }
        assert!(longest.get() <= BOUND, "hanging {hang}: {longest:?}");
        world.queue.close();
    }
}

#[tokio::test(start_paused = true)]
async fn i8_a_good_key_waits_for_none_of_many_planes_whose_objects_the_hub_fails_on() {
    for hang in [false, true] {
        let world = World::new();
        world.trouble.bad_hang.store(hang, Ordering::SeqCst);
        let flood = async {
            for n in 0.. {
                for plane in 0..30 {
                    world.add(&project(&format!("bad-{plane}")), &format!("bad-{plane}-{}", n % 10));
                }
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        };
        let good = async {
            for round in 0..12 {
                quiet(20).await;
                let took = world.takes(&project("good"), &format!("good-{round}")).await;
                assert!(took <= BOUND, "hanging {hang}, round {round}: {took:?}");
            }
        };
        tokio::select! { () = flood => (), () = good => () }
        world.queue.close();
    }
}

#[tokio::test(start_paused = true)]
async fn i8_what_the_hub_fails_on_holds_up_no_other_object_of_its_plane() {
    let world = World::new();
    (0..40).for_each(|n| world.add(&project("a"), &format!("bad-{n}")));
    for round in 0..5 {
        quiet(60).await;
        assert_eq!(world.queue.circuits_open(), 1, "round {round}");
        let took = world.takes(&project("a"), &format!("good-{round}")).await;
        assert!(took <= BOUND, "round {round}: {took:?}");
    }
    world.queue.close();
}

#[tokio::test(start_paused = true)]
async fn i8_a_hub_that_is_down_is_asked_twice_a_second_and_then_ever_more_rarely() {
    let world = World::new();
    for plane in 0..100 {
        (0..2).for_each(|n| world.add(&project(&format!("p{plane}")), &format!("bad-{plane}-{n}")));
    }
    until("the circuit to open", || world.queue.circuits_open() == 1).await;
    let asked = || world.trouble.asked.swap(0, Ordering::SeqCst);
    asked();
    quiet(30).await;
    let first = asked();
    assert!((55..=61).contains(&first), "{first} requests while there are keys that have not asked");
    quiet(300).await;
    asked();
    quiet(600).await;
    let later = asked();
    assert!((9..=11).contains(&later), "{later} requests in ten minutes");
    world.trouble.mended.store(true, Ordering::SeqCst);
    let back = Instant::now();
    until("all", || world.queue.pending() == 0).await;
    assert!(back.elapsed() <= Duration::from_secs(61), "{:?}", back.elapsed());
    world.queue.close();
}

#[tokio::test(start_paused = true)]
async fn i8_keys_that_need_nothing_of_the_hub_do_not_wait_for_it() {
    // More planes than workers: those that ask the hub and wait for its answer leave most of them to the
    // others.
    for (workers, planes) in [(64, 3), (8, 30)] {
        let world = World::staffed(workers);
        world.trouble.hangs.store(true, Ordering::SeqCst);
        for plane in 0..planes {
            (0..5).for_each(|n| world.add(&project(&format!("p{plane}")), &format!("{plane}-{n}")));
        }
        until("the circuit to open", || world.queue.circuits_open() == 1).await;
        for round in 0..30 {
            quiet(3).await;
            let took = world.takes(&project("d"), &format!("local-{round}")).await;
            assert!(took <= Duration::from_millis(10), "{workers} workers, round {round}: {took:?}");
        }
        assert_eq!(world.queue.circuits_open(), 1);
        world.queue.close();
    }
}

#[tokio::test(start_paused = true)]
async fn i8_a_hub_that_hangs_for_a_minute_is_said_in_few_words_and_asked_rarely_for_one_planes_work() {
    let lines = LogLines::default();
    let writer = lines.clone();
    let log = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let _log = log_to(log);
    let world = World::new();
    world.trouble.hangs.store(true, Ordering::SeqCst);
    let plane = project("a");
    (0..40).for_each(|n| world.add(&plane, &format!("wd-{n}")));
    quiet(10).await;
    assert_eq!(world.queue.circuits_open(), 1, "one plane's work is enough");
    for n in 0..50 {
        // One that comes later does not ask beside another of its plane.
        world.add(&plane, &format!("new-{n}"));
        quiet(1).await;
    }
    let asked = world.trouble.asked.load(Ordering::SeqCst);
    assert!(asked <= 16 + 12, "{asked} requests in a minute");
    world.trouble.hangs.store(false, Ordering::SeqCst);
    let back = Instant::now();
    until("all", || world.queue.pending() == 0).await;
    assert!(back.elapsed() <= HEADERS + BOUND, "{:?}", back.elapsed());
    let text = lines.text();
    let said = text.lines().filter(|line| line.contains(" WARN ")).count();
    assert!((1..=4).contains(&said), "{said} warnings:\n{text}");
    world.queue.close();
}

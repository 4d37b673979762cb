//! A plane that comes back is in sync soon after, however many are behind its server, with few log lines
//! (I8).

use std::fmt::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fedhub_core::clock::Clock;
use fedhub_core::object::Kind;
use fedhub_engine::{Outcome, Queue, QueueConfig};
use fedhub_fake_apiserver::{ApiServer, Fault};
use fedhub_planes::PlaneResponses;
use fedhub_planes::transport::{Connection, HeaderTimeoutLayer, HealthLayer, ServerHealth, WatchStarts};
use fedhub_planes::{Health, Planes, Settings};
use tokio::time::Instant;
use tower::Layer;
use tracing::field::{Field, Visit};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::{Context, SubscriberExt};

use crate::support::*;

/// Lines at info and above.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    fn start() -> (Self, DefaultGuard) {
        let lines = Self::default();
        let subscriber = tracing_subscriber::registry().with(lines.clone());
        (lines, log_to(subscriber))
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Lines {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        let metadata = event.metadata();
        if *metadata.level() <= tracing::Level::INFO && metadata.target().starts_with("fedhub") {
            let mut line = String::new();
            event.record(&mut Fields(&mut line));
            self.0.lock().unwrap().push(line);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn i8_a_watch_whose_place_is_gone_lists_at_once() {
    let server = ApiServer::project_plane("alpha");
    let planes = registry(&ApiServer::hub("hub"));
    let plane = planes.engage(&plane_name("alpha"), client(&server));
    until("sync", || plane.synced()).await;
    quiet(2).await;
    server.fault(Fault::Status(410).on("watch", "instances").times(1));
    server.break_watches();
    let start = Instant::now();
    until("a new list", || count(&server, "list", "instances") == 2).await;
    assert!(start.elapsed() < Duration::from_millis(250), "{:?}", start.elapsed());
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i8_a_server_that_asks_for_a_second_is_asked_after_a_second() {
    let server = ApiServer::project_plane("alpha");
    // Refused for so long that the wait for the next refusal is a long one.
    let refused = server.fault(Fault::Status(503).on("list", "instances"));
    let planes = registry(&ApiServer::hub("hub"));
    let plane = planes.engage(&plane_name("alpha"), client(&server));
    quiet(120).await;
    let before = count(&server, "list", "instances");
    server.fault(Fault::Throttle(1).on("list", "instances").times(3));
    until("a list", || count(&server, "list", "instances") > before).await;
    let start = Instant::now();
    server.clear_fault(refused);
    until("sync", || plane.synced()).await;
    assert!((3000..3250).contains(&start.elapsed().as_millis()), "{:?}", start.elapsed());
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i8_a_minute_without_a_server_does_not_make_the_waits_after_it_long() {
    let server = ApiServer::project_plane("alpha");
    let planes = registry(&ApiServer::hub("hub"));
    let plane = planes.engage(&plane_name("alpha"), client(&server));
    until("sync", || plane.synced()).await;
    server.fault(Fault::Disconnect);
    server.break_watches();
    quiet(300).await;
    server.compact();
    server.clear_faults();
    server.fault(Fault::Status(403).on("watch", "instances").times(2));
    server.fault(Fault::Status(404).on("list", "instances").times(2));
    let start = Instant::now();
    until("the recovery", || plane.health() == Health::Engaged).await;
    // The longest wait for a server that does not answer, and two short ones each.
    assert!(start.elapsed() < Duration::from_secs(13), "{:?}", start.elapsed());
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_crd_is_called_missing_only_where_discovery_says_so() {
    let server = ApiServer::project_plane("alpha");
    server.fault(Fault::Status(404).on("list", "*"));
    let planes = registry(&ApiServer::hub("hub"));
    let plane = planes.engage(&plane_name("alpha"), client(&server));
    until("the reason", || plane.health() != Health::Engaging).await;
    for _ in 0..20 {
        let words = reason(&plane.health());
        assert!(words.starts_with("cannot list ") && !words.contains("CRD"), "{words}");
        quiet(5).await;
    }
    server.clear_faults();
    until("the recovery", || plane.health() == Health::Engaged).await;
    planes.stop().await;
}

const PLANES: usize = 300;

/// Planes behind one server.
struct Host {
    health: ServerHealth,
    servers: Vec<ApiServer>,
    planes: Arc<Planes>,
}

impl Host {
    async fn engaged() -> Self {
        let hub = ApiServer::hub("hub");
        let settings = Settings { seed: 7, ..Settings::default() };
        let planes = Planes::with(client(&hub), metrics(), Clock::from_tokio(hub.clock().now()), settings);
        let health = ServerHealth::new("https://milo.example.com:443");
        let servers: Vec<_> = (0..PLANES).map(|n| ApiServer::project_plane(&format!("p{n}"))).collect();
        for server in &servers {
            let starts = WatchStarts::default();
            let service = HeaderTimeoutLayer::new(HEADERS).layer(server.service());
            let service = HealthLayer::new(health.clone(), starts.clone()).layer(service);
            let client = kube::Client::new(service, "default");
            planes.engage(&plane_name(server.name()), Connection::new(client, health.clone(), starts));
        }
        let host = Self { health, servers, planes };
        host.until_engaged(PLANES).await;
        host
    }

    fn engaged_now(&self) -> usize {
        usize::try_from(self.planes.states()[1].1).unwrap()
    }

    async fn until_engaged(&self, least: usize) {
        until("the planes to be engaged", || self.engaged_now() >= least).await;
    }

    fn fault(&self, fault: &Fault) {
        self.servers.iter().for_each(|server| {
            server.clear_faults();
            server.fault(*fault);
        });
    }
}

#[tokio::test(start_paused = true)]
async fn i8_hundreds_of_planes_are_back_seconds_after_their_server_and_few_lines_tell_of_it() {
    for away in [10, 60] {
        let host = Host::engaged().await;
        quiet(40).await;
        let (lines, _guard) = Lines::start();
        host.fault(&Fault::Disconnect);
        host.servers.iter().for_each(ApiServer::break_watches);
        quiet(away).await;
        assert_eq!(host.engaged_now(), 0, "after {away} s");
        // It starts: rights first, then what it serves, then each plane's storage.
        host.fault(&Fault::Status(403));
        quiet(3).await;
        host.fault(&Fault::Status(404));
        quiet(2).await;
        for server in &host.servers {
            server.clear_faults();
            server.compact();
            server.put(instance("new")).unwrap();
            for resource in ["workloaddeployments", "instances"] {
                server.fault(Fault::Throttle(1).on("*", resource).times(1));
            }
        }
        let serves = Instant::now();
        host.until_engaged(PLANES * 95 / 100).await;
        assert!(serves.elapsed() < Duration::from_secs(5), "{away} s: {:?}", serves.elapsed());
        host.until_engaged(PLANES).await;
        assert!(serves.elapsed() < Duration::from_secs(15), "{away} s: {:?}", serves.elapsed());
        quiet(10).await;
        for plane in host.planes.projects() {
            assert!(plane.store(Kind::Instance).get("n", "new").is_some());
        }
        let lines = lines.take();
        assert!(lines.len() <= 50, "{away} s: {} lines: {lines:#?}", lines.len());
        assert!(lines.iter().any(|line| line.contains(host.health.name())), "{lines:?}");
        host.planes.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn i8_watches_that_resume_make_their_planes_engaged_as_soon_as_they_hold() {
    let host = Host::engaged().await;
    host.fault(&Fault::Disconnect);
    host.servers.iter().for_each(ApiServer::break_watches);
    quiet(60).await;
    assert_eq!(host.engaged_now(), 0);
    host.servers.iter().for_each(ApiServer::clear_faults);
    let start = Instant::now();
    host.until_engaged(1).await;
    let first = start.elapsed();
    host.until_engaged(PLANES).await;
    assert!(start.elapsed() < first + Duration::from_secs(3), "{first:?}, {:?}", start.elapsed());
    assert!(host.servers.iter().all(|server| count(server, "list", "instances") == 1), "without a list");
    host.planes.stop().await;
}

/// Passes over one object of each of many planes that answer nothing, and then answer.
#[tokio::test(start_paused = true)]
async fn i8_what_fails_on_hundreds_of_planes_at_once_is_news_a_few_times() {
    let queue = Queue::new(QueueConfig::default());
    let (lines, _guard) = Lines::start();
    let mut news = 0;
    let all: Vec<_> = (0..PLANES).map(|n| project(&format!("p{n}"))).collect();
    for plane in &all {
        queue.add(key(plane, "i"), plane);
    }
    let end = Instant::now() + Duration::from_mins(1);
    while let Ok(Some(job)) = tokio::time::timeout_at(end, queue.next()).await {
        let responses =
            PlaneResponses { unhealthy: Some(job.key.plane.clone()), ..PlaneResponses::default() };
        news += usize::from(queue.ended(&job, Outcome::Failed, &responses));
    }
    assert!((1..=6).contains(&news), "{news}");
    while queue.pending() > 0 {
        let Some(job) = queue.next().await else { break };
        let responses = PlaneResponses { project: true, ..PlaneResponses::default() };
        queue.ended(&job, Outcome::Unchanged, &responses);
    }
    let lines = lines.take();
    assert!((2..=12).contains(&lines.len()), "{lines:#?}");
    // The next one is news again.
    queue.add(key(&all[7], "i"), &all[7]);
    let job = queue.next().await.unwrap();
    let responses = PlaneResponses { unhealthy: Some(all[7].clone()), ..PlaneResponses::default() };
    assert!(queue.ended(&job, Outcome::Failed, &responses));
}

//! Thousands of watches that end in one instant, as with the server behind them (I8).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fedhub_core::clock::Clock;
use fedhub_fake_apiserver::{ApiServer, Fault};
use fedhub_planes::transport::{APART, HeaderTimeoutLayer, WatchThrottleLayer};
use fedhub_planes::{Health, Planes, Settings};
use http::Request;
use tokio::time::Instant;
use tower::{Layer, ServiceBuilder, ServiceExt, service_fn};

use crate::planes::support::*;

/// When watches were started, and how many starts waited for their answer at once at most.
#[derive(Clone, Default)]
struct Starts(Arc<Mutex<(Vec<Instant>, usize, usize)>>);

/// How long each start takes.
const TAKES: Duration = Duration::from_millis(50);

impl Starts {
    fn client(&self, server: &ApiServer, pace: &WatchThrottleLayer) -> kube::Client {
        let starts = self.clone();
        let service = server.service();
        let counted = service_fn(move |request: Request<kube::client::Body>| {
            let starts = starts.clone();
            let service = service.clone();
            async move {
                // What is asked before a watch goes on counts as its start.
                let query = request.uri().query().unwrap_or_default();
                if query.contains("watch=true") || query.ends_with("limit=1") {
                    {
                        let (times, now, most) = &mut *starts.0.lock().unwrap();
                        times.push(Instant::now());
                        *now += 1;
                        *most = (*most).max(*now);
                    }
                    tokio::time::sleep(TAKES).await;
                    starts.0.lock().unwrap().1 -= 1;
                }
                service.oneshot(request).await
            }
        });
        let stack = ServiceBuilder::new()
            .layer(pace.clone())
            .layer(HeaderTimeoutLayer::new(HEADERS))
            .service(counted);
        kube::Client::new(stack, "default")
    }

    /// The most starts within a tenth of a second, and at once, since this was asked last.
    fn most(&self) -> (usize, usize) {
        let (times, most) = {
            let (times, now, most) = &mut *self.0.lock().unwrap();
            (std::mem::take(times), std::mem::replace(most, *now))
        };
        let mut tenths = BTreeMap::<u128, usize>::new();
        let first = times.first().copied().unwrap_or_else(Instant::now);
        for at in times {
            *tenths.entry((at - first).as_millis() / 100).or_default() += 1;
        }
        (tenths.values().copied().max().unwrap_or_default(), most)
    }
}

const PLANES: usize = 400;

#[tokio::test(start_paused = true)]
async fn i8_watches_that_end_in_one_instant_do_not_begin_anew_in_one() {
    let hub = ApiServer::hub("hub");
    let planes = Planes::with(
        client(&hub),
        metrics(),
        Clock::from_tokio(hub.clock().now()),
        Settings { seed: 7, ..Settings::default() },
    );
    let starts = Starts::default();
    let pace = WatchThrottleLayer::default();
    let servers: Vec<_> = (0..PLANES).map(|n| ApiServer::project_plane(&format!("p{n}"))).collect();
    for server in &servers {
        planes.engage(&plane_name(server.name()), starts.client(server, &pace));
    }
    until("all", || planes.states()[1].1 == i64::try_from(PLANES).unwrap()).await;
    quiet(5).await;
    // A tenth of a second has room for so many; one more for where it begins, and the clock's ticks.
    let room = usize::try_from(Duration::from_millis(100).as_micros() / APART.as_micros()).unwrap() + 4;
    let at_once = usize::try_from(TAKES.as_micros() / APART.as_micros()).unwrap() + 4;
    let (tenth, most) = starts.most();
    assert!(
        tenth <= room && most <= at_once,
        "at engagement: {tenth} in a tenth of a second, {most} at once"
    );
    // The server ends all its streams in good order, and is there again at once.
    servers.iter().for_each(ApiServer::break_watches);
    quiet(5).await;
    let (tenth, most) = starts.most();
    assert!(tenth <= room && most <= at_once, "resumed: {tenth} in a tenth of a second, {most} at once");
    assert!(tenth > 100, "they were resumed: {tenth}");
    // It is away for a while.
    for server in &servers {
        server.fault(Fault::Disconnect);
        server.break_watches();
    }
    for _ in 0..6 {
        quiet(10).await;
        let (tenth, most) = starts.most();
        assert!(tenth <= room && most <= at_once, "retried: {tenth} in a tenth of a second, {most} at once");
    }
    servers.iter().for_each(ApiServer::clear_faults);
    until("all", || planes.states()[1].1 == i64::try_from(PLANES).unwrap()).await;
    let (tenth, most) = starts.most();
    assert!(tenth <= room && most <= at_once, "back: {tenth} in a tenth of a second, {most} at once");
    planes.stop().await;
}

/// A balancer, say, that answers every watch and closes it.
#[tokio::test(start_paused = true)]
async fn i8_watches_that_end_at_once_in_good_order_are_begun_ever_more_rarely() {
    let server = ApiServer::project_plane("alpha");
    let (planes, plane, _) = engaged(&server).await;
    quiet(5).await;
    let before = count(&server, "watch", "instances");
    for _ in 0..6_000 {
        server.break_watches();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let watches = count(&server, "watch", "instances") - before;
    assert!((4..=12).contains(&watches), "{watches} in a minute");
    let words = reason(&plane.health());
    assert!(words.contains("ended the watch at once"), "{words}");
    until("the recovery", || plane.health() == Health::Engaged).await;
    assert_eq!(count(&server, "list", "instances"), 1, "from where it was");
    planes.stop().await;
}

/// Watches that were begun together do not end together for ever.
#[tokio::test(start_paused = true)]
async fn i8_watches_last_differently_long() {
    let hub = ApiServer::hub("hub");
    let planes = registry(&hub);
    let asked = Arc::new(Mutex::new(Vec::new()));
    for n in 0..50 {
        let asked = asked.clone();
        let server = ApiServer::project_plane(&format!("p{n}"));
        let service = service_fn(move |request: Request<kube::client::Body>| {
            let query = request.uri().query().unwrap_or_default().to_owned();
            let seconds =
                query.split('&').find_map(|part| part.strip_prefix("timeoutSeconds=")).map(str::to_owned);
            asked.lock().unwrap().extend(seconds.and_then(|s| s.parse::<u32>().ok()));
            server.service().oneshot(request)
        });
        let client = kube::Client::new(HeaderTimeoutLayer::new(HEADERS).layer(service), "default");
        planes.engage(&plane_name(&format!("p{n}")), client);
    }
    until("all", || planes.states()[1] == ("engaged", 50)).await;
    quiet(1).await;
    let mut asked = std::mem::take(&mut *asked.lock().unwrap());
    assert!(asked.iter().all(|s| (240..=270).contains(s)), "{asked:?}");
    asked.sort_unstable();
    asked.dedup();
    assert!(asked.len() > 15, "{asked:?}");
    planes.stop().await;
}

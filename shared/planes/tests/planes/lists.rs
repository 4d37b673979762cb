//! The limit on lists that are under way at once: thousands of planes may be found in one instant (I8).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fedhub_core::clock::Clock;
use fedhub_fake_apiserver::{ApiServer, Fault};
use fedhub_planes::transport::{Connection, HeaderTimeoutLayer, RetryAfterLayer};
use fedhub_planes::{Health, Planes, Settings};
use http::Request;
use tokio::time::Instant;
use tower::{Layer, Service, service_fn};

use crate::planes::support::*;

const LIMIT: usize = 4;

fn limited(hub: &ApiServer) -> Arc<Planes> {
    let settings = Settings { seed: 7, max_concurrent_lists: LIMIT, ..Settings::default() };
    Planes::with(client(hub), metrics(), Clock::from_tokio(hub.clock().now()), settings)
}

/// How many lists are under way, and how many there were at most.
#[derive(Clone, Default)]
struct Lists(Arc<[AtomicUsize; 2]>);

impl Lists {
    fn most(&self) -> usize {
        self.0[1].load(Ordering::SeqCst)
    }

    /// A client whose every list takes a tenth of a second.
    fn client(&self, server: &ApiServer) -> kube::Client {
        let lists = self.0.clone();
        let service = server.service();
        let counted = service_fn(move |request: Request<kube::client::Body>| {
            let lists = lists.clone();
            let mut service = service.clone();
            async move {
                // What is asked before a watch goes on is spread as watches are.
                let query = request.uri().query().unwrap_or_default();
                if !query.contains("watch=true") && !query.ends_with("limit=1") {
                    let now = lists[0].fetch_add(1, Ordering::SeqCst) + 1;
                    lists[1].fetch_max(now, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    lists[0].fetch_sub(1, Ordering::SeqCst);
                }
                service.call(request).await
            }
        });
        kube::Client::new(HeaderTimeoutLayer::new(HEADERS).layer(counted), "default")
    }
}

/// A connection whose requests wait while that server throttles them.
fn throttled_by(server: &ApiServer) -> Connection {
    kube::Client::new(RetryAfterLayer::default().layer(server.service()), "default").into()
}

/// A client of a server that begins the answer to a list and never goes on.
fn standing_still() -> kube::Client {
    let service = service_fn(|_: Request<kube::client::Body>| async {
        let body = http_body_util::StreamBody::new(futures::stream::pending::<
            Result<hyper::body::Frame<hyper::body::Bytes>, std::io::Error>,
        >());
        Ok::<_, std::convert::Infallible>(http::Response::new(body))
    });
    kube::Client::new(service, "default")
}

#[tokio::test(start_paused = true)]
async fn i8_no_more_lists_than_allowed_are_under_way_at_once() {
    let hub = ApiServer::hub("hub");
    let planes = limited(&hub);
    let lists = Lists::default();
    let start = Instant::now();
    let servers: Vec<_> = (0..60).map(|n| ApiServer::project_plane(&format!("p{n}"))).collect();
    for server in &servers {
        planes.engage(&plane_name(server.name()), lists.client(server));
    }
    // The hub has no part in it.
    planes.start();
    until("the hub", || planes.hub().synced()).await;
    assert!(start.elapsed() < Duration::from_millis(100));
    until("all", || planes.states()[1] == ("engaged", 60)).await;
    assert_eq!(lists.most(), LIMIT);
    // 120 lists of a tenth of a second, four at once.
    assert_eq!(start.elapsed().as_secs(), 3);
    assert!(servers.iter().all(|s| count(s, "list", "instances") == 1));

    // All of them lose their place at once, as when the server behind them starts again.
    for server in &servers {
        server.put(instance("a")).unwrap();
        server.compact();
        server.break_watches();
    }
    quiet(300).await;
    assert!(
        servers.iter().map(|s| count(s, "list", "instances")).sum::<usize>() > 60,
        "they were listed again"
    );
    assert_eq!(lists.most(), LIMIT);
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i8_planes_that_hang_do_not_hold_the_places_of_the_others() {
    let planes = limited(&ApiServer::hub("hub"));
    let hanging: Vec<_> = (0..LIMIT)
        .map(|n| {
            let server = ApiServer::project_plane(&format!("hangs{n}"));
            server.fault(Fault::Hang);
            planes.engage(&plane_name(server.name()), client(&server));
            server
        })
        .collect();
    quiet(1).await;
    let start = Instant::now();
    let fine: Vec<_> = (0..40).map(|n| ApiServer::project_plane(&format!("fine{n}"))).collect();
    for server in &fine {
        planes.engage(&plane_name(server.name()), client(server));
    }
    until("those that answer", || planes.states()[1] == ("engaged", 40)).await;
    // Each of them has two lists: the first four time out, then the other four do.
    assert!(start.elapsed() <= HEADERS * 2, "{:?}", start.elapsed());
    quiet(120).await;
    assert_eq!(planes.states()[2], ("unreachable", 4));
    // They go on asking, and one that is engaged meanwhile gets its turn between two tries of theirs.
    let late = ApiServer::project_plane("late");
    let plane = planes.engage(&plane_name("late"), client(&late));
    let start = Instant::now();
    until("the late one", || plane.synced()).await;
    assert!(start.elapsed() <= HEADERS * 2, "{:?}", start.elapsed());
    hanging.iter().for_each(ApiServer::clear_faults);
    until("all", || planes.states()[1] == ("engaged", 45)).await;
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i8_planes_that_are_throttled_do_not_hold_the_places_of_the_others() {
    let planes = limited(&ApiServer::hub("hub"));
    let throttled: Vec<_> = (0..12).map(|n| ApiServer::project_plane(&format!("throttled{n}"))).collect();
    for server in &throttled {
        server.fault(Fault::Throttle(20));
        planes.engage(&plane_name(server.name()), throttled_by(server));
    }
    quiet(1).await;
    let fine = ApiServer::project_plane("fine");
    let plane = planes.engage(&plane_name("fine"), client(&fine));
    let start = Instant::now();
    until("the one that does not", || plane.synced()).await;
    assert!(start.elapsed() <= Duration::from_secs(1), "{:?}", start.elapsed());
    throttled.iter().for_each(ApiServer::clear_faults);
    until("all", || planes.states()[1] == ("engaged", 13)).await;
    // As long as they were throttled, once: none waits for those before it.
    assert!(start.elapsed() <= Duration::from_secs(21), "{:?}", start.elapsed());
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i8_a_list_that_begins_and_stands_still_gives_its_place_up_and_is_named() {
    let planes = limited(&ApiServer::hub("hub"));
    let stuck: Vec<_> =
        (0..LIMIT).map(|n| planes.engage(&plane_name(&format!("stuck{n}")), standing_still())).collect();
    quiet(1).await;
    let server = ApiServer::project_plane("fine");
    let fine = planes.engage(&plane_name("fine"), client(&server));
    until("the other", || fine.synced()).await;
    quiet(60).await;
    for plane in stuck {
        match plane.health() {
            Health::Unreachable(reason) => {
                assert!(reason.contains("no news of the list for 30s"), "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_plane_that_is_disengaged_while_it_waits_or_lists_leaves_its_place() {
    let planes = limited(&ApiServer::hub("hub"));
    for n in 0..20 {
        let server = ApiServer::project_plane(&format!("p{n}"));
        server.fault(Fault::Hang);
        planes.engage(&plane_name(&format!("p{n}")), client(&server));
    }
    quiet(1).await;
    for n in 0..20 {
        planes.disengage(&plane_name(&format!("p{n}")));
    }
    let server = ApiServer::project_plane("fine");
    let fine = planes.engage(&plane_name("fine"), client(&server));
    quiet(1).await;
    assert!(fine.synced());
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i8_a_plane_that_is_well_does_not_wait_behind_many_that_are_tried_again_and_again() {
    let planes = limited(&ApiServer::hub("hub"));
    for n in 0..200 {
        let server = ApiServer::project_plane(&format!("hangs{n}"));
        server.fault(Fault::Hang);
        planes.engage(&plane_name(server.name()), client(&server));
    }
    // Each has been tried once: 400 lists, four at once.
    quiet(HEADERS.as_secs() * 101).await;
    assert_eq!(planes.states()[2], ("unreachable", 200));
    let start = Instant::now();
    let fine: Vec<_> = (0..20)
        .map(|n| {
            let server = ApiServer::project_plane(&format!("fine{n}"));
            planes.engage(&plane_name(server.name()), client(&server));
            server
        })
        .collect();
    until("those that answer", || planes.states()[1] == ("engaged", 20)).await;
    assert!(start.elapsed() <= Duration::from_secs(1), "{:?}", start.elapsed());
    drop(fine);
    planes.stop().await;
}

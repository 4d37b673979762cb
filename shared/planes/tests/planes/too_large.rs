//! A plane with more objects than are taken of one plane is refused, and named as that, until it has fewer
//! (I8).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fedhub_core::clock::Clock;
use fedhub_core::errors::Excess;
use fedhub_core::object::Kind;
use fedhub_fake_apiserver::ApiServer;
use fedhub_planes::{Health, Plane, Planes, Settings};
use http::Request;
use kube::Client;
use kube::client::Body;
use tower::{ServiceExt, service_fn};

use crate::planes::support::*;

const MOST: usize = 10;

fn small() -> Arc<Planes> {
    let hub = ApiServer::hub("hub");
    let settings = Settings { seed: 7, max_objects: MOST, ..Settings::default() };
    Planes::with(client(&hub), metrics(), Clock::from_tokio(hub.clock().now()), settings)
}

fn put(server: &ApiServer, instances: std::ops::Range<usize>) {
    for n in instances {
        server.put(instance(&format!("a{n}"))).unwrap();
    }
}

fn remove(server: &ApiServer, n: usize) {
    assert!(server.delete("Instance", "n", &format!("a{n}")).unwrap());
}

fn is_refused(plane: &Plane) -> bool {
    matches!(plane.health(), Health::Unreachable(reason) if reason.contains("it has more than 10 objects"))
}

/// How many lists were given up.
fn given_up(planes: &Planes) -> u64 {
    planes.metrics().too_large.with_label_values(&["project", "list"]).get()
}

#[tokio::test(start_paused = true)]
async fn i8_a_plane_whose_list_is_too_long_is_refused_until_it_has_fewer_objects() {
    let server = ApiServer::project_plane("alpha");
    put(&server, 0..MOST + 1);
    let planes = small();
    let plane = planes.engage(&plane_name("alpha"), client(&server));
    until("the refusal", || is_refused(&plane)).await;
    assert_eq!(plane.store(Kind::Instance).len(), 0, "nothing of it is kept");
    assert_eq!(planes.states()[2], ("unreachable", 1));
    quiet(3600).await;
    let lists = given_up(&planes);
    assert!((5..=25).contains(&lists), "{lists} lists in an hour: less and less often");
    remove(&server, 0);
    until("the plane", || plane.synced() && plane.health() == Health::Engaged).await;
    assert_eq!(plane.store(Kind::Instance).len(), MOST);
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i8_a_plane_that_grows_too_large_while_it_is_watched_is_refused_as_well() {
    let server = ApiServer::project_plane("alpha");
    put(&server, 0..MOST);
    let planes = small();
    let plane = planes.engage(&plane_name("alpha"), client(&server));
    until("the plane", || plane.synced()).await;
    put(&server, MOST..MOST + 3);
    until("the refusal", || is_refused(&plane)).await;
    assert!(plane.store(Kind::Instance).len() <= MOST + 1, "it grows no more");
    (0..3).for_each(|n| remove(&server, n));
    until("the plane", || plane.health() == Health::Engaged).await;
    assert_eq!(plane.store(Kind::Instance).len(), MOST);
    planes.stop().await;
}

/// A client whose first watches of Instances are given up because they send too much.
fn with_watches_given_up(server: &ApiServer, given_up: usize) -> (Client, Arc<AtomicUsize>) {
    let server = server.clone();
    let watches = Arc::<AtomicUsize>::default();
    let counted = watches.clone();
    let service = service_fn(move |request: Request<Body>| {
        let server = server.clone();
        let watches = watches.clone();
        async move {
            let is_watch = request.uri().path().ends_with("/instances")
                && request.uri().query().is_some_and(|query| query.contains("watch=true"));
            if is_watch && watches.fetch_add(1, Ordering::Relaxed) < given_up {
                return Err(Excess::Bytes(1).into());
            }
            server.service().oneshot(request).await
        }
    });
    (Client::new(service, "default"), counted)
}

#[tokio::test(start_paused = true)]
async fn i4_a_watch_that_sends_too_much_goes_on_and_forgets_nothing() {
    let server = ApiServer::project_plane("alpha");
    put(&server, 0..3);
    let planes = small();
    let (client, watches) = with_watches_given_up(&server, 4);
    let plane = planes.engage(&plane_name("alpha"), client);
    until("the failures", || watches.load(Ordering::Relaxed) > 3).await;
    assert!(matches!(plane.health(), Health::Unreachable(_)), "{:?}", plane.health());
    assert!(plane.store(Kind::Instance).synced(), "it was listed");
    assert_eq!((plane.store(Kind::Instance).len(), given_up(&planes)), (3, 0));
    put(&server, 3..4);
    until("the plane", || plane.health() == Health::Engaged).await;
    assert_eq!(plane.store(Kind::Instance).len(), 4);
    planes.stop().await;
}

//! Optional kinds of project planes: where one is not served nothing waits for it, and it is found once it
//! is.

use std::sync::Arc;

use fedhub_core::clock::Clock;
use fedhub_core::object::Kind;
use fedhub_fake_apiserver::{ApiServer, Fault, Resource};
use fedhub_planes::transport::{Connection, HealthLayer, ServerHealth, WatchStarts};
use fedhub_planes::{Health, Planes, Settings, Watched};
use kube::Client;
use serde_json::{Value, json};
use tower::Layer;

use crate::planes::support::*;

const LOCATIONS: &str = "locationbindings.networking.datumapis.com";
const INSTANCES: &str = "instances.compute.datumapis.com";

fn location(name: &str) -> Value {
    json!({"apiVersion": "networking.datumapis.com/v1alpha", "kind": "LocationBinding", "metadata": {"name": name}})
}

/// A plane that has a location.
fn project_plane(name: &str) -> ApiServer {
    let server = ApiServer::cell(name);
    server.put(location("dfw")).unwrap();
    server
}

/// A plane that serves no locations.
fn without_locations(name: &str) -> ApiServer {
    let server = ApiServer::cell(name);
    server.unregister(LOCATIONS);
    server
}

/// Makes the server serve locations, one of which exists.
fn serve_locations(server: &ApiServer) {
    let kind = Resource::custom("networking.datumapis.com", "v1alpha", "LocationBinding", "locationbindings");
    server.register(kind.cluster_scoped());
    server.put(location("dfw")).unwrap();
}

/// A registry whose project planes may serve locations.
fn started() -> Arc<Planes> {
    let hub = ApiServer::hub("hub");
    let kinds = vec![Watched::all(Kind::Instance), Watched::all(Kind::LocationBinding).if_served()];
    let settings = Settings { seed: 7, project_kinds: kinds, ..Settings::default() };
    let planes = Planes::with(client(&hub), metrics(), Clock::from_tokio(hub.clock().now()), settings);
    planes.start();
    planes
}

/// How often locations were asked for, whether they are served or not.
fn lists(server: &ApiServer) -> usize {
    server.audit().iter().filter(|entry| entry.resource.contains("locationbindings")).count()
}

/// How often the discovery of a server was asked.
fn questions(server: &ApiServer) -> usize {
    count(server, "get", "/apis")
}

#[tokio::test(start_paused = true)]
async fn w7_a_kind_that_is_not_served_is_listed_once_and_found_once_it_is() {
    let server = without_locations("alpha");
    let planes = started();
    let plane = planes.engage(&plane_name("alpha"), client(&server));
    until("alpha in sync", || plane.synced()).await;
    assert_eq!((plane.health(), plane.serves(Kind::LocationBinding)), (Health::Engaged, false));
    quiet(60).await;
    let soon = questions(&server);
    quiet(10_000).await;
    let later = questions(&server) - soon;
    assert_eq!(lists(&server), 1);
    assert!((300..=334).contains(&later), "{later} questions in 10,000 s");
    serve_locations(&server);
    quiet(31).await;
    assert_eq!((plane.store(Kind::LocationBinding).len(), plane.serves(Kind::LocationBinding)), (1, true));
    server.put(location("ord")).unwrap();
    quiet(1).await;
    assert_eq!(plane.store(Kind::LocationBinding).len(), 2, "watched from then on");
    let found = questions(&server);
    quiet(3_000).await;
    assert_eq!(questions(&server), found, "of a server that lacks nothing nothing is asked");
    planes.stop().await;
}

/// A right that is taken away, or comes late, is no answer to what there is.
#[tokio::test(start_paused = true)]
async fn w7_i4_a_kind_that_is_served_and_may_not_be_read_is_not_taken_for_absent() {
    for was_listed in [true, false] {
        let server = project_plane("alpha");
        let forbid = || server.fault(Fault::Status(403).on("*", "locationbindings"));
        let fault = (!was_listed).then(forbid);
        let planes = started();
        let plane = planes.engage(&plane_name("alpha"), client(&server));
        if was_listed {
            until("alpha in sync", || plane.synced()).await;
        }
        let fault = fault.unwrap_or_else(forbid);
        server.break_watches();
        quiet(300).await;
        let known = plane.store(Kind::LocationBinding);
        assert_eq!((known.len(), known.synced()), (usize::from(was_listed), was_listed), "{was_listed}");
        assert!(plane.serves(Kind::LocationBinding), "{was_listed}: every cell is no place for it");
        let words = reason(&plane.health());
        assert!(words.contains("locationbindings") && words.contains("forbidden"), "{words}");
        server.clear_fault(fault);
        quiet(31).await;
        assert_eq!((plane.health(), plane.store(Kind::LocationBinding).len()), (Health::Engaged, 1));
        planes.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn w7_a_kind_that_is_forbidden_and_that_discovery_does_not_name_is_absent() {
    let server = project_plane("alpha");
    server.unregister(LOCATIONS);
    server.fault(Fault::Status(403).on("list", "locationbindings"));
    let planes = started();
    let plane = planes.engage(&plane_name("alpha"), client(&server));
    until("alpha in sync", || plane.synced()).await;
    assert_eq!((plane.health(), plane.serves(Kind::LocationBinding)), (Health::Engaged, false));
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w7_a_kind_that_is_served_no_more_is_soon_asked_for_again() {
    let server = project_plane("alpha");
    let planes = started();
    let plane = planes.engage(&plane_name("alpha"), client(&server));
    until("alpha in sync", || plane.synced()).await;
    assert!(plane.serves(Kind::LocationBinding));
    server.unregister(LOCATIONS);
    until("no locations", || !plane.serves(Kind::LocationBinding)).await;
    assert!(plane.store(Kind::LocationBinding).is_empty() && plane.synced());
    serve_locations(&server);
    quiet(31).await;
    assert_eq!(plane.store(Kind::LocationBinding).len(), 1);
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w7_i4_a_server_that_is_starting_is_not_believed_that_a_kind_is_gone() {
    let server = project_plane("alpha");
    let planes = started();
    let plane = planes.engage(&plane_name("alpha"), client(&server));
    until("alpha in sync", || plane.synced()).await;
    let fault = server.fault(Fault::Status(404).on("*", "locationbindings"));
    server.break_watches();
    quiet(60).await;
    let locations = plane.store(Kind::LocationBinding);
    assert_eq!((locations.len(), plane.serves(Kind::LocationBinding)), (1, true), "discovery names it");
    assert!(matches!(plane.health(), Health::Unreachable(_)), "{:?}", plane.health());
    server.clear_fault(fault);
    until("it works again", || plane.health() == Health::Engaged).await;
    planes.stop().await;
}

/// Neither one that does not answer, nor one that lacks what has to be served: a server that is starting.
#[tokio::test(start_paused = true)]
async fn w7_i4_a_discovery_that_is_not_complete_takes_no_kind_away() {
    for is_silent in [true, false] {
        let server = project_plane("alpha");
        let planes = started();
        let plane = planes.engage(&plane_name("alpha"), client(&server));
        until("alpha in sync", || plane.synced()).await;
        server.unregister(LOCATIONS);
        let fault = is_silent.then(|| server.fault(Fault::Status(503).on("get", "/apis")));
        if !is_silent {
            server.unregister(INSTANCES);
        }
        server.break_watches();
        quiet(300).await;
        let locations = plane.store(Kind::LocationBinding);
        assert_eq!((locations.len(), plane.serves(Kind::LocationBinding)), (1, true), "{is_silent}");
        assert!(matches!(plane.health(), Health::Unreachable(_)), "{:?}", plane.health());
        if let Some(fault) = fault {
            server.clear_fault(fault);
        } else {
            server.register(Resource::custom("compute.datumapis.com", "v1alpha", "Instance", "instances"));
        }
        quiet(61).await;
        assert_eq!((locations.len(), plane.serves(Kind::LocationBinding)), (0, false), "{is_silent}");
        assert_eq!(plane.health(), Health::Engaged);
        planes.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn w7_i4_while_its_server_is_starting_no_kind_that_was_listed_is_taken_away() {
    let server = project_plane("alpha");
    let health = ServerHealth::new("https://milo.example.com:443");
    let starts = WatchStarts::default();
    let service = HealthLayer::new(health.clone(), starts.clone()).layer(server.service());
    let planes = started();
    let connection = Connection::new(Client::new(service, "default"), health, starts);
    let plane = planes.engage(&plane_name("alpha"), connection);
    until("alpha in sync", || plane.synced()).await;
    server.unregister(LOCATIONS);
    server.break_watches();
    quiet(20).await;
    assert!(plane.serves(Kind::LocationBinding), "it has answered for the first time a moment ago");
    quiet(60).await;
    assert!(!plane.serves(Kind::LocationBinding));
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w7_i8_of_the_planes_of_one_server_one_is_asked_for_all() {
    let milo = without_locations("milo");
    let connection = Connection::from(client(&milo));
    let planes = started();
    for n in 0..50 {
        planes.engage(&plane_name(&format!("p{n}")), connection.clone());
    }
    until("all in sync", || planes.warm()).await;
    let begun = questions(&milo);
    assert!(begun <= 2, "{begun} questions of 50 planes that are engaged together");
    quiet(600).await;
    let asked = questions(&milo) - begun;
    assert!((19..=21).contains(&asked), "{asked} questions in ten minutes");
    serve_locations(&milo);
    quiet(31).await;
    assert_eq!(
        planes.projects().iter().map(|plane| plane.store(Kind::LocationBinding).len()).sum::<usize>(),
        50
    );
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w7_i8_servers_are_asked_one_after_the_other_and_no_more_when_their_planes_have_left() {
    let servers: Vec<_> = (0..100).map(|n| without_locations(&format!("p{n}"))).collect();
    let planes = started();
    for (n, server) in servers.iter().enumerate() {
        planes.engage(&plane_name(&format!("p{n}")), client(server));
    }
    quiet(600).await;
    let before: Vec<_> = servers.iter().map(questions).collect();
    planes.disengage(&plane_name("p7"));
    serve_locations(&servers[8]);
    quiet(800).await;
    let more: Vec<_> =
        servers.iter().zip(&before).map(|(server, before)| questions(server) - before).collect();
    assert!(more[7] <= 1, "it has left");
    assert!((190..=202).contains(&more.iter().sum::<usize>()), "{more:?}");
    assert!(
        more.iter().enumerate().all(|(n, more)| matches!(n, 7 | 8) || (1..=3).contains(more)),
        "{more:?}"
    );
    assert!(planes.project(&plane_name("p8")).unwrap().serves(Kind::LocationBinding));
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w7_where_the_crds_come_after_the_plane_all_are_found() {
    let server = without_locations("alpha");
    server.unregister(INSTANCES);
    let planes = started();
    let plane = planes.engage(&plane_name("alpha"), client(&server));
    quiet(3_000).await;
    assert!(!plane.synced(), "its Instances are not served yet");
    server.register(Resource::custom("compute.datumapis.com", "v1alpha", "Instance", "instances"));
    serve_locations(&server);
    quiet(31).await;
    assert!(plane.synced() && plane.serves(Kind::LocationBinding));
    assert_eq!(plane.store(Kind::LocationBinding).len(), 1);
    planes.stop().await;
}

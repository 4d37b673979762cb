//! Optional kinds of project planes: where one is not served nothing waits for it, and it is found once it is.

use std::sync::Arc;

use fedhub_core::clock::Clock;
use fedhub_core::object::Kind;
use fedhub_fake_apiserver::{ApiServer, Fault, Resource};
use fedhub_planes::{Health, Planes, Settings, Watched};
use serde_json::{Value, json};

use crate::planes::support::*;

fn location(name: &str) -> Value {
    json!({"apiVersion": "networking.datumapis.com/v1alpha", "kind": "LocationBinding", "metadata": {"name": name}})
}

/// A plane that has a location, if it serves any.
fn project_plane(name: &str) -> ApiServer {
    let server = ApiServer::cell(name);
    server.put(location("dfw")).unwrap();
    server
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

fn lists(server: &ApiServer) -> usize {
    count(server, "list", "locationbindings")
}

#[tokio::test(start_paused = true)]
async fn w7_a_kind_that_is_not_served_is_asked_for_ever_more_rarely_and_found_once_it_is() {
    let server = project_plane("alpha");
    let fault = server.fault(Fault::Status(404).on("list", "locationbindings"));
    let planes = started();
    let plane = planes.engage(&plane_name("alpha"), client(&server));
    until("alpha in sync", || plane.synced()).await;
    assert_eq!((plane.health(), plane.serves(Kind::LocationBinding)), (Health::Engaged, false));
    quiet(60).await;
    let soon = lists(&server);
    assert!((6..=9).contains(&soon), "{soon} lists in the first minute");
    quiet(10_000).await;
    let later = lists(&server) - soon;
    assert!((18..=40).contains(&later), "{later} lists in 10,000 s");
    server.clear_fault(fault);
    quiet(601).await;
    assert_eq!((plane.store(Kind::LocationBinding).len(), plane.serves(Kind::LocationBinding)), (1, true));
    server.put(location("ord")).unwrap();
    quiet(1).await;
    assert_eq!(plane.store(Kind::LocationBinding).len(), 2, "watched from then on");
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
    server.unregister("locationbindings.networking.datumapis.com");
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
    server.unregister("locationbindings.networking.datumapis.com");
    until("no locations", || !plane.serves(Kind::LocationBinding)).await;
    assert!(plane.store(Kind::LocationBinding).is_empty() && plane.synced());
    let bindings =
        Resource::custom("networking.datumapis.com", "v1alpha", "LocationBinding", "locationbindings");
    server.register(bindings.cluster_scoped());
    server.put(location("dfw")).unwrap();
    quiet(3).await;
    assert_eq!(plane.store(Kind::LocationBinding).len(), 1, "as while a server starts");
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

#[tokio::test(start_paused = true)]
async fn planes_that_wait_for_kinds_are_asked_one_by_one_and_no_more_when_they_have_left() {
    let servers: Vec<_> = (0..50).map(|n| project_plane(&format!("p{n}"))).collect();
    let absent = || Fault::Status(404).on("list", "locationbindings");
    let faults: Vec<_> = servers.iter().map(|server| server.fault(absent())).collect();
    let planes = started();
    for (n, server) in servers.iter().enumerate() {
        planes.engage(&plane_name(&format!("p{n}")), client(server));
    }
    quiet(600).await;
    let before: Vec<_> = servers.iter().map(lists).collect();
    assert!(before.iter().all(|lists| (8..=14).contains(lists)), "{before:?}");
    planes.disengage(&plane_name("p7"));
    servers[8].clear_fault(faults[8]);
    quiet(1_200).await;
    let more: Vec<_> = servers.iter().zip(&before).map(|(server, before)| lists(server) - before).collect();
    assert_eq!((more[7], more[8]), (0, 2), "one has left, one is watched: asked for, and listed");
    assert!(more.iter().enumerate().all(|(n, more)| n == 7 || n == 8 || (2..=4).contains(more)), "{more:?}");
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w7_what_the_questions_cost_does_not_grow_with_the_planes_and_a_new_plane_need_not_wait() {
    let servers: Vec<_> = (0..400).map(|n| project_plane(&format!("p{n}"))).collect();
    let planes = started();
    let engage = |n: usize| {
        servers[n].fault(Fault::Status(404).on("list", "locationbindings"));
        planes.engage(&plane_name(&format!("p{n}")), client(&servers[n]));
    };
    (0..399).for_each(engage);
    until("all in sync", || planes.warm()).await;
    quiet(60).await;
    let all = || servers.iter().map(lists).sum::<usize>();
    let before = all();
    quiet(60).await;
    let asked = all() - before;
    assert!((28..=32).contains(&asked), "{asked} lists in a minute, with hundreds of them due");
    engage(399);
    quiet(4).await;
    assert!(lists(&servers[399]) >= 2, "{} lists of the new one", lists(&servers[399]));
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w7_where_a_crd_appears_what_else_was_absent_there_is_asked_for_at_once() {
    let server = project_plane("alpha");
    let group = "networking.datumapis.com";
    for absent in [format!("locationbindings.{group}"), "instances.compute.datumapis.com".to_owned()] {
        server.unregister(&absent);
    }
    let planes = started();
    let plane = planes.engage(&plane_name("alpha"), client(&server));
    // Long enough for the waits of the optional kind to be minutes.
    quiet(3_000).await;
    assert!(!plane.synced() && !plane.serves(Kind::LocationBinding), "its Instances are not served yet");
    server
        .register(Resource::custom(group, "v1alpha", "LocationBinding", "locationbindings").cluster_scoped());
    server.register(Resource::custom("compute.datumapis.com", "v1alpha", "Instance", "instances"));
    until("Instances", || plane.store(Kind::Instance).synced()).await;
    quiet(1).await;
    assert!(plane.serves(Kind::LocationBinding), "without its wait of minutes");
    planes.stop().await;
}

//! Planes that an operator paused: no write for them, there or on the hub (I12).

use std::sync::Arc;

use fedhub_api::reason::Reason;
use fedhub_core::clock::Clock;
use fedhub_core::errors::Category;
use fedhub_core::names::{UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE};
use fedhub_core::object::{Kind, Object};
use fedhub_fake_apiserver::{ApiServer, Fault};
use fedhub_planes::events::{EventType, ObjectReference};
use fedhub_planes::{DryRun, Health, Pass, Pauses, Plane, Planes, Precondition, Settings};
use fedhub_testing::{management_plane, set_paused};
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::planes::support::*;

struct World {
    management: ApiServer,
    hub: ApiServer,
    alpha: ApiServer,
    beta: ApiServer,
}

impl World {
    fn new() -> Self {
        let management = management_plane();
        let hub = ApiServer::hub("hub");
        let [alpha, beta] = ["alpha", "beta"].map(ApiServer::project_plane);
        for (name, plane) in [("ns-a", "alpha"), ("ns-b", "beta")] {
            hub.put(hub_namespace(name, plane)).unwrap();
        }
        hub.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns-x"}})).unwrap();
        for plane in [&alpha, &beta] {
            plane.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}})).unwrap();
            plane.put(instance("there")).unwrap();
        }
        Self { management, hub, alpha, beta }
    }

    fn run(&self) -> (Arc<Planes>, Arc<Plane>, Arc<Plane>, DropGuard) {
        let pauses = Pauses::stored(client(&self.management), HOME);
        let settings = Settings { seed: 7, pauses, ..Settings::default() };
        let clock = Clock::from_tokio(self.hub.clock().now());
        let planes = Planes::with(client(&self.hub), metrics(), clock, settings);
        let stop = CancellationToken::new();
        tokio::spawn(planes.clone().follow_pauses(stop.clone()));
        planes.start();
        let alpha = planes.engage(&plane_name("alpha"), client(&self.alpha));
        let beta = planes.engage(&plane_name("beta"), client(&self.beta));
        (planes, alpha, beta, stop.drop_guard())
    }

    async fn pause(&self, name: &str) {
        set_paused(&self.management, Some(name), true).await;
    }

    fn writes(&self) -> [usize; 3] {
        [&self.hub, &self.alpha, &self.beta].map(|server| {
            server.audit().iter().filter(|e| !matches!(e.verb, "get" | "list" | "watch")).count()
        })
    }
}

fn hub_namespace(name: &str, plane: &str) -> Value {
    let labels = json!({UPSTREAM_CLUSTER: format!("cluster-{plane}"), UPSTREAM_NAMESPACE: "n"});
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}})
}

fn object(value: Value) -> Object {
    serde_json::from_value(value).unwrap()
}

fn in_namespace(namespace: &str, name: &str) -> Object {
    let mut instance = instance(name);
    instance["metadata"]["namespace"] = json!(namespace);
    object(instance)
}

#[tokio::test(start_paused = true)]
async fn i12_a_paused_plane_takes_no_write_not_even_of_what_is_being_deleted() {
    let world = World::new();
    let mut held = instance("held");
    held["metadata"]["finalizers"] = json!(["a/b"]);
    world.alpha.put(held).unwrap();
    world.alpha.delete("Instance", "n", "held").unwrap();
    world.pause("alpha").await;
    let (planes, alpha, beta, _stop) = world.run();
    until("sync", || alpha.synced() && beta.synced() && planes.hub().synced()).await;
    assert_eq!((alpha.health(), beta.health()), (Health::Paused, Health::Engaged));
    assert_eq!(planes.states()[3..], [("suspended", 0), ("paused", 1)]);
    let before = world.writes();
    let held = alpha.refresh(&Pass::unbound(), Kind::Instance, "n", "held").await.unwrap().unwrap();
    let new = object(instance("new"));
    for error in [
        alpha.create(&Pass::unbound(), Kind::Instance, &new, "m").await.unwrap_err(),
        alpha.replace(&Pass::unbound(), Kind::Instance, &held, "m", DryRun::Yes).await.unwrap_err(),
        alpha.replace(&Pass::unbound(), Kind::Instance, &held, "m", DryRun::No).await.unwrap_err(),
        alpha
            .replace_status(&Pass::unbound(), Kind::Instance, &held, &json!({}), "m", DryRun::No)
            .await
            .unwrap_err(),
        alpha
            .patch_metadata(&Pass::unbound(), Kind::Instance, &held, json!({"finalizers": null}), "m")
            .await
            .unwrap_err(),
        alpha.delete(&Pass::unbound(), Kind::Instance, &held, Precondition::Uid).await.unwrap_err(),
    ] {
        assert_eq!(error.category(), Category::NotEngaged, "{error:?}");
    }
    alpha.events.say(&ObjectReference::default(), EventType::Normal, Reason::Federated, "x".to_owned()).await;
    assert_eq!(world.writes(), before);
    beta.create(&Pass::unbound(), Kind::Instance, &new, "m").await.unwrap();
    // During its maintenance it does not answer: that is what it was paused for.
    world.alpha.fault(Fault::Status(503));
    fedhub_testing::gap(&world.alpha);
    until("the outage", || matches!(alpha.health(), Health::Unreachable(_))).await;
    assert_eq!(planes.states()[2..], [("unreachable", 0), ("suspended", 0), ("paused", 1)]);
    planes.stop().await;
}

/// Whose an object of the hub is, its namespace's labels say, whoever writes it.
#[tokio::test(start_paused = true)]
async fn i12_nothing_is_written_on_the_hub_for_a_paused_plane_nor_for_one_that_is_not_known() {
    let world = World::new();
    let (planes, alpha, _, _stop) = world.run();
    until("sync", || alpha.synced() && planes.hub().synced()).await;
    let hub = planes.hub();
    for namespace in ["ns-a", "ns-b", "ns-x"] {
        hub.create(&Pass::unbound(), Kind::Instance, &in_namespace(namespace, "before"), "m").await.unwrap();
    }
    world.pause("alpha").await;
    until("the pause", || alpha.health() == Health::Paused).await;
    for (namespace, refused) in [("ns-a", true), ("ns-b", false), ("ns-x", true)] {
        let made = hub.create(&Pass::unbound(), Kind::Instance, &in_namespace(namespace, "after"), "m").await;
        assert_eq!(made.is_err(), refused, "{namespace}");
        let stands =
            hub.refresh(&Pass::unbound(), Kind::Instance, namespace, "before").await.unwrap().unwrap();
        let deleted = hub.delete(&Pass::unbound(), Kind::Instance, &stands, Precondition::Uid).await;
        assert_eq!(deleted.is_err(), refused, "{namespace}");
    }
    for (plane, refused) in [("alpha", true), ("beta", false)] {
        let namespace = object(hub_namespace(&format!("ns-new-{plane}"), plane));
        assert_eq!(
            hub.create(&Pass::unbound(), Kind::Namespace, &namespace, "m").await.is_err(),
            refused,
            "{plane}"
        );
    }
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i12_nothing_is_in_sync_before_it_is_known_what_is_paused_and_what_was_known_stands() {
    let world = World::new();
    world.management.fault(Fault::Status(503).on("*", "configmaps"));
    let (planes, alpha, beta, _stop) = world.run();
    quiet(60).await;
    assert_eq!((alpha.health(), beta.health()), (Health::Engaging, Health::Engaging));
    assert!(!planes.hub().synced() && !planes.warm());
    assert!(alpha.create(&Pass::unbound(), Kind::Instance, &object(instance("new")), "m").await.is_err());
    world.management.clear_faults();
    until("sync", || alpha.synced() && planes.warm()).await;
    set_paused(&world.management, None, true).await;
    until("all to be paused", || [&alpha, &beta].iter().all(|it| it.health() == Health::Paused)).await;
    world.management.fault(Fault::Status(503).on("*", "configmaps"));
    fedhub_testing::gap(&world.management);
    quiet(600).await;
    assert_eq!(alpha.health(), Health::Paused, "what was last known stands");
    world.management.clear_faults();
    set_paused(&world.management, None, false).await;
    until("all to be resumed", || [&alpha, &beta].iter().all(|it| it.health() == Health::Engaged)).await;
    alpha.create(&Pass::unbound(), Kind::Instance, &object(instance("new")), "m").await.unwrap();
    planes.stop().await;
}

/// What operators say on a management plane that was restored has lower versions than what they said before.
#[tokio::test(start_paused = true)]
async fn i12_i13_a_pause_counts_on_a_management_plane_that_was_restored() {
    let world = World::new();
    world.pause("beta").await;
    let backup = world.management.snapshot();
    let (planes, alpha, beta, _stop) = world.run();
    for _ in 0..20 {
        world.pause("alpha").await;
        set_paused(&world.management, Some("alpha"), false).await;
    }
    set_paused(&world.management, Some("beta"), false).await;
    until("sync", || [&alpha, &beta].iter().all(|plane| plane.health() == Health::Engaged)).await;
    world.management.restore(&backup);
    until("what the backup says", || beta.health() == Health::Paused).await;
    world.pause("alpha").await;
    until("the pause", || alpha.health() == Health::Paused).await;
    set_paused(&world.management, Some("alpha"), false).await;
    until("the end of it", || alpha.health() == Health::Engaged).await;
    planes.stop().await;
}

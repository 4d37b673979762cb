//! Rollouts that add Instances, or replace several at once.

use serde_json::{Value, json};

use crate::deployment_controller::support::*;

fn rolling(replicas: u32, settings: Value) -> World {
    let world = World::with_replicas(replicas);
    world.bend(json!({"spec": {"scaleSettings": {"rollingUpdate": settings}}}));
    world
}

/// The numbers by which others take a rollout for complete.
fn is_complete(world: &World) -> bool {
    let status = &world.wd()["status"];
    ["replicas", "updatedReplicas", "readyReplicas"]
        .iter()
        .all(|counter| status[counter] == status["desiredReplicas"])
}

/// The creations and deletions of Instances since then.
fn steps(world: &World, from: usize) -> Vec<String> {
    asked(&world.cell, from)
        .into_iter()
        .filter(|r| r.contains(" instances/") && !r.contains("status"))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn c2_a_new_one_comes_before_an_old_one_goes() {
    let world = rolling(2, json!({"maxUnavailable": 0, "maxSurge": 1}));
    let run = world.run(ALONE);
    world.settle().await;
    assert_eq!(world.names(), ["web-0", "web-1"], "nothing is added without a new template");
    let from = position(&world.cell);
    world.release("2");
    quiet(5).await;
    assert_eq!(world.names(), ["web-0", "web-1", "web-2"]);
    quiet(60).await;
    assert!(steps(&world, from).iter().all(|step| !step.starts_with("delete")), "it is awaited");
    for starts in ["web-2", "web-1", "web-0"] {
        assert!(!is_complete(&world), "{:#}", world.wd()["status"]);
        assert_eq!(condition(&world.wd(), "ReplicasReady")["status"], "True", "two serve at any time");
        world.ready(starts);
        quiet(5).await;
    }
    assert!(is_complete(&world), "{:#}", world.wd()["status"]);
    assert_eq!(world.names(), ["web-0", "web-1"]);
    let expected = [
        "create instances/web-2",
        "delete instances/web-1",
        "create instances/web-1",
        "delete instances/web-0",
        "create instances/web-0",
        "delete instances/web-2",
    ];
    assert_eq!(steps(&world, from), expected);
    rests_after_a_restart(&world, run, ALONE).await;
}

#[tokio::test(start_paused = true)]
async fn c2_a_restart_in_the_middle_of_a_rollout_keeps_what_it_added() {
    let world = rolling(2, json!({"maxUnavailable": 0, "maxSurge": 1}));
    let run = world.run(ALONE);
    world.settle().await;
    world.release("2");
    quiet(5).await;
    world.ready("web-2");
    quiet(5).await;
    let before = uid(&world.instance("web-2"));
    let from = position(&world.cell);
    run.stop().await;
    let run = world.run(ALONE);
    quiet(600).await;
    assert!(asked(&world.cell, from).is_empty(), "{:?}", asked(&world.cell, from));
    assert_eq!(uid(&world.instance("web-2")), before);
    world.settle().await;
    assert_eq!(world.names(), ["web-0", "web-1"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c2_several_are_replaced_at_once() {
    let world = rolling(4, json!({"maxUnavailable": "50%"}));
    let run = world.run(ALONE);
    world.settle().await;
    let from = position(&world.cell);
    world.release("2");
    quiet(5).await;
    let mut first = steps(&world, from);
    first.sort();
    let each = |verb: &str| ["web-2", "web-3"].map(|name| format!("{verb} instances/{name}"));
    assert_eq!(first, [each("create"), each("delete")].concat());
    world.settle().await;
    assert!(is_complete(&world));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c2_a_suspended_wd_adds_none() {
    let world = rolling(2, json!({"maxUnavailable": 0, "maxSurge": 1}));
    let run = world.run(ALONE);
    world.settle().await;
    world.suspend(true);
    world.release("2");
    quiet(60).await;
    assert_eq!(world.names(), ["web-0", "web-1"]);
    world.suspend(false);
    quiet(5).await;
    assert_eq!(world.names(), ["web-0", "web-1", "web-2"], "resumed: the rollout goes on");
    run.stop().await;
}

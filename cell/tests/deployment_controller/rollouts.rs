//! Templates change, with and without suspension.

use serde_json::json;

use crate::deployment_controller::support::*;

fn hashes(world: &World) -> Vec<String> {
    world
        .names()
        .iter()
        .map(|name| world.instance(name)["spec"]["controller"]["templateHash"].to_string())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn c2_a_rollout_goes_down_one_at_a_time() {
    let world = World::with_replicas(3);
    let run = world.run(ALONE);
    world.settle().await;
    let before = hashes(&world);
    let from = position(&world.cell);
    world.release("2");
    quiet(5).await;
    assert_eq!(world.names().len(), 3, "deleted and created again");
    assert_eq!(hashes(&world)[..2], before[..2], "one only, until it is Ready");
    world.settle().await;
    assert!(hashes(&world).iter().all(|h| *h == hashes(&world)[0] && *h != before[0]));
    let steps: Vec<_> = asked(&world.cell, from).into_iter().filter(|r| !r.contains("status")).collect();
    let each = |n| [format!("delete instances/web-{n}"), format!("create instances/web-{n}")];
    assert_eq!(steps, [each(2), each(1), each(0)].concat());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c4_a_bad_template_costs_one_and_a_better_one_mends_it() {
    let world = World::with_replicas(2);
    let run = world.run(ALONE);
    world.settle().await;
    world.release("bad");
    quiet(5).await;
    world.say("web-1", "False", "ImageUnavailable");
    quiet(60).await;
    // C9: with the words of the Instance.
    let (reason, message) = world.lacks("ReplicasReady");
    assert_eq!(reason, "ImageUnavailable");
    assert!(message.contains("\"web-1\": words"), "{message}");
    assert_eq!(condition(&world.wd(), "Available")["status"], "True");
    world.release("good");
    world.settle().await;
    assert_eq!(hashes(&world)[0], hashes(&world)[1]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r6_a_template_that_mends_a_crashing_city_is_not_its_failure() {
    let world = World::with_replicas(2);
    let run = world.run(ALONE);
    world.settle().await;
    for name in ["web-0", "web-1"] {
        world.say(name, "False", "InstanceCrashing");
    }
    quiet(60).await;
    assert_eq!(world.lacks("ReplicasReady").0, "InstanceCrashing");
    world.release("good");
    quiet(60).await;
    assert_eq!(world.instance("web-1")["status"]["conditions"][0]["reason"], "InstanceCrashing");
    assert_eq!(world.wd()["status"]["observedGeneration"], world.wd()["metadata"]["generation"]);
    for kind in ["ReplicasReady", "Available"] {
        let (reason, message) = world.lacks(kind);
        assert_eq!(reason, "InstancesProvisioning", "{kind}: {message}");
        assert!(message.contains("1 instance of an earlier template is not ready"), "{message}");
    }
    world.settle().await;
    assert_eq!(hashes(&world)[0], hashes(&world)[1]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_rollout_waits_while_the_wd_is_suspended_and_scaling_does_not() {
    let world = World::with_replicas(3);
    let run = world.run(ALONE);
    world.settle().await;
    world.suspend(true);
    (0..3).for_each(|n| world.say(&format!("web-{n}"), "False", "Suspended"));
    world.release("2");
    let before = hashes(&world);
    quiet(60).await;
    assert_eq!(hashes(&world), before, "nothing is replaced");
    assert_eq!(world.wd()["status"]["suspended"], true);
    assert_eq!(world.lacks("Available").0, "Suspended");

    world.scale(1);
    quiet(60).await;
    assert_eq!(world.names(), ["web-0"]);
    world.scale(0);
    quiet(60).await;
    world.scale(1);
    quiet(60).await;
    assert_eq!(world.names(), ["web-0"], "created again although suspended");

    world.say("web-0", "False", "Suspended");
    world.release("3");
    let from = position(&world.cell);
    quiet(60).await;
    assert!(asked(&world.cell, from).iter().all(|r| r.contains("status")));
    world.suspend(false);
    world.settle().await;
    assert!(
        asked(&world.cell, from).contains(&"delete instances/web-0".to_owned()),
        "resumed: the rollout goes on"
    );
    assert_eq!(world.wd()["status"]["suspended"], false);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c2_a_rollout_in_a_partition_costs_one() {
    let world = World::provided(3);
    let run = world.run(ALONE);
    world.settle().await;
    world.release("2");
    world.settle().await;
    assert_eq!(world.names(), ["web-0", "web-1", "-web-2"]);
    for _ in 0..4 {
        world.release_terminating();
        world.settle().await;
    }
    assert_eq!(world.names(), ["web-0", "web-1", "web-2"]);
    assert!(hashes(&world).windows(2).all(|two| two[0] == two[1]));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c5_a_restart_by_annotation_is_a_rollout() {
    let world = World::with_replicas(1);
    let run = world.run(ALONE);
    world.settle().await;
    let before = world.instance("web-0");
    let at = json!({"compute.datumapis.com/restartedAt": "2026-01-01T00:00:00Z"});
    world.bend(json!({"spec": {"template": {"metadata": {"annotations": at}}}}));
    world.settle().await;
    assert_ne!(uid(&world.instance("web-0")), uid(&before));
    run.stop().await;
}

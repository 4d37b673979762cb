//! R2, R10, I7: planes whose mutating policy changes the templates of WDs.

use fedhub_fake_apiserver::Resource;
use serde_json::{Value, json};

use crate::workload_controller::governed;
use crate::workload_controller::support::*;
use crate::workload_controller::turns::{image, images, running};

const READY: (&str, &str, &str) = ("True", "StableInstanceFound", "1/1 instances are ready");

/// A world whose project plane adds to the template of each WD.
fn mutating() -> World {
    let world = World::new();
    let wds = Resource::custom(GROUP, "v1alpha", "WorkloadDeployment", "workloaddeployments");
    world.project.register(wds.with_status().defaulting(|wd: &mut Value| {
        if wd["spec"]["template"]["spec"].is_object() {
            wd["spec"]["template"]["spec"]["mesh"] = json!("on");
        }
    }));
    world
}

/// A rollout in the middle of which fedhub starts anew; returns what was written in each part, and how many
/// requests there were at rest.
async fn rolled_out(world: &World, rollout: Option<&Value>) -> (Vec<Vec<String>>, usize) {
    let mut written = Vec::new();
    let run = world.run();
    let from = position(&world.project);
    running(world, &["DFW", "ORD"]).await;
    if let Some(rollout) = rollout {
        governed::put(world, rollout);
    }
    quiet(60).await;
    written.push(writes(&world.project, from));
    let from = position(&world.project);
    world.patch("web", &image("nginx:2"));
    quiet(60).await;
    assert_eq!(images(world, ["DFW", "ORD"]), ["nginx:2", "nginx:1"]);
    world.report("web-us-dfw", 1, ("False", "InstancesProvisioning", "0/1"));
    quiet(60).await;
    written.push(writes(&world.project, from));
    run.stop().await;

    let from = position(&world.project);
    let run = world.run();
    quiet(300).await;
    written.push(writes(&world.project, from));
    let from = position(&world.project);
    world.report("web-us-dfw", 1, READY);
    quiet(60).await;
    assert_eq!(images(world, ["DFW", "ORD"]), ["nginx:2", "nginx:2"]);
    world.report("web-us-ord", 1, READY);
    quiet(60).await;
    assert_eq!(world.said("web", "Progressing").1, "RolloutComplete");
    written.push(writes(&world.project, from));
    let from = position(&world.project);
    quiet(3600).await;
    let at_rest = asked(&world.project, from).len();
    run.stop().await;
    (written, at_rest)
}

#[tokio::test(start_paused = true)]
async fn r10_a_plane_that_changes_templates_costs_no_write_more_and_turns_no_city() {
    let waves = json!({"waves": [{"name": "canary", "cities": ["DFW"], "approval": "None", "maxConcurrent": 1,
        "maxFailures": 0}, {"name": "rest", "approval": "None", "maxConcurrent": 1, "maxFailures": 0}]});
    for rollout in [None, Some(&waves)] {
        let [plain, changed] = [World::new(), mutating()];
        let expected = rolled_out(&plain, rollout).await;
        assert_eq!(rolled_out(&changed, rollout).await, expected);
        assert_eq!((&expected.0[2], expected.1), (&Vec::new(), 0), "neither by a restart nor at rest");
        assert_eq!(changed.wd("web-us-ord").unwrap()["spec"]["template"]["spec"]["mesh"], "on");
    }
}

#[tokio::test(start_paused = true)]
async fn r2_an_edit_by_hand_is_put_back_on_a_plane_that_changes_templates() {
    let world = mutating();
    let run = world.run();
    running(&world, &["DFW", "ORD"]).await;
    world.patch("web", &image("nginx:2"));
    quiet(5).await;
    for wd in ["web-us-dfw", "web-us-ord"] {
        world.project.patch("WorkloadDeployment", SPACE, wd, &image("hand:1")).unwrap();
        quiet(5).await;
        assert_eq!(images(&world, ["DFW", "ORD"]), ["nginx:2", "nginx:1"], "{wd}");
    }
    run.stop().await;
}

//! W3: a rollout is complete when its instances are ready, and one that makes no progress says so.

use serde_json::{Value, json};

use crate::workload_controller::support::*;

const DEADLINE: u64 = 600;

/// Reports on the newest generation of the WD in DFW, which wants three instances.
fn report(world: &World, updated: i32, ready: i32) {
    let generation = world.wd("web-us-dfw").unwrap()["metadata"]["generation"].clone();
    let status = json!({"observedGeneration": generation, "replicas": 3, "desiredReplicas": 3,
        "updatedReplicas": updated, "currentReplicas": ready, "readyReplicas": ready,
        "conditions": [condition("Available", if ready > 0 { "True" } else { "False" }, "Odd", "")]});
    world.project.patch_status("WorkloadDeployment", SPACE, "web-us-dfw", &status).unwrap();
}

fn said(world: &World) -> (String, String) {
    let (status, reason, _) = world.said("web", "Progressing");
    (status, reason)
}

fn expected(status: &str, reason: &str) -> (String, String) {
    (status.to_owned(), reason.to_owned())
}

fn image(image: &str) -> Value {
    json!({"spec": {"template": template(image)}})
}

#[tokio::test(start_paused = true)]
async fn w3_a_rollout_is_complete_when_its_instances_are_ready_and_stays_so() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    report(&world, 3, 2);
    quiet(5).await;
    assert_eq!(said(&world), expected("True", "RolloutInProgress"));
    let message = world.said("web", "Progressing").2;
    assert_eq!(message, "3 of 3 instances are on the newest template, 2 of them ready");
    report(&world, 3, 3);
    quiet(5).await;
    assert_eq!(said(&world), expected("False", "RolloutComplete"));
    // What becomes of an instance later is no rollout, for another process neither.
    report(&world, 3, 2);
    quiet(5).await;
    assert_eq!(said(&world), expected("False", "RolloutComplete"));
    run.stop().await;
    let run = world.run();
    quiet(2 * DEADLINE).await;
    assert_eq!(said(&world), expected("False", "RolloutComplete"));
    // Another template is one.
    world.patch("web", &image("nginx:2"));
    quiet(5).await;
    report(&world, 3, 2);
    quiet(5).await;
    assert_eq!(said(&world), expected("True", "RolloutInProgress"));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w3_a_rollout_without_progress_says_so_and_takes_it_back_when_it_comes_any_further() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    report(&world, 1, 0);
    quiet(DEADLINE - 60).await;
    // A step begins the time anew; a step back and forth does not.
    report(&world, 1, 1);
    quiet(60).await;
    report(&world, 1, 0);
    quiet(60).await;
    report(&world, 1, 1);
    quiet(DEADLINE - 180).await;
    assert_eq!(said(&world), expected("True", "RolloutInProgress"));
    quiet(120).await;
    assert_eq!(said(&world), expected("False", "ProgressDeadlineExceeded"));
    let message = world.said("web", "Progressing").2;
    assert!(message.contains("no progress for 10 minutes. Action required by the user: "), "{message}");
    // It stays said, over a restart and without a write.
    let from = position(&world.project);
    run.stop().await;
    let run = world.run();
    quiet(3 * DEADLINE).await;
    assert_eq!(asked(&world.project, from), [""; 0]);
    report(&world, 2, 2);
    quiet(5).await;
    assert_eq!(said(&world), expected("True", "RolloutInProgress"));
    report(&world, 3, 3);
    quiet(5).await;
    assert_eq!(said(&world), expected("False", "RolloutComplete"));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w3_a_new_template_has_its_own_time() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(DEADLINE + 5).await;
    assert_eq!(said(&world), expected("False", "ProgressDeadlineExceeded"));
    world.patch("web", &image("nginx:2"));
    quiet(5).await;
    assert_eq!(said(&world), expected("True", "RolloutInProgress"));
    quiet(DEADLINE).await;
    assert_eq!(said(&world), expected("False", "ProgressDeadlineExceeded"));
    run.stop().await;
}

//! Refusals, lost answers, gaps.

use fedhub_fake_apiserver::Fault;
use serde_json::json;

use crate::deployment_controller::support::*;

#[tokio::test(start_paused = true)]
async fn c9_a_refused_instance_is_said_once_and_tried_again() {
    let world = World::with_replicas(1);
    let refusal = world.cell.fault(Fault::Status(422).on("create", "instances"));
    let run = world.run(ALONE);
    quiet(600).await;
    let (reason, message) = world.lacks("Available");
    assert_eq!(reason, "ConfigurationError");
    assert!(message.contains("failed to create instances") && message.contains("template"), "{message}");
    let asked = asked(&world.cell, 0);
    let count = |what: &str| asked.iter().filter(|r| r.starts_with(what)).count();
    assert!(count("create") > 2, "{asked:?}");
    assert_eq!(count("update workloaddeployments/status"), 1, "I7: {asked:?}");
    world.cell.clear_fault(refusal);
    quiet(600).await;
    world.settle().await;
    assert_eq!(condition(&world.wd(), "Available")["status"], "True");
    run.stop().await;
}

/// By rights, by an admission webhook, by a `ResourceQuota`: no user can do anything about it, and it does
/// not pass.
#[tokio::test(start_paused = true)]
async fn c9_a_forbidden_instance_is_the_operators_job() {
    let world = World::with_replicas(1);
    world.cell.fault(Fault::Status(403).on("create", "instances"));
    let run = world.run(ALONE);
    quiet(600).await;
    for kind in ["Available", "ReplicasReady"] {
        let (reason, message) = world.lacks(kind);
        assert_eq!(reason, "InstancesRefused", "{kind}");
        assert!(message.contains("failed to create instances"), "{message}");
        assert!(message.contains("Action required by the platform operator: let fedhub create"), "{message}");
    }
    assert_eq!(world.events(), [("InstancesRefused".to_owned(), 1)], "U3");
    world.cell.clear_faults();
    quiet(600).await;
    world.settle().await;
    assert_eq!(condition(&world.wd(), "Available")["status"], "True");
    run.stop().await;
}

/// Section 6: a user reads the server's words, not a dump of its answer.
#[tokio::test(start_paused = true)]
async fn c9_a_template_that_is_too_large_is_told_in_words() {
    let world = World::with_replicas(1);
    world.release(&"x".repeat(300 << 10));
    let run = world.run(ALONE);
    quiet(600).await;
    let (reason, message) = world.lacks("Available");
    assert_eq!(reason, "ConfigurationError");
    assert!(message.contains("metadata.annotations: Too long"), "{message}");
    for dump in ["ApiError", "Status {", "Some(", "xxxx"] {
        assert!(!message.contains(dump), "{message}");
    }
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_instance_holds_up_no_other_wd_and_no_patch() {
    let world = World::with_replicas(1);
    world.cell.put(wd("other", 1)).unwrap();
    let run = world.run(ALONE);
    world.settle().await;
    world.cell.fault(Fault::Status(403).on("create", "instances"));
    world.scale(2);
    world
        .cell
        .patch(
            "Instance",
            SPACE,
            "web-0",
            &json!({"metadata": {"labels": {"compute.datumapis.com/workload-name": "x"}}}),
        )
        .unwrap();
    world.cell.patch("WorkloadDeployment", SPACE, "other", &json!({"spec": {"replicas": 0}})).unwrap();
    quiet(60).await;
    assert_eq!(world.names(), ["web-0"]);
    let name = &world.instance("web-0")["metadata"]["labels"]["compute.datumapis.com/workload-name"];
    assert_eq!(name, "shop");
    assert_eq!(world.wd()["status"]["desiredReplicas"], 2, "the status goes on");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c1_lost_answers_cut_watches_and_5xx_end_in_the_same_state() {
    for seed in 0..6_u32 {
        let world = World::with_replicas(3);
        let run = world.run(ALONE);
        for round in 0..12 {
            let verb = ["create", "patch", "delete", "update"][(seed + round) as usize % 4];
            let fault = [Fault::LostAnswer, Fault::Status(503), Fault::CutShort, Fault::Status(409)];
            world.cell.fault(fault[(seed * 3 + round) as usize % 4].on(verb, "*").times(1 + seed % 2));
            match (seed + round) % 5 {
                0 => world.scale(1 + (round % 4)),
                1 => world.release(&round.to_string()),
                2 => {
                    world.cell.compact();
                    world.cell.break_watches();
                }
                3 => world.names().iter().filter(|n| !n.starts_with('-')).for_each(|n| world.ready(n)),
                _ => {}
            }
            quiet(3).await;
        }
        world.cell.clear_faults();
        world.scale(3);
        quiet(600).await;
        world.settle().await;
        assert_eq!(world.names(), ["web-0", "web-1", "web-2"], "seed {seed}");
        assert_eq!(world.wd()["status"]["readyReplicas"], 3, "seed {seed}");
        let from = position(&world.cell);
        quiet(600).await;
        assert!(asked(&world.cell, from).is_empty(), "I7, seed {seed}: {:?}", asked(&world.cell, from));
        run.stop().await;
    }
}

/// A cell whose CRD is an older one.
#[tokio::test(start_paused = true)]
async fn i7_a_status_that_is_pruned_is_not_written_again_also_after_a_restart() {
    use fedhub_fake_apiserver::{ApiServer, Resource, resource};
    let pruning =
        Resource::custom("compute.datumapis.com", "v1alpha", "WorkloadDeployment", "workloaddeployments")
            .with_status()
            .pruning(|wd| {
                if let Some(status) = wd["status"].as_object_mut() {
                    status.remove("updatedReplicas");
                }
            });
    let cell = ApiServer::builder("cell").resources(resource::cell()).resource(pruning).build();
    let world = World { cell, provided: false };
    world.cell.put(wd(WD, 1)).unwrap();
    let run = world.run(ALONE);
    world.settle().await;
    let from = position(&world.cell);
    world.bend(json!({"metadata": {"labels": {"mine": "yes"}}}));
    quiet(600).await;
    assert!(asked(&world.cell, from).is_empty(), "{:?}", asked(&world.cell, from));
    run.stop().await;
    let run = world.run(ALONE);
    quiet(600).await;
    assert_eq!(asked(&world.cell, from), ["update workloaddeployments/status/web (dry)"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn u3_a_wd_tells_each_turn_once_and_none_after_a_restart() {
    let world = World::provided(2);
    let run = world.run(ALONE);
    world.settle().await;
    assert_eq!(world.events(), [], "conditions alone report that all is well");
    world.say("web-1", "False", "ImageUnavailable");
    quiet(60).await;
    let image = ("ImageUnavailable".to_owned(), 1);
    assert_eq!(world.events(), std::slice::from_ref(&image));
    run.stop().await;
    let run = world.run(ALONE);
    quiet(600).await;
    assert_eq!(world.events(), std::slice::from_ref(&image), "I7");
    world.say("web-1", "True", "Available");
    quiet(60).await;
    let over = ("ReplicasAvailable".to_owned(), 1);
    assert!(world.events().len() == 2 && world.events().contains(&over), "{:?}", world.events());

    // One that does not go is reported beside all else.
    world.scale(1);
    world.settle().await;
    world.say("web-1", "False", "TerminationDeadlineExceeded");
    quiet(60).await;
    assert!(world.events().contains(&("TerminationDeadlineExceeded".to_owned(), 1)), "{:?}", world.events());
    let overdue = condition(&world.wd(), "TerminationOverdue");
    assert_eq!(
        (&overdue["status"], &overdue["reason"]),
        (&json!("True"), &json!("TerminationDeadlineExceeded"))
    );
    world.release_terminating();
    world.settle().await;
    assert_eq!(condition(&world.wd(), "TerminationOverdue"), json!(null), "it is gone");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn u1_what_the_schema_says_of_a_wd_is_replaced() {
    let world = World::with_replicas(1);
    let kinds = || -> Vec<String> {
        let all = world.wd()["status"]["conditions"].as_array().cloned().unwrap_or_default();
        all.iter().map(|c| c["type"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(kinds(), ["Available", "ReplicasReady", "Federated"]);
    let run = world.run(ALONE);
    world.settle().await;
    assert_eq!(kinds(), ["Available", "ReplicasReady"], "how far it has come is the project's to know");
    run.stop().await;
}

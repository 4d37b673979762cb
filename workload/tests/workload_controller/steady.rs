//! I7 and the cost of a Workload.

use fedhub_fake_apiserver::Resource;
use serde_json::json;

use crate::workload_controller::support::*;

#[tokio::test(start_paused = true)]
async fn i7_a_workload_costs_its_writes_and_a_read_that_tells_who_wrote_it() {
    let world = World::new();
    let run = world.run();
    quiet(5).await;
    let from = position(&world.project);
    world.put("web", &["DFW", "ORD"]);
    quiet(60).await;
    let history = "compute.datumapis.com-revision-history.web";
    assert_eq!(
        asked(&world.project, from),
        [
            "get workloads/web".to_owned(),
            format!("create configmaps/{history}"),
            "patch workloads/web".to_owned(),
            "create workloaddeployments/web-us-dfw".to_owned(),
            "create workloaddeployments/web-us-ord".to_owned(),
            "update workloads/status/web".to_owned(),
        ]
    );
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i7_a_restart_on_an_unchanged_world_asks_nothing() {
    let world = World::new();
    let run = world.run();
    for n in 0..5 {
        world.put(&format!("web-{n}"), &["DFW", "ORD"]);
    }
    quiet(5).await;
    for wd in world.wds() {
        world.report(&wd, 2, ("True", "StableInstanceFound", "1/1 instances are ready"));
    }
    quiet(5).await;
    // It blocks nothing that is complete.
    let pending = ("False", "PendingQuota", "no quota. Action required by the user: ask");
    world.report("web-0-us-dfw", 2, pending);
    quiet(5).await;
    run.stop().await;
    let from = position(&world.project);
    let run = world.run();
    quiet(600).await;
    assert_eq!(asked(&world.project, from), [""; 0]);
    assert_eq!(run.metrics.reconciles_skipped.with_label_values(&["workloads"]).get(), 5);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i1_i7_what_a_plane_makes_of_a_write_is_not_written_again() {
    // The plane's Workloads know less than what is reported on them.
    let pruning =
        Resource::custom(GROUP, "v1alpha", "Workload", "workloads").with_status().pruning(|workload| {
            if let Some(status) = workload["status"].as_object_mut() {
                status.remove("observedGeneration");
            }
        });
    let world = World::serving(pruning);
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(60).await;
    let from = position(&world.project);
    world.report("web-us-dfw", 1, ("True", "A", "b"));
    quiet(60).await;
    assert_eq!(writes(&world.project, from), ["update workloads/status/web"]);
    let from = position(&world.project);
    quiet(600).await;
    assert_eq!(writes(&world.project, from), [""; 0]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_plane_that_serves_no_workloads_is_in_sync() {
    let world = World::new();
    let bare = fedhub_fake_apiserver::ApiServer::project_plane("beta");
    let run = world.run();
    run.engage(&plane_name("beta"), client(&bare));
    quiet(5).await;
    assert!(run.engaged(&plane_name("beta")).is_some());
    let stray = json!({"apiVersion": API, "kind": "WorkloadDeployment",
        "metadata": {"namespace": SPACE, "name": "mine"}, "spec": {"cityCode": "DFW"}});
    bare.put(stray).unwrap();
    quiet(5).await;
    assert_eq!(bare.names("WorkloadDeployment").len(), 1);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i1_i7_a_deployment_that_the_plane_stores_otherwise_is_settled() {
    let world = World::new();
    let pruning = Resource::custom(GROUP, "v1alpha", "WorkloadDeployment", "workloaddeployments");
    world.project.register(pruning.with_status().pruning(|wd| {
        if let Some(spec) = wd["spec"].as_object_mut() {
            spec.remove("placementName");
        }
    }));
    for _ in 0..2 {
        let run = world.run();
        world.put("web", &["DFW"]);
        quiet(60).await;
        assert_ne!(world.said("web", "Available").1, "", "the status is written");
        world.report("web-us-dfw", 1, ("True", "StableInstanceFound", "1/1 instances are ready"));
        quiet(60).await;
        assert_eq!(world.said("web", "Progressing").1, "RolloutComplete");
        let from = position(&world.project);
        quiet(600).await;
        assert_eq!(asked(&world.project, from), [""; 0]);
        run.stop().await;
    }
}

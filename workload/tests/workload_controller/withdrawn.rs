//! W9: Workloads of a project whose service is withdrawn, and granted again.

use fedhub_core::names::{FEDERATOR_FINALIZER, WORKLOAD_FINALIZER};
use fedhub_testing::{entitle, serve_entitlements, withdraw};
use serde_json::json;

use crate::workload_controller::support::*;

fn finalizers(world: &World) -> serde_json::Value {
    world.workload("web")["metadata"]["finalizers"].clone()
}

#[tokio::test(start_paused = true)]
async fn w9_a_workload_is_released_after_its_deployments_and_marked_again_with_the_service() {
    let world = World::new();
    serve_entitlements(&world.project);
    entitle(&world.project, &json!({"phase": "Active"}));
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    let held = json!({"metadata": {"finalizers": [FEDERATOR_FINALIZER]}});
    world.project.patch("WorkloadDeployment", SPACE, "web-us-dfw", &held).unwrap();
    withdraw(&world.project);
    quiet(120).await;
    assert_eq!(finalizers(&world), json!([WORKLOAD_FINALIZER]), "its WD may be on the hub");
    // What was told of it came before the last finalizer of ours went.
    world.report("web-us-dfw", 0, ("False", "ServiceNotActive", "the service is not active"));
    quiet(5).await;
    let released = json!({"metadata": {"finalizers": null}});
    world.project.patch("WorkloadDeployment", SPACE, "web-us-dfw", &released).unwrap();
    quiet(5).await;
    assert_eq!(finalizers(&world), json!(null));
    assert_eq!(world.said("web", "Available").1, "ServiceNotActive");
    assert_eq!(world.wds(), ["web-us-dfw"], "it stays");
    // What is written meanwhile waits.
    world.place("web", &["DFW", "ORD"]);
    world.patch("web", &json!({"spec": {"template": template("nginx:2")}}));
    quiet(600).await;
    assert_eq!(world.said("web", "Progressing").0, "False", "no rollout is under way");
    assert_eq!((world.wds(), finalizers(&world)), (vec!["web-us-dfw".to_owned()], json!(null)));
    entitle(&world.project, &json!({"phase": "Active"}));
    quiet(5).await;
    assert_eq!(world.wds(), ["web-us-dfw", "web-us-ord"]);
    assert_eq!(finalizers(&world), json!([WORKLOAD_FINALIZER]));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w9_a_workload_that_is_written_while_the_service_is_withdrawn_says_so() {
    let world = World::new();
    serve_entitlements(&world.project);
    entitle(&world.project, &json!({"phase": "Active"}));
    let run = world.run();
    quiet(5).await;
    withdraw(&world.project);
    quiet(120).await;
    let mut web = workload("web", &["DFW", "LHR"]);
    web["spec"]["placements"][0]["scaleSettings"]["minReplicas"] = json!(2);
    world.project.put(web).unwrap();
    quiet(5).await;
    let (status, reason, message) = world.said("web", "Available");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "ServiceNotActive"));
    assert!(message.contains("Action required by the user: activate the service"), "{message}");
    assert_eq!(world.said("web", "Progressing").1, "NoDeployments");
    assert_eq!((world.wds(), finalizers(&world)), (vec![], json!(null)));
    entitle(&world.project, &json!({"phase": "Active"}));
    quiet(5).await;
    assert_eq!(
        (world.wds(), world.said("web", "Progressing").0),
        (vec!["web-us-dfw".to_owned()], "True".to_owned())
    );
    run.stop().await;
}

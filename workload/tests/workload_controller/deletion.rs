//! W2: a Workload goes after its WDs.

use fedhub_core::names::{FEDERATOR_FINALIZER, WORKLOAD_FINALIZER, WORKLOAD_UID};
use fedhub_fake_apiserver::Fault;
use serde_json::json;

use crate::workload_controller::support::*;

#[tokio::test(start_paused = true)]
async fn w2_i3_the_finalizer_is_released_after_the_last_deployment_is_gone() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW", "ORD"]);
    quiet(5).await;
    assert_eq!(world.workload("web")["metadata"]["finalizers"], json!([WORKLOAD_FINALIZER]));
    let held = json!({"metadata": {"finalizers": [FEDERATOR_FINALIZER]}});
    world.project.patch("WorkloadDeployment", SPACE, "web-us-dfw", &held).unwrap();
    world.project.delete("Workload", SPACE, "web").unwrap();
    quiet(60).await;
    assert_eq!(world.wds(), ["web-us-dfw"], "the other one was not held");
    assert!(world.project.get("Workload", SPACE, "web").is_some(), "a WD is left");
    let from = position(&world.project);
    quiet(600).await;
    assert_eq!(asked(&world.project, from), [""; 0], "waiting costs nothing");
    let released = json!({"metadata": {"finalizers": null}});
    world.project.patch("WorkloadDeployment", SPACE, "web-us-dfw", &released).unwrap();
    quiet(5).await;
    assert!(world.project.get("Workload", SPACE, "web").is_none());
    assert_eq!(world.wds(), [""; 0]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w2_a_workload_deleted_while_the_process_was_away_goes_after_its_deployments() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    run.stop().await;
    world.project.delete("Workload", SPACE, "web").unwrap();
    let run = world.run();
    quiet(5).await;
    assert!(world.project.get("Workload", SPACE, "web").is_none());
    assert_eq!(world.wds(), [""; 0]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i9_w2_the_finalizers_of_others_stand() {
    let world = World::new();
    let mut workload = workload("web", &["DFW"]);
    workload["metadata"]["finalizers"] = json!(["example.com/theirs"]);
    world.project.put(workload).unwrap();
    let run = world.run();
    quiet(5).await;
    assert_eq!(
        world.workload("web")["metadata"]["finalizers"],
        json!(["example.com/theirs", WORKLOAD_FINALIZER])
    );
    world.project.delete("Workload", SPACE, "web").unwrap();
    quiet(5).await;
    assert_eq!(world.workload("web")["metadata"]["finalizers"], json!(["example.com/theirs"]));
    assert_eq!(world.wds(), [""; 0], "it is not made again");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w2_a_deployment_that_names_another_workload_is_waited_for_without_cost() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    let edit = json!({"spec": {"workloadRef": {"uid": "another"}}});
    world.project.patch("WorkloadDeployment", SPACE, "web-us-dfw", &edit).unwrap();
    quiet(5).await;
    world.project.delete("Workload", SPACE, "web").unwrap();
    quiet(5).await;
    assert!(world.project.get("Workload", SPACE, "web").is_some(), "it still owns one");
    let (_, reason, message) = world.said("web", "Progressing");
    assert_eq!(reason, "Terminating");
    assert!(message.contains("\"web-us-dfw\"") && message.contains("spec.workloadRef"), "{message}");
    let from = position(&world.project);
    quiet(600).await;
    assert_eq!((asked(&world.project, from), run.failed("workloads")), (Vec::new(), 0));
    world.project.delete("WorkloadDeployment", SPACE, "web-us-dfw").unwrap();
    quiet(5).await;
    assert!(world.project.get("Workload", SPACE, "web").is_none());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w2_a_deployment_is_deleted_once_though_its_watch_lags() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW", "ORD"]);
    quiet(5).await;
    world.project.fault(Fault::Hang.on("watch", "workloaddeployments"));
    let from = position(&world.project);
    world.project.delete("Workload", SPACE, "web").unwrap();
    quiet(5).await;
    let mut deleted = writes(&world.project, from);
    deleted.retain(|it| it.starts_with("delete"));
    assert_eq!(deleted, ["delete workloaddeployments/web-us-dfw", "delete workloaddeployments/web-us-ord"]);
    assert!(world.project.get("Workload", SPACE, "web").is_none());
    assert_eq!(run.failed("workloads"), 0);
    run.stop().await;
}

/// A WD of a Workload as another process, or this one before a restart, has made it.
fn put_deployment(world: &World, city: &str) {
    let mut other = world.wd("web-us-dfw").unwrap();
    let metadata = other["metadata"].take();
    other["metadata"] = json!({"namespace": SPACE, "name": format!("web-us-{}", city.to_lowercase()),
        "labels": metadata["labels"], "ownerReferences": metadata["ownerReferences"]});
    other["spec"]["cityCode"] = json!(city);
    world.project.put(other).unwrap();
}

#[tokio::test(start_paused = true)]
async fn w2_i3_a_deployment_that_the_watch_does_not_show_holds_the_workload() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    let fault = world.project.fault(Fault::Hang.on("watch", "workloaddeployments"));
    put_deployment(&world, "ORD");
    let held = json!({"metadata": {"finalizers": [FEDERATOR_FINALIZER]}});
    world.project.patch("WorkloadDeployment", SPACE, "web-us-ord", &held).unwrap();
    world.project.delete("Workload", SPACE, "web").unwrap();
    quiet(60).await;
    assert_eq!(world.wds(), ["web-us-ord"]);
    assert!(world.project.get("Workload", SPACE, "web").is_some(), "a WD is left");
    world.project.clear_fault(fault);
    world
        .project
        .patch("WorkloadDeployment", SPACE, "web-us-ord", &json!({"metadata": {"finalizers": null}}))
        .unwrap();
    until("all to go", || world.project.get("Workload", SPACE, "web").is_none()).await;
    assert_eq!(world.wds(), [""; 0]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w2_i6_a_label_of_a_tenant_does_not_hold_a_workload() {
    let world = World::new();
    let run = world.run();
    let workload = world.put("web", &["DFW"]);
    quiet(5).await;
    let labels = json!({WORKLOAD_UID: uid(&workload)});
    world
        .project
        .put(json!({"apiVersion": API, "kind": "WorkloadDeployment", "spec": {"cityCode": "DFW"},
            "metadata": {"namespace": SPACE, "name": "mine", "labels": labels}}))
        .unwrap();
    world.project.delete("Workload", SPACE, "web").unwrap();
    quiet(60).await;
    assert!(world.project.get("Workload", SPACE, "web").is_none());
    assert_eq!(world.wds(), ["mine"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i12_w2_nothing_is_deleted_for_a_project_that_is_suspended() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    run.suspend(&plane_name("alpha"), true);
    let from = position(&world.project);
    world.project.delete("Workload", SPACE, "web").unwrap();
    quiet(60).await;
    assert_eq!(writes(&world.project, from), [""; 0]);
    run.suspend(&plane_name("alpha"), false);
    until("it to go", || world.project.get("Workload", SPACE, "web").is_none()).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w2_a_finalizer_that_was_taken_off_by_hand_is_put_back() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    world.patch("web", &json!({"metadata": {"finalizers": null}}));
    quiet(5).await;
    assert_eq!(world.workload("web")["metadata"]["finalizers"], json!([WORKLOAD_FINALIZER]));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w2_a_refused_deletion_is_tried_once_in_an_attempt_and_told() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    let fault = world.project.fault(Fault::Status(403).on("delete", "workloaddeployments"));
    let from = position(&world.project);
    world.project.delete("Workload", SPACE, "web").unwrap();
    quiet(30).await;
    let mut deletes = asked(&world.project, from);
    deletes.retain(|it| it.starts_with("delete"));
    assert!(!deletes.is_empty());
    assert_eq!(deletes.len() as u64, run.failed("workloads"));
    let (status, reason, message) = world.said("web", "Progressing");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "Terminating"));
    assert!(message.contains("\"web-us-dfw\"") && message.contains("failed to delete"), "{message}");
    world.project.clear_fault(fault);
    until("it to go", || world.project.get("Workload", SPACE, "web").is_none()).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w2_i11_what_holds_a_terminating_workload_is_named_once() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW", "ORD"]);
    quiet(5).await;
    let held = json!({"metadata": {"finalizers": [FEDERATOR_FINALIZER]}});
    world.project.patch("WorkloadDeployment", SPACE, "web-us-dfw", &held).unwrap();
    world.project.delete("Workload", SPACE, "web").unwrap();
    quiet(60).await;
    let said = world.said("web", "Progressing");
    let waiting = "Waiting for WorkloadDeployment \"web-us-dfw\" to be deleted";
    assert_eq!((said.0.as_str(), said.1.as_str(), said.2.as_str()), ("False", "Terminating", waiting));
    run.stop().await;
    let from = position(&world.project);
    let run = world.run();
    quiet(600).await;
    assert_eq!(writes(&world.project, from), [""; 0], "it is said already (I7)");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w2_a_deployment_of_ours_is_found_behind_one_that_names_another_workload() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    let fault = world.project.fault(Fault::Hang.on("watch", "workloaddeployments"));
    put_deployment(&world, "ATL");
    let edit = json!({"spec": {"workloadRef": {"uid": "another"}}});
    world.project.patch("WorkloadDeployment", SPACE, "web-us-atl", &edit).unwrap();
    put_deployment(&world, "ORD");
    world.project.delete("Workload", SPACE, "web").unwrap();
    until("ours to go", || world.wds() == ["web-us-atl"]).await;
    world.project.clear_fault(fault);
    quiet(60).await;
    assert!(world.project.get("Workload", SPACE, "web").is_some(), "it still owns one");
    run.stop().await;
}

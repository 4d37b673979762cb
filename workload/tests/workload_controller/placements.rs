//! W1: a WD for each placement and city, and what becomes of it when either is edited.

use fedhub_core::names::{RESTARTED_AT, SERVICE_NAME, WORKLOAD_NAME, WORKLOAD_UID};
use fedhub_fake_apiserver::Fault;
use serde_json::json;

use crate::workload_controller::support::*;

const READY: (&str, &str, &str) = ("True", "StableInstanceFound", "1/1 instances are ready");

#[tokio::test(start_paused = true)]
async fn w1_each_placement_and_city_has_a_deployment() {
    let world = World::new();
    let run = world.run();
    quiet(5).await;
    let workload = world.put("web", &["DFW", "ORD"]);
    quiet(5).await;
    assert_eq!(world.wds(), ["web-us-dfw", "web-us-ord"]);
    let wd = world.wd("web-us-ord").unwrap();
    assert_eq!(wd["spec"]["cityCode"], "ORD");
    assert_eq!(wd["spec"]["placementName"], "us");
    assert_eq!(wd["spec"]["workloadRef"], json!({"name": "web", "uid": uid(&workload)}));
    assert_eq!(wd["spec"]["template"], world.workload("web")["spec"]["template"]);
    assert_eq!(wd["spec"].get("replicas"), None, "the scale subresource's");
    let labels = &wd["metadata"]["labels"];
    let owner = &wd["metadata"]["ownerReferences"][0];
    assert_eq!(labels[WORKLOAD_UID], uid(&workload).as_str());
    assert_eq!((&labels[WORKLOAD_NAME], &labels[SERVICE_NAME.0]), (&json!("web"), &json!(SERVICE_NAME.1)));
    assert_eq!((&owner["uid"], &owner["controller"]), (&json!(uid(&workload)), &json!(true)));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w1_an_edit_of_placements_leaves_the_other_deployments_as_they_are() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    let before = world.wd("web-us-dfw").unwrap();
    world.place("web", &["DFW", "ORD"]);
    quiet(5).await;
    assert_eq!(world.wds(), ["web-us-dfw", "web-us-ord"]);
    assert_eq!(world.wd("web-us-dfw").unwrap(), before, "not even written");
    world.report("web-us-ord", 1, READY);
    world.place("web", &["ORD"]);
    quiet(5).await;
    assert_eq!(world.wds(), ["web-us-ord"]);
    // A new template reaches what is there.
    let ord = world.wd("web-us-ord").unwrap();
    world.patch("web", &json!({"spec": {"template": template("nginx:2")}}));
    quiet(5).await;
    let after = world.wd("web-us-ord").unwrap();
    assert_eq!(uid(&after), uid(&ord));
    assert_eq!(after["spec"]["template"], template("nginx:2"));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w1_one_city_is_restarted_alone_and_a_later_restart_of_all_reaches_it() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW", "ORD"]);
    quiet(5).await;
    let restart = |time: &str| {
        let annotations = json!({RESTARTED_AT: time});
        json!({"spec": {"template": {"metadata": {"annotations": annotations}}}})
    };
    let restarted = |name: &str| {
        let wd = world.wd(name).unwrap();
        wd["spec"]["template"]["metadata"]["annotations"][RESTARTED_AT].clone()
    };
    let before = world.wd("web-us-ord").unwrap();
    let one = "2026-01-02T00:00:00Z";
    let all = "2026-01-03T00:00:00Z";
    world.project.patch("WorkloadDeployment", SPACE, "web-us-dfw", &restart(one)).unwrap();
    quiet(5).await;
    assert_eq!((restarted("web-us-dfw"), world.wd("web-us-ord").unwrap()), (json!(one), before));
    // A new template keeps it: nothing restarts twice.
    world.patch("web", &json!({"spec": {"template": template("nginx:2")}}));
    quiet(5).await;
    let wd = world.wd("web-us-dfw").unwrap();
    assert_eq!(wd["spec"]["template"]["spec"], template("nginx:2")["spec"]);
    assert_eq!(restarted("web-us-dfw"), one);
    world.report("web-us-dfw", 1, READY);
    quiet(5).await;
    world.report("web-us-ord", 1, READY);
    world.patch("web", &restart(all));
    quiet(5).await;
    world.report("web-us-dfw", 1, READY);
    quiet(5).await;
    assert_eq!((restarted("web-us-dfw"), restarted("web-us-ord")), (json!(all), json!(all)));
    let mark = world.project.mark();
    quiet(60).await;
    assert!(world.project.writes_since(mark).is_empty());
    // By a clock that is behind, it is a restart all the same.
    let behind = "2026-01-01T00:00:00Z";
    world.report("web-us-ord", 1, READY);
    world.patch("web", &restart(behind));
    quiet(5).await;
    world.report("web-us-dfw", 1, READY);
    quiet(5).await;
    assert_eq!((restarted("web-us-dfw"), restarted("web-us-ord")), (json!(behind), json!(behind)));
    world.project.patch("WorkloadDeployment", SPACE, "web-us-dfw", &restart(one)).unwrap();
    quiet(5).await;
    assert_eq!((restarted("web-us-dfw"), restarted("web-us-ord")), (json!(one), json!(behind)));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w1_what_is_edited_or_deleted_by_hand_is_put_right() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    let before = world.wd("web-us-dfw").unwrap();
    let edits = [
        json!({"spec": {"template": template("hand:1")}}),
        json!({"spec": {"cityCode": "ORD"}}),
        json!({"metadata": {"labels": {WORKLOAD_UID: null}}}),
        json!({"metadata": {"ownerReferences": null}}),
    ];
    for edit in edits {
        world.project.patch("WorkloadDeployment", SPACE, "web-us-dfw", &edit).unwrap();
        quiet(5).await;
        let after = world.wd("web-us-dfw").unwrap();
        assert_eq!((&after["spec"], uid(&after)), (&before["spec"], uid(&before)), "{edit}");
        assert_eq!(after["metadata"]["labels"], before["metadata"]["labels"], "{edit}");
        assert_eq!(after["metadata"]["ownerReferences"], before["metadata"]["ownerReferences"], "{edit}");
    }
    // What others write stands (I9).
    let others = json!({"metadata": {"labels": {"mine": "1"}}, "spec": {"replicas": 4}});
    world.project.patch("WorkloadDeployment", SPACE, "web-us-dfw", &others).unwrap();
    world.project.delete("WorkloadDeployment", SPACE, "web-us-dfw").unwrap();
    quiet(5).await;
    let again = world.wd("web-us-dfw").unwrap();
    assert_ne!(uid(&again), uid(&before));
    assert_eq!(again["spec"], before["spec"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i9_w1_the_number_of_the_scale_subresource_stands_until_the_workload_says_another() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    let scaled = json!({"spec": {"replicas": 4}});
    world.project.patch("WorkloadDeployment", SPACE, "web-us-dfw", &scaled).unwrap();
    world.patch("web", &json!({"spec": {"template": template("nginx:2")}}));
    quiet(5).await;
    let wd = world.wd("web-us-dfw").unwrap();
    assert_eq!((&wd["spec"]["replicas"], &wd["spec"]["template"]), (&json!(4), &template("nginx:2")));
    let mut placements = workload("web", &["DFW"])["spec"]["placements"].clone();
    placements[0]["scaleSettings"]["minReplicas"] = json!(2);
    world.patch("web", &json!({"spec": {"placements": placements}}));
    quiet(5).await;
    assert_eq!(world.wd("web-us-dfw").unwrap()["spec"].get("replicas"), None);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w1_a_deployment_of_another_workload_is_not_touched() {
    let world = World::new();
    let mut foreign = json!({"apiVersion": API, "kind": "WorkloadDeployment",
        "metadata": {"namespace": SPACE, "name": "web-us-dfw"}});
    foreign["spec"] = json!({"cityCode": "DFW", "placementName": "us", "scaleSettings": {"minReplicas": 1},
        "template": template("theirs:1"), "workloadRef": {"name": "web", "uid": "another"}});
    let foreign = world.project.put(foreign).unwrap();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    assert_eq!(world.wd("web-us-dfw").unwrap(), foreign);
    let (status, reason, message) = world.said("web", "Available");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "DeploymentNameTaken"));
    assert!(message.contains("\"web-us-dfw\""), "{message}");
    // Nor when the Workload goes.
    world.project.delete("Workload", SPACE, "web").unwrap();
    quiet(5).await;
    assert_eq!(world.wd("web-us-dfw").unwrap(), foreign);
    assert!(world.project.get("Workload", SPACE, "web").is_none());
    // It is made where the other one has gone.
    world.put("web", &["DFW"]);
    quiet(5).await;
    world.project.delete("WorkloadDeployment", SPACE, "web-us-dfw").unwrap();
    quiet(5).await;
    assert_eq!(
        world.wd("web-us-dfw").unwrap()["spec"]["workloadRef"]["uid"],
        uid(&world.workload("web")).as_str()
    );
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w1_a_watch_that_lags_has_no_deployment_deleted() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    // Its status cannot be written, so that it is kept as it was seen last.
    world.project.fault(Fault::Status(503).on("update", "workloads/status"));
    world.report("web-us-dfw", 1, ("True", "StableInstanceFound", "1/1 instances are ready"));
    quiet(2).await;
    // The watch of Workloads stands still, and another process has made what the newest spec wants.
    world.project.fault(Fault::Hang.on("watch", "workloads"));
    world.place("web", &["DFW", "ORD"]);
    let mut other = world.wd("web-us-dfw").unwrap();
    other["metadata"] = json!({"namespace": SPACE, "name": "web-us-ord", "labels": other["metadata"]["labels"],
        "ownerReferences": other["metadata"]["ownerReferences"]});
    other["spec"]["cityCode"] = json!("ORD");
    world.project.put(other).unwrap();
    quiet(5).await;
    assert_eq!(world.wds(), ["web-us-dfw", "web-us-ord"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w1_a_deployment_whose_successor_is_refused_stays_in_the_same_pass() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    let fault = world.project.fault(Fault::Status(403).on("create", "workloaddeployments"));
    let mut placements = workload("web", &["DFW"])["spec"]["placements"].clone();
    placements[0]["name"] = json!("eu");
    world.patch("web", &json!({"spec": {"placements": placements}}));
    quiet(60).await;
    assert_eq!(world.wds(), ["web-us-dfw"]);
    world.project.clear_fault(fault);
    until("the new one beside it", || world.wds() == ["web-eu-dfw", "web-us-dfw"]).await;
    world.report("web-eu-dfw", 1, READY);
    until("the new one in its place", || world.wds() == ["web-eu-dfw"]).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w1_one_city_that_is_refused_holds_up_no_other() {
    let world = World::new();
    let run = world.run();
    quiet(5).await;
    let fault = world.project.fault(Fault::Status(403).on("create", "workloaddeployments").times(1));
    let from = position(&world.project);
    world.put("web", &["DFW", "ORD"]);
    until("both are there", || world.wds().len() == 2).await;
    world.project.clear_fault(fault);
    let mut created = asked(&world.project, from);
    created.retain(|it| it.contains("create workloaddeployments"));
    let expected =
        ["web-us-dfw", "web-us-ord", "web-us-dfw"].map(|wd| format!("create workloaddeployments/{wd}"));
    assert_eq!(created, expected, "the other one in the same pass");
    run.stop().await;
}

//! W1, W10: what the Go manager left is taken over, and what is not the Workload's is not.

use fedhub_core::names::{
    CURRENT_REVISION, FEDERATOR_FINALIZER, INSTANCE_CITY, SERVICE_NAME, UPSTREAM_NAMESPACE,
    WORKLOAD_FINALIZER, WORKLOAD_UID, revision_history,
};
use fedhub_core::object::Kind;
use fedhub_fake_apiserver::Fault;
use serde_json::{Value, json};

use crate::workload_controller::support::*;

/// A WD as the Go manager makes it.
fn deployment(of: &Value, city: &str) -> Value {
    let labels = json!({WORKLOAD_UID: uid(of), INSTANCE_CITY: city, SERVICE_NAME.0: SERVICE_NAME.1});
    let owner = json!({"apiVersion": API, "kind": "Workload", "name": "web", "uid": uid(of), "controller": true,
        "blockOwnerDeletion": true});
    json!({
        "apiVersion": API, "kind": "WorkloadDeployment",
        "metadata": {"namespace": SPACE, "name": format!("web-us-{}", city.to_lowercase()), "labels": labels,
            "ownerReferences": [owner], "finalizers": [FEDERATOR_FINALIZER]},
        "spec": {"workloadRef": {"name": "web", "uid": uid(of)}, "placementName": "us", "cityCode": city,
            "scaleSettings": {"minReplicas": 1}, "replicas": 1, "template": of["spec"]["template"]},
    })
}

#[tokio::test(start_paused = true)]
async fn w1_w10_what_the_go_manager_left_is_adopted() {
    let world = World::new();
    let mut web = workload("web", &["DFW", "ORD"]);
    web["metadata"]["finalizers"] = json!([WORKLOAD_FINALIZER]);
    web["metadata"]["annotations"] = json!({CURRENT_REVISION: "7"});
    let web = world.project.put(web).unwrap();
    let before = ["DFW", "ORD"].map(|city| world.project.put(deployment(&web, city)).unwrap());
    let revision = json!({"rev": 7, "timestamp": "2026-01-02T03:04:05Z", "image": "nginx:1", "changes": "",
        "actor": "", "templateHash": "", "spec": web["spec"].to_string()});
    let history = world
        .project
        .put(json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"7": revision.to_string()},
            "metadata": {"namespace": SPACE, "name": revision_history("web")}}))
        .unwrap();
    let from = position(&world.project);
    let run = world.run();
    quiet(60).await;
    assert_eq!(
        writes(&world.project, from),
        [
            "patch workloads/web",
            "update workloaddeployments/web-us-dfw",
            "update workloaddeployments/web-us-ord",
            "update workloads/status/web"
        ]
    );
    for before in before {
        let after = world.wd(before["metadata"]["name"].as_str().unwrap()).unwrap();
        assert_eq!((uid(&after), &after["spec"]), (uid(&before), &before["spec"]));
        for kept in ["ownerReferences", "finalizers"] {
            assert_eq!(after["metadata"][kept], before["metadata"][kept]);
        }
    }
    let now = world.project.get("ConfigMap", SPACE, &revision_history("web").unwrap()).unwrap();
    assert_eq!(now, history, "the newest revision has the template");
    assert_eq!(world.workload("web")["metadata"]["annotations"][CURRENT_REVISION], "7");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w1_a_former_controller_of_a_deployment_gives_way() {
    let world = World::new();
    let web = world.put("web", &["DFW"]);
    let mut wd = deployment(&web, "DFW");
    let owner = |name: &str, controller: bool| {
        let metadata = json!({"namespace": SPACE, "name": name});
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        let map = world.project.put(map).unwrap();
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid(&map), "controller": controller})
    };
    wd["metadata"]["ownerReferences"] = json!([owner("x", true), owner("y", false)]);
    world.project.put(wd).unwrap();
    let run = world.run();
    quiet(5).await;
    let owners = world.wd("web-us-dfw").unwrap()["metadata"]["ownerReferences"].clone();
    let names: Vec<_> = owners.as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    assert_eq!(names, ["y", "web"], "one object has one controller");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w1_i5_a_deployment_that_took_the_place_of_ours_is_not_deleted() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW", "ORD"]);
    quiet(5).await;
    let fault = world.project.fault(Fault::Hang.on("watch", "workloaddeployments"));
    world.project.delete("WorkloadDeployment", SPACE, "web-us-dfw").unwrap();
    let mut foreign = deployment(&world.workload("web"), "DFW");
    foreign["metadata"] = json!({"namespace": SPACE, "name": "web-us-dfw"});
    foreign["spec"]["workloadRef"]["uid"] = json!("another");
    let foreign = world.project.put(foreign).unwrap();
    world.place("web", &["ORD"]);
    quiet(60).await;
    assert_eq!(world.wd("web-us-dfw").unwrap(), foreign);
    world.project.clear_fault(fault);
    quiet(60).await;
    assert_eq!(world.wd("web-us-dfw").unwrap(), foreign);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w1_a_deployment_that_is_being_deleted_is_not_written() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    let held = json!({"metadata": {"finalizers": [FEDERATOR_FINALIZER]}});
    world.project.patch("WorkloadDeployment", SPACE, "web-us-dfw", &held).unwrap();
    world.project.delete("WorkloadDeployment", SPACE, "web-us-dfw").unwrap();
    world.report("web-us-dfw", 2, ("True", "StableInstanceFound", "2/2 instances are ready"));
    quiet(5).await;
    let before = world.wd("web-us-dfw").unwrap();
    world.patch("web", &json!({"spec": {"template": template("nginx:2")}}));
    quiet(60).await;
    assert_eq!(world.wd("web-us-dfw").unwrap(), before);
    assert_eq!(world.said("web", "Progressing").0, "True", "the new template is nowhere yet");
    // It is made anew from the newest template.
    let released = json!({"metadata": {"finalizers": null}});
    world.project.patch("WorkloadDeployment", SPACE, "web-us-dfw", &released).unwrap();
    until("the new one", || world.wd("web-us-dfw").is_some_and(|wd| uid(&wd) != uid(&before))).await;
    assert_eq!(world.wd("web-us-dfw").unwrap()["spec"]["template"], template("nginx:2"));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w1_a_name_that_a_stranger_had_is_taken_once_it_is_free() {
    let world = World::new();
    let foreign = json!({"apiVersion": API, "kind": "WorkloadDeployment", "spec": {"cityCode": "DFW"},
        "metadata": {"namespace": SPACE, "name": "web-us-dfw"}});
    world.project.put(foreign).unwrap();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    assert_eq!(world.said("web", "Available").1, "DeploymentNameTaken");
    world.project.delete("WorkloadDeployment", SPACE, "web-us-dfw").unwrap();
    quiet(5).await;
    assert_eq!(
        world.wd("web-us-dfw").unwrap()["spec"]["workloadRef"]["uid"],
        uid(&world.workload("web")).as_str()
    );
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w1_a_name_that_another_workload_gives_up_is_taken() {
    let world = World::new();
    let placed = |workload: &str, placement: &str| {
        let mut of = self::workload(workload, &["DFW"]);
        of["spec"]["placements"][0]["name"] = json!(placement);
        world.project.put(of).unwrap()
    };
    let run = world.run();
    placed("web", "us-x");
    quiet(5).await;
    let other = placed("web-us", "x");
    quiet(5).await;
    assert_eq!(world.said("web-us", "Available").1, "DeploymentNameTaken");
    world.patch("web", &json!({"spec": {"placements": []}}));
    quiet(5).await;
    let of = world.wd("web-us-x-dfw").map(|wd| wd["spec"]["workloadRef"]["uid"].clone());
    assert_eq!(of, Some(json!(uid(&other))));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w1_a_name_that_a_deployment_of_the_cell_has_is_told_and_taken_once_it_is_free() {
    let world = World { single_cluster: true, ..World::new() };
    let labels = json!({UPSTREAM_NAMESPACE: "other"});
    let foreign = json!({"apiVersion": API, "kind": "WorkloadDeployment", "spec": {"cityCode": "DFW"},
        "metadata": {"namespace": SPACE, "name": "web-us-dfw", "labels": labels}});
    world.project.put(foreign).unwrap();
    let run = world.run();
    quiet(5).await;
    let from = position(&world.project);
    world.put("web", &["DFW", "ORD"]);
    quiet(60).await;
    let mut created = asked(&world.project, from);
    created.retain(|it| it == "create workloaddeployments/web-us-dfw");
    assert_eq!(created.len() as u64, run.failed("workloads"), "once in an attempt");
    assert_eq!(world.said("web", "Available").1, "DeploymentNameTaken");
    assert!(world.wd("web-us-ord").is_some());
    world.project.delete("WorkloadDeployment", SPACE, "web-us-dfw").unwrap();
    until("it is made", || world.wd("web-us-dfw").is_some_and(|wd| !wd["spec"]["workloadRef"].is_null()))
        .await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w1_a_deployment_that_is_gone_is_made_again_though_its_watch_lags() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    let before = world.wd("web-us-dfw").unwrap();
    world.project.fault(Fault::Hang.on("watch", "workloaddeployments"));
    world.project.delete("WorkloadDeployment", SPACE, "web-us-dfw").unwrap();
    // As the federator does.
    let alpha = run.engaged(&plane_name("alpha")).unwrap();
    alpha.store(Kind::WorkloadDeployment).release(SPACE, "web-us-dfw");
    world.patch("web", &json!({"spec": {"template": template("nginx:2")}}));
    quiet(5).await;
    let after = world.wd("web-us-dfw").unwrap();
    assert_ne!(uid(&after), uid(&before));
    assert_eq!((&after["spec"]["template"], run.failed("workloads")), (&template("nginx:2"), 0));
    run.stop().await;
}

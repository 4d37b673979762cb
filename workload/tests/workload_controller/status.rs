//! W3: the status of a Workload is that of its WDs.

use fedhub_core::object::Kind;
use fedhub_fake_apiserver::Fault;
use serde_json::json;

use crate::workload_controller::support::*;

const NEW: (&str, &str, &str) =
    ("False", "InstancesProvisioning", "Instances are on their way. No action required");
const IMAGE: (&str, &str, &str) = (
    "False",
    "ImageUnavailable",
    "no such image. Action required by the user: check the image's name and tag, and the pull secrets",
);
const READY: (&str, &str, &str) = ("True", "StableInstanceFound", "2/2 instances are ready");

#[tokio::test(start_paused = true)]
async fn w3_counters_and_conditions_roll_up() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW", "ORD"]);
    quiet(5).await;
    assert_eq!(world.said("web", "Available").1, "NoAvailablePlacements");
    assert_eq!(world.said("web", "Progressing").0, "True");
    world.report("web-us-dfw", 2, NEW);
    world.report("web-us-ord", 3, IMAGE);
    quiet(5).await;
    let status = &world.workload("web")["status"];
    assert_eq!(
        (&status["deployments"], &status["replicas"], &status["readyReplicas"]),
        (&json!(2), &json!(5), &json!(0))
    );
    assert_eq!(status["observedGeneration"], world.workload("web")["metadata"]["generation"]);
    let said = world.said("web", "Available");
    assert_eq!((said.0.as_str(), said.1.as_str(), said.2.as_str()), IMAGE, "the worst reason and its words");
    assert_eq!(status["placements"][0]["conditions"][0]["reason"], "NoAvailableDeployments");
    world.report("web-us-dfw", 2, READY);
    quiet(5).await;
    let status = &world.workload("web")["status"];
    assert_eq!((&status["readyReplicas"], &status["placements"][0]["readyReplicas"]), (&json!(2), &json!(2)));
    assert_eq!(world.said("web", "Available").1, "AvailablePlacementFound");
    assert_eq!(status["placements"][0]["conditions"][0]["reason"], "AvailableDeploymentFound");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w3_it_progresses_while_a_new_template_is_on_its_way() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    world.report("web-us-dfw", 2, READY);
    quiet(5).await;
    let (status, reason, _) = world.said("web", "Progressing");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "RolloutComplete"));
    world.patch("web", &json!({"spec": {"template": template("nginx:2")}}));
    quiet(5).await;
    let (status, reason, message) = world.said("web", "Progressing");
    assert_eq!((status.as_str(), reason.as_str()), ("True", "RolloutInProgress"));
    assert_eq!(message, "2 of 2 instances are on the newest template", "of the older generation");
    world
        .project
        .patch_status(
            "WorkloadDeployment",
            SPACE,
            "web-us-dfw",
            &json!({"observedGeneration": 2, "updatedReplicas": 1, "readyReplicas": 1}),
        )
        .unwrap();
    quiet(5).await;
    assert_eq!(world.said("web", "Progressing").2, "1 of 2 instances are on the newest template");
    world.report("web-us-dfw", 2, READY);
    quiet(5).await;
    assert_eq!(world.said("web", "Progressing").0, "False");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w3_placements_stand_in_the_specs_order() {
    let world = World::new();
    let mut web = workload("web", &["ORD"]);
    let scale = json!({"minReplicas": 1});
    web["spec"]["placements"] = json!([
        {"name": "west", "cityCodes": ["ORD"], "scaleSettings": scale},
        {"name": "east", "cityCodes": ["DFW"], "scaleSettings": scale},
    ]);
    world.project.put(web).unwrap();
    let run = world.run();
    quiet(5).await;
    let status = &world.workload("web")["status"];
    let names: Vec<_> =
        status["placements"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect();
    assert_eq!(names, ["west", "east"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i9_w3_conditions_of_others_stand_and_an_edit_of_ours_is_put_right() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    let mut status = world.workload("web")["status"].clone();
    let right = status["conditions"].clone();
    status["conditions"].as_array_mut().unwrap().push(condition("InstanceTypeDeprecated", "True", "A", "b"));
    world.project.patch_status("Workload", SPACE, "web", &status).unwrap();
    world.report("web-us-dfw", 2, READY);
    quiet(5).await;
    assert_eq!(world.said("web", "InstanceTypeDeprecated").0, "True");
    world
        .project
        .patch_status("Workload", SPACE, "web", &json!({"conditions": right, "replicas": 77}))
        .unwrap();
    quiet(5).await;
    assert_eq!(world.said("web", "Available").0, "True");
    assert_eq!(world.workload("web")["status"]["replicas"], 2);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w3_a_refused_update_does_not_hide_what_runs() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    world.report("web-us-dfw", 2, READY);
    quiet(5).await;
    world.project.fault(Fault::Status(422).on("update", "workloaddeployments"));
    world.patch("web", &json!({"spec": {"template": template("nginx:2")}}));
    quiet(5).await;
    let status = &world.workload("web")["status"];
    assert_eq!((&status["readyReplicas"], &status["placements"][0]["readyReplicas"]), (&json!(2), &json!(2)));
    let (stands, reason, message) = world.said("web", "Available");
    assert_eq!((stands.as_str(), reason.as_str()), ("True", "AvailablePlacementFound"));
    assert!(message.contains("workloaddeployments"), "and the refusal is named: {message}");
    assert_eq!(world.said("web", "Progressing").1, "RolloutInProgress");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i11_w3_a_workload_that_is_too_large_is_told_so_and_what_runs_stays() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    let before = world.wd("web-us-dfw").unwrap();
    world.patch("web", &json!({"spec": {"template": {"spec": {"text": "x".repeat(1 << 20)}}}}));
    quiet(5).await;
    let (status, reason, message) = world.said("web", "Available");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "ObjectTooLarge"));
    assert!(message.contains("1048576"), "{message}");
    assert_eq!(world.wd("web-us-dfw").unwrap(), before);
    let from = position(&world.project);
    quiet(600).await;
    assert_eq!(asked(&world.project, from), [""; 0], "said once");
    world.patch("web", &json!({"spec": {"template": {"spec": {"text": null}}}}));
    quiet(5).await;
    assert_ne!(world.said("web", "Available").1, "ObjectTooLarge");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w3_of_equal_reasons_the_first_city_by_name_is_quoted() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["ORD", "DFW"]);
    quiet(5).await;
    let said = |city: &str| format!("no such image in {city}. Action required by the user: check it");
    let report = |city: &str| {
        let name = format!("web-us-{}", city.to_lowercase());
        world.report(&name, 1, ("False", "ImageUnavailable", &said(city)));
    };
    report("ORD");
    quiet(5).await;
    assert_eq!(world.said("web", "Available").2, said("ORD"));
    report("DFW");
    quiet(5).await;
    assert_eq!(world.said("web", "Available").2, said("DFW"));
    // One that is not wanted any more and is still there counts.
    world.place("web", &["ORD"]);
    quiet(5).await;
    assert_eq!(world.said("web", "Available").2, said("ORD"));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w3_a_deployment_that_is_on_its_way_out_counts_until_it_is_gone() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW", "ORD"]);
    quiet(5).await;
    for wd in ["web-us-dfw", "web-us-ord"] {
        world.report(wd, 2, READY);
    }
    let held = json!({"metadata": {"finalizers": ["example.com/held"]}});
    world.project.patch("WorkloadDeployment", SPACE, "web-us-ord", &held).unwrap();
    world.place("web", &["DFW"]);
    quiet(5).await;
    let status = world.workload("web")["status"].clone();
    assert_eq!((&status["deployments"], &status["replicas"]), (&json!(2), &json!(4)));
    assert_eq!(status["placements"][0]["replicas"], 2);
    let released = json!({"metadata": {"finalizers": null}});
    world.project.patch("WorkloadDeployment", SPACE, "web-us-ord", &released).unwrap();
    quiet(5).await;
    assert_eq!(world.workload("web")["status"]["replicas"], 2);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w3_words_that_the_caches_do_not_know_yet_are_not_repeated() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    world.report("web-us-dfw", 2, IMAGE);
    quiet(5).await;
    let fault = world.project.fault(Fault::Hang.on("watch", "workloaddeployments"));
    world.report("web-us-dfw", 2, READY);
    // As the federator does: its words are read for the status.
    let alpha = run.engaged(&plane_name("alpha")).unwrap();
    alpha.store(Kind::WorkloadDeployment).release(SPACE, "web-us-dfw");
    let from = position(&world.project);
    let edited = json!({"conditions": [condition("Available", "False", "Edited", "by hand")]});
    world.project.patch_status("Workload", SPACE, "web", &edited).unwrap();
    quiet(60).await;
    let (status, reason, _) = world.said("web", "Available");
    assert_eq!((status.as_str(), reason.as_str()), ("True", "AvailablePlacementFound"));
    assert_eq!(writes(&world.project, from), ["update workloads/status/web"]);
    world.project.clear_fault(fault);
    until("the news", || world.said("web", "Available").0 == "True").await;
    run.stop().await;
}

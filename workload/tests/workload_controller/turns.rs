//! R1, R2, R4, R5, R6, R10: a new template goes from city to city, and what a city carries is put back.

use fedhub_core::names::{DEPLOYMENT_REVISION, ROLLOUT};
use fedhub_workload::workload_controller::Strategy;
use serde_json::{Value, json};

use crate::workload_controller::support::*;

const READY: (&str, &str, &str) = ("True", "StableInstanceFound", "1/1 instances are ready");
const UNREADY: (&str, &str, &str) = ("False", "InstancesProvisioning", "");
const BROKEN: (&str, &str, &str) = ("False", "ImageUnavailable", "no such image");

pub fn image(image: &str) -> Value {
    json!({"spec": {"template": template(image)}})
}

/// The images of the WDs of `web` in these cities.
pub fn images<const N: usize>(world: &World, cities: [&str; N]) -> [String; N] {
    cities.map(|city| {
        let wd = world.wd(&format!("web-us-{}", city.to_lowercase()));
        let containers =
            wd.map(|wd| wd["spec"]["template"]["spec"]["runtime"]["sandbox"]["containers"].clone());
        containers.map_or_else(|| "none".to_owned(), |it| it[0]["image"].as_str().unwrap().to_owned())
    })
}

/// `web` in these cities, each of which is healthy with `nginx:1`.
pub async fn running(world: &World, cities: &[&str]) {
    world.put("web", cities);
    quiet(5).await;
    for city in cities {
        world.report(&format!("web-us-{}", city.to_lowercase()), 1, READY);
    }
    quiet(5).await;
}

fn mark(world: &World, wd: &str) -> String {
    let wd = world.wd(wd).unwrap();
    let mark = wd["metadata"]["annotations"][DEPLOYMENT_REVISION].as_str().unwrap_or_default();
    mark.split('/').next().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn r1_r3_a_new_template_goes_from_city_to_city_in_the_order_of_the_placements() {
    let world = World::new();
    let run = world.run();
    running(&world, &["ORD", "DFW"]).await;
    assert_eq!((mark(&world, "web-us-ord"), mark(&world, "web-us-dfw")), ("1".to_owned(), "1".to_owned()));
    let before = world.wd("web-us-dfw").unwrap();
    world.patch("web", &image("nginx:2"));
    quiet(5).await;
    assert_eq!(images(&world, ["ORD", "DFW"]), ["nginx:2", "nginx:1"]);
    assert_eq!(world.wd("web-us-dfw").unwrap(), before, "not even written");
    let (status, reason, message) = world.said("web", "Progressing");
    assert_eq!((status.as_str(), reason.as_str()), ("True", "RolloutInProgress"));
    assert!(message.contains("\"DFW\" waits"), "{message}");
    // On its way is not enough, and neither is a status of the generation before.
    world.report("web-us-ord", 1, UNREADY);
    quiet(600).await;
    assert_eq!(images(&world, ["DFW"]), ["nginx:1"]);
    world.report("web-us-ord", 1, READY);
    quiet(5).await;
    assert_eq!(images(&world, ["ORD", "DFW"]), ["nginx:2", "nginx:2"]);
    assert_eq!((mark(&world, "web-us-ord"), mark(&world, "web-us-dfw")), ("2".to_owned(), "2".to_owned()));
    world.report("web-us-dfw", 1, READY);
    quiet(5).await;
    assert_eq!(world.said("web", "Progressing").1, "RolloutComplete");
    run.stop().await;
}

/// A user stopped one of the instances: it does not become ready, and is no reason to stop at that city.
#[tokio::test(start_paused = true)]
async fn r4_v9_what_a_user_stopped_holds_up_no_other_city() {
    let world = World::new();
    let run = world.run();
    running(&world, &["ORD", "DFW"]).await;
    world.patch("web", &image("nginx:2"));
    quiet(5).await;
    let report = |stopped: Value| {
        let generation = world.wd("web-us-ord").unwrap()["metadata"]["generation"].clone();
        let status = json!({
            "observedGeneration": generation, "replicas": 2, "desiredReplicas": 2, "updatedReplicas": 2,
            "currentReplicas": 2, "readyReplicas": 1, "stoppedReplicas": stopped,
            "conditions": [
                condition("Available", "True", "StableInstanceFound", ""),
                condition("ReplicasReady", "False", "Stopped", "the instance is stopped"),
            ],
        });
        world.project.patch_status("WorkloadDeployment", SPACE, "web-us-ord", &status).unwrap();
    };
    report(Value::Null);
    quiet(5).await;
    assert_eq!(images(&world, ["ORD", "DFW"]), ["nginx:2", "nginx:1"], "one is not ready");
    assert_eq!(world.said("web", "Progressing").1, "RolloutInProgress", "nobody has to act for it to go on");
    report(json!(1));
    quiet(5).await;
    assert_eq!(images(&world, ["ORD", "DFW"]), ["nginx:2", "nginx:2"]);
    world.report("web-us-dfw", 1, READY);
    quiet(5).await;
    assert_eq!(world.said("web", "Progressing").1, "RolloutComplete");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r1_creation_and_scale_are_not_held() {
    let world = World::new();
    put_cluster(&world.hub, "LHR");
    let run = world.run();
    running(&world, &["DFW", "ORD"]).await;
    world.patch("web", &image("nginx:2"));
    quiet(5).await;
    let mut placements = world.workload("web")["spec"]["placements"].clone();
    placements[0]["scaleSettings"]["minReplicas"] = json!(3);
    placements[0]["cityCodes"] = json!(["DFW", "ORD", "LHR"]);
    world.patch("web", &json!({"spec": {"placements": placements}}));
    quiet(5).await;
    assert_eq!(world.wd("web-us-ord").unwrap()["spec"]["scaleSettings"]["minReplicas"], 3);
    // A city that comes in the middle has what those have whose turn has not come.
    assert_eq!(images(&world, ["DFW", "ORD", "LHR"]), ["nginx:2", "nginx:1", "nginx:1"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r2_what_is_deleted_or_edited_by_hand_is_put_back_at_its_revision() {
    let world = World::new();
    let run = world.run();
    running(&world, &["DFW", "ORD"]).await;
    world.patch("web", &image("nginx:2"));
    quiet(5).await;
    world.project.delete("WorkloadDeployment", SPACE, "web-us-ord").unwrap();
    quiet(5).await;
    assert_eq!(images(&world, ["DFW", "ORD"]), ["nginx:2", "nginx:1"], "made anew");
    assert_eq!(mark(&world, "web-us-ord"), "1");
    // Consent is the present template's, also on the way back to an earlier one.
    world.patch("web", &json!({"spec": {"template": {"spec": {"disruption": "Allow"}}}}));
    quiet(5).await;
    world.project.delete("WorkloadDeployment", SPACE, "web-us-ord").unwrap();
    quiet(5).await;
    assert_eq!(images(&world, ["ORD"]), ["nginx:1"]);
    assert_eq!(world.wd("web-us-ord").unwrap()["spec"]["template"]["spec"]["disruption"], "Allow");
    for by_hand in ["hand:1", "nginx:2"] {
        world.project.patch("WorkloadDeployment", SPACE, "web-us-ord", &image(by_hand)).unwrap();
        world.project.patch("WorkloadDeployment", SPACE, "web-us-dfw", &image("hand:1")).unwrap();
        quiet(5).await;
        let expected = if by_hand == "nginx:2" { "nginx:2" } else { "nginx:1" };
        assert_eq!(images(&world, ["DFW", "ORD"]), ["nginx:2", expected], "{by_hand}");
    }
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r2_of_a_history_that_lost_the_revision_nothing_is_invented() {
    let world = World::new();
    let run = world.run();
    running(&world, &["DFW", "ORD"]).await;
    world.patch("web", &image("nginx:2"));
    quiet(5).await;
    let history = fedhub_core::names::revision_history("web").unwrap();
    world.project.patch("ConfigMap", SPACE, &history, &json!({"data": {"1": null}})).unwrap();
    world.project.patch("WorkloadDeployment", SPACE, "web-us-ord", &image("hand:1")).unwrap();
    quiet(60).await;
    assert_eq!(images(&world, ["DFW", "ORD"]), ["nginx:2", "hand:1"]);
    world.report("web-us-dfw", 1, READY);
    quiet(5).await;
    assert_eq!(images(&world, ["ORD"]), ["nginx:2"]);
    run.stop().await;
}

/// The Workload stays in memory while its cities take turns: one read tells who wrote its template (W10).
#[tokio::test(start_paused = true)]
async fn r1_a_rollout_reads_its_workload_once_however_many_cities_it_has() {
    let world = World::new();
    put_cluster(&world.hub, "LHR");
    let run = world.run();
    running(&world, &["DFW", "ORD", "LHR"]).await;
    let from = position(&world.project);
    world.patch("web", &image("nginx:2"));
    for city in ["dfw", "ord", "lhr"] {
        quiet(60).await;
        world.report(&format!("web-us-{city}"), 1, READY);
    }
    quiet(5).await;
    assert_eq!(images(&world, ["DFW", "ORD", "LHR"]), ["nginx:2", "nginx:2", "nginx:2"]);
    let reads = asked(&world.project, from).into_iter().filter(|it| it.starts_with("get workloads/"));
    assert_eq!(reads.count(), 1);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r6_a_city_that_fails_stops_the_others_until_the_template_is_mended() {
    let world = World::new();
    let run = world.run();
    running(&world, &["DFW", "ORD"]).await;
    world.patch("web", &image("nginx:2"));
    quiet(5).await;
    world.report("web-us-dfw", 1, BROKEN);
    quiet(3600).await;
    assert_eq!(images(&world, ["DFW", "ORD"]), ["nginx:2", "nginx:1"]);
    let (status, reason, message) = world.said("web", "Progressing");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "CityFailed"));
    assert!(message.contains("\"web-us-dfw\" failed by ImageUnavailable"), "{message}");
    world.patch("web", &image("nginx:3"));
    quiet(5).await;
    assert_eq!(images(&world, ["DFW", "ORD"]), ["nginx:3", "nginx:1"]);
    world.report("web-us-dfw", 1, READY);
    quiet(5).await;
    assert_eq!(images(&world, ["DFW", "ORD"]), ["nginx:3", "nginx:3"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r5_a_city_whose_cell_is_away_is_passed_over_and_caught_up() {
    let world = World::new();
    let run = world.run();
    running(&world, &["DFW", "ORD"]).await;
    let federated = |status: &str, reason: &str| {
        let mut status = json!({"conditions": [condition("Federated", status, reason, "")]});
        let wd = world.wd("web-us-dfw").unwrap();
        let conditions = wd["status"]["conditions"].as_array().unwrap().iter().cloned();
        let others = conditions.filter(|it| it["type"] != "Federated");
        status["conditions"].as_array_mut().unwrap().extend(others);
        world.project.patch_status("WorkloadDeployment", SPACE, "web-us-dfw", &status).unwrap();
    };
    federated("False", "CellUnreachable");
    let before = world.wd("web-us-dfw").unwrap();
    world.patch("web", &image("nginx:2"));
    quiet(5).await;
    assert_eq!(images(&world, ["DFW", "ORD"]), ["nginx:1", "nginx:2"]);
    assert_eq!(world.wd("web-us-dfw").unwrap(), before, "untouched");
    world.report("web-us-ord", 1, READY);
    quiet(5).await;
    assert_eq!(world.said("web", "Progressing").1, "RolloutInProgress", "it is no success");
    federated("True", "Applied");
    quiet(5).await;
    assert_eq!(images(&world, ["DFW"]), ["nginx:2"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r10_a_restart_in_the_middle_writes_nothing_and_goes_on() {
    let world = World::new();
    let run = world.run();
    running(&world, &["DFW", "ORD"]).await;
    world.patch("web", &image("nginx:2"));
    quiet(5).await;
    run.stop().await;
    let from = position(&world.project);
    let run = world.run();
    quiet(300).await;
    assert_eq!(asked(&world.project, from), [""; 0]);
    world.report("web-us-dfw", 1, READY);
    quiet(5).await;
    assert_eq!(images(&world, ["DFW", "ORD"]), ["nginx:2", "nginx:2"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r1_all_cities_change_at_once_where_the_workload_or_the_operator_says_so() {
    for (default_rollout, annotation, expected) in [
        (Strategy::InOrder, None, "nginx:1"),
        (Strategy::InOrder, Some("all-at-once"), "nginx:2"),
        (Strategy::InOrder, Some("odd"), "nginx:1"),
        (Strategy::AllAtOnce, None, "nginx:2"),
        (Strategy::AllAtOnce, Some("in-order"), "nginx:1"),
    ] {
        let mut world = World::new();
        world.default_rollout = default_rollout;
        let run = world.run();
        running(&world, &["DFW", "ORD"]).await;
        if let Some(annotation) = annotation {
            world.patch("web", &json!({"metadata": {"annotations": {ROLLOUT: annotation}}}));
        }
        world.patch("web", &image("nginx:2"));
        quiet(5).await;
        assert_eq!(
            images(&world, ["DFW", "ORD"]),
            ["nginx:2", expected],
            "{default_rollout:?} {annotation:?}"
        );
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn r5_a_city_that_went_away_before_it_was_healthy_lets_no_other_follow() {
    let world = World::new();
    let run = world.run();
    running(&world, &["DFW", "ORD"]).await;
    world.patch("web", &image("nginx:2"));
    quiet(5).await;
    world.report("web-us-dfw", 1, UNREADY);
    let mut conditions = world.wd("web-us-dfw").unwrap()["status"]["conditions"].clone();
    conditions.as_array_mut().unwrap().push(condition("Federated", "False", "CellUnreachable", ""));
    let status = json!({"conditions": conditions});
    world.project.patch_status("WorkloadDeployment", SPACE, "web-us-dfw", &status).unwrap();
    quiet(3600).await;
    assert_eq!(images(&world, ["DFW", "ORD"]), ["nginx:2", "nginx:1"], "the template may have taken it down");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r6_the_way_back_does_not_wait_for_a_city_that_never_left() {
    let world = World::new();
    let run = world.run();
    running(&world, &["DFW", "ORD"]).await;
    world.patch("web", &image("nginx:2"));
    quiet(5).await;
    world.report("web-us-dfw", 1, BROKEN);
    // By a cause of its own.
    world.report("web-us-ord", 1, ("False", "QuotaExceeded", "no quota"));
    quiet(5).await;
    world.patch("web", &image("nginx:1"));
    quiet(5).await;
    assert_eq!(images(&world, ["DFW", "ORD"]), ["nginx:1", "nginx:1"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r6_what_passes_without_the_user_is_no_failure() {
    let world = World::new();
    let run = world.run();
    running(&world, &["DFW", "ORD"]).await;
    world.patch("web", &image("nginx:2"));
    quiet(5).await;
    let status = json!({"conditions": [condition("Federated", "False", "HubUnreachable", "")]});
    world.project.patch_status("WorkloadDeployment", SPACE, "web-us-dfw", &status).unwrap();
    quiet(5).await;
    assert_eq!(world.said("web", "Progressing").1, "RolloutInProgress");
    run.stop().await;
}

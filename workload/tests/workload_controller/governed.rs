//! R1 to R10 of a Workload that has a WorkloadRollout: waves, gates, the way back, and another controller's
//! assignments.

use fedhub_core::names::{APPROVED, ASSIGNED_REVISION};
use serde_json::{Value, json};

use crate::workload_controller::support::*;
use crate::workload_controller::turns::{image, images, running};

const READY: (&str, &str, &str) = ("True", "StableInstanceFound", "1/1 instances are ready");
const BROKEN: (&str, &str, &str) = ("False", "ImageUnavailable", "no such image");

/// Puts a rollout of `web` with these fields beside its name.
pub fn put(world: &World, spec: &Value) {
    let mut rollout = json!({
        "apiVersion": API, "kind": "WorkloadRollout", "metadata": {"namespace": SPACE, "name": "web"},
        "spec": {"workloadRef": {"name": "web"}, "strategy": "InOrder", "onFailure": "Pause",
            "unreachable": "Skip", "progressDeadline": "10m", "revisionHistoryLimit": 20},
    });
    for (field, value) in spec.as_object().unwrap() {
        rollout["spec"][field] = value.clone();
    }
    world.project.put(rollout).unwrap();
}

fn canary(fields: &Value) -> Value {
    let mut wave = json!({"name": "canary", "cities": ["ORD"], "approval": "None", "maxConcurrent": 1,
        "maxFailures": 0});
    for (field, value) in fields.as_object().unwrap() {
        wave[field] = value.clone();
    }
    json!([wave, {"name": "rest", "approval": "None", "maxConcurrent": 2, "maxFailures": 0}])
}

fn rollout(world: &World) -> Value {
    world.project.get("WorkloadRollout", SPACE, "web").unwrap()
}

/// The reason of a condition of the rollout, where that is True; else an empty text.
fn holds(world: &World, kind: &str) -> String {
    let rollout = rollout(world);
    let mut conditions = rollout["status"]["conditions"].as_array().into_iter().flatten();
    let condition = conditions.find(|it| it["type"] == kind && it["status"] == "True");
    condition.map_or_else(String::new, |it| it["reason"].as_str().unwrap().to_owned())
}

/// The states of the cities in the order of the plan.
fn states(world: &World) -> Vec<String> {
    let rollout = rollout(world);
    let cities = rollout["status"]["cities"].as_array().into_iter().flatten();
    let states =
        cities.map(|it| format!("{} {}", it["city"].as_str().unwrap(), it["state"].as_str().unwrap()));
    states.collect()
}

/// `web` in DFW and ORD, healthy on `nginx:1`, with this rollout, and its new template `nginx:2`.
async fn started(spec: &Value) -> (World, Run) {
    let world = World::new();
    let run = world.run();
    running(&world, &["DFW", "ORD"]).await;
    put(&world, spec);
    quiet(310).await;
    assert_eq!(holds(&world, "Complete"), "RolloutComplete");
    world.patch("web", &image("nginx:2"));
    quiet(5).await;
    (world, run)
}

#[tokio::test(start_paused = true)]
async fn r3_r4_a_wave_begins_when_the_one_before_has_been_healthy_for_the_whole_soak() {
    let (world, run) = started(&json!({"waves": canary(&json!({"soak": "5m"}))})).await;
    assert_eq!(images(&world, ["DFW", "ORD"]), ["nginx:1", "nginx:2"], "by the waves, not the placements");
    assert_eq!(states(&world), ["ORD Updating", "DFW Waiting"]);
    world.report("web-us-ord", 1, READY);
    quiet(240).await;
    assert_eq!(states(&world), ["ORD Soaking", "DFW Waiting"]);
    world.report("web-us-ord", 1, BROKEN);
    quiet(5).await;
    world.report("web-us-ord", 1, READY);
    quiet(240).await;
    assert_eq!(images(&world, ["DFW"]), ["nginx:1"], "it soaks anew");
    assert_eq!(world.said("web", "Progressing").1, "RolloutInProgress");
    quiet(90).await;
    assert_eq!(images(&world, ["DFW"]), ["nginx:2"]);
    world.report("web-us-dfw", 1, READY);
    quiet(5).await;
    assert_eq!(
        (holds(&world, "Complete"), holds(&world, "Progressing")),
        ("RolloutComplete".to_owned(), String::new())
    );
    assert_eq!(world.said("web", "Progressing").1, "RolloutComplete");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r3_a_wave_waits_for_its_approval_however_long_that_takes() {
    let (world, run) = started(&json!({"waves": canary(&json!({"approval": "After"}))})).await;
    world.report("web-us-ord", 1, READY);
    quiet(7200).await;
    assert_eq!(images(&world, ["DFW", "ORD"]), ["nginx:1", "nginx:2"]);
    let (status, reason, message) = world.said("web", "Progressing");
    assert_eq!((status.as_str(), reason.as_str()), ("True", "RolloutInProgress"), "{message}");
    assert!(message.contains("\"canary\" requires approval after its last city"), "{message}");
    assert_eq!(rollout(&world)["status"]["awaiting"], json!({"wave": "canary", "gate": "After"}));
    let approved = json!([{"wave": "canary", "gate": "After", "by": "eve", "revision": 2}]).to_string();
    let patch = json!({"metadata": {"annotations": {APPROVED: approved}}});
    world.project.patch("WorkloadRollout", SPACE, "web", &patch).unwrap();
    quiet(5).await;
    assert_eq!(images(&world, ["DFW"]), ["nginx:2"]);
    assert!(rollout(&world)["status"]["awaiting"].is_null());
    let taken = rollout(&world)["status"]["approvals"].clone();
    assert_eq!((&taken[0]["wave"], &taken[0]["by"]), (&json!("canary"), &json!("eve")));
    // It cannot be taken back.
    let patch = json!({"metadata": {"annotations": {APPROVED: null}}});
    world.project.patch("WorkloadRollout", SPACE, "web", &patch).unwrap();
    quiet(5).await;
    assert_eq!(rollout(&world)["status"]["approvals"], taken);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r6_a_failing_wave_is_rolled_back_and_stays_so() {
    let spec = json!({"onFailure": "RollBack", "waves": canary(&json!({}))});
    let (world, run) = started(&spec).await;
    world.report("web-us-ord", 1, BROKEN);
    quiet(5).await;
    assert_eq!(images(&world, ["DFW", "ORD"]), ["nginx:1", "nginx:1"]);
    world.report("web-us-ord", 1, READY);
    quiet(3600).await;
    assert_eq!(images(&world, ["DFW", "ORD"]), ["nginx:1", "nginx:1"], "not forward again");
    assert_eq!(world.said("web", "Progressing").1, "RolloutRolledBack");
    world.patch("web", &image("nginx:3"));
    quiet(5).await;
    assert_eq!(images(&world, ["DFW", "ORD"]), ["nginx:1", "nginx:3"], "a newer template is a new rollout");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r6_a_failing_wave_stops_before_the_next_and_goes_on_once_mended() {
    let (world, run) = started(&json!({"waves": canary(&json!({}))})).await;
    world.report("web-us-ord", 1, BROKEN);
    quiet(3600).await;
    assert_eq!(images(&world, ["DFW", "ORD"]), ["nginx:1", "nginx:2"]);
    assert_eq!(
        (holds(&world, "Stalled"), world.said("web", "Progressing").1),
        ("CityFailed".to_owned(), "CityFailed".to_owned())
    );
    world.report("web-us-ord", 1, READY);
    quiet(5).await;
    assert_eq!(images(&world, ["DFW"]), ["nginx:2"]);
    assert_eq!(holds(&world, "Stalled"), "");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r7_an_aborted_rollout_ends_in_one_revision() {
    let (world, run) = started(&json!({"waves": canary(&json!({}))})).await;
    world.project.patch("WorkloadRollout", SPACE, "web", &json!({"spec": {"abort": true}})).unwrap();
    quiet(5).await;
    assert_eq!(images(&world, ["DFW", "ORD"]), ["nginx:1", "nginx:1"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r8_a_rollout_that_cannot_be_followed_moves_nothing_and_says_why() {
    let twice = json!([{"name": "a", "cities": ["DFW"]}, {"name": "b", "cities": ["DFW", "ORD"]}]);
    let world = World::new();
    let run = world.run();
    running(&world, &["DFW", "ORD"]).await;
    put(&world, &json!({"waves": twice}));
    world.patch("web", &image("nginx:2"));
    quiet(600).await;
    assert_eq!(images(&world, ["DFW", "ORD"]), ["nginx:1", "nginx:1"]);
    assert_eq!(holds(&world, "Stalled"), "InvalidRollout");
    world.project.delete("WorkloadDeployment", SPACE, "web-us-ord").unwrap();
    world.project.delete("WorkloadRollout", SPACE, "web").unwrap();
    quiet(5).await;
    assert_eq!(images(&world, ["DFW", "ORD"]), ["nginx:2", "nginx:1"], "one by one again");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r9_another_controllers_assignments_are_carried_out_and_nothing_else() {
    let (world, run) = started(&json!({"strategy": "External"})).await;
    quiet(600).await;
    assert_eq!(images(&world, ["DFW", "ORD"]), ["nginx:1", "nginx:1"]);
    for (revision, expected) in [("2", "nginx:2"), ("1", "nginx:1"), ("9", "nginx:1"), ("odd", "nginx:1")] {
        let patch = json!({"metadata": {"annotations": {ASSIGNED_REVISION: revision}}});
        world.project.patch("WorkloadDeployment", SPACE, "web-us-ord", &patch).unwrap();
        quiet(5).await;
        assert_eq!(images(&world, ["DFW", "ORD"]), ["nginx:1", expected], "{revision}");
    }
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r2_r10_a_restart_in_the_middle_writes_nothing_and_keeps_what_cities_are_allowed() {
    let (world, run) = started(&json!({"waves": canary(&json!({"soak": "5m"}))})).await;
    world.report("web-us-ord", 1, READY);
    quiet(60).await;
    run.stop().await;
    let from = position(&world.project);
    let run = world.run();
    quiet(60).await;
    assert_eq!(asked(&world.project, from), [""; 0]);
    world.project.delete("WorkloadDeployment", SPACE, "web-us-dfw").unwrap();
    quiet(5).await;
    assert_eq!(images(&world, ["DFW", "ORD"]), ["nginx:1", "nginx:2"], "made anew as it was");
    quiet(240).await;
    assert_eq!(images(&world, ["DFW"]), ["nginx:2"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r8_cities_that_come_join_the_last_wave_and_the_next_rollout_wants_them_named() {
    let waves = json!([
        {"name": "canary", "cities": ["ORD"], "approval": "None", "maxConcurrent": 1, "maxFailures": 0},
        {"name": "rest", "cities": ["DFW"], "approval": "None", "maxConcurrent": 1, "maxFailures": 0},
    ]);
    let (world, run) = started(&json!({"waves": waves})).await;
    put_cluster(&world.hub, "LHR");
    world.place("web", &["DFW", "ORD", "LHR"]);
    quiet(5).await;
    assert_eq!(images(&world, ["DFW", "ORD", "LHR"]), ["nginx:1", "nginx:2", "nginx:1"]);
    for city in ["ord", "dfw", "lhr"] {
        world.report(&format!("web-us-{city}"), 1, READY);
        quiet(5).await;
        world.report(&format!("web-us-{city}"), 1, READY);
        quiet(5).await;
    }
    world.report("web-us-dfw", 1, READY);
    quiet(5).await;
    assert_eq!(images(&world, ["DFW", "ORD", "LHR"]), ["nginx:2"; 3]);
    world.patch("web", &image("nginx:3"));
    quiet(600).await;
    assert_eq!(images(&world, ["DFW", "ORD", "LHR"]), ["nginx:2"; 3], "LHR is in no wave of it");
    assert_eq!(holds(&world, "Stalled"), "InvalidRollout");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r8_another_strategy_makes_a_new_plan_of_the_spec_of_now() {
    let paused = json!({"strategy": "AllAtOnce", "paused": true, "waves": canary(&json!({}))});
    let (world, run) = started(&paused).await;
    assert_eq!(rollout(&world)["status"]["plan"][0]["name"], "all");
    let unknown = json!([{"name": "canary", "cities": ["ODR"]}, {"name": "rest"}]);
    let turn = |waves: Value| {
        let spec = json!({"strategy": "InOrder", "paused": false, "waves": waves});
        world.project.patch("WorkloadRollout", SPACE, "web", &json!({"spec": spec})).unwrap();
    };
    turn(unknown);
    quiet(60).await;
    assert_eq!(images(&world, ["DFW", "ORD"]), ["nginx:1", "nginx:1"]);
    assert_eq!(holds(&world, "Stalled"), "InvalidRollout");
    turn(canary(&json!({})));
    quiet(60).await;
    assert_eq!(images(&world, ["DFW", "ORD"]), ["nginx:1", "nginx:2"]);
    assert_eq!(states(&world), ["ORD Updating", "DFW Waiting"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r3_an_approval_without_its_revision_approves_nothing() {
    let (world, run) = started(&json!({"waves": canary(&json!({"approval": "Before"}))})).await;
    for (revision, expected) in [(json!(null), "nginx:1"), (json!(1), "nginx:1"), (json!(2), "nginx:2")] {
        let approved = json!([{"wave": "canary", "gate": "Before", "revision": revision}]).to_string();
        let patch = json!({"metadata": {"annotations": {APPROVED: approved}}});
        world.project.patch("WorkloadRollout", SPACE, "web", &patch).unwrap();
        quiet(5).await;
        assert_eq!(images(&world, ["DFW", "ORD"]), ["nginx:1", expected], "{revision}");
    }
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r7_r8_an_abort_is_carried_out_although_the_cities_have_changed() {
    let waves = json!([
        {"name": "canary", "cities": ["ORD"], "approval": "None", "maxConcurrent": 1, "maxFailures": 0},
        {"name": "rest", "cities": ["DFW"], "approval": "None", "maxConcurrent": 1, "maxFailures": 0},
    ]);
    let (world, run) = started(&json!({"waves": waves})).await;
    put_cluster(&world.hub, "LHR");
    world.place("web", &["DFW", "ORD", "LHR"]);
    quiet(5).await;
    world.project.patch("WorkloadRollout", SPACE, "web", &json!({"spec": {"abort": true}})).unwrap();
    quiet(5).await;
    assert_eq!(images(&world, ["DFW", "ORD", "LHR"]), ["nginx:1"; 3]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r8_a_workload_that_was_made_anew_begins_anew() {
    let (world, run) = started(&json!({"waves": canary(&json!({"soak": "5m"}))})).await;
    world.project.delete("Workload", SPACE, "web").unwrap();
    quiet(60).await;
    assert!(world.wds().is_empty());
    let mut anew = workload("web", &["DFW", "ORD"]);
    anew["spec"]["template"] = template("nginx:7");
    world.project.put(anew).unwrap();
    quiet(5).await;
    assert_eq!(images(&world, ["DFW", "ORD"]), ["nginx:7", "nginx:7"]);
    assert_eq!(holds(&world, "Complete"), "", "nothing runs yet");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn r8_a_rollout_without_its_workload_says_so_until_that_comes() {
    let world = World::new();
    let run = world.run();
    put(&world, &json!({"waves": canary(&json!({}))}));
    quiet(60).await;
    assert_eq!(
        (holds(&world, "Stalled"), holds(&world, "Progressing")),
        ("InvalidRollout".into(), String::new())
    );
    let message = rollout(&world)["status"]["conditions"][1]["message"].as_str().unwrap().to_owned();
    assert_eq!(
        message,
        "The rollout cannot be followed, and no city changes: spec.workloadRef.name: Not found: \"web\": the project has \
         no workload of that name, create it or delete the rollout. Action required by the user: correct the WorkloadRollout"
    );
    // At rest and after a restart nothing is asked.
    let from = position(&world.project);
    quiet(3600).await;
    run.stop().await;
    let run = world.run();
    quiet(600).await;
    assert_eq!(asked(&world.project, from), [""; 0]);

    running(&world, &["DFW", "ORD"]).await;
    assert_eq!(
        (holds(&world, "Stalled"), holds(&world, "Complete")),
        (String::new(), "RolloutComplete".into())
    );
    world.project.delete("Workload", SPACE, "web").unwrap();
    quiet(60).await;
    assert_eq!(holds(&world, "Stalled"), "InvalidRollout", "it outlives its Workload");
    world.project.delete("WorkloadRollout", SPACE, "web").unwrap();
    let from = position(&world.project);
    quiet(600).await;
    assert_eq!(asked(&world.project, from), [""; 0]);
    run.stop().await;
}

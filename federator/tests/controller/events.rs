//! U3: what a cell reports of a WD becomes Events on the project's WD, each transition once.

use serde_json::{Value, json};

use crate::controller::support::*;

/// A status of a cell, which says that of the replicas.
fn says(status: &str, reason: &str, message: &str) -> Value {
    let mut whole = reported(1);
    whole["conditions"].as_array_mut().unwrap().push(json!({
        "type": "ReplicasReady", "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-02T00:00:00Z",
    }));
    whole
}

fn shows(world: &World, message: &str) -> bool {
    world.wd(WD).unwrap()["status"].to_string().contains(&format!("\"{message}\""))
}

fn warnings(world: &World) -> Vec<String> {
    let all = world.alpha.list("events.events.k8s.io").into_iter();
    // Each as often as it was recorded.
    let times = |e: Value| {
        let count = usize::try_from(e["series"]["count"].as_u64().unwrap_or(1)).unwrap();
        std::iter::repeat_n(e["reason"].as_str().unwrap().to_owned(), count)
    };
    all.filter(|e| e["type"] == "Warning").flat_map(times).collect()
}

#[tokio::test(start_paused = true)]
async fn u3_a_turn_in_the_cell_is_told_once_on_the_wd_and_not_after_a_restart() {
    let world = World::telling();
    let run = world.federated().await;
    world.report(WD, &says("False", "InstancesProvisioning", "a stage"));
    until("the stage", || shows(&world, "a stage")).await;
    for words in ["no such image", "no such image still"] {
        world.report(WD, &says("False", "ImageUnavailable", words));
        until("the fault", || shows(&world, words)).await;
    }
    quiet(60).await;
    assert_eq!(event_notes(&world.alpha, "ImageUnavailable"), ["no such image"]);
    world.gap();
    quiet(60).await;
    run.stop().await;
    let from = world.positions();
    let run = world.run();
    quiet(240).await;
    assert_eq!(world.writes(from), nothing());
    assert_eq!(warnings(&world), ["ImageUnavailable"], "nothing twice");
    let mut hangs = says("True", "ReplicasAvailable", "1/1 replicas available");
    hangs["conditions"].as_array_mut().unwrap().push(json!({
        "type": "TerminationOverdue", "status": "True", "reason": "TerminationDeadlineExceeded", "message": "web-1",
        "lastTransitionTime": "2026-01-02T00:00:00Z",
    }));
    world.report(WD, &hangs);
    until("the end, and what hangs", || warnings(&world).len() == 2).await;
    quiet(60).await;
    assert_eq!(event_notes(&world.alpha, "TerminationDeadlineExceeded"), ["web-1"]);
    assert_eq!(
        event_notes(&world.alpha, "ReplicasAvailable"),
        ["no longer ImageUnavailable. 1/1 replicas available"]
    );
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn u3_what_keeps_a_wd_from_the_hub_is_told_by_one_event() {
    let world = World::telling();
    let run = world.federated().await;
    put_wd(&world.alpha, "odd", "New York");
    until("the refusal", || world.wd("odd").is_some_and(|wd| reason(&wd).is_some())).await;
    quiet(60).await;
    assert_eq!(warnings(&world), ["FederationFailed"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c9_every_refusal_says_whose_job_it_is() {
    let world = World::telling();
    let run = world.federated().await;
    put_wd(&world.alpha, "odd", "New York");
    put_wd(&world.alpha, "nowhere", "NOWHERE");
    let message = |name: &str, kind: &str| {
        let wd = world.wd(name).unwrap();
        let all = wd["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let condition = all.into_iter().find(|c| c["type"] == kind).unwrap_or_default();
        condition["message"].as_str().unwrap_or_default().to_owned()
    };
    for (name, words) in
        [("odd", "by the user: correct spec.cityCode"), ("nowhere", "by the user: choose a city")]
    {
        until("the refusal", || message(name, "Available").contains(words)).await;
        assert!(message(name, "Federated").contains(words), "{}", message(name, "Federated"));
    }
    until("the first", || message(WD, "Federated").ends_with("No action required")).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn u1_a_wd_has_its_conditions_from_its_first_moment_and_they_cost_no_request() {
    let world = World::telling();
    let stands = |name: &str| -> Vec<String> {
        let wd = world.wd(name).unwrap();
        let all = wd["status"]["conditions"].as_array().cloned().unwrap_or_default();
        all.iter()
            .map(|c| format!("{}={}/{}", c["type"], c["status"], c["reason"]).replace('"', ""))
            .collect()
    };
    let pending = ["Available", "ReplicasReady", "Federated"].map(|kind| format!("{kind}=Unknown/Pending"));
    assert_eq!(stands(WD), pending);
    let run = world.federated().await;
    assert_eq!(stands(WD), pending, "the hub's own defaults are not a report");
    let from = world.positions();
    world.report(WD, &reported(1));
    until("the status", || stands(WD).contains(&"Federated=True/Applied".to_owned())).await;
    quiet(60).await;
    let asked = ["get workloaddeployments/web", "update workloaddeployments/status/web"];
    assert_eq!(world.asked(from)[1], asked, "and no dry run");
    // A refusal that is over leaves the unreported default, and no gap.
    put_wd(&world.alpha, "odd", "New York");
    until("the refusal", || stands("odd")[0] == "Available=False/InvalidCityCode").await;
    world.alpha.patch("WorkloadDeployment", SPACE, "odd", &json!({"spec": {"cityCode": "DFW"}})).unwrap();
    until("its end", || stands("odd")[0] == "Available=Unknown/Pending").await;
    run.stop().await;
}

//! U2, F8: what a pass comes back for, and what that costs.

use fedhub_fake_apiserver::Fault;
use serde_json::json;

use crate::controller::support::*;

fn is(world: &World, name: &str, status: &str, reason: &str) -> bool {
    federated(&world.wd(name).unwrap()) == Some((status.to_owned(), reason.to_owned()))
}

#[tokio::test(start_paused = true)]
async fn i7_a_wd_whose_cell_has_reported_is_not_come_back_for() {
    let world = World::telling();
    let run = world.federated().await;
    world.report(WD, &reported(1));
    world.hub.patch_status("WorkloadDeployment", &hub_space(&world.beta), WD, &reported(1)).unwrap();
    quiet(60).await;
    let passes = run.metrics.reconcile_seconds.with_label_values(&["federator"]).get_sample_count();
    let from = world.positions();
    quiet(3600).await;
    assert_eq!(world.asked(from), nothing());
    let after = run.metrics.reconcile_seconds.with_label_values(&["federator"]).get_sample_count();
    assert_eq!(after, passes, "nor is it looked at");
    assert!(run.federator.remembered().contains(&("waits", 0)));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i7_a_wd_whose_cell_is_silent_costs_its_plane_two_requests_and_an_event_and_two_once_that_lasts() {
    let world = World::telling();
    let run = world.federated().await;
    let from = world.positions();
    quiet(3600).await;
    let mut asked = world.asked(from)[1].clone();
    asked.retain(|it| !it.contains("events"));
    let told = ["get workloaddeployments/web", "update workloaddeployments/status/web"];
    assert_eq!(asked, [told, told].concat());
    assert_eq!(event_notes(&world.alpha, "Federated"), ["federated to city DFW"]);
    let [on_hub, ..] = world.asked(from);
    let is_read = on_hub.iter().any(|asked| asked.starts_with("get workloaddeployments"));
    assert!(!is_read, "what no cell has reported is not read");
    run.stop().await;
}

/// The condition is rendered from the project WD alone, of which the cache lags behind.
#[tokio::test(start_paused = true)]
async fn i2_a_hub_wd_that_was_not_read_is_not_taken_for_one_that_is_gone() {
    let world = World::telling();
    let run = world.federated().await;
    quiet(3).await;
    world.alpha.fault(Fault::Hang.on("watch", "workloaddeployments"));
    world.alpha.patch("WorkloadDeployment", SPACE, WD, &json!({"metadata": {"labels": {"a": "b"}}})).unwrap();
    let from = world.positions();
    quiet(60).await;
    assert_eq!(world.writes(from)[0], [""; 0], "nothing is made on the hub");
    assert!(is(&world, WD, "Unknown", "AwaitingCell"));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn u2_a_wd_that_waits_for_a_hub_that_is_not_in_sync_says_so_and_one_in_its_cell_does_not() {
    let world = World::telling();
    let run = world.federated().await;
    world.report(WD, &reported(1));
    until("the status", || is(&world, WD, "True", "Applied")).await;
    run.stop().await;
    put_wd(&world.alpha, "before", "DFW");
    let id = world.hub.fault(Fault::Status(503).on("list", "*"));
    let stands = world.wd(WD).unwrap();
    let run = world.run();
    until("a plane to be in sync", || run.planes.engaged(&plane_name("alpha")).is_some()).await;
    put_wd(&world.alpha, "after", "DFW");
    quiet(4).await;
    assert!(federated(&world.wd("after").unwrap()).is_none(), "not before its time");
    for name in ["before", "after"] {
        until("the condition", || is(&world, name, "False", "HubUnreachable")).await;
    }
    quiet(60).await;
    assert_eq!(event_notes(&world.alpha, "FederationFailed").len(), 2, "once each");
    assert_eq!(world.wd(WD).unwrap(), stands);
    world.hub.clear_fault(id);
    for name in ["before", "after"] {
        until("it to be federated", || is(&world, name, "Unknown", "AwaitingCell")).await;
    }
    run.stop().await;
}

/// The time begins anew with each generation, so that one that its cell takes at once costs no write of its
/// own.
#[tokio::test(start_paused = true)]
async fn u2_each_generation_has_its_own_time() {
    let world = World::telling();
    let run = world.federated().await;
    until("the condition", || is(&world, WD, "Unknown", "AwaitingCell")).await;
    quiet(30).await;
    let from = world.positions();
    world.alpha.patch("WorkloadDeployment", SPACE, WD, &json!({"spec": {"placementName": "q"}})).unwrap();
    quiet(3).await;
    let mut status = reported(1);
    status["observedGeneration"] = json!(2);
    world.report(WD, &status);
    quiet(60).await;
    assert!(is(&world, WD, "True", "Applied"));
    assert_eq!(world.writes(from)[1], ["update workloaddeployments/status/web"]);
    run.stop().await;
}

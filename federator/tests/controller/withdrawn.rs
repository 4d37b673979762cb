//! W9: the service is suspended, withdrawn and granted again in one of two projects.

use std::time::Duration;

use fedhub_core::names::SUSPENDED;
use fedhub_core::object::Kind;
use fedhub_fake_apiserver::Fault;
use fedhub_planes::{PROJECT_KINDS, Settings, Watched, watched};
use fedhub_testing::{entitle, serve_entitlements, withdraw};
use serde_json::{Value, json};

use crate::controller::support::*;

fn settings() -> Settings {
    let mut project_kinds = watched::all(&PROJECT_KINDS);
    project_kinds.push(Watched::all(Kind::ServiceEntitlement).if_served());
    Settings { seed: 7, project_kinds, teardown_delay: Duration::from_secs(5), ..Settings::default() }
}

fn start(world: &World) -> Run {
    world.run_with(world.hub.client(), settings())
}

async fn entitled() -> (World, Run) {
    let world = World::new();
    for plane in [&world.alpha, &world.beta] {
        serve_entitlements(plane);
        entitle(plane, &json!({"phase": "Active"}));
    }
    put_wd(&world.alpha, "other", "ORD");
    let run = start(&world);
    until("all WDs to be federated", || {
        let beta = world.hub_wd_of(&world.beta, WD).is_some();
        beta && world.hub_wd(WD).is_some() && world.hub_wd("other").is_some()
    })
    .await;
    world.report(WD, &reported(3));
    quiet(5).await;
    (world, run)
}

fn is_out(world: &World, name: &str) -> bool {
    let wd = world.wd(name).unwrap();
    world.hub_wd(name).is_none()
        && !has_our_finalizer(&wd)
        && reason(&wd).as_deref() == Some("ServiceNotActive")
}

#[tokio::test(start_paused = true)]
async fn w9_a_withdrawn_project_leaves_the_hub_alone_and_comes_back() {
    let (world, run) = entitled().await;
    let beta = world.hub_wd_of(&world.beta, WD);
    let before = world.positions();
    withdraw(&world.alpha);
    until("both WDs to go", || [WD, "other"].iter().all(|name| is_out(&world, name))).await;
    quiet(30).await;
    assert!(world.policy("city-dfw").is_none() && world.policy("city-ord").is_none(), "F7");
    let [_, _, of_beta] = world.writes(before);
    assert!(of_beta.is_empty() && world.hub_wd_of(&world.beta, WD) == beta, "{of_beta:?}");
    let wd = world.wd(WD).unwrap();
    assert_eq!(
        (&wd["status"]["replicas"], federated(&wd).unwrap().1),
        (&json!(0), "ServiceNotActive".to_owned())
    );
    // New ones, and edits, stay where they are.
    put_wd(&world.alpha, "late", "DFW");
    world.alpha.patch("WorkloadDeployment", SPACE, WD, &json!({"spec": {"cityCode": "ORD"}})).unwrap();
    until("the new one to say so", || is_out(&world, "late")).await;
    quiet(60).await;
    assert_eq!(run.queue.depth(), 0);
    let from = world.positions();
    quiet(600).await;
    assert_eq!(world.writes(from), nothing());
    entitle(&world.alpha, &json!({"phase": "Active"}));
    until("all to be back", || [WD, "other", "late"].iter().all(|name| world.hub_wd(name).is_some())).await;
    world.report(WD, &reported(2));
    until("the status", || world.wd(WD).unwrap()["status"]["replicas"] == 2).await;
    assert!(reason(&world.wd(WD).unwrap()).is_none_or(|reason| reason == "Stable"));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w9_i3_while_the_hub_does_not_answer_the_finalizers_stay() {
    let (world, run) = entitled().await;
    let fault = world.hub.fault(Fault::Status(503).on("*", "*"));
    withdraw(&world.alpha);
    quiet(120).await;
    assert!(has_our_finalizer(&world.wd(WD).unwrap()));
    world.hub.clear_fault(fault);
    until("both WDs to go", || [WD, "other"].iter().all(|name| is_out(&world, name))).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w9_a_process_that_ends_in_between_and_one_that_begins_end_alike() {
    for writes in 0..8 {
        let (world, run) = entitled().await;
        world.report("other", &reported(1));
        // In memory nothing is remembered: the rejection itself proves that it was granted.
        let revoked = json!({"phase": "Rejected", "entitledAt": "2026-01-01T00:00:00Z"});
        world.alpha.patch_status("ServiceEntitlement", "", "compute", &revoked).unwrap();
        let from = world.positions();
        until("some writes", || world.writes(from).iter().map(Vec::len).sum::<usize>() >= writes).await;
        run.stop().await;
        let run = start(&world);
        until("both WDs to go", || [WD, "other"].iter().all(|name| is_out(&world, name))).await;
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn w9_a_suspended_service_is_suspended_on_the_hub_and_its_plane_is_written() {
    let (world, run) = entitled().await;
    let suspended = json!([{"type": "Suspended", "status": "True", "reason": "R", "message": "",
        "lastTransitionTime": "2026-01-02T00:00:00Z"}]);
    let status = json!({"phase": "Active", "conditions": suspended});
    world.alpha.patch_status("ServiceEntitlement", "", "compute", &status).unwrap();
    let annotation = |wd: Option<Value>| wd.unwrap()["metadata"]["annotations"][SUSPENDED].clone();
    until("the hub WD to be suspended", || annotation(world.hub_wd(WD)) == "true").await;
    assert_eq!(annotation(world.hub_wd_of(&world.beta, WD)), Value::Null);
    let mut stopped = reported(3);
    stopped["conditions"][0]["status"] = json!("False");
    stopped["conditions"][0]["reason"] = json!("Suspended");
    world.report(WD, &stopped);
    until("it to say why", || reason(&world.wd(WD).unwrap()).as_deref() == Some("ServiceSuspended")).await;
    put_wd(&world.alpha, "late", "DFW");
    until("a new one", || world.hub_wd("late").is_some()).await;
    assert_eq!(annotation(world.hub_wd("late")), "true");
    let status = json!({"phase": "Active", "conditions": []});
    world.alpha.patch_status("ServiceEntitlement", "", "compute", &status).unwrap();
    until("it to be resumed", || annotation(world.hub_wd(WD)).is_null()).await;
    run.stop().await;
}

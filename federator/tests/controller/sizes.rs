//! A WD that is too large is reported where its user looks, and does not block others (section 6).

use std::time::Duration;

use fedhub_core::names::FEDERATOR_FINALIZER;
use fedhub_core::object::PlaneId;
use fedhub_fake_apiserver::{ApiServer, Fault};
use serde_json::json;

use crate::controller::support::*;

const MIB: usize = 1 << 20;

#[tokio::test(start_paused = true)]
async fn i8_i11_a_wd_over_the_size_limit_is_answered_once_and_federated_when_it_is_smaller() {
    let world = World::new();
    let padding = |bytes: usize| json!({"spec": {"padding": "x".repeat(bytes)}});
    put_wd(&world.alpha, "big", "DFW");
    world.alpha.patch("WorkloadDeployment", SPACE, "big", &padding(2 * MIB)).unwrap();
    let run = world.federated().await;
    until("the answer", || reason(&world.wd("big").unwrap()).is_some()).await;
    let wd = world.wd("big").unwrap();
    assert_eq!(reason(&wd).as_deref(), Some("ObjectTooLarge"));
    let message = wd["status"]["conditions"][0]["message"].as_str().unwrap();
    assert!(message.contains("2097") && message.contains("the limit is 1048576"), "{message}");
    assert!(!has_our_finalizer(&wd) && world.hub_wd("big").is_none());
    assert!(world.hub_wd(WD).is_some(), "the others are federated");
    quiet(60).await;
    let from = world.positions();
    let again = world.run();
    quiet(60).await;
    assert_eq!(world.writes(from), nothing(), "not after a restart either (I7)");
    again.stop().await;

    world.alpha.patch("WorkloadDeployment", SPACE, "big", &padding(1000)).unwrap();
    until("it to be federated", || world.hub_wd("big").is_some()).await;
    assert_eq!(reason(&world.wd("big").unwrap()), None);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i3_a_federated_wd_that_grows_too_large_stays_and_can_be_deleted() {
    let world = World::new();
    let run = world.federated().await;
    world.report(WD, &reported(2));
    until("its status", || world.wd(WD).unwrap()["status"]["replicas"] == 2).await;
    let on_hub = world.hub_wd(WD).unwrap()["spec"].clone();
    let mut finalizers = world.wd(WD).unwrap()["metadata"]["finalizers"].clone();
    finalizers.as_array_mut().unwrap().push(json!("example.com/other"));
    let grown = json!({"metadata": {"finalizers": finalizers}, "spec": {"padding": "x".repeat(2 * MIB)}});
    world.alpha.patch("WorkloadDeployment", SPACE, WD, &grown).unwrap();
    until("the answer", || reason(&world.wd(WD).unwrap()).as_deref() == Some("ObjectTooLarge")).await;
    quiet(60).await;
    assert_eq!(world.hub_wd(WD).unwrap()["spec"], on_hub, "what was federated stays");
    world.delete(WD);
    until("the hub WD to go", || world.hub_wd(WD).is_none()).await;
    until("our finalizer to go", || !has_our_finalizer(&world.wd(WD).unwrap())).await;
    let left = world.wd(WD).unwrap();
    assert_eq!(
        left["metadata"]["finalizers"],
        json!(["example.com/other"]),
        "and no other: {FEDERATOR_FINALIZER}"
    );
    run.stop().await;
}

/// A WD that may be federated, and whose memory is reserved.
fn put_large(world: &World, name: &str) {
    put_wd(&world.alpha, name, "DFW");
    let padding = json!({"spec": {"padding": "x".repeat(200 << 10)}});
    world.alpha.patch("WorkloadDeployment", SPACE, name, &padding).unwrap();
}

#[tokio::test(start_paused = true)]
async fn i8_who_writes_the_condition_of_a_large_wd_waits_for_memory_and_no_other_does() {
    let world = World::telling();
    put_large(&world, "large");
    let run = world.federated().await;
    until("it to be federated", || world.hub_wd("large").is_some()).await;
    quiet(1).await;
    let all = run.planes.budget().working(&PlaneId::Hub, 1 << 30).await;
    let has_condition = |plane: &ApiServer, name: &str| {
        federated(&plane.get("WorkloadDeployment", SPACE, name).unwrap()).is_some()
    };
    until("the condition of another's small one", || has_condition(&world.beta, WD)).await;
    quiet(60).await;
    assert!(!has_condition(&world.alpha, "large"));
    drop(all);
    until("its condition", || has_condition(&world.alpha, "large")).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i8_a_pass_over_a_large_wd_holds_its_memory_until_it_has_explained_what_blocks_it() {
    let world = World::new();
    put_large(&world, "large");
    let run = world.run_over(client(&world.hub));
    until("it to be federated", || world.hub_wd("large").is_some()).await;
    quiet(60).await;
    world.hub.fault(Fault::Hang);
    world.alpha.fault(Fault::Slow(Duration::from_mins(1)).on("update", "workloaddeployments/status"));
    world.delete("large");
    until("it to be explained", || {
        world.alpha.audit().iter().any(|entry| entry.short().contains("/status/large"))
    })
    .await;
    let all =
        tokio::time::timeout(Duration::from_secs(30), run.planes.budget().working(&PlaneId::Hub, 1 << 30));
    assert!(all.await.is_err(), "the explanation holds a part of it");
    until("the explanation", || reason(&world.wd("large").unwrap()).as_deref() == Some("CleanupHeld")).await;
    run.stop().await;
}

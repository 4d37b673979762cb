//! I4: lists that are empty, old or wrong. Nothing is deleted, and what is missing is created again.

use fedhub_fake_apiserver::Fault;
use serde_json::json;

use crate::controller::support::*;

#[tokio::test(start_paused = true)]
async fn i4_a_hub_that_answers_empty_lists_loses_nothing() {
    let world = World::new();
    put_wd(&world.alpha, "web-2", "DFW");
    let run = world.federated().await;
    world.report(WD, &reported(3));
    until("the status", || world.wd(WD).unwrap()["status"]["replicas"] == 3).await;
    let objects = |w: &World| (w.hub.list("WorkloadDeployment").len(), w.hub.list("PropagationPolicy").len());
    let before = objects(&world);
    let status = world.wd(WD).unwrap()["status"].clone();
    let from = world.positions();
    for resource in ["namespaces", "workloaddeployments", "propagationpolicies"] {
        world.hub.fault(Fault::EmptyList.on("list", resource));
    }
    world.gap();
    quiet(60).await;
    world.hub.clear_faults();
    // One hub WD goes while the federator knows of none.
    world.hub.delete("WorkloadDeployment", &hub_space(&world.alpha), "web-2").unwrap();
    until("it to be created again", || world.hub_wd("web-2").is_some()).await;
    quiet(3600).await;
    assert_eq!(objects(&world), before);
    let [hub, alpha, beta] = world.writes(from);
    assert!(!hub.iter().any(|w| w.starts_with("delete") || w.starts_with("update")), "{hub:?}");
    assert!(alpha.is_empty() && beta.is_empty(), "{alpha:?} {beta:?}");
    assert_eq!(world.wd(WD).unwrap()["status"], status);
    // And it goes on: what the empty lists left out is known again.
    world.report(WD, &reported(4));
    until("the next status", || world.wd(WD).unwrap()["status"]["replicas"] == 4).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_a_hub_that_was_emptied_is_filled_again_and_no_status_is_blanked() {
    let world = World::new();
    let empty = world.hub.snapshot();
    let run = world.federated().await;
    world.report(WD, &reported(3));
    until("the status", || world.wd(WD).unwrap()["status"]["replicas"] == 3).await;
    let old = uid(&world.hub_wd(WD).unwrap());
    let status = world.wd(WD).unwrap()["status"].clone();
    world.hub.restore_bumped(&empty);
    until("it to be filled again", || {
        world.hub_wd(WD).is_some_and(|wd| uid(&wd) != old) && world.hub_wd_of(&world.beta, WD).is_some()
    })
    .await;
    quiet(60).await;
    assert_eq!(world.wd(WD).unwrap()["status"], status);
    world.report(WD, &reported(3));
    until("the loss to be over", || {
        let marks = world.hub_wd(WD).unwrap()["metadata"]["annotations"].clone();
        marks["federation.datumapis.com/hub-lost"].is_null()
    })
    .await;
    let wd = world.wd(WD).unwrap();
    assert_eq!(wd["status"], status);
    let namespace = world.hub.get("Namespace", "", &hub_space(&world.alpha)).unwrap();
    assert_eq!(
        wd["metadata"]["annotations"]["federation.datumapis.com/hub-namespace-uid"],
        json!(uid(&namespace))
    );
    assert!(world.policy("city-dfw").is_some());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_a_project_plane_that_answers_an_empty_list_loses_nothing_on_the_hub() {
    let world = World::new();
    let run = world.federated().await;
    let from = world.positions();
    let id = world.alpha.fault(Fault::EmptyList);
    world.alpha.compact();
    world.alpha.break_watches();
    quiet(3600).await;
    assert!(world.writes(from)[0].is_empty(), "{:?}", world.writes(from)[0]);
    assert!(world.hub_wd(WD).is_some() && world.policy("city-dfw").is_some());
    world.alpha.clear_fault(id);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_a_deletion_during_the_gap_is_not_lost() {
    let world = World::new();
    let run = world.federated().await;
    let id = world.alpha.fault(Fault::Hang.on("watch", "*"));
    world.delete(WD);
    world.alpha.compact();
    world.alpha.break_watches();
    world.alpha.clear_fault(id);
    until("the WD to go", || world.wd(WD).is_none()).await;
    assert!(world.hub_wd(WD).is_none());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_a_deletion_over_an_emptied_list_reads_live() {
    let world = World::new();
    let run = world.federated().await;
    let id = world.hub.fault(Fault::EmptyList);
    world.gap();
    quiet(5).await;
    world.delete(WD);
    until("the WD to go", || world.wd(WD).is_none()).await;
    assert!(world.hub_wd(WD).is_none(), "the list was not believed");
    world.hub.clear_fault(id);
    run.stop().await;
}

//! F9: a hub that is restored from a backup. What it lacks may have been lost, and run on in its cell.

use fedhub_core::names::LOST;
use fedhub_fake_apiserver::{Fault, Snapshot};
use serde_json::json;

use crate::controller::support::*;

/// A process, and a backup of the hub without `alpha`'s hub WD, on which a cell has reported since. It has
/// that of another WD of its namespace, whose city does not report: the hub is not trusted once it is
/// restored.
async fn backed_up() -> (World, Run, Snapshot) {
    let world = World::new();
    world.delete(WD);
    put_wd(&world.alpha, "older", "ORD");
    let run = world.run();
    until("the other WD to be federated", || world.hub_wd("older").is_some()).await;
    quiet(5).await;
    let backup = world.hub.snapshot();
    put_wd(&world.alpha, WD, "DFW");
    until("the WD to be federated", || world.hub_wd(WD).is_some()).await;
    world.report(WD, &reported(3));
    until("the status", || world.wd(WD).unwrap()["status"]["replicas"] == 3).await;
    (world, run, backup)
}

/// `alpha`'s hub WD was made in place of one that was lost.
fn is_refilled(world: &World) -> bool {
    world
        .hub_wd(WD)
        .is_some_and(|wd| wd["metadata"]["annotations"]["federation.datumapis.com/hub-lost"] == "true")
}

/// The cell has taken over what was federated again; the WD goes.
async fn ends(world: &World, run: &Run) {
    until("the refill", || is_refilled(world)).await;
    quiet(600).await;
    assert!(has_our_finalizer(&world.wd(WD).unwrap()));
    assert_eq!((run.held("hub_state_lost"), run.metrics.hub_restored.get()), (1, 1), "visibly");
    assert_eq!(reason(&world.wd(WD).unwrap()).as_deref(), Some("CleanupHeld"), "visibly");
    let from = world.positions();
    world.report(WD, &reported(3));
    until("the WD to go", || world.wd(WD).is_none()).await;
    assert!(world.hub_wd(WD).is_none());
    let mut writes = world.writes(from)[0].clone();
    writes.dedup();
    assert_eq!(writes, ["update workloaddeployments/web", "delete workloaddeployments/web"]);
    assert_eq!((run.held("hub_state_lost"), run.metrics.hub_restored.get()), (0, 1));
    let remembered = run.federator.remembered();
    assert!(remembered.contains(&("seen_deleted", 0)), "{remembered:?}");
}

#[tokio::test(start_paused = true)]
async fn f9_a_wd_that_a_restored_hub_lacks_goes_when_its_cell_has_reported() {
    let (world, run, backup) = backed_up().await;
    world.hub.restore(&backup);
    until("the refill", || is_refilled(&world)).await;
    world.delete(WD);
    ends(&world, &run).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c11_a_declaration_that_came_back_with_the_hub_proves_nothing_gone() {
    let (world, run, backup) = backed_up().await;
    world.hub.restore(&backup);
    until("the refill", || is_refilled(&world)).await;
    let lost = json!({"metadata": {"annotations": {LOST: "2025-12-30T00:00:00Z"}}});
    world.hub.patch("Cluster", "", "cell-1", &lost).unwrap();
    world.delete(WD);
    ends(&world, &run).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f9_a_wd_that_is_deleted_while_the_hub_is_restored_is_not_released_on_a_404() {
    // With and without its watches: who reads the hub first may be who deletes.
    for deaf in [false, true] {
        let (world, run, backup) = backed_up().await;
        world.hub.fault(Fault::Status(503));
        if deaf {
            world.hub.fault(Fault::Status(503).on("watch", "*"));
            world.hub.fault(Fault::Status(503).on("list", "workloaddeployments"));
        }
        world.delete(WD);
        quiet(1).await;
        world.hub.restore(&backup);
        quiet(1).await;
        world.hub.clear_faults();
        ends(&world, &run).await;
        run.stop().await;
    }
}

/// What was deleted does not start again in its cell because the hub does not say whether it is what it was.
#[tokio::test(start_paused = true)]
async fn f9_while_the_hub_does_not_say_whether_it_was_restored_a_deletion_waits() {
    let (world, run, _) = backed_up().await;
    // The finalizer stays, for the process ends in between.
    world.alpha.fault(Fault::Status(503).on("patch", "workloaddeployments"));
    world.delete(WD);
    until("it to leave the hub", || world.hub_wd(WD).is_none()).await;
    run.stop().await;
    world.alpha.fault(Fault::Status(503));
    let run = world.run();
    quiet(30).await;
    // The hub was listed, and answers all but the next questions for its newest version.
    world.hub.fault(Fault::Status(429).on("list", "*"));
    let from = world.positions();
    world.alpha.clear_faults();
    quiet(120).await;
    assert!(has_our_finalizer(&world.wd(WD).unwrap()), "nothing is proven");
    assert_eq!(reason(&world.wd(WD).unwrap()).as_deref(), Some("CleanupHeld"), "visibly");
    world.hub.clear_faults();
    until("it to go", || world.wd(WD).is_none()).await;
    let writes = world.writes(from);
    assert!(
        !writes.iter().flatten().any(|write| write.starts_with("create workloaddeployments")),
        "{writes:?}"
    );
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f9_what_is_seen_deleted_on_a_restored_hub_is_proven_gone() {
    let (world, run, backup) = backed_up().await;
    world.hub.restore(&backup);
    until("the refill", || is_refilled(&world)).await;
    put_wd(&world.alpha, "new", "DFW");
    until("the new WD to be federated", || world.hub_wd("new").is_some()).await;
    quiet(5).await;
    for name in ["new", "older"] {
        let from = world.positions();
        world.delete(name);
        until("it to go", || world.wd(name).is_none()).await;
        assert!(world.hub_wd(name).is_none());
        assert!(!world.writes(from)[0].iter().any(|write| write.starts_with("create")), "not even once more");
    }
    let remembered = run.federator.remembered();
    assert!(remembered.contains(&("seen_deleted", 0)), "{remembered:?}");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f9_what_is_deleted_by_hand_before_its_cell_has_taken_it_over_proves_nothing() {
    let (world, run, backup) = backed_up().await;
    world.hub.restore(&backup);
    until("the refill", || is_refilled(&world)).await;
    world.delete(WD);
    quiet(5).await;
    let first = uid(&world.hub_wd(WD).unwrap());
    world.hub.delete("WorkloadDeployment", &hub_space(&world.alpha), WD).unwrap();
    until("it to be created again", || world.hub_wd(WD).is_some_and(|wd| uid(&wd) != first)).await;
    ends(&world, &run).await;
    run.stop().await;
}

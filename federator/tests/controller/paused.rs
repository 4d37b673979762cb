//! A plane that an operator pauses and resumes (I12).

use fedhub_core::object::PlaneId;
use fedhub_fake_apiserver::ApiServer;
use fedhub_planes::{Health, Pauses, Settings};
use fedhub_testing::{HOME, follow_pauses, management_plane, set_paused};
use serde_json::json;
use tokio_util::sync::DropGuard;

use crate::controller::support::*;

/// A process that honours pauses, with both WDs federated.
async fn federated(world: &World, management: &ApiServer) -> (Run, DropGuard) {
    let pauses = Pauses::stored(management.client(), HOME);
    let settings = Settings { seed: 7, pauses, ..Settings::default() };
    let run = world.run_with(world.hub.client(), settings);
    let followed = follow_pauses(&run.planes);
    until("both WDs to be federated", || {
        world.hub_wd(WD).is_some() && world.hub_wd_of(&world.beta, WD).is_some()
    })
    .await;
    quiet(1).await;
    (run, followed)
}

fn health(run: &Run) -> Health {
    run.planes.project(&plane_name("alpha")).unwrap().health()
}

fn replicas(wd: &serde_json::Value) -> &serde_json::Value {
    &wd["spec"]["replicas"]
}

#[tokio::test(start_paused = true)]
async fn i12_a_paused_plane_is_not_written_here_or_on_the_hub_and_all_arrives_when_it_is_resumed() {
    for all in [false, true] {
        let world = World::telling();
        let management = management_plane();
        put_wd(&world.alpha, "leaves", "ORD");
        put_wd(&world.alpha, "moves", "DFW");
        let (run, _stop) = federated(&world, &management).await;
        until("the others", || world.hub_wd("leaves").is_some() && world.hub_wd("moves").is_some()).await;
        quiet(30).await;
        let paused = (!all).then_some("alpha");
        set_paused(&management, paused, true).await;
        until("the pause", || health(&run) == Health::Paused).await;
        quiet(1).await;
        let before = world.positions();
        let failed = run.failed("federator");
        let spec = |replicas: u64| json!({"spec": {"replicas": replicas}});
        for server in [&world.alpha, &world.beta] {
            server.patch("WorkloadDeployment", SPACE, WD, &spec(4)).unwrap();
        }
        world
            .alpha
            .patch("WorkloadDeployment", SPACE, "moves", &json!({"spec": {"cityCode": "ORD"}}))
            .unwrap();
        world.delete("leaves");
        put_wd(&world.alpha, "late", "DFW");
        // What is done to the hub by hand is not repaired either.
        world
            .hub
            .patch("WorkloadDeployment", &hub_space(&world.alpha), WD, &json!({"metadata": {"labels": null}}))
            .unwrap();
        world.hub.delete("PropagationPolicy", &hub_space(&world.alpha), "city-dfw").unwrap();
        world.report(WD, &reported(3));
        quiet(900).await;
        let hub = &world.writes(before)[0];
        assert_eq!(hub.iter().filter(|write| write.contains(&hub_space(&world.alpha))).count(), 0, "{hub:?}");
        assert!(world.writes(before)[1].is_empty(), "{:?}", world.writes(before)[1]);
        assert!(has_our_finalizer(&world.wd("leaves").unwrap()) && world.hub_wd("leaves").is_some());
        assert_eq!(*replicas(&world.hub_wd_of(&world.beta, WD).unwrap()) == 4, !all, "another plane goes on");
        assert_eq!((run.queue.depth(), run.failed("federator")), (0, failed));
        assert!(
            run.queue.oldest_by_lane().iter().all(|(plane, _)| *plane == PlaneId::Hub),
            "nothing is overdue"
        );

        set_paused(&management, paused, false).await;
        until("the change", || *replicas(&world.hub_wd(WD).unwrap()) == 4).await;
        until("the policy", || world.policy("city-dfw").is_some()).await;
        until("the deletion", || world.wd("leaves").is_none() && world.hub_wd("leaves").is_none()).await;
        until("the move", || world.hub_wd("moves").unwrap()["spec"]["cityCode"] == "ORD").await;
        until("the status", || world.wd(WD).unwrap()["status"]["replicas"] == 3).await;
        until("the new one", || world.hub_wd("late").is_some()).await;
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn i12_i7_a_pause_of_nothing_new_writes_nothing_afterwards() {
    let world = World::new();
    let management = management_plane();
    let (run, _stop) = federated(&world, &management).await;
    quiet(60).await;
    let before = world.positions();
    set_paused(&management, Some("alpha"), true).await;
    until("the pause", || health(&run) == Health::Paused).await;
    quiet(60).await;
    set_paused(&management, Some("alpha"), false).await;
    until("the resume", || health(&run) == Health::Engaged).await;
    quiet(600).await;
    assert_eq!(world.writes(before), nothing());
    run.stop().await;
}

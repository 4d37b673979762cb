//! I8: one plane's trouble stays its own.

use std::time::Duration;

use fedhub_fake_apiserver::Fault;
use serde_json::json;
use tokio::time::Instant;

use crate::controller::support::*;

#[tokio::test(start_paused = true)]
async fn i8_a_plane_that_is_in_trouble_does_not_slow_another() {
    for fault in [Fault::Hang, Fault::Status(429), Fault::Status(500), Fault::Garbage, Fault::Disconnect] {
        let world = World::new();
        let run = world.federated().await;
        // Many changes wait on the plane that hangs, more than it may have in flight.
        for n in 0..20 {
            put_wd(&world.alpha, &format!("many-{n}"), "DFW");
        }
        world.alpha.fault(fault);
        let before = Instant::now();
        put_wd(&world.beta, "quick", "DFW");
        until("the other plane's WD", || world.hub_wd_of(&world.beta, "quick").is_some()).await;
        assert!(before.elapsed() < Duration::from_millis(100), "{fault:?}: {:?}", before.elapsed());
        world.alpha.clear_faults();
        if fault != Fault::Hang {
            until("all to be federated", || (0..20).all(|n| world.hub_wd(&format!("many-{n}")).is_some()))
                .await;
            run.stop().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn i8_a_plane_that_hangs_at_engagement_does_not_hold_another() {
    let world = World::new();
    world.alpha.fault(Fault::Hang);
    let run = world.run();
    until("the other plane's WD", || world.hub_wd_of(&world.beta, WD).is_some()).await;
    assert!(world.hub_wd(WD).is_none());
    drop(run);
}

/// Its resourceVersions go back with it, and its watches would go on from where they were.
#[tokio::test(start_paused = true)]
async fn i13_a_project_plane_that_was_restored_in_place_is_followed() {
    let world = World::new();
    let run = world.federated().await;
    let backup = world.alpha.snapshot();
    let set = |n: u32| {
        world.alpha.patch("WorkloadDeployment", SPACE, WD, &json!({"spec": {"n": n}})).unwrap();
    };
    (0..36).for_each(set);
    put_wd(&world.alpha, "younger", "DFW");
    until("all edits", || world.hub_wd(WD).is_some_and(|wd| wd["spec"]["n"] == 35)).await;
    until("the younger WD", || world.hub_wd("younger").is_some()).await;
    quiet(5).await;
    world.alpha.restore(&backup);
    set(100);
    let before = Instant::now();
    until("the edit", || world.hub_wd(WD).is_some_and(|wd| wd["spec"]["n"] == 100)).await;
    assert!(before.elapsed() < Duration::from_mins(1), "{:?}", before.elapsed());
    world.report(WD, &reported(4));
    until("the status", || world.wd(WD).unwrap()["status"]["replicas"] == 4).await;
    world.delete(WD);
    until("the WD to go", || world.wd(WD).is_none() && world.hub_wd(WD).is_none()).await;
    quiet(600).await;
    assert!(world.hub_wd("younger").is_some(), "what the backup lacks was never deleted (I4)");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i6_two_tenants_with_one_name_have_two_hub_wds() {
    let world = World::new();
    let run = world.federated().await;
    assert_ne!(hub_space(&world.alpha), hub_space(&world.beta));
    world.report(WD, &reported(5));
    until("the status", || world.wd(WD).unwrap()["status"]["replicas"] == 5).await;
    world.delete(WD);
    until("the WD to go", || world.wd(WD).is_none()).await;
    quiet(60).await;
    let other = world.beta.get("WorkloadDeployment", SPACE, WD).unwrap();
    assert!(is_unreported(&other) && has_our_finalizer(&other));
    assert!(world.hub_wd_of(&world.beta, WD).is_some());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f1_events_of_a_plane_that_is_not_engaged_are_read_at_engagement() {
    let world = World::new();
    let run = world.federated().await;
    run.planes.disengage(&plane_name("alpha"));
    let dropped = || run.metrics.events_dropped.with_label_values(&["not_engaged"]).get();
    let before = dropped();
    world.report(WD, &reported(6));
    quiet(60).await;
    assert!(is_unreported(&world.wd(WD).unwrap()));
    assert_eq!(dropped(), before + 1, "counted by reason");
    run.planes.engage(&plane_name("alpha"), world.alpha.client());
    until("the status", || world.wd(WD).unwrap()["status"]["replicas"] == 6).await;
    run.stop().await;
}

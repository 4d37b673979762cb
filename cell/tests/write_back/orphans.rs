//! Copies whose Instance went unseen (I4): they go with proof, and slowly.

use fedhub_core::names::CELL_SOURCE;
use fedhub_fake_apiserver::Fault;
use serde_json::json;

use crate::write_back::support::*;

#[tokio::test(start_paused = true)]
async fn i4_a_copy_left_behind_goes_after_a_live_404_in_the_cell() {
    for running in [true, false] {
        let world = World::with_copies(2).await;
        let hub = position(&world.hub);
        let cell = position(&world.cell);
        if !running {
            end(&world, [0]);
        }
        let run = world.run();
        quiet(5).await;
        if running {
            miss(&world, [0]).await;
        }
        quiet(60).await;
        assert!(world.copy("wd-0").is_none() && world.copy("wd-1").is_some());
        assert_eq!(asked(&world.cell, cell), ["get instances/wd-0"]);
        assert_eq!(asked(&world.hub, hub), ["get instances/wd-0", "delete instances/wd-0"]);
        let delete = world.hub.audit().into_iter().find(|e| e.verb == "delete").unwrap();
        assert!(delete.body.unwrap()["preconditions"]["uid"].is_string());
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn i4_copies_left_behind_stay_in_the_bucket() {
    let world = World::with_copies(50).await;
    end(&world, 0..50);
    let run = world.run();
    quiet(5).await;
    let left = || world.hub.list(INSTANCE).len();
    assert!((28..=30).contains(&left()), "twenty at once: {}", left());
    quiet(60).await;
    assert!((8..=11).contains(&left()), "twenty a minute: {}", left());
    until("all to be gone", || left() == 0).await;
    assert!(run.metrics.deletes_withheld.with_label_values(&["rate"]).get() >= 30);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_a_deletion_that_was_seen_waits_for_none_that_was_not() {
    let world = World::with_copies(3).await;
    end(&world, [0]);
    let run = world.run_with_bucket(0);
    quiet(5).await;
    end(&world, [1]);
    quiet(600).await;
    assert!(world.copy("wd-0").is_some() && world.copy("wd-1").is_none());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_an_empty_or_silent_cell_deletes_nothing() {
    let world = World::with_copies(3).await;
    let from = position(&world.hub);
    let run = world.run();
    quiet(5).await;
    for fault in [
        Fault::EmptyList,
        Fault::Status(403),
        Fault::Status(500),
        Fault::Garbage,
        Fault::Disconnect,
        Fault::Hang,
    ] {
        let id = world.cell.fault(fault);
        world.cell.compact();
        world.cell.break_watches();
        quiet(300).await;
        world.cell.clear_fault(id);
        world.cell.break_watches();
        quiet(60).await;
    }
    assert!(writes(&world.hub, from).is_empty(), "{:?}", writes(&world.hub, from));
    run.stop().await;
    world.cell.fault(Fault::EmptyList);
    let run = world.run();
    quiet(300).await;
    assert!(writes(&world.hub, from).is_empty(), "after a restart into it");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c7_a_copy_that_is_not_known_to_be_ours_stays() {
    for mark in [json!("ord/some-uid"), json!("dfw"), json!(null)] {
        let world = World::with_copies(1).await;
        world
            .hub
            .patch(INSTANCE, NS_A, "wd-0", &json!({"metadata": {"annotations": {CELL_SOURCE: mark}}}))
            .unwrap();
        end(&world, [0]);
        let from = position(&world.hub);
        let run = world.run();
        quiet(60).await;
        for _ in 0..3 {
            world.gap();
            quiet(60).await;
        }
        assert_eq!(asked(&world.hub, from), ["get instances/wd-0"], "{mark}: looked at once");
        assert!(world.copy("wd-0").is_some());
        run.stop().await;
    }
}

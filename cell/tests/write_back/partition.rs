//! The hub cannot be reached from the cell for a while: nothing is lost, and all is caught up with.

use fedhub_fake_apiserver::Fault;
use serde_json::json;

use crate::write_back::support::*;

/// The hub has the copies of exactly the cell's Instances, as these are now.
fn caught_up(world: &World) -> bool {
    let sources = world.cell.list(INSTANCE);
    let copies = world.hub.list(INSTANCE);
    sources.len() == copies.len()
        && sources.iter().zip(&copies).all(|(s, c)| {
            let of = |o: &serde_json::Value| o["metadata"]["name"].clone();
            of(s) == of(c)
                && (&s["spec"], &s["status"]) == (&c["spec"], &c["status"])
                && mark_of(c) == world.source_of(s)
        })
}

#[tokio::test(start_paused = true)]
async fn c7_after_a_partition_the_hub_is_caught_up_with() {
    for fault in [Fault::Hang, Fault::Disconnect, Fault::Status(503), Fault::Garbage, Fault::Throttle(1)] {
        let world = World::with_copies(6).await;
        let run = world.run();
        quiet(5).await;
        world.hub.fault(fault);
        world.gap();
        // Scaling goes on in the cell.
        for n in 0..30 {
            match n % 5 {
                0 => drop(world.put_instance(NS_A, &format!("wd-{}", 10 + n))),
                1 => drop(world.put_instance(NS_B, &format!("wd-{n}"))),
                2 => assert!(world.cell.delete(INSTANCE, NS_A, &format!("wd-{}", n / 5)).unwrap(), "at once"),
                3 => world.patch_instance("wd-10", &json!({"spec": {"n": n}})),
                _ => drop(world.cell.patch_status(INSTANCE, NS_A, "wd-10", &status("False")).unwrap()),
            }
            quiet(10).await;
        }
        world.hub.clear_faults();
        until("all to be caught up with", || caught_up(&world)).await;
        let hub = position(&world.hub);
        let cell = position(&world.cell);
        quiet(600).await;
        assert!(writes(&world.hub, hub).is_empty() && writes(&world.cell, cell).is_empty());
        assert_eq!((run.queue.pending(), run.queue.circuits_open()), (0, 0));
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn c9_what_the_hub_does_not_allow_is_reported_once_with_who_has_to_act() {
    let world = World::with_copies(1).await;
    let run = world.run();
    quiet(5).await;
    world.hub.fault(Fault::Status(403).on("create", "instances"));
    world.put_instance(NS_A, "wd-1");
    quiet(600).await;
    assert!(world.copy("wd-1").is_none() && run.failed("write_back") > 0, "tried again and again");
    assert_eq!(run.quarantined("forbidden"), 1);
    let events = world.cell.list("events.events.k8s.io");
    assert_eq!(events.len(), 1, "said once: {events:?}");
    assert_eq!(events[0]["reason"], "NotWrittenBack");
    let note = events[0]["note"].as_str().unwrap();
    assert!(note.contains("create instances on the hub") && note.contains("platform operator"), "{note}");
    world.hub.clear_faults();
    until("it to be written back", || world.copy("wd-1").is_some()).await;
    quiet(60).await;
    assert_eq!(run.quarantined("forbidden"), 0);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i8_a_reconcile_does_not_wait_for_an_event_to_be_stored() {
    let world = World::with_copies(1).await;
    world.hub.fault(Fault::Status(403).on("create", "instances"));
    world.cell.fault(Fault::Hang.on("create", "events"));
    let run = world.run();
    quiet(5).await;
    // As many as there are workers, and more.
    (1..30).for_each(|n| drop(world.put_instance(NS_A, &format!("wd-{n}"))));
    quiet(5).await;
    world.cell.patch_status(INSTANCE, NS_A, "wd-0", &status("False")).unwrap();
    quiet(4).await;
    assert_eq!(world.copy("wd-0").unwrap()["status"], status("False"), "although no Event is stored");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i8_a_hub_that_fails_two_projects_is_tried_by_one_key_at_a_time() {
    let world = World::new();
    let run = world.run();
    quiet(5).await;
    for n in 0..40 {
        world.put_instance(NS_A, &format!("wd-{n}"));
        world.put_instance(NS_B, &format!("wd-{n}"));
    }
    quiet(30).await;
    world.hub.fault(Fault::Status(503).on("update", "*"));
    world.hub.fault(Fault::Status(503).on("get", "*"));
    let from = position(&world.hub);
    for space in [NS_A, NS_B] {
        for n in 0..40 {
            world.cell.patch_status(INSTANCE, space, &format!("wd-{n}"), &status("False")).unwrap();
        }
    }
    quiet(300).await;
    let tried = asked(&world.hub, from).len();
    // Each once, for the hub may fail on some objects only, and then one at a time, ever more rarely.
    assert!(tried < 80 + 20, "{tried} requests for 80 objects in five minutes");
    assert_eq!(run.queue.circuits_open(), 1);
    world.hub.clear_faults();
    until("all to be caught up with", || caught_up(&world)).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_a_hub_that_lost_its_state_is_filled_again() {
    let world = World::with_copies(4).await;
    let empty = fedhub_fake_apiserver::ApiServer::hub("hub").snapshot();
    let run = world.run();
    quiet(5).await;
    world.hub.restore_bumped(&empty);
    quiet(60).await;
    assert_eq!(world.cell.list(INSTANCE).len(), 4);
    world.put_namespace(NS_A, "alpha");
    world.put_wd(NS_A, "wd", "DFW");
    until("all to be written back", || caught_up(&world)).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i7_a_restored_backup_is_brought_up_to_date() {
    let world = World::with_copies(3).await;
    let backup = world.hub.snapshot();
    let run = world.run();
    quiet(5).await;
    world.cell.delete(INSTANCE, NS_A, "wd-2").unwrap();
    world.cell.patch_status(INSTANCE, NS_A, "wd-0", &status("False")).unwrap();
    world.put_instance(NS_A, "wd-7");
    quiet(30).await;
    assert!(caught_up(&world));
    world.hub.restore_bumped(&backup);
    until("all to be brought up to date", || caught_up(&world)).await;
    run.stop().await;
}

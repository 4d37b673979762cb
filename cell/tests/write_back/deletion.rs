//! A copy lives as long as its Instance, which waits for nothing of the hub (C7).

use fedhub_fake_apiserver::Fault;
use serde_json::json;

use crate::write_back::support::*;

#[tokio::test(start_paused = true)]
async fn c7_a_hub_that_fails_holds_up_nothing_in_the_cell_and_has_it_all_when_it_answers() {
    for fault in [
        Fault::Status(503),
        Fault::Status(403),
        Fault::Garbage,
        Fault::Disconnect,
        Fault::Hang,
        Fault::Throttle(1),
    ] {
        let world = World::with_copies(3).await;
        let run = world.run_with_bucket(0);
        quiet(5).await;
        world.hub.fault(fault);
        for name in ["wd-0", "wd-1"] {
            world.cell.delete(INSTANCE, NS_A, name).unwrap();
            assert!(world.cell.get(INSTANCE, NS_A, name).is_none(), "{fault:?}");
        }
        // What rolls out or heals is made anew at once.
        let new = world.put_instance(NS_A, "wd-0");
        let from = position(&world.cell);
        quiet(300).await;
        assert!(asked(&world.cell, from).iter().all(|request| request.contains("events")), "{fault:?}");
        assert_eq!(world.hub.list(INSTANCE).len(), 3, "{fault:?}");
        world.hub.clear_faults();
        until("the copies to follow", || world.copy("wd-1").is_none()).await;
        until("the new one", || {
            world.copy("wd-0").is_some_and(|copy| mark_of(&copy) == world.source_of(&new))
        })
        .await;
        assert!(world.copy("wd-2").is_some());
        quiet(600).await;
        assert_eq!((run.quarantined("forbidden"), run.write_back.remembered()), (0, 0), "{fault:?}");
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn c7_what_ends_while_a_process_starts_into_a_hub_that_is_away_ends_there_too() {
    let world = World::with_copies(2).await;
    world.cell.delete(INSTANCE, NS_A, "wd-0").unwrap();
    world.hub.fault(Fault::Disconnect);
    let run = world.run();
    quiet(60).await;
    world.cell.delete(INSTANCE, NS_A, "wd-1").unwrap();
    quiet(60).await;
    assert!(world.cell.list(INSTANCE).is_empty());
    world.hub.clear_faults();
    until("both to go", || world.hub.list(INSTANCE).is_empty()).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c7_a_hub_that_forbids_the_deletion_is_counted() {
    let world = World::with_copies(1).await;
    let run = world.run();
    quiet(5).await;
    world.hub.fault(Fault::Status(403).on("delete", "instances"));
    world.cell.delete(INSTANCE, NS_A, "wd-0").unwrap();
    quiet(600).await;
    assert!(world.copy("wd-0").is_some() && world.cell.list(INSTANCE).is_empty());
    assert!(run.failed("write_back") > 1, "tried again and again");
    assert_eq!(run.quarantined("forbidden"), 1);
    world.hub.clear_faults();
    until("the copy to go", || world.copy("wd-0").is_none()).await;
    quiet(5).await;
    assert_eq!(run.quarantined("forbidden"), 0);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c7_a_copy_that_the_hub_did_not_list_goes_with_its_instance() {
    let world = World::with_copies(1).await;
    world.hub.fault(Fault::EmptyList.on("list", "instances"));
    let run = world.run();
    quiet(5).await;
    world.cell.delete(INSTANCE, NS_A, "wd-0").unwrap();
    quiet(60).await;
    assert!(world.copy("wd-0").is_none());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c7_a_copy_that_somebodys_finalizer_keeps_holds_nothing_in_the_cell() {
    let world = World::with_copies(1).await;
    let run = world.run();
    quiet(5).await;
    world.hub.patch(INSTANCE, NS_A, "wd-0", &json!({"metadata": {"finalizers": ["a/b"]}})).unwrap();
    world.cell.delete(INSTANCE, NS_A, "wd-0").unwrap();
    let new = world.put_instance(NS_A, "wd-0");
    quiet(600).await;
    assert_eq!(mark_of(&world.copy("wd-0").unwrap()).split('/').count(), 3);
    assert_ne!(mark_of(&world.copy("wd-0").unwrap()), world.source_of(&new));
    assert_eq!((run.objects("write_back", "parked"), run.failed("write_back")), (1, 0));
    world.hub.patch(INSTANCE, NS_A, "wd-0", &json!({"metadata": {"finalizers": null}})).unwrap();
    quiet(5).await;
    assert_eq!(mark_of(&world.copy("wd-0").unwrap()), world.source_of(&new));
    assert_eq!(run.objects("write_back", "parked"), 0);
    run.stop().await;
}

/// What the cell says of an Instance whose deletion lasts.
fn terminating() -> serde_json::Value {
    json!({"suspended": false, "conditions": [condition("Ready", "False", "Terminating", "")]})
}

/// These hold `wd-0`.
fn provide(world: &World, finalizers: &serde_json::Value) {
    world.patch_instance("wd-0", &json!({"metadata": {"finalizers": finalizers}}));
}

#[tokio::test(start_paused = true)]
async fn c7_a_copy_lives_and_tells_of_the_deletion_until_its_instance_is_gone() {
    let world = World::with_copies(1).await;
    let provider = json!(["vm.example/provider"]);
    provide(&world, &provider);
    let before = world.copy("wd-0").unwrap();
    let mut run = world.run();
    quiet(5).await;
    let hub = position(&world.hub);
    // It is not remembered what became of the status that the process before this one wrote.
    let reported =
        ["get instances/wd-0", "update instances/status/wd-0 (dry)", "update instances/status/wd-0"];
    world.cell.delete(INSTANCE, NS_A, "wd-0").unwrap();
    world.cell.patch_status(INSTANCE, NS_A, "wd-0", &terminating()).unwrap();
    for _ in 0..2 {
        quiet(600).await;
        let copy = world.copy("wd-0").unwrap();
        assert_eq!((uid(&copy), &copy["status"]), (uid(&before), &terminating()));
        assert!(copy["metadata"]["deletionTimestamp"].is_null());
        assert_eq!(world.cell.get(INSTANCE, NS_A, "wd-0").unwrap()["metadata"]["finalizers"], provider);
        assert_eq!(asked(&world.hub, hub), reported);
        run.stop().await;
        run = world.run();
    }
    quiet(5).await;
    // The provider is done.
    provide(&world, &json!(null));
    quiet(5).await;
    assert!(world.copy("wd-0").is_none() && world.cell.list(INSTANCE).is_empty());
    assert_eq!(asked(&world.hub, hub)[reported.len()..], ["delete instances/wd-0"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c7_an_instance_whose_deletion_lasts_is_copied_anew_where_its_copy_is_missing() {
    let world = World::with_copies(1).await;
    provide(&world, &json!(["vm.example/provider"]));
    world.cell.delete(INSTANCE, NS_A, "wd-0").unwrap();
    world.hub.delete(INSTANCE, NS_A, "wd-0").unwrap();
    let run = world.run();
    quiet(60).await;
    assert!(world.copy("wd-0").is_some(), "the project sees what its Instance waits for");
    provide(&world, &json!(null));
    quiet(60).await;
    assert!(world.copy("wd-0").is_none() && world.cell.list(INSTANCE).is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c7_a_kill_at_any_request_of_a_deletion_ends_the_same() {
    for fault in [Fault::LostAnswer, Fault::Disconnect, Fault::Hang] {
        let world = World::with_copies(1).await;
        let run = world.run();
        quiet(5).await;
        let id = world.hub.fault(fault.on("delete", "instances"));
        world.cell.delete(INSTANCE, NS_A, "wd-0").unwrap();
        quiet(2).await;
        run.stop().await;
        world.hub.clear_fault(id);
        let run = world.run();
        until("the end", || world.copy("wd-0").is_none()).await;
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn c7_an_instance_replaced_under_its_name_has_the_copy_replaced() {
    let world = World::with_copies(1).await;
    let old = world.copy("wd-0").unwrap();
    // While no process ran.
    world.cell.delete(INSTANCE, NS_A, "wd-0").unwrap();
    let new = world.put_instance(NS_A, "wd-0");
    let from = position(&world.hub);
    let run = world.run();
    quiet(60).await;
    let copy = world.copy("wd-0").unwrap();
    assert_ne!(uid(&old), uid(&copy));
    assert_eq!(mark_of(&copy), world.source_of(&new));
    assert_eq!(
        asked(&world.hub, from),
        [
            "get instances/wd-0",
            "delete instances/wd-0",
            "create instances/wd-0",
            "update instances/status/wd-0"
        ]
    );
    let delete = world.hub.audit().into_iter().find(|e| e.verb == "delete").unwrap();
    assert_eq!(delete.body.unwrap()["preconditions"]["uid"], uid(&old));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_what_the_watch_showed_to_go_needs_no_proof_and_no_token() {
    let world = World::with_copies(50).await;
    let run = world.run_with_bucket(0);
    quiet(5).await;
    let cell = position(&world.cell);
    let hub = position(&world.hub);
    for n in 0..50 {
        world.cell.delete(INSTANCE, NS_A, &format!("wd-{n}")).unwrap();
    }
    quiet(60).await;
    assert!(world.hub.list(INSTANCE).is_empty());
    assert!(asked(&world.cell, cell).is_empty(), "{:?}", asked(&world.cell, cell));
    assert_eq!(asked(&world.hub, hub).len(), 50, "one request each: {:?}", asked(&world.hub, hub));
    assert_eq!(run.metrics.deletes_withheld.with_label_values(&["rate"]).get(), 0);
    assert_eq!(run.write_back.remembered(), 0);
    run.stop().await;
}

/// A cell that was restored from a backup has an Instance again whose end was shown.
#[tokio::test(start_paused = true)]
async fn i4_an_instance_that_is_there_again_has_not_been_seen_to_go() {
    let world = World::with_copies(1).await;
    let run = world.run_with_bucket(0);
    quiet(5).await;
    let instance = world.cell.get(INSTANCE, NS_A, "wd-0").unwrap();
    let id = world.hub.fault(Fault::Status(503).on("delete", "instances"));
    world.cell.delete(INSTANCE, NS_A, "wd-0").unwrap();
    quiet(5).await;
    world.cell.put(instance).unwrap();
    quiet(5).await;
    world.hub.clear_fault(id);
    quiet(300).await;
    assert!(world.copy("wd-0").is_some());
    miss(&world, [0]).await;
    quiet(300).await;
    assert!(world.copy("wd-0").is_some(), "it waits for a token");
    assert!(run.metrics.deletes_withheld.with_label_values(&["rate"]).get() > 0);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_a_copy_that_was_deleted_is_none_left_behind_while_the_watch_is_late() {
    let world = World::with_copies(1).await;
    let run = world.run_with_bucket(0);
    quiet(5).await;
    let hub = position(&world.hub);
    let cell = position(&world.cell);
    let id = world.hub.fault(Fault::Hang.on("watch", "instances"));
    world.cell.delete(INSTANCE, NS_A, "wd-0").unwrap();
    quiet(5).await;
    world.hub.clear_fault(id);
    quiet(60).await;
    assert_eq!(asked(&world.hub, hub), ["delete instances/wd-0"]);
    assert!(asked(&world.cell, cell).is_empty(), "{:?}", asked(&world.cell, cell));
    assert_eq!(run.metrics.deletes_withheld.with_label_values(&["rate"]).get(), 0);
    run.stop().await;
}

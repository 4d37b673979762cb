//! A finalizer is released only after the copy is proven gone (I3).

use fedhub_core::names::INSTANCE_FINALIZER;
use fedhub_fake_apiserver::Fault;
use serde_json::json;

use crate::write_back::support::*;

#[tokio::test(start_paused = true)]
async fn i3_a_hub_that_cannot_be_reached_holds_the_finalizer_visibly() {
    for (fault, reason) in [
        (Fault::Status(503), "hub_unreachable"),
        (Fault::Status(403), "hub_forbids"),
        (Fault::Garbage, "hub_unreachable"),
        (Fault::Disconnect, "hub_unreachable"),
        (Fault::Hang, "hub_unreachable"),
    ] {
        let world = World::with_copies(2).await;
        let run = world.run();
        quiet(5).await;
        world.hub.fault(fault);
        world.cell.delete(INSTANCE, NS_A, "wd-0").unwrap();
        quiet(300).await;
        assert!(world.cell.get(INSTANCE, NS_A, "wd-0").is_some(), "{fault:?}");
        assert_eq!(run.held(reason), 1, "{fault:?}");
        let events = world.cell.list("events.events.k8s.io");
        assert_eq!(events.len(), 1, "said once");
        assert_eq!(events[0]["reason"], "CleanupHeld");
        world.hub.clear_faults();
        until("the Instance to go", || world.cell.get(INSTANCE, NS_A, "wd-0").is_none()).await;
        assert!(world.copy("wd-0").is_none() && world.copy("wd-1").is_some());
        assert_eq!(run.held(reason), 0);
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn i3_a_start_into_a_hub_that_is_away_holds_and_shows_it() {
    let world = World::with_copies(2).await;
    world.cell.delete(INSTANCE, NS_A, "wd-0").unwrap();
    world.hub.fault(Fault::Disconnect);
    let run = world.run();
    quiet(60).await;
    assert_eq!(run.held("hub_unreachable"), 1);
    world.cell.delete(INSTANCE, NS_A, "wd-1").unwrap();
    quiet(60).await;
    assert_eq!(run.held("hub_unreachable"), 2);
    world.hub.clear_faults();
    until("both to go", || world.cell.list(INSTANCE).is_empty()).await;
    assert!(world.hub.list(INSTANCE).is_empty());
    assert_eq!(run.held("hub_unreachable"), 0);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i3_an_empty_list_releases_no_finalizer() {
    let world = World::with_copies(1).await;
    world.hub.fault(Fault::EmptyList.on("list", "instances"));
    let run = world.run();
    quiet(5).await;
    world.cell.delete(INSTANCE, NS_A, "wd-0").unwrap();
    quiet(60).await;
    assert!(world.copy("wd-0").is_none(), "what the watch does not show is read");
    assert!(world.cell.list(INSTANCE).is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i3_a_copy_without_the_label_of_the_city_is_found_all_the_same() {
    let world = World::with_copies(1).await;
    let run = world.run();
    quiet(5).await;
    world.hub.fault(Fault::Status(403).on("update", "instances"));
    let gone = json!({"metadata": {"labels": {fedhub_core::names::INSTANCE_CITY: null}}});
    world.hub.patch(INSTANCE, NS_A, "wd-0", &gone).unwrap();
    quiet(5).await;
    world.cell.delete(INSTANCE, NS_A, "wd-0").unwrap();
    until("the Instance to go", || world.cell.list(INSTANCE).is_empty()).await;
    assert!(world.copy("wd-0").is_none());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i3_a_copy_that_somebodys_finalizer_keeps_holds_ours() {
    let world = World::with_copies(1).await;
    let run = world.run();
    quiet(5).await;
    world.hub.patch(INSTANCE, NS_A, "wd-0", &json!({"metadata": {"finalizers": ["a/b"]}})).unwrap();
    world.cell.delete(INSTANCE, NS_A, "wd-0").unwrap();
    quiet(600).await;
    assert!(world.cell.get(INSTANCE, NS_A, "wd-0").is_some());
    assert_eq!((run.held("copy_leaving"), run.failed("write_back")), (1, 0));
    world.hub.patch(INSTANCE, NS_A, "wd-0", &json!({"metadata": {"finalizers": null}})).unwrap();
    quiet(5).await;
    assert!(world.cell.list(INSTANCE).is_empty());
    assert_eq!(run.held("copy_leaving"), 0);
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
async fn c7_a_copy_lives_and_tells_of_the_deletion_until_nobody_else_holds_its_instance() {
    let world = World::with_copies(1).await;
    let both = json!(["vm.example/provider", INSTANCE_FINALIZER]);
    provide(&world, &both);
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
        assert_eq!(world.cell.get(INSTANCE, NS_A, "wd-0").unwrap()["metadata"]["finalizers"], both);
        assert_eq!(asked(&world.hub, hub), reported);
        assert_eq!((run.held("hub_unreachable"), run.held("copy_leaving")), (0, 0));
        run.stop().await;
        run = world.run();
    }
    // The provider is done: first the copy goes, then ours (I3).
    provide(&world, &json!([INSTANCE_FINALIZER]));
    quiet(5).await;
    assert!(world.copy("wd-0").is_none() && world.cell.list(INSTANCE).is_empty());
    assert_eq!(asked(&world.hub, hub)[reported.len()..], ["delete instances/wd-0"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c7_an_instance_without_our_finalizer_has_its_copy_until_it_is_gone_and_gets_none_anew() {
    for copied in [true, false] {
        let world = World::with_copies(1).await;
        provide(&world, &json!(["vm.example/provider"]));
        world.cell.delete(INSTANCE, NS_A, "wd-0").unwrap();
        if !copied {
            world.hub.delete(INSTANCE, NS_A, "wd-0").unwrap();
        }
        let run = world.run();
        quiet(60).await;
        let left = world.cell.get(INSTANCE, NS_A, "wd-0").unwrap();
        assert_eq!(left["metadata"]["finalizers"], json!(["vm.example/provider"]), "I9");
        assert_eq!(world.copy("wd-0").is_some(), copied, "nothing would delete it");
        provide(&world, &json!(null));
        quiet(60).await;
        assert!(world.copy("wd-0").is_none() && world.cell.list(INSTANCE).is_empty());
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn c7_the_hub_away_is_in_nobodys_way_before_the_provider_is_done() {
    let world = World::with_copies(1).await;
    provide(&world, &json!(["vm.example/provider", INSTANCE_FINALIZER]));
    let run = world.run();
    quiet(5).await;
    world.hub.fault(Fault::Disconnect);
    world.cell.delete(INSTANCE, NS_A, "wd-0").unwrap();
    world.cell.patch_status(INSTANCE, NS_A, "wd-0", &terminating()).unwrap();
    quiet(300).await;
    assert_eq!(run.held("hub_unreachable"), 0, "it is the provider that holds it");
    provide(&world, &json!([INSTANCE_FINALIZER]));
    until("that is shown", || run.held("hub_unreachable") == 1).await;
    world.hub.clear_faults();
    until("the Instance to go", || world.cell.list(INSTANCE).is_empty()).await;
    assert!(world.copy("wd-0").is_none());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i3_a_kill_at_any_request_of_a_deletion_ends_the_same() {
    for (server, verb) in [("hub", "delete"), ("cell", "patch")] {
        for fault in [Fault::LostAnswer, Fault::Disconnect, Fault::Hang] {
            let world = World::with_copies(1).await;
            let run = world.run();
            quiet(5).await;
            let at = if server == "hub" { &world.hub } else { &world.cell };
            let id = at.fault(fault.on(verb, "instances"));
            world.cell.delete(INSTANCE, NS_A, "wd-0").unwrap();
            quiet(2).await;
            run.stop().await;
            at.clear_fault(id);
            let run = world.run();
            until("the end", || world.cell.list(INSTANCE).is_empty()).await;
            assert!(world.copy("wd-0").is_none(), "{server} {fault:?}");
            run.stop().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn c7_an_instance_replaced_under_its_name_has_the_copy_replaced() {
    let world = World::with_copies(1).await;
    let old = world.copy("wd-0").unwrap();
    // While no process ran, the finalizer was stripped, and the Instance was created again.
    world.patch_instance("wd-0", &json!({"metadata": {"finalizers": null}}));
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
async fn i4_a_copy_that_was_deleted_is_none_left_behind_while_the_watch_is_late() {
    let world = World::with_copies(1).await;
    let run = world.run_with_bucket(0);
    quiet(5).await;
    let (hub, cell) = (position(&world.hub), position(&world.cell));
    let id = world.hub.fault(Fault::Hang.on("watch", "instances"));
    world.cell.delete(INSTANCE, NS_A, "wd-0").unwrap();
    quiet(5).await;
    world.hub.clear_fault(id);
    quiet(60).await;
    assert_eq!(asked(&world.hub, hub), ["delete instances/wd-0"]);
    assert_eq!(asked(&world.cell, cell), ["patch instances/wd-0"]);
    assert_eq!(run.metrics.deletes_withheld.with_label_values(&["rate"]).get(), 0);
    run.stop().await;
}

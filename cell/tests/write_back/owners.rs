//! On whose behalf a copy stands on the hub: a WD that lives there now (I5, C7).

use fedhub_core::names::{CITY_CODE, SOURCE_UID};
use fedhub_fake_apiserver::{ApiServer, Fault, resource};
use serde_json::json;

use crate::write_back::support::*;

#[tokio::test(start_paused = true)]
async fn c7_without_its_wd_on_the_hub_nothing_is_written_and_no_error_is_seen() {
    let world = World::new();
    world.hub.delete(WD, NS_A, "wd").unwrap();
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    quiet(600).await;
    assert!(asked(&world.hub, 0).is_empty(), "{:?}", asked(&world.hub, 0));
    assert_eq!((run.objects("write_back", "parked"), run.failed("write_back")), (1, 0));
    let wd = world.put_wd(NS_A, "wd", "DFW");
    quiet(1).await;
    let owner = &world.copy("wd-0").unwrap()["metadata"]["ownerReferences"][0];
    assert_eq!(owner["uid"], wd["metadata"]["uid"], "woken by that WD's event");
    assert_eq!(run.objects("write_back", "parked"), 0);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c7_a_wd_that_is_being_deleted_is_no_owner() {
    let world = World::new();
    world.hub.patch(WD, NS_A, "wd", &json!({"metadata": {"finalizers": ["a/b"]}})).unwrap();
    world.hub.delete(WD, NS_A, "wd").unwrap();
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    quiet(60).await;
    assert!(asked(&world.hub, 0).is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c7_what_a_cell_reports_of_a_wd_brings_no_pass() {
    let world = World::with_copies(3).await;
    let run = world.run();
    quiet(5).await;
    let passes = || run.metrics.reconciles.with_label_values(&["write_back", "in_order"]).get();
    let before = passes();
    for n in 0..20 {
        world.hub.patch_status(WD, NS_A, "wd", &json!({"replicas": n})).unwrap();
        quiet(1).await;
    }
    assert_eq!(passes(), before);
    run.stop().await;
}

/// A hub whose collector is slow: the copies of a WD still stand when it is created again.
fn without_collector() -> World {
    World::over(ApiServer::builder("hub").resources(resource::hub()).garbage_collection(false).build())
}

#[tokio::test(start_paused = true)]
async fn i5_a_wd_that_the_hub_lost_and_has_again_takes_the_copies_over() {
    let world = without_collector();
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    quiet(5).await;
    world.hub.delete(WD, NS_A, "wd").unwrap();
    quiet(5).await;
    let from = position(&world.hub);
    let wd = world.put_wd(NS_A, "wd", "DFW");
    quiet(5).await;
    let copy = world.copy("wd-0").unwrap();
    let owners = copy["metadata"]["ownerReferences"].as_array().unwrap();
    assert_eq!(owners.len(), 1, "never an owner reference to a dead UID");
    assert_eq!(owners[0]["uid"], wd["metadata"]["uid"]);
    assert_eq!(writes(&world.hub, from), ["update instances/wd-0"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i5_an_instance_of_an_older_wd_is_no_copy_of_one_made_anew() {
    for terminating in [false, true] {
        let world = without_collector();
        world.put_instance(NS_A, "wd-0");
        world.patch_instance("wd-0", &json!({"metadata": {"finalizers": ["vm.example/provider"]}}));
        let run = world.run();
        quiet(5).await;
        let old = world.copy("wd-0").unwrap();
        world.hub.delete(WD, NS_A, "wd").unwrap();
        quiet(5).await;
        let from = position(&world.hub);
        let wd = put_wd(&world.hub, NS_A, "wd", "DFW", "uid-of-another");
        if terminating {
            // The cell tears the old WD down, on which Karmada writes the new mark meanwhile.
            let held = json!({"metadata": {"finalizers": ["a/b"]}});
            world.cell.patch(WD, NS_A, "wd", &held).unwrap();
            world.cell.delete(WD, NS_A, "wd").unwrap();
            put_source(&world, "uid-of-another");
            world.cell.delete(INSTANCE, NS_A, "wd-0").unwrap();
        }
        quiet(60).await;
        assert!(writes(&world.hub, from).is_empty(), "{terminating}: {:?}", writes(&world.hub, from));
        assert_eq!(world.copy("wd-0").as_ref(), Some(&old), "{terminating}: it is the hub's collector's");
        world.hub.delete(INSTANCE, NS_A, "wd-0").unwrap();
        world.patch_instance("wd-0", &json!({"spec": {"size": "large"}}));
        quiet(60).await;
        assert!(world.copy("wd-0").is_none(), "{terminating}: none is made anew");
        assert_eq!((run.objects("write_back", "parked"), run.failed("write_back")), (1, 0));
        if terminating {
            world.patch_instance("wd-0", &json!({"metadata": {"finalizers": null}}));
            world.cell.patch(WD, NS_A, "wd", &json!({"metadata": {"finalizers": null}})).unwrap();
            quiet(5).await;
            put_wd(&world.cell, NS_A, "wd", "DFW", "uid-of-another");
            world.put_instance(NS_A, "wd-0");
        } else {
            // Karmada did not delete the cell's WD: it is that of the new one, and so are its Instances.
            put_source(&world, "uid-of-another");
        }
        quiet(5).await;
        let owners = world.copy("wd-0").unwrap()["metadata"]["ownerReferences"].clone();
        assert_eq!(owners[0]["uid"], wd["metadata"]["uid"], "{terminating}");
        run.stop().await;
    }
}

/// Karmada writes the mark of a hub's WD on the cell's.
fn put_source(world: &World, source: &str) {
    let mark = json!({"metadata": {"annotations": {SOURCE_UID: source}}});
    world.cell.patch(WD, NS_A, "wd", &mark).unwrap();
}

#[tokio::test(start_paused = true)]
async fn i5_a_hub_wd_that_is_marked_anew_has_copies_once_its_cell_has_the_mark() {
    let world = World::new();
    put_wd(&world.hub, NS_A, "wd", "DFW", "uid-of-another");
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    quiet(60).await;
    assert!(world.copy("wd-0").is_none());
    put_wd(&world.hub, NS_A, "wd", "DFW", SOURCE);
    quiet(5).await;
    assert!(world.copy("wd-0").is_some(), "woken by that WD's event");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i5_what_the_hub_lost_is_copied_for_the_wd_that_it_has_now() {
    // A copy with the wrong owner would stand there.
    let world = without_collector();
    for n in 0..3 {
        world.put_instance(NS_A, &format!("wd-{n}"));
    }
    let run = world.run();
    quiet(30).await;
    // The copies' end is seen before the WD's.
    let silent = world.hub.fault(Fault::Hang.on("watch", "workloaddeployments"));
    let from = position(&world.hub);
    for n in 0..3 {
        world.hub.delete(INSTANCE, NS_A, &format!("wd-{n}")).unwrap();
    }
    world.hub.delete(WD, NS_A, "wd").unwrap();
    let wd = world.put_wd(NS_A, "wd", "DFW");
    quiet(5).await;
    assert!(world.hub.list(INSTANCE).is_empty(), "no copy for a UID that the hub has no more");
    world.hub.clear_fault(silent);
    quiet(30).await;
    for n in 0..3 {
        let name = format!("wd-{n}");
        let copy = world.copy(&name).unwrap();
        assert_eq!(copy["metadata"]["ownerReferences"][0]["uid"], wd["metadata"]["uid"]);
        let made =
            writes(&world.hub, from).iter().filter(|w| **w == format!("create instances/{name}")).count();
        assert_eq!(made, 1, "{name}");
    }
    assert_eq!(run.failed("write_back"), 0);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c7_the_hubs_collector_takes_the_copies_and_nothing_is_asked_for_them() {
    let world = World::with_copies(3).await;
    let run = world.run();
    quiet(5).await;
    world.hub.delete(WD, NS_A, "wd").unwrap();
    quiet(60).await;
    assert!(world.hub.list(INSTANCE).is_empty(), "and no copy comes back");
    assert_eq!(world.cell.list(INSTANCE).len(), 3);
    let hub = position(&world.hub);
    let cell = position(&world.cell);
    for n in 0..3 {
        world.cell.delete(INSTANCE, NS_A, &format!("wd-{n}")).unwrap();
    }
    quiet(60).await;
    assert!(world.cell.list(INSTANCE).is_empty());
    assert!(asked(&world.hub, hub).is_empty(), "{:?}", asked(&world.hub, hub));
    assert!(asked(&world.cell, cell).is_empty(), "{:?}", asked(&world.cell, cell));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c7_a_hub_namespace_that_is_gone_holds_nothing() {
    let world = World::with_copies(2).await;
    let run = world.run();
    quiet(5).await;
    world.hub.delete("Namespace", "", NS_A).unwrap();
    quiet(5).await;
    let from = position(&world.hub);
    world.cell.delete(INSTANCE, NS_A, "wd-0").unwrap();
    quiet(60).await;
    assert!(world.cell.get(INSTANCE, NS_A, "wd-0").is_none());
    assert!(writes(&world.hub, from).is_empty());
    assert_eq!(run.failed("write_back"), 0);
    // The federator creates it again.
    world.put_namespace(NS_A, "alpha");
    world.put_wd(NS_A, "wd", "DFW");
    quiet(5).await;
    assert!(world.copy("wd-1").is_some() && world.copy("wd-0").is_none());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c7_a_wd_of_another_city_is_no_owner() {
    let world = World::with_copies(1).await;
    let run = world.run();
    quiet(5).await;
    world.hub.patch(WD, NS_A, "wd", &json!({"metadata": {"labels": {CITY_CODE: "ORD"}}})).unwrap();
    quiet(5).await;
    let from = position(&world.hub);
    world.cell.patch_status(INSTANCE, NS_A, "wd-0", &status("False")).unwrap();
    world.put_instance(NS_A, "wd-1");
    quiet(60).await;
    assert!(asked(&world.hub, from).is_empty());
    assert_eq!((run.objects("write_back", "parked"), run.failed("write_back")), (2, 0));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i9_a_controller_of_another_kind_keeps_its_place() {
    let world = World::with_copies(1).await;
    let friend = world
        .hub
        .put(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": NS_A, "name": "friend"}}))
        .unwrap();
    let reference = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "friend", "uid": uid(&friend), "controller": true}]);
    world.hub.patch(INSTANCE, NS_A, "wd-0", &json!({"metadata": {"ownerReferences": reference}})).unwrap();
    let run = world.run();
    quiet(60).await;
    let from = position(&world.hub);
    for _ in 0..3 {
        world.gap();
        quiet(60).await;
    }
    assert!(asked(&world.hub, from).is_empty(), "looked at once: {:?}", asked(&world.hub, from));
    world.cell.patch_status(INSTANCE, NS_A, "wd-0", &status("False")).unwrap();
    quiet(60).await;
    let copy = world.copy("wd-0").unwrap();
    assert_eq!((&copy["metadata"]["ownerReferences"], &copy["status"]), (&reference, &status("False")));
    run.stop().await;
}

//! Two cells and one name: each touches its own copies only (C7).

use fedhub_core::names::{CELL_SOURCE, CITY_CODE, INSTANCE_CITY};

use fedhub_fake_apiserver::AuditEntry;
use serde_json::json;

use crate::write_back::support::*;

#[tokio::test(start_paused = true)]
async fn c7_two_cells_do_not_fight_while_a_deployment_moves() {
    let world = World::with_copies(2).await;
    let ord = cell("ord");
    let here = world.run();
    let there = world.run_cell(&ord, "ord", "ORD", 20);
    quiet(5).await;
    let from = position(&world.hub);
    // Karmada has brought it to the new cell, and not yet taken it from the old one.
    world.hub.patch(WD, NS_A, "wd", &json!({"metadata": {"labels": {CITY_CODE: "ORD"}}})).unwrap();
    for n in 0..2 {
        put_instance(&ord, NS_A, &format!("wd-{n}"), "ORD");
    }
    quiet(60).await;
    let marks = || {
        let copies = world.hub.list(INSTANCE);
        copies.iter().map(|c| mark_of(c).split('/').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(marks(), ["dfw", "dfw"], "the new cell waits");
    assert_eq!(there.quarantined("name_taken"), 2);
    world.cell.patch_status(INSTANCE, NS_A, "wd-0", &status("False")).unwrap();
    quiet(60).await;
    let taken = || {
        world.hub.audit()[from..]
            .iter()
            .filter(|e| e.is_write() && e.code < 300)
            .map(AuditEntry::short)
            .collect::<Vec<_>>()
    };
    assert!(taken().is_empty(), "{:?}", taken());

    // The old cell's go one after another.
    for n in (0..2).rev() {
        world.cell.delete(INSTANCE, NS_A, &format!("wd-{n}")).unwrap();
        quiet(15).await;
    }
    assert_eq!(marks(), ["ord", "ord"]);
    assert!(world.cell.list(INSTANCE).is_empty());
    assert_eq!(
        (there.quarantined("name_taken"), here.failed("write_back"), there.failed("write_back")),
        (0, 0, 0)
    );
    let quiet_from = position(&world.hub);
    quiet(600).await;
    assert!(writes(&world.hub, quiet_from).is_empty());
    assert_eq!(world.copy("wd-0").unwrap()["metadata"]["labels"][INSTANCE_CITY], "ORD");
    here.stop().await;
    there.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c7_two_cells_of_one_city_do_not_fight_either() {
    let world = World::with_copies(1).await;
    let other = cell("dfw-2");
    put_instance(&other, NS_A, "wd-0", "DFW");
    let hub = position(&world.hub);
    let before = world.hub.objects_hash();
    let here = world.run();
    let there = world.run_cell(&other, "dfw-2", "DFW", 20);
    quiet(600).await;
    assert_eq!(world.hub.objects_hash(), before);
    assert_eq!(asked(&world.hub, hub), ["get instances/wd-0"], "and it does not ask for ever");
    assert_eq!(there.quarantined("name_taken"), 1);
    // Its own deletion leaves the other's copy alone.
    other.delete(INSTANCE, NS_A, "wd-0").unwrap();
    quiet(60).await;
    assert!(other.list(INSTANCE).is_empty());
    assert_eq!(world.hub.objects_hash(), before);
    here.stop().await;
    there.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c7_an_older_copy_without_a_mark_is_adopted() {
    let world = World::with_copies(1).await;
    let mut old = world.copy("wd-0").unwrap();
    old["metadata"]["annotations"] = json!(null);
    old["metadata"]["ownerReferences"] = json!(null);
    let old = world.hub.put(old).unwrap();
    let from = position(&world.hub);
    let run = world.run();
    quiet(60).await;
    let copy = world.copy("wd-0").unwrap();
    assert_eq!(uid(&copy), uid(&old), "not created again");
    assert!(mark_of(&copy).starts_with("dfw/"));
    assert_eq!(copy["metadata"]["ownerReferences"][0]["controller"], true);
    assert_eq!(asked(&world.hub, from), ["get instances/wd-0", "update instances/wd-0"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c7_an_older_copy_of_another_city_is_not() {
    let world = World::new();
    let mut old = world.put_instance(NS_A, "wd-0");
    old["metadata"]["uid"] = json!(null);
    old["metadata"]["ownerReferences"] = json!(null);
    old["metadata"]["labels"][INSTANCE_CITY] = json!("ORD");
    world.hub.put(old).unwrap();
    let before = world.hub.objects_hash();
    let run = world.run();
    quiet(60).await;
    world.cell.delete(INSTANCE, NS_A, "wd-0").unwrap();
    quiet(60).await;
    assert!(world.cell.list(INSTANCE).is_empty());
    assert_eq!(world.hub.objects_hash(), before);
    assert!(world.copy("wd-0").unwrap()["metadata"]["annotations"].get(CELL_SOURCE).is_none());
    run.stop().await;
}

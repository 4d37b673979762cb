//! Two clusters under one cell name (C10), and a cell that is declared lost (C11).

use fedhub_core::names::{CELL_SOURCE, CITY_CODE, LOST, lost_cluster};
use fedhub_fake_apiserver::ApiServer;
use serde_json::{Value, json};

use crate::write_back::support::*;

/// Karmada's Cluster of a cell, declared lost or not.
fn put_cluster(world: &World, name: &str, id: &str, lost: Option<&str>) {
    world
        .hub
        .put(json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
            "metadata": {"name": name, "annotations": lost.map(|at| json!({ LOST: at }))},
            "spec": {"id": id, "syncMode": "Push"},
        }))
        .unwrap();
}

fn marks(world: &World) -> Vec<String> {
    let copies = world.hub.list(INSTANCE);
    copies.iter().map(|copy| mark_of(copy).to_owned()).collect()
}

fn mark(cell: &str, of: &ApiServer, instance: &Value) -> String {
    format!("{cell}/{}/{}", cell_uid(of), uid(instance))
}

#[tokio::test(start_paused = true)]
async fn c10_another_cluster_under_this_cells_name_is_left_alone_and_said() {
    let world = World::with_copies(3).await;
    let twin = cell("twin");
    // One of its names is the first one's, too.
    put_instance(&twin, NS_A, "wd-0", "DFW");
    let before = world.hub.objects_hash();
    let from = position(&world.hub);
    let first = world.run();
    let second = world.run_cell(&twin, "dfw", "DFW", 20);
    quiet(60).await;
    assert_eq!(second.faults(), ["name_taken"]);
    assert_eq!(second.quarantined("cell_name_taken"), 1);
    let why = second.identity.faults()[0].to_string();
    assert!(why.contains(&cell_uid(&world.cell)) && why.contains("--cell-name"), "{why}");
    let events = twin.list("events.events.k8s.io");
    assert!(
        events.len() == 1 && events[0]["note"].as_str().unwrap().contains("another cluster"),
        "{events:?}"
    );
    // Its Instance goes, and the others never were.
    twin.delete(INSTANCE, NS_A, "wd-0").unwrap();
    for _ in 0..3 {
        world.gap();
        quiet(60).await;
    }
    assert!(twin.list(INSTANCE).is_empty(), "its own end is not held up");
    assert_eq!(world.hub.objects_hash(), before);
    assert!(writes(&world.hub, from).is_empty(), "{:?}", writes(&world.hub, from));
    assert!(first.faults().is_empty(), "no other cell wrote under its name");
    assert_eq!((first.failed("write_back"), second.failed("write_back")), (0, 0));
    first.stop().await;
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c10_the_cluster_that_karmada_recorded_for_the_name_stays_ready() {
    let world = World::with_copies(1).await;
    put_cluster(&world, "dfw", &cell_uid(&world.cell), None);
    let twin = cell("twin");
    put_instance(&twin, NS_A, "wd-7", "DFW");
    let second = world.run_cell(&twin, "dfw", "DFW", 20);
    quiet(5).await;
    let first = world.run();
    quiet(5).await;
    assert_eq!(marks(&world).len(), 2, "each has its own");
    assert_eq!((first.faults(), second.faults()), (vec![], vec!["name_taken"]));
    world.hub.delete(INSTANCE, NS_A, "wd-0").unwrap();
    quiet(5).await;
    assert!(world.copy("wd-0").is_some_and(|copy| mark_of(&copy).contains(&cell_uid(&world.cell))));
    first.stop().await;
    second.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c10_a_mark_by_name_alone_is_adopted_by_the_cell_with_the_instance_and_by_no_other() {
    for has in [true, false] {
        let world = World::with_copies(1).await;
        let source = world.cell.get(INSTANCE, NS_A, "wd-0").unwrap();
        let of = if has { uid(&source) } else { "of-another".to_owned() };
        let older = json!({"metadata": {"annotations": {CELL_SOURCE: format!("dfw/{of}")}}});
        let copy = world.hub.patch(INSTANCE, NS_A, "wd-0", &older).unwrap();
        let from = position(&world.hub);
        let run = world.run();
        quiet(60).await;
        let expected = if has { mark("dfw", &world.cell, &source) } else { format!("dfw/{of}") };
        assert_eq!(marks(&world), [expected]);
        assert_eq!(uid(&world.copy("wd-0").unwrap()), uid(&copy), "not created again");
        assert_eq!(run.quarantined("unproven_mark"), i64::from(!has));
        assert_eq!(writes(&world.hub, from).len(), usize::from(has));
        world.cell.delete(INSTANCE, NS_A, "wd-0").unwrap();
        quiet(60).await;
        assert_eq!(world.copy("wd-0").is_none(), has);
        assert!(world.cell.list(INSTANCE).is_empty());
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn c10_a_cell_that_is_renamed_keeps_its_copies() {
    let world = World::with_copies(1).await;
    let copy = world.copy("wd-0").unwrap();
    let run = world.run_cell(&world.cell, "dfw-new", "DFW", 20);
    quiet(60).await;
    let source = world.cell.get(INSTANCE, NS_A, "wd-0").unwrap();
    assert_eq!(marks(&world), [mark("dfw-new", &world.cell, &source)]);
    assert_eq!(uid(&world.copy("wd-0").unwrap()), uid(&copy));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c10_a_cell_that_does_not_show_who_it_is_writes_nothing() {
    let world = World::new();
    let kube_system = world.cell.get("Namespace", "", "kube-system").unwrap();
    world.cell.delete("Namespace", "", "kube-system").unwrap();
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    quiet(60).await;
    assert!(world.copy("wd-0").is_none() && run.faults() == ["unidentified"]);
    world.cell.put(kube_system).unwrap();
    quiet(5).await;
    assert!(world.copy("wd-0").is_some() && run.faults().is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c11_the_names_of_a_cell_are_taken_over_once_it_is_declared_lost_and_not_before() {
    let world = World::with_copies(2).await;
    put_cluster(&world, "dfw", "", None);
    let ord = cell("ord");
    let there = world.run_cell(&ord, "ord", "ORD", 20);
    quiet(5).await;
    let old = world.copy("wd-0").unwrap();
    world.hub.patch(WD, NS_A, "wd", &json!({"metadata": {"labels": {CITY_CODE: "ORD"}}})).unwrap();
    let instances = [0, 1].map(|n| put_instance(&ord, NS_A, &format!("wd-{n}"), "ORD"));
    quiet(600).await;
    let before = marks(&world);
    assert!(before.iter().all(|mark| mark.starts_with("dfw/")), "{before:?}");
    // What is no time is no declaration.
    put_cluster(&world, "dfw", "", Some("yes"));
    quiet(60).await;
    assert_eq!(marks(&world), before);

    put_cluster(&world, "dfw", "", Some("2025-12-30T15:04:05Z"));
    quiet(60).await;
    assert_eq!(marks(&world), instances.each_ref().map(|instance| mark("ord", &ord, instance)));
    assert_ne!(uid(&world.copy("wd-0").unwrap()), uid(&old), "another Instance: created again");
    assert_eq!((there.quarantined("name_taken"), there.failed("write_back")), (0, 0));
    assert!(there.faults().is_empty());
    there.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c11_a_cell_that_is_declared_lost_and_runs_writes_nothing_new_until_that_is_taken_back() {
    let world = World::with_copies(2).await;
    let run = world.run();
    quiet(5).await;
    put_cluster(&world, "a-cluster", &cell_uid(&world.cell), Some("2025-12-30T15:04:05Z"));
    quiet(5).await;
    assert_eq!(run.faults(), ["declared_lost"]);
    let why = run.identity.faults()[0].to_string();
    assert!(why.contains("a-cluster") && why.contains("2025-12-30T15:04:05Z"), "{why}");
    let from = position(&world.hub);
    world.put_instance(NS_A, "wd-2");
    world.cell.patch_status(INSTANCE, NS_A, "wd-0", &status("False")).unwrap();
    quiet(60).await;
    assert!(writes(&world.hub, from).is_empty(), "{:?}", writes(&world.hub, from));
    // What ends there ends on the hub as well.
    world.cell.delete(INSTANCE, NS_A, "wd-1").unwrap();
    quiet(60).await;
    assert_eq!(writes(&world.hub, from), ["delete instances/wd-1"]);
    assert_eq!(world.cell.list(INSTANCE).len(), 2);

    put_cluster(&world, "a-cluster", &cell_uid(&world.cell), None);
    quiet(60).await;
    assert!(run.faults().is_empty() && world.copy("wd-2").is_some());
    assert_eq!(world.copy("wd-0").unwrap()["status"], status("False"));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c11_a_cell_that_is_rebuilt_under_its_name_takes_over_what_is_declared_lost_by_uid() {
    let world = World::with_copies(1).await;
    let rebuilt = cell("rebuilt");
    let old = mark_of(&world.copy("wd-0").unwrap()).to_owned();
    let id = cell_uid(&rebuilt);
    put_cluster(&world, "dfw", &id, None);
    let instance = put_instance(&rebuilt, NS_A, "wd-0", "DFW");
    let run = world.run_cell(&rebuilt, "dfw", "DFW", 20);
    quiet(60).await;
    assert_eq!((marks(&world), run.quarantined("cell_name_taken")), (vec![old], 1));
    assert!(run.faults().is_empty(), "Karmada recorded it for the name");
    let by_uid =
        json!({"metadata": {"annotations": {lost_cluster(&cell_uid(&world.cell)): "2025-12-30T15:04:05Z"}}});
    world.hub.patch("Cluster", "", "dfw", &by_uid).unwrap();
    quiet(60).await;
    assert_eq!(marks(&world), [mark("dfw", &rebuilt, &instance)]);
    assert!(run.faults().is_empty());
    run.stop().await;
    // That cluster runs after all.
    let first = world.run();
    quiet(5).await;
    assert_eq!(first.faults().first(), Some(&"declared_lost"));
    first.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c11_an_unmarked_copy_of_a_lost_citys_is_taken_over() {
    let world = World::with_copies(1).await;
    let unmarked = json!({"metadata": {"annotations": {CELL_SOURCE: null}}});
    let old = world.hub.patch(INSTANCE, NS_A, "wd-0", &unmarked).unwrap();
    world.hub.patch(WD, NS_A, "wd", &json!({"metadata": {"labels": {CITY_CODE: "ORD"}}})).unwrap();
    let ord = cell("ord");
    let instance = put_instance(&ord, NS_A, "wd-0", "ORD");
    let run = world.run_cell(&ord, "ord", "ORD", 20);
    let put = |name: &str, lost: Option<&str>| {
        put_cluster(&world, name, "", lost);
        let labels = json!({"metadata": {"labels": {CITY_CODE: "DFW"}}});
        world.hub.patch("Cluster", "", name, &labels).unwrap();
    };
    put("one", Some("2025-12-30T15:04:05Z"));
    put("another", None);
    quiet(60).await;
    assert_eq!(uid(&world.copy("wd-0").unwrap()), uid(&old), "it may be the other cell's");
    put("another", Some("2025-12-30T15:04:05Z"));
    quiet(60).await;
    assert_eq!(marks(&world), [mark("ord", &ord, &instance)]);
    run.stop().await;
}

//! A cell that Karmada does not reach, and one that is declared lost (C11).

use fedhub_core::names::{CELL_SOURCE, CITY_CODE, INSTANCE_CITY, LOST, SOURCE_CLUSTER, lost_cluster};
use fedhub_fake_apiserver::{ApiServer, Fault, resource};
use fedhub_projector::controller::ProjectorConfig;
use serde_json::{Value, json};

use crate::controller::support::*;

/// Before the servers' clocks begin.
const AT: &str = "2025-12-30T15:04:05Z";

/// Karmada's Cluster of the cell of DFW, Ready or not.
fn put_cluster(world: &World, ready: &str) {
    let ready = json!({"type": "Ready", "status": ready, "lastTransitionTime": "2026-01-01T00:00:00Z"});
    world
        .hub
        .put(json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
            "metadata": {"name": "cell-1", "labels": {CITY_CODE: "DFW"}},
            "spec": {"id": "uid-of-cell-1"}, "status": {"conditions": [ready]},
        }))
        .unwrap();
}

fn put_cluster_ready(world: &World, ready: &str) {
    let ready = json!({"type": "Ready", "status": ready, "lastTransitionTime": "2025-12-01T00:00:00Z"});
    world.hub.patch_status("Cluster", "", "cell-1", &json!({"conditions": [ready]})).unwrap();
}

fn declare(world: &World, value: Option<&str>) {
    world.hub.patch("Cluster", "", "cell-1", &json!({"metadata": {"annotations": {LOST: value}}})).unwrap();
}

/// Copies of that cell, with a status.
fn put_copies(world: &World, cell: &str, ordinals: std::ops::Range<usize>) {
    for n in ordinals {
        let name = format!("wd-{n}");
        world.put_instance(NS_A, &name);
        let mark = json!({"metadata": {"annotations": {CELL_SOURCE: format!("{cell}/of-{n}")}}});
        world.hub.patch("Instance", NS_A, &name, &mark).unwrap();
    }
}

fn with_claims() -> World {
    let plane = ApiServer::builder("alpha").resources(resource::project_plane());
    World::over(plane.resource(resource::resource_claim()).build())
}

fn put_claim(world: &World, name: &str, cell: &str, mark: &Value) {
    world
        .alpha
        .put(json!({
            "apiVersion": "quota.miloapis.com/v1alpha1", "kind": "ResourceClaim",
            "metadata": {
                "namespace": SPACE, "name": name, "labels": {SOURCE_CLUSTER: cell},
                "annotations": mark.as_str().map(|mark| json!({ CELL_SOURCE: mark })),
            },
        }))
        .unwrap();
}

fn names(server: &ApiServer, kind: &str) -> Vec<String> {
    server.names(kind).into_iter().map(|(_, name)| name).collect()
}

fn ready(world: &World, name: &str) -> (String, String) {
    let projection = world.projection(name).unwrap();
    let ready = &projection["status"]["conditions"][0];
    let text = |field: &str| ready[field].as_str().unwrap_or_default().to_owned();
    (text("status"), text("reason"))
}

#[tokio::test(start_paused = true)]
async fn c11_projections_of_a_cell_that_karmada_does_not_reach_are_not_ready_until_it_does() {
    let world = World::new();
    put_cluster(&world, "True");
    let run = world.run();
    put_copies(&world, "cell-1/uid-of-cell-1", 0..2);
    world.hub.patch_status("Instance", NS_A, "wd-1", &status("False")).unwrap();
    quiet(60).await;
    let before = ready(&world, "wd-0");
    let known = ("Unknown".to_owned(), "CellUnreachable".to_owned());
    assert_eq!(before.0, "True");
    let from = position(&world.alpha);
    put_cluster(&world, "False");
    quiet(60).await;
    assert_eq!(ready(&world, "wd-0"), known);
    assert_eq!(ready(&world, "wd-1").0, "False", "it says itself why");
    assert_eq!(writes(&world.alpha, from), ["update instances/status/wd-0"]);
    // I7: nothing more, whatever Karmada repeats, and not after a restart.
    put_cluster(&world, "False");
    quiet(600).await;
    run.stop().await;
    let run = world.run();
    quiet(60).await;
    assert_eq!(writes(&world.alpha, from).len(), 1);
    put_cluster(&world, "True");
    quiet(60).await;
    assert_eq!(ready(&world, "wd-0"), before);
    assert_eq!(world.projection("wd-0").unwrap()["status"], status("True"), "I1: as it was");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c11_what_a_lost_cell_held_is_released_once_an_operator_declares_it_and_not_before() {
    let world = with_claims();
    put_cluster(&world, "False");
    put_copies(&world, "cell-1/uid-of-cell-1", 0..2);
    put_copies(&world, "cell-1/uid-of-another", 2..3);
    for (name, cell, mark) in [
        ("instance-a", "cell-1", json!("cell-1/uid-of-cell-1/a")),
        ("instance-b", "called-otherwise", json!("called-otherwise/uid-of-cell-1/b")),
        ("instance-c", "cell-1", Value::Null),
        ("instance-d", "cell-2", json!("cell-2/uid-of-cell-2/d")),
        ("instance-e", "cell-2", json!("cell-2/uid-of-cell-1/e")),
    ] {
        put_claim(&world, name, cell, &mark);
    }
    put_cluster(&world, "False");
    let run = world.run();
    quiet(600).await;
    for no_time in ["", "true", "2026-01-02"] {
        declare(&world, Some(no_time));
        quiet(600).await;
    }
    assert_eq!((world.hub.list("Instance").len(), world.alpha.list("ResourceClaim").len()), (3, 5));
    let notes = event_notes(&world.management, "LostCellRefused");
    assert!(!notes.is_empty() && notes.iter().all(|note| note.contains("RFC 3339")), "{notes:?}");
    // Nor does a time that is yet to come, nor one at which Karmada reached the cell.
    declare(&world, Some("2036-01-02T00:00:00Z"));
    quiet(600).await;
    put_cluster_ready(&world, "True");
    declare(&world, Some(AT));
    quiet(600).await;
    assert_eq!((world.hub.list("Instance").len(), world.alpha.list("ResourceClaim").len()), (3, 5));
    let notes = event_notes(&world.management, "LostCellRefused");
    for words in ["yet to come", "Karmada reaches the cell"] {
        assert!(notes.iter().any(|note| note.contains(words)), "{words}: {notes:?}");
    }
    declare(&world, None);
    put_cluster_ready(&world, "False");
    quiet(60).await;

    let hub = position(&world.hub);
    let alpha = position(&world.alpha);
    declare(&world, Some(AT));
    quiet(60).await;
    // Karmada recorded another cluster for the name: what that other one left is not this cell's.
    assert_eq!(names(&world.hub, "Instance"), ["wd-2"]);
    assert_eq!(names(&world.alpha, "Instance"), ["wd-2"], "their projections were seen to go (I4)");
    assert_eq!(names(&world.alpha, "ResourceClaim"), ["instance-c", "instance-d"], "C10: by the mark alone");
    let deletes = |server: &ApiServer, from| {
        let all = server.audit().into_iter().skip(from).filter(|e| e.verb == "delete");
        all.map(|e| e.body.unwrap()["preconditions"]["uid"].is_string()).collect::<Vec<_>>()
    };
    assert_eq!((deletes(&world.hub, hub), deletes(&world.alpha, alpha)), (vec![true; 2], vec![true; 5]));
    // In steady state no request is sent again.
    let hub = world.hub.audit().len();
    let alpha = world.alpha.audit().len();
    let lists = |server: &ApiServer, from| {
        server.audit().iter().skip(from).filter(|e| e.verb == "list" && e.resource != "clusters").count()
    };
    quiet(600).await;
    assert!(lists(&world.hub, hub) <= 62 && lists(&world.alpha, alpha) == 0, "a probe every ten seconds");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c11_a_project_without_quota_or_with_rights_withheld_holds_up_nothing_else() {
    let world = World::new();
    put_cluster(&world, "False");
    put_copies(&world, "cell-1/uid-of-cell-1", 0..2);
    world.beta.fault(Fault::Status(403).on("list", "resourceclaims"));
    let run = world.run();
    quiet(5).await;
    declare(&world, Some(AT));
    quiet(60).await;
    assert!(world.hub.list("Instance").is_empty() && world.alpha.list("Instance").is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c11_a_declaration_by_mistake_can_be_taken_back_before_all_is_gone() {
    let world = World::new();
    put_cluster(&world, "True");
    put_copies(&world, "cell-1/uid-of-cell-1", 0..10);
    let run = world.run_with(ProjectorConfig { deletes_per_minute: 3, ..ProjectorConfig::default() });
    quiet(5).await;
    declare(&world, Some(AT));
    quiet(10).await;
    assert_eq!(world.hub.list("Instance").len(), 7);
    assert!(run.withheld("rate") >= 1);
    declare(&world, None);
    quiet(600).await;
    assert_eq!(world.hub.list("Instance").len(), 7);
    declare(&world, Some(AT));
    quiet(600).await;
    assert!(world.hub.list("Instance").is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c11_a_declaration_that_a_restored_hub_brings_back_releases_nothing() {
    let world = with_claims();
    put_cluster(&world, "True");
    declare(&world, Some(AT));
    let backup = world.hub.snapshot();
    let run = world.run();
    quiet(5).await;
    // The cell is back, and writes.
    declare(&world, None);
    put_copies(&world, "cell-1/uid-of-cell-1", 0..2);
    put_claim(&world, "instance-a", "cell-1", &json!("cell-1/uid-of-cell-1/a"));
    let stands = || {
        let claims = names(&world.alpha, "ResourceClaim");
        (names(&world.alpha, "Instance"), claims)
            == (vec!["wd-0".into(), "wd-1".into()], vec!["instance-a".into()])
    };
    until("the projections", stands).await;
    quiet(60).await;
    world.hub.restore(&backup);
    quiet(600).await;
    assert!(stands());
    assert_eq!(run.metrics.hub_restored.get(), 1, "its city is not passed over");
    assert!(run.withheld("hub_restored") > 0);
    let notes = event_notes(&world.management, "LostCellRefused");
    assert!(notes.iter().any(|note| note.contains("restored from a backup")), "{notes:?}");
    // It is written for, and the hub trusted again, while the annotation is there.
    put_copies(&world, "cell-1/uid-of-cell-1", 0..2);
    quiet(600).await;
    assert_eq!((run.metrics.hub_restored.get(), world.hub.list("Instance").len()), (0, 2));
    assert!(stands());
    // And is lost after all.
    put_cluster_ready(&world, "False");
    let now = world.hub.clock().now().to_string();
    declare(&world, Some(&now));
    quiet(120).await;
    assert!(world.hub.list("Instance").is_empty() && names(&world.alpha, "Instance").is_empty());
    assert!(names(&world.alpha, "ResourceClaim").is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c11_what_a_cluster_left_that_was_rebuilt_under_its_name_is_released_by_its_uid() {
    let world = with_claims();
    put_cluster(&world, "True");
    put_copies(&world, "cell-1/uid-of-cell-1", 0..1);
    put_copies(&world, "cell-1/uid-before", 1..2);
    put_claim(&world, "instance-a", "cell-1", &json!("cell-1/uid-of-cell-1/a"));
    put_claim(&world, "instance-b", "cell-1", &json!("cell-1/uid-before/b"));
    let run = world.run();
    quiet(5).await;
    let lost = |uid: &str, at: Option<&str>| {
        let annotations = json!({ lost_cluster(uid): at });
        world.hub.patch("Cluster", "", "cell-1", &json!({"metadata": {"annotations": annotations}})).unwrap();
    };
    // That one is not to be declared lost in passing, and no time is none here either.
    lost("uid-before", Some("yesterday"));
    quiet(600).await;
    lost("uid-of-cell-1", Some(AT));
    quiet(60).await;
    assert_eq!((world.hub.list("Instance").len(), world.alpha.list("ResourceClaim").len()), (2, 2));
    let notes = event_notes(&world.management, "LostCellRefused");
    assert!(notes.iter().any(|note| note.contains("RFC 3339")), "{notes:?}");
    lost("uid-before", Some(AT));
    quiet(60).await;
    assert_eq!(
        (names(&world.hub, "Instance"), names(&world.alpha, "Instance")),
        (vec!["wd-0".into()], vec!["wd-0".into()])
    );
    assert_eq!(names(&world.alpha, "ResourceClaim"), ["instance-a"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c11_unmarked_copies_go_where_all_cells_of_their_city_are_lost() {
    let world = World::new();
    put_cluster(&world, "True");
    for (name, city) in [("wd-0", "DFW"), ("wd-1", "ORD"), ("wd-2", "")] {
        world.put_instance(NS_A, name);
        let labels = json!({"metadata": {"labels": {INSTANCE_CITY: city}}});
        world.hub.patch("Instance", NS_A, name, &labels).unwrap();
    }
    let second = json!({
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
        "metadata": {"name": "cell-2", "labels": {CITY_CODE: "DFW"}}, "spec": {"id": "uid-of-cell-2"},
    });
    world.hub.put(second).unwrap();
    let run = world.run();
    quiet(5).await;
    declare(&world, Some(AT));
    quiet(60).await;
    assert_eq!(world.hub.list("Instance").len(), 3, "it may be the other cell's");
    world.hub.delete("Cluster", "", "cell-2").unwrap();
    quiet(60).await;
    assert_eq!(names(&world.hub, "Instance"), ["wd-1", "wd-2"]);
    assert_eq!(names(&world.alpha, "Instance"), ["wd-1", "wd-2"]);
    run.stop().await;
}

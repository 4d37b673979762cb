//! Whose an Instance is: by its hub namespace, never by what stands in the cell (I6, C7).

use fedhub_core::names::{LINKING_LABELS, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE, WORKLOAD_NAME};
use serde_json::json;

use crate::write_back::support::*;

#[tokio::test(start_paused = true)]
async fn c7_spoofed_labels_of_an_instance_never_decide_whose_it_is() {
    let world = World::new();
    let run = world.run();
    quiet(5).await;
    let mut spoofed = world.put_instance(NS_A, "wd-0");
    spoofed["metadata"]["labels"][UPSTREAM_CLUSTER] = json!("cluster-beta");
    spoofed["metadata"]["labels"][UPSTREAM_NAMESPACE] = json!("secret");
    world.cell.put(spoofed).unwrap();
    quiet(5).await;
    let copy = world.copy("wd-0").unwrap();
    assert_eq!(copy["metadata"]["labels"][UPSTREAM_CLUSTER], "cluster-alpha");
    assert_eq!(copy["metadata"]["labels"][UPSTREAM_NAMESPACE], "shop");
    assert!(world.hub.get(INSTANCE, NS_B, "wd-0").is_none());

    // Nor do those of the copy, edited by hand.
    let forged = json!({"metadata": {"labels": {UPSTREAM_CLUSTER: "cluster-beta"}}});
    world.hub.patch(INSTANCE, NS_A, "wd-0", &forged).unwrap();
    quiet(5).await;
    assert_eq!(world.copy("wd-0").unwrap()["metadata"]["labels"][UPSTREAM_CLUSTER], "cluster-alpha");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c7_without_all_linking_labels_nothing_is_touched_and_it_is_said_once() {
    let world = World::with_copies(1).await;
    let run = world.run();
    quiet(5).await;
    let copy = world.copy("wd-0").unwrap();
    for (n, key) in LINKING_LABELS.into_iter().enumerate() {
        let hub = position(&world.hub);
        let right = world.cell.get(INSTANCE, NS_A, "wd-0").unwrap()["metadata"]["labels"][key].clone();
        let wrong = if n % 2 == 0 { json!(null) } else { json!("") };
        let change = json!({"metadata": {"labels": {key: wrong}}, "status": status("Unknown")});
        world.patch_instance("wd-0", &change);
        quiet(60).await;
        world.patch_instance("wd-0", &json!({"spec": {"n": n}}));
        quiet(60).await;
        assert!(asked(&world.hub, hub).is_empty(), "{key}: {:?}", asked(&world.hub, hub));
        assert_eq!(world.copy("wd-0").unwrap(), copy, "{key}");
        assert_eq!(run.quarantined("unlinked"), 1, "{key}");
        let events = world.cell.list("events.events.k8s.io");
        // Those that follow soon are the same Event's.
        assert!(events.len() == 1 && events[0]["note"].as_str().unwrap().contains(LINKING_LABELS[0]));
        let change =
            json!({"metadata": {"labels": {key: right}}, "spec": {"n": null}, "status": status("True")});
        world.patch_instance("wd-0", &change);
        quiet(60).await;
        assert_eq!(run.quarantined("unlinked"), 0, "{key}");
    }
    assert_eq!(run.failed("write_back"), 0, "no error");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c7_a_hub_namespace_that_does_not_say_whose_it_is_is_no_home() {
    let world = World::new();
    let run = world.run();
    quiet(5).await;
    let labels = |value: serde_json::Value| json!({"metadata": {"labels": {UPSTREAM_CLUSTER: value}}});
    world.hub.patch("Namespace", "", NS_A, &labels(json!("nonsense"))).unwrap();
    world.put_instance(NS_A, "wd-0");
    world.put_instance(NS_B, "wd-0");
    quiet(60).await;
    assert!(world.copy("wd-0").is_none());
    assert!(world.hub.get(INSTANCE, NS_B, "wd-0").is_some(), "the other tenant's is written");
    assert_eq!((run.quarantined("unidentifiable"), run.failed("write_back")), (1, 0));
    world.hub.patch("Namespace", "", NS_A, &labels(json!("cluster-alpha"))).unwrap();
    quiet(5).await;
    assert!(world.copy("wd-0").is_some(), "its event brings it");
    assert_eq!(run.quarantined("unidentifiable"), 0);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c7_a_label_of_the_instance_that_changes_is_one_write() {
    let world = World::with_copies(1).await;
    let run = world.run();
    quiet(5).await;
    let hub = position(&world.hub);
    world
        .patch_instance("wd-0", &json!({"metadata": {"labels": {WORKLOAD_NAME: "renamed", "private": "x"}}}));
    quiet(60).await;
    assert_eq!(asked(&world.hub, hub), ["get instances/wd-0", "update instances/wd-0"]);
    let copy = world.copy("wd-0").unwrap();
    assert_eq!(copy["metadata"]["labels"][WORKLOAD_NAME], "renamed");
    assert!(copy["metadata"]["labels"].get("private").is_none());
    run.stop().await;
}

//! Hub namespaces that a WD has left, or that end.

use fedhub_core::names::{REFERENCED_BY, REFERENCED_DATA};
use serde_json::json;

use crate::referenced_data::support::{SPACE, World, quiet, until};

/// A hub namespace that was the WD's: of a project namespace that was deleted and created again.
const FORMER: &str = "ns-00000000-0000-4000-8000-000000000000";

#[tokio::test(start_paused = true)]
async fn w5_i6_a_companion_in_a_former_hub_namespace_is_released_and_none_is_made_there() {
    let world = World::with_web();
    let labels = json!({"meta.datumapis.com/upstream-cluster-name": "cluster-alpha", "meta.datumapis.com/upstream-namespace": SPACE});
    let metadata = json!({"name": FORMER, "labels": labels});
    world.hub.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})).unwrap();
    let metadata = json!({"namespace": FORMER, "name": "db", "labels": {REFERENCED_DATA: "true"},
        "annotations": {REFERENCED_BY: r#"["shop/web"]"#}});
    world.hub.put(json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {}})).unwrap();
    let run = world.run();
    until("the data to be on the hub", || world.is_ready("web")).await;
    until("the former one to go", || world.hub.get("Secret", FORMER, "db").is_none()).await;
    quiet(60).await;
    assert!(world.hub.get("ConfigMap", FORMER, "app").is_none());
    assert_eq!(world.counted("Secret", "db"), ["shop/web"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w5_nothing_is_copied_into_a_hub_namespace_that_ends() {
    let world = World::with_web();
    let run = world.ready().await;
    let space = world.hub_space();
    world
        .hub
        .patch("Namespace", "", &space, &json!({"metadata": {"finalizers": ["example.com/held"]}}))
        .unwrap();
    world.hub.delete("Namespace", "", &space).unwrap();
    quiet(5).await;
    let from = world.positions();
    world.alpha.patch("ConfigMap", SPACE, "app", &json!({"data": {"mode": "off"}})).unwrap();
    quiet(60).await;
    let data = world.data_requests(from);
    assert!(data.iter().all(|request| request.starts_with("get ")), "{data:?}");
    run.stop().await;
}

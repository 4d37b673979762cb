//! W11: a Workload is suspended and resumed as one act, and what comes back by hand comes back as suspended.

use fedhub_core::names::{SUSPENDED, SUSPENDED_DEPLOYMENTS};
use serde_json::{Value, json};

use crate::workload_controller::support::*;

fn suspended(world: &World, name: &str) -> Option<String> {
    let annotation = world.wd(name).unwrap()["metadata"]["annotations"][SUSPENDED].clone();
    annotation.as_str().map(str::to_owned)
}

fn by_hand(world: &World, name: &str, value: Value) {
    let annotate = json!({"metadata": {"annotations": {SUSPENDED: value}}});
    world.project.patch("WorkloadDeployment", SPACE, name, &annotate).unwrap();
}

#[tokio::test(start_paused = true)]
async fn w11_a_workload_is_suspended_and_resumed_with_all_its_deployments() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW", "ORD"]);
    quiet(5).await;
    world.patch("web", &json!({"spec": {"suspend": true}}));
    quiet(5).await;
    let yes = Some("true".to_owned());
    assert_eq!(
        (suspended(&world, "web-us-dfw"), suspended(&world, "web-us-ord")),
        (yes.clone(), yes.clone())
    );
    // Whatever is done by hand: edited, deleted.
    by_hand(&world, "web-us-dfw", Value::Null);
    world.project.delete("WorkloadDeployment", SPACE, "web-us-ord").unwrap();
    quiet(5).await;
    assert_eq!((suspended(&world, "web-us-dfw"), suspended(&world, "web-us-ord")), (yes.clone(), yes));
    let from = position(&world.project);
    quiet(60).await;
    assert_eq!(asked(&world.project, from), [""; 0]);
    world.patch("web", &json!({"spec": {"suspend": null}}));
    quiet(5).await;
    assert_eq!((suspended(&world, "web-us-dfw"), suspended(&world, "web-us-ord")), (None, None));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w11_a_deployment_that_is_suspended_and_deleted_by_hand_comes_back_suspended() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW", "ORD"]);
    quiet(5).await;
    by_hand(&world, "web-us-dfw", json!("true"));
    quiet(5).await;
    world.project.delete("WorkloadDeployment", SPACE, "web-us-dfw").unwrap();
    quiet(5).await;
    assert_eq!(
        (suspended(&world, "web-us-dfw"), suspended(&world, "web-us-ord")),
        (Some("true".to_owned()), None)
    );
    // While nobody looks, too.
    run.stop().await;
    world.project.delete("WorkloadDeployment", SPACE, "web-us-dfw").unwrap();
    let run = world.run();
    quiet(5).await;
    assert_eq!(suspended(&world, "web-us-dfw"), Some("true".to_owned()));
    let remembered = || world.workload("web")["metadata"]["annotations"][SUSPENDED_DEPLOYMENTS].clone();
    assert_eq!(remembered(), "web-us-dfw");
    // Once it is resumed, that is forgotten.
    by_hand(&world, "web-us-dfw", Value::Null);
    quiet(5).await;
    assert_eq!(remembered(), Value::Null);
    world.project.delete("WorkloadDeployment", SPACE, "web-us-dfw").unwrap();
    quiet(5).await;
    assert_eq!(suspended(&world, "web-us-dfw"), None);
    run.stop().await;
}

/// With `kubectl delete --cascade=orphan`, which has the server add a finalizer for its garbage collector.
#[tokio::test(start_paused = true)]
async fn w2_a_workload_that_is_deleted_without_its_deployments_leaves_them() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    let before = world.wd("web-us-dfw").unwrap();
    let mut finalizers = world.workload("web")["metadata"]["finalizers"].as_array().unwrap().clone();
    finalizers.push(json!("orphan"));
    world.patch("web", &json!({"metadata": {"finalizers": finalizers}}));
    world.project.delete("Workload", SPACE, "web").unwrap();
    quiet(60).await;
    assert_eq!(world.workload("web")["metadata"]["finalizers"], json!(["orphan"]), "the rest is not ours");
    assert_eq!(world.wd("web-us-dfw").unwrap(), before);
    // As the garbage collector does.
    let free = json!({"metadata": {"ownerReferences": null}});
    world.project.patch("WorkloadDeployment", SPACE, "web-us-dfw", &free).unwrap();
    world.patch("web", &json!({"metadata": {"finalizers": null}}));
    quiet(60).await;
    assert!(world.project.get("Workload", SPACE, "web").is_none());
    let after = world.wd("web-us-dfw").unwrap();
    assert_eq!((uid(&after), &after["spec"]), (uid(&before), &before["spec"]), "it runs on");
    run.stop().await;
}

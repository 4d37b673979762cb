//! The daily round: Instances come, change and go; nothing is written twice, and nothing is read that is
//! known.

use fedhub_core::names::{
    CELL_SOURCE, SERVICE_NAME, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE, WORKLOAD_DEPLOYMENT_UID,
};
use fedhub_fake_apiserver::{ApiServer, Fault, Resource, resource};
use fedhub_testing::normalized_instances;
use serde_json::json;

use crate::write_back::support::*;

#[tokio::test(start_paused = true)]
async fn c7_a_life_costs_the_necessary_requests_and_no_read() {
    let world = World::new();
    let run = world.run();
    quiet(5).await;
    let hub = position(&world.hub);
    let cell = position(&world.cell);
    let source = world.put_instance(NS_A, "wd-0");
    quiet(5).await;
    assert_eq!(asked(&world.hub, hub), ["create instances/wd-0", "update instances/status/wd-0"]);

    let copy = world.copy("wd-0").unwrap();
    assert_eq!(copy["spec"], source["spec"], "I1: the spec whole, unknown fields too");
    assert_eq!(copy["status"], source["status"], "I1: the status whole");
    let labels = &copy["metadata"]["labels"];
    assert_eq!(labels[UPSTREAM_CLUSTER], "cluster-alpha");
    assert_eq!(labels[UPSTREAM_NAMESPACE], "shop");
    assert_eq!(labels[WORKLOAD_DEPLOYMENT_UID], "uid-in-cell");
    assert_eq!(labels[SERVICE_NAME.0], SERVICE_NAME.1);
    assert_eq!(labels.as_object().unwrap().len(), 10, "nine and the service's: {labels}");
    let owner = uid(&world.hub.get(WD, NS_A, "wd").unwrap());
    assert_eq!(
        copy["metadata"]["ownerReferences"],
        json!([{"apiVersion": API, "kind": WD, "name": "wd", "uid": owner, "controller": true, "blockOwnerDeletion": true}])
    );
    assert_eq!(copy["metadata"]["annotations"], json!({CELL_SOURCE: world.source_of(&source)}));

    for (n, ready) in ["False", "Unknown", "True"].into_iter().enumerate() {
        let hub = position(&world.hub);
        world.cell.patch_status(INSTANCE, NS_A, "wd-0", &status(ready)).unwrap();
        quiet(5).await;
        assert_eq!(asked(&world.hub, hub), ["update instances/status/wd-0"], "status {n}");
    }
    let hub = position(&world.hub);
    world.cell.delete(INSTANCE, NS_A, "wd-0").unwrap();
    quiet(60).await;
    assert_eq!(asked(&world.hub, hub), ["delete instances/wd-0"]);
    assert!(asked(&world.cell, cell).is_empty(), "{:?}", asked(&world.cell, cell));
    assert!(world.copy("wd-0").is_none() && world.cell.list(INSTANCE).is_empty());
    assert_eq!((run.failed("write_back"), run.write_back.remembered()), (0, 0));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c7_the_stages_of_an_instance_that_comes_up_are_one_status_write() {
    let world = World::new();
    let run = world.run();
    quiet(5).await;
    let stage = |reason: &str| json!({"conditions": [condition("Ready", "False", reason, "")]});
    let instance = |name: &str, status| put_instance_saying(&world.cell, NS_A, name, "DFW", &status);
    let hub = position(&world.hub);
    instance("wd-0", stage("PendingProgramming"));
    until("copied", || world.copy("wd-0").is_some()).await;
    world.cell.patch_status(INSTANCE, NS_A, "wd-0", &stage("Starting")).unwrap();
    quiet(1).await;
    assert_eq!(asked(&world.hub, hub), ["create instances/wd-0"], "the stages are not reported");
    world.cell.patch_status(INSTANCE, NS_A, "wd-0", &status("True")).unwrap();
    quiet(60).await;
    assert_eq!(asked(&world.hub, hub)[1..], ["update instances/status/wd-0"]);

    let hub = position(&world.hub);
    instance("wd-1", stage("ImageUnavailable"));
    quiet(1).await;
    let expected = ["create instances/wd-1", "update instances/status/wd-1"];
    assert_eq!(asked(&world.hub, hub), expected, "C9: an error that requires action is reported at once");

    let hub = position(&world.hub);
    instance("wd-2", stage("Starting"));
    quiet(5).await;
    let expected = ["create instances/wd-2", "update instances/status/wd-2"];
    assert_eq!(asked(&world.hub, hub), expected, "a stage that lasts is reported");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c6_gates_that_open_in_a_moment_cost_nothing_and_those_that_last_are_told() {
    let world = World::new();
    let run = world.run();
    quiet(5).await;
    let gated = |name: &str| {
        let reason = condition("Ready", "False", "SchedulingGatesPresent", "");
        let mut instance = instance_saying(&world.cell, NS_A, name, "DFW", &json!({"conditions": [reason]}));
        instance["spec"]["controller"] = json!({"schedulingGates": [{"name": "Quota"}]});
        world.cell.put(instance).unwrap();
    };
    let hub = position(&world.hub);
    gated("wd-0");
    quiet(1).await;
    assert!(asked(&world.hub, hub).is_empty(), "{:?}", asked(&world.hub, hub));
    world.patch_instance("wd-0", &json!({"spec": {"controller": {"schedulingGates": null}}}));
    world.cell.patch_status(INSTANCE, NS_A, "wd-0", &status("True")).unwrap();
    quiet(60).await;
    assert_eq!(asked(&world.hub, hub), ["create instances/wd-0", "update instances/status/wd-0"]);

    let hub = position(&world.hub);
    gated("wd-1");
    quiet(5).await;
    assert_eq!(asked(&world.hub, hub), ["create instances/wd-1", "update instances/status/wd-1"]);
    let copied = world.copy("wd-1").unwrap();
    let waits_for = &copied["spec"]["controller"]["schedulingGates"];
    assert_eq!(*waits_for, json!([{"name": "Quota"}]), "users see what it waits for");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c7_a_gate_that_opens_costs_one_write() {
    let world = World::new();
    let run = world.run();
    quiet(5).await;
    let mut gated = world.put_instance(NS_A, "wd-0");
    gated["spec"]["controller"] = json!({"schedulingGates": [{"name": "Quota"}, {"name": "Network"}]});
    world.cell.put(gated).unwrap();
    quiet(60).await;
    let hub = position(&world.hub);
    for gates in [json!([{"name": "Network"}]), json!([])] {
        world.patch_instance("wd-0", &json!({"spec": {"controller": {"schedulingGates": gates}}}));
        quiet(60).await;
    }
    assert_eq!(asked(&world.hub, hub), ["update instances/wd-0", "update instances/wd-0"]);
    assert_eq!(world.copy("wd-0").unwrap()["spec"], world.cell.get(INSTANCE, NS_A, "wd-0").unwrap()["spec"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c7_status_is_written_where_it_differs_whoever_changed_it() {
    let world = World::with_copies(1).await;
    let run = world.run();
    quiet(5).await;
    world.hub.patch_status(INSTANCE, NS_A, "wd-0", &status("False")).unwrap();
    quiet(5).await;
    assert_eq!(world.copy("wd-0").unwrap()["status"], status("True"), "the copy's was changed");
    world.hub.patch(INSTANCE, NS_A, "wd-0", &json!({"spec": {"size": "forged"}})).unwrap();
    quiet(5).await;
    assert_eq!(world.copy("wd-0").unwrap()["spec"]["size"], "small");
    world.hub.delete(INSTANCE, NS_A, "wd-0").unwrap();
    quiet(5).await;
    assert_eq!(world.copy("wd-0").unwrap()["status"], status("True"), "and the copy itself is created again");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c7_a_status_of_mere_defaults_is_not_written() {
    let world = World::new();
    let default = json!({"conditions": [{"type": "Ready", "status": "Unknown", "lastTransitionTime": "1970-01-01T00:00:00Z"}]});
    let mut instance = world.put_instance(NS_A, "wd-0");
    instance["status"] = default;
    world.cell.put(instance).unwrap();
    let run = world.run();
    quiet(30).await;
    let hub = asked(&world.hub, 0);
    assert!(!hub.iter().any(|r| r.contains("/status/")), "{hub:?}");
    assert!(world.copy("wd-0").is_some());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i7_a_restart_on_an_unchanged_world_asks_for_nothing() {
    let world = World::with_copies(5).await;
    let before = (world.hub.objects_hash(), world.cell.objects_hash());
    let hub = position(&world.hub);
    let cell = position(&world.cell);
    let run = world.run();
    quiet(600).await;
    assert!(asked(&world.hub, hub).is_empty(), "{:?}", asked(&world.hub, hub));
    assert!(asked(&world.cell, cell).is_empty());
    assert_eq!(
        run.metrics.reconciles_skipped.with_label_values(&["write_back"]).get() / 5,
        1,
        "each is glanced at once"
    );
    world.gap();
    world.cell.compact();
    world.cell.break_watches();
    quiet(60).await;
    assert!(asked(&world.hub, hub).is_empty(), "nor does a gap: {:?}", asked(&world.hub, hub));
    assert_eq!(before, (world.hub.objects_hash(), world.cell.objects_hash()));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i7_what_the_hub_makes_of_a_copy_is_not_written_again_also_after_a_restart() {
    let instances = normalized_instances(&[("spec", "runtime", "vm"), ("status", "phase", "Unknown")]);
    let world = World::over(ApiServer::builder("hub").resources(resource::hub()).resource(instances).build());
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    quiet(60).await;
    assert_eq!(writes(&world.hub, 0), ["create instances/wd-0", "update instances/status/wd-0"]);
    assert_eq!(run.metrics.fields_pruned.get(), 1, "said once");
    run.stop().await;
    let before = world.hub.objects_hash();
    let hub = position(&world.hub);
    let run = world.run();
    quiet(600).await;
    assert!(writes(&world.hub, hub).is_empty(), "{:?}", writes(&world.hub, hub));
    assert_eq!(before, world.hub.objects_hash());
    world.cell.patch_status(INSTANCE, NS_A, "wd-0", &status("False")).unwrap();
    quiet(60).await;
    assert_eq!(writes(&world.hub, hub), ["update instances/status/wd-0"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i9_foreign_metadata_on_a_copy_is_left_alone() {
    let world = World::with_copies(1).await;
    let run = world.run();
    quiet(5).await;
    let friend = world
        .hub
        .put(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": NS_A, "name": "friend"}}))
        .unwrap();
    let mut edited = world.copy("wd-0").unwrap();
    let meta = &mut edited["metadata"];
    meta["labels"]["karmada.io/label"] = json!("mine");
    meta["annotations"]["karmada.io/note"] = json!("mine");
    meta["finalizers"] = json!(["karmada.io/hold"]);
    let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "friend", "uid": uid(&friend)});
    meta["ownerReferences"].as_array_mut().unwrap().push(reference.clone());
    world.hub.put(edited).unwrap();
    let from = position(&world.hub);
    quiet(5).await;
    assert!(asked(&world.hub, from).is_empty(), "nothing of ours was touched: {:?}", asked(&world.hub, from));

    world.patch_instance("wd-0", &json!({"spec": {"size": "large"}}));
    quiet(5).await;
    let copy = world.copy("wd-0").unwrap();
    assert_eq!(copy["spec"]["size"], "large");
    let meta = &copy["metadata"];
    assert_eq!(meta["labels"]["karmada.io/label"], "mine");
    assert_eq!(meta["annotations"]["karmada.io/note"], "mine");
    assert_eq!(meta["finalizers"], json!(["karmada.io/hold"]));
    assert!(meta["ownerReferences"].as_array().unwrap().contains(&reference));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c7_a_field_that_is_immutable_makes_the_copy_anew() {
    let instance = Resource::custom("compute.datumapis.com", "v1alpha", INSTANCE, "instances")
        .with_status()
        .immutable(&["/spec/size"]);
    let world = World::over(ApiServer::builder("hub").resources(resource::hub()).resource(instance).build());
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    quiet(5).await;
    let old = world.copy("wd-0").unwrap();
    world.patch_instance("wd-0", &json!({"spec": {"size": "large"}}));
    quiet(30).await;
    let new = world.copy("wd-0").unwrap();
    assert_eq!((new["spec"]["size"].as_str(), &new["status"]), (Some("large"), &status("True")));
    assert_ne!(uid(&old), uid(&new));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c7_a_copy_on_a_restored_hub_is_repaired_before_the_hub_is_listed_again() {
    let world = World::with_copies(1).await;
    let run = world.run();
    quiet(5).await;
    let backup = world.hub.snapshot();
    for size in ["medium", "large", "huge"] {
        world.patch_instance("wd-0", &json!({"spec": {"size": size}}));
        quiet(5).await;
    }
    assert_eq!(world.copy("wd-0").unwrap()["spec"]["size"], "huge");
    world.hub.fault(Fault::Hang.on("watch", "instances"));
    world.hub.fault(Fault::Hang.on("list", "instances"));
    world.hub.restore(&backup);
    let from = position(&world.hub);
    world.patch_instance("wd-0", &json!({"spec": {"size": "small", "more": 1}}));
    quiet(2).await;
    let spec = &world.copy("wd-0").unwrap()["spec"];
    assert_eq!((&spec["size"], &spec["more"]), (&json!("small"), &json!(1)));
    assert_eq!(writes(&world.hub, from), ["update instances/wd-0"]);
    assert_eq!((run.failed("write_back"), run.queue.pending()), (0, 0), "by one reconcile");
    run.stop().await;
}

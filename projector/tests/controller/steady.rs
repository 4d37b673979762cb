//! The daily round: instances come, change and go; nothing is written twice.

use fedhub_core::names::{PROJECTED_FROM, WORKLOAD_DEPLOYMENT_UID};
use fedhub_fake_apiserver::{ApiServer, resource};
use fedhub_testing::normalized_instances;
use serde_json::json;

use crate::controller::support::*;

#[tokio::test(start_paused = true)]
async fn p3_one_create_and_one_status_write_for_each_instance_and_no_read() {
    let world = World::new();
    let run = world.run();
    quiet(5).await;
    let hub = position(&world.hub);
    let alpha = position(&world.alpha);
    let beta = position(&world.beta);
    let source = world.put_instance(NS_A, "wd-0");
    world.put_instance(NS_A, "wd-1");
    quiet(60).await;

    let mut seen = asked(&world.alpha, alpha);
    seen.sort();
    assert_eq!(
        seen,
        [
            "create instances/wd-0",
            "create instances/wd-1",
            "update instances/status/wd-0",
            "update instances/status/wd-1"
        ]
    );
    assert!(asked(&world.hub, hub).is_empty() && asked(&world.beta, beta).is_empty());

    let projection = world.projection("wd-0").unwrap();
    assert_eq!(projection["spec"], source["spec"], "I1: the spec whole, unknown fields too");
    assert_eq!(projection["status"], source["status"], "I1: the status whole");
    let labels = &projection["metadata"]["labels"];
    assert_eq!(labels["compute.datumapis.com/city-code"], "DFW");
    assert!(labels.get("cells.example/private").is_none(), "labels travel by allow-list");
    let owner = uid(&world.alpha.get("WorkloadDeployment", SPACE, "wd").unwrap());
    assert_eq!(labels[WORKLOAD_DEPLOYMENT_UID], owner.as_str(), "the UID of the project plane's WD");
    assert_eq!(
        projection["metadata"]["ownerReferences"],
        json!([{"apiVersion": API, "kind": "WorkloadDeployment", "name": "wd", "uid": owner}])
    );
    let space = world.hub.get("Namespace", "", NS_A).unwrap();
    assert_eq!(mark_of(&projection), format!("{NS_A}/{}/{}", uid(&space), uid(&source)));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p3_a_change_is_one_write() {
    let world = World::new();
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    quiet(5).await;
    let from = position(&world.alpha);
    world.hub.patch_status("Instance", NS_A, "wd-0", &status("False")).unwrap();
    quiet(60).await;
    assert_eq!(asked(&world.alpha, from), ["update instances/status/wd-0"], "and no read");

    let from = position(&world.alpha);
    world.hub.patch("Instance", NS_A, "wd-0", &json!({"spec": {"size": "large"}})).unwrap();
    quiet(60).await;
    assert_eq!(asked(&world.alpha, from), ["get instances/wd-0", "update instances/wd-0"]);
    assert_eq!(world.projection("wd-0").unwrap()["spec"]["size"], "large");

    let from = position(&world.alpha);
    let label = json!({"metadata": {"labels": {"cells.example/private": "no"}}});
    world.hub.patch("Instance", NS_A, "wd-0", &label).unwrap();
    quiet(60).await;
    assert!(asked(&world.alpha, from).is_empty(), "a label that does not travel is no reason to write");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p5_an_instance_that_is_seen_deleted_takes_its_projection_with_it() {
    let world = World::new();
    world.put_instance(NS_A, "wd-0");
    world.put_instance(NS_A, "wd-1");
    world.put_instance(NS_B, "wd-1");
    let run = world.run();
    quiet(5).await;
    let hub = position(&world.hub);
    let alpha = position(&world.alpha);
    let beta = position(&world.beta);
    world.hub.delete("Instance", NS_A, "wd-1").unwrap();
    quiet(60).await;
    assert_eq!(asked(&world.alpha, alpha), ["delete instances/wd-1"], "scale-down shows");
    assert!(world.projection("wd-0").is_some() && world.projection("wd-1").is_none());
    assert!(asked(&world.hub, hub).is_empty(), "what was seen needs no reads");
    assert!(asked(&world.beta, beta).is_empty(), "the other tenant's wd-1 is another");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p5_an_instance_replaced_under_its_name_ends_up_as_the_new_one() {
    let world = World::new();
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    quiet(5).await;
    world.hub.delete("Instance", NS_A, "wd-0").unwrap();
    let new = world.put_instance(NS_A, "wd-0");
    quiet(60).await;
    assert!(mark_of(&world.projection("wd-0").unwrap()).ends_with(&uid(&new)));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p8_a_restart_on_an_unchanged_world_writes_nothing() {
    let world = World::new();
    for n in 0..5 {
        world.put_instance(NS_A, &format!("wd-{n}"));
    }
    let run = world.run();
    quiet(60).await;
    run.stop().await;
    let before = (world.hub.objects_hash(), world.alpha.objects_hash());
    let hub = position(&world.hub);
    let alpha = position(&world.alpha);
    let run = world.run();
    quiet(600).await;
    assert!(asked(&world.hub, hub).is_empty());
    assert!(asked(&world.alpha, alpha).is_empty(), "{:?}", asked(&world.alpha, alpha));
    assert_eq!(before, (world.hub.objects_hash(), world.alpha.objects_hash()));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i7_what_a_plane_prunes_and_defaults_is_said_once_and_not_written_again() {
    let instances = normalized_instances(&[("spec", "runtime", "vm"), ("status", "phase", "Unknown")]);
    let world = World::over(
        ApiServer::builder("alpha").resources(resource::project_plane()).resource(instances).build(),
    );
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    quiet(60).await;
    assert_eq!(writes(&world.alpha, 0), ["create instances/wd-0", "update instances/status/wd-0"]);
    assert_eq!(run.metrics.fields_pruned.get(), 1, "the spec's; the status only gained a field");

    let from = position(&world.alpha);
    world.gap();
    world.alpha.compact();
    world.alpha.break_watches();
    quiet(600).await;
    assert!(asked(&world.alpha, from).is_empty(), "a relist changes nothing");
    run.stop().await;

    let from = position(&world.alpha);
    let run = world.run();
    quiet(600).await;
    assert!(writes(&world.alpha, from).is_empty(), "{:?}", writes(&world.alpha, from));
    assert_eq!(
        asked(&world.alpha, from),
        ["get instances/wd-0", "update instances/wd-0 (dry)", "update instances/status/wd-0 (dry)"],
        "what was forgotten is asked for once, without writing"
    );
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_gives_the_same_record_twice() {
    async fn once() -> Vec<String> {
        let world = World::new();
        let run = world.run();
        for n in 0..30 {
            world.put_instance(if n % 3 == 0 { NS_B } else { NS_A }, &format!("wd-{n}"));
            if n % 5 == 0 {
                world.alpha.fault(fedhub_fake_apiserver::Fault::Status(503).on("create", "*").times(2));
            }
            if n % 7 == 0 {
                world.gap();
            }
            quiet(1).await;
        }
        quiet(600).await;
        run.stop().await;
        let record =
            |s: &ApiServer| s.audit().iter().map(|e| format!("{} {}", e.short(), e.code)).collect::<Vec<_>>();
        [record(&world.hub), record(&world.alpha), record(&world.beta)].concat()
    }
    let first = once().await;
    let second = once().await;
    assert!(first.len() > 100);
    assert_eq!(first, second);
}

#[tokio::test(start_paused = true)]
async fn i9_foreign_metadata_on_a_projection_is_left_alone() {
    let world = World::new();
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    quiet(5).await;
    let friend = world
        .alpha
        .put(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": SPACE, "name": "friend"}}))
        .unwrap();
    let mut edited = world.projection("wd-0").unwrap();
    let meta = &mut edited["metadata"];
    meta["labels"]["tenant/label"] = json!("mine");
    meta["annotations"]["tenant/note"] = json!("mine");
    meta["finalizers"] = json!(["tenant/hold"]);
    let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "friend", "uid": uid(&friend)});
    meta["ownerReferences"].as_array_mut().unwrap().push(reference.clone());
    world.alpha.put(edited).unwrap();
    let from = position(&world.alpha);
    quiet(5).await;
    assert!(asked(&world.alpha, from).is_empty(), "nothing of ours was touched");

    world.hub.patch("Instance", NS_A, "wd-0", &json!({"spec": {"size": "large"}})).unwrap();
    quiet(5).await;
    let projection = world.projection("wd-0").unwrap();
    assert_eq!(projection["spec"]["size"], "large");
    let meta = &projection["metadata"];
    assert_eq!(meta["labels"]["tenant/label"], "mine");
    assert_eq!(meta["annotations"]["tenant/note"], "mine");
    assert_eq!(meta["finalizers"], json!(["tenant/hold"]));
    assert!(meta["ownerReferences"].as_array().unwrap().contains(&reference));
    assert!(meta["annotations"][PROJECTED_FROM].is_string());
    run.stop().await;
}

//! The catalogue from its source to the hub, over simulated planes.

use fedhub_core::names::{CATALOG, CATALOG_UID};
use fedhub_fake_apiserver::Fault;
use serde_json::json;

use crate::instance_types::support::*;

const NONE: [&str; 0] = [];

#[tokio::test(start_paused = true)]
async fn w8_the_catalogue_comes_to_the_hub_with_one_policy_for_all_cells() {
    let world = World::new();
    let hub = position(&world.hub);
    let source = position(&world.source);
    let run = world.running().await;
    let copy = world.copy("d1");
    assert_eq!(copy["spec"], world.source.get(KIND, "", "d1").unwrap()["spec"]);
    assert_eq!(copy["metadata"]["labels"], json!({CATALOG.0: CATALOG.1}));
    let crd = world.source.get("CustomResourceDefinition", "", CRD).unwrap();
    assert_eq!(copy["metadata"]["annotations"][CATALOG_UID], uid(&crd));
    let spec = world.policy().unwrap()["spec"].clone();
    assert_eq!((&spec["conflictResolution"], &spec["placement"]), (&json!("Overwrite"), &json!({})));
    let selector =
        json!({"apiVersion": API, "kind": KIND, "labelSelector": {"matchLabels": {CATALOG.0: CATALOG.1}}});
    assert_eq!(spec["resourceSelectors"], json!([selector]));
    let created = [
        "create clusterpropagationpolicies/instance-types",
        "create instancetypes/d1",
        "create instancetypes/d2",
    ];
    assert_eq!(asked(&world.hub, hub), created);
    assert_eq!(asked(&world.source, source), [format!("get customresourcedefinitions/{CRD}")]);

    let hub = position(&world.hub);
    let source = position(&world.source);
    quiet(600).await;
    run.stop().await;
    let run = world.run();
    quiet(60).await;
    assert_eq!([asked(&world.hub, hub), asked(&world.source, source)], [NONE; 2], "at rest, after a restart");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w8_an_edit_arrives_and_what_is_changed_on_the_hub_by_hand_is_restored() {
    let world = World::new();
    let run = world.running().await;
    let edit = |cpu: &str| json!({"spec": {"resources": {"cpu": cpu}}});
    world.source.patch(KIND, "", "d1", &edit("3")).unwrap();
    until("the edit", || world.cpu("d1") == "3").await;

    world.hub.patch(KIND, "", "d1", &edit("9")).unwrap();
    until("the spec", || world.cpu("d1") == "3").await;
    world.hub.delete(KIND, "", "d1").unwrap();
    until("the copy", || world.copies() == ["d1", "d2"]).await;
    let policy = json!({"spec": {"conflictResolution": "Abort"}});
    world.hub.patch(POLICY, "", "instance-types", &policy).unwrap();
    until("the policy", || world.policy().unwrap()["spec"]["conflictResolution"] == "Overwrite").await;
    world.hub.delete(POLICY, "", "instance-types").unwrap();
    until("the policy again", || world.policy().is_some()).await;
    // Others' keys stay (I9).
    let foreign = json!({"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}});
    world.hub.patch(KIND, "", "d2", &foreign).unwrap();
    world.source.patch(KIND, "", "d2", &edit("7")).unwrap();
    until("the other edit", || world.cpu("d2") == "7").await;
    let metadata = world.copy("d2")["metadata"].clone();
    assert_eq!((&metadata["labels"]["a"], &metadata["annotations"]["c"]), (&json!("b"), &json!("d")));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w8_a_type_that_is_deleted_leaves_the_hub_and_what_is_not_a_copy_does_not() {
    let world = World::new();
    world.hub.put(instance_type("own", "5")).unwrap();
    world.hub.put(instance_type("d3", "5")).unwrap();
    world.put("d3", "3");
    let run = world.run();
    world.put("d1", "1");
    until("the copy", || world.copies().contains(&"d1".to_owned())).await;
    quiet(5).await;
    assert_eq!((world.cpu("d3"), world.copy("d3")["metadata"]["labels"].clone()), (json!("5"), json!(null)));
    world.source.delete(KIND, "", "d1").unwrap();
    world.source.delete(KIND, "", "d3").unwrap();
    until("the deletion", || world.copies() == ["d3", "own"]).await;
    quiet(60).await;
    assert_eq!(world.copies(), ["d3", "own"]);
    assert!(world.policy().is_some(), "it stays when the catalogue is empty");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i8_w8_a_copy_that_the_hub_refuses_holds_up_no_deletion() {
    let world = World::new();
    let run = world.running().await;
    world.hub.fault(Fault::Status(422).on("create", "instancetypes"));
    world.put("d9", "1");
    quiet(60).await;
    let failed = run.failed("instance_types");
    assert!(failed > 0, "it is refused");
    world.source.delete(KIND, "", "d1").unwrap();
    until("the deletion", || world.copies() == ["d2"]).await;
    quiet(600).await;
    assert!(run.failed("instance_types") > failed, "it is tried again");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w8_i4_a_crd_that_is_deleted_deletes_no_copy() {
    let world = World::new();
    let run = world.running().await;
    world.delete_crd();
    quiet(60).await;
    assert_eq!((world.copies(), run.withheld("source_gone")), (["d1", "d2"].map(String::from).into(), 2));
    // Not served any more, also for a process that has just started.
    world.finish_crd();
    let faults =
        ["list", "watch", "get"].map(|verb| world.source.fault(Fault::Status(404).on(verb, "instancetypes")));
    world.source.break_watches();
    quiet(60).await;
    run.stop().await;
    let run = world.run();
    quiet(60).await;
    assert_eq!(world.copies(), ["d1", "d2"]);
    // Made anew without types: another source than the copies were written from.
    world.put_crd();
    for fault in faults {
        world.source.clear_fault(fault);
    }
    quiet(600).await;
    assert_eq!((world.copies(), run.withheld("source_replaced")), (["d1", "d2"].map(String::from).into(), 2));
    // A type that is declared again is followed again, and may go for good.
    world.put("d1", "8");
    until("the new type", || world.cpu("d1") == "8").await;
    world.source.delete(KIND, "", "d1").unwrap();
    until("its deletion", || world.copies() == ["d2"]).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w8_i4_a_source_that_does_not_answer_deletes_no_copy() {
    let world = World::new();
    let run = world.running().await;
    for fault in [Fault::Disconnect, Fault::Status(403), Fault::Status(500)] {
        let id = world.source.fault(fault.on("*", "*"));
        world.source.break_watches();
        world.source.delete(KIND, "", "d1").unwrap();
        let hub = position(&world.hub);
        quiet(300).await;
        assert_eq!(
            (world.copies(), writes(&world.hub, hub)),
            (["d1", "d2"].map(String::from).into(), vec![]),
            "{fault:?}"
        );
        world.put("d1", "1");
        world.source.clear_fault(id);
        quiet(300).await;
    }
    // An empty list is no deletion either: the source is asked.
    let id = world.source.fault(Fault::EmptyList.on("list", "instancetypes"));
    world.source.compact();
    world.source.break_watches();
    quiet(120).await;
    assert_eq!(world.copies(), ["d1", "d2"]);
    world.source.clear_fault(id);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w8_i4_deletions_are_limited() {
    let world = World::new();
    for n in 0..6 {
        world.put(&format!("d{n}"), "1");
    }
    let run = world.run_with(2);
    until("the copies", || world.copies().len() == 6).await;
    for n in 0..6 {
        world.source.delete(KIND, "", &format!("d{n}")).unwrap();
    }
    // Two at once, and the third after half a minute.
    quiet(20).await;
    assert!((4..6).contains(&world.copies().len()), "{:?}", world.copies());
    until("all deletions", || world.copies().is_empty()).await;
    assert!(run.withheld("rate") > 0);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w8_a_source_that_is_a_cell_is_refused() {
    let world = World::new();
    world.put("d1", "1");
    let copied = json!({"metadata": {"labels": {CATALOG.0: CATALOG.1}}});
    world.source.patch(KIND, "", "d1", &copied).unwrap();
    let hub = position(&world.hub);
    let run = world.run();
    quiet(60).await;
    assert_eq!(asked(&world.hub, hub), NONE);
    run.stop().await;
}

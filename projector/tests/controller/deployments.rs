//! Projections and their living owners (I5, P2, P6, P7).

use std::time::Duration;

use fedhub_fake_apiserver::Fault;
use serde_json::{Value, json};

use crate::controller::support::*;

#[tokio::test(start_paused = true)]
async fn i5_without_its_wd_an_instance_is_parked_and_the_wds_event_wakes_it() {
    let world = World::new();
    world.alpha.delete("WorkloadDeployment", SPACE, "wd").unwrap();
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    quiet(5).await;
    assert_eq!(run.objects("projector", "parked"), 1);
    let from = position(&world.alpha);
    quiet(600).await;
    assert!(asked(&world.alpha, from).is_empty(), "no timer asks for it: {:?}", asked(&world.alpha, from));
    let owner = put_project_wd(&world.alpha, "wd", NS_A);
    world.put_hub_wd(NS_A, "wd");
    quiet(1).await;
    let projection = world.projection("wd-0").unwrap();
    assert_eq!(projection["metadata"]["ownerReferences"][0]["uid"], uid(&owner).as_str());
    assert_eq!(run.objects("projector", "parked"), 0);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i5_a_wd_that_is_not_federated_yet_parks_without_grace() {
    let world = World::new();
    let mut bare = world.alpha.get("WorkloadDeployment", SPACE, "wd").unwrap();
    bare["metadata"].as_object_mut().unwrap().remove("annotations");
    world.alpha.put(bare).unwrap();
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    quiet(3600).await;
    assert_eq!((run.objects("projector", "parked"), run.quarantined("deployment_absent")), (1, 0));
    put_project_wd(&world.alpha, "wd", NS_A);
    quiet(1).await;
    assert!(world.projection("wd-0").is_some());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p6_no_instance_of_a_wd_that_is_gone_is_read_before_the_hub_collects_it() {
    let world = World::new();
    for n in 0..3 {
        world.put_instance(NS_A, &format!("wd-{n}"));
    }
    let run = world.run();
    quiet(5).await;
    let hub = position(&world.hub);
    let alpha = position(&world.alpha);
    // The hub's collector comes a moment after the project plane's.
    world.hub.set_garbage_collection(false);
    world.hub.delete("WorkloadDeployment", NS_A, "wd").unwrap();
    world.alpha.delete("WorkloadDeployment", SPACE, "wd").unwrap();
    quiet(2).await;
    assert!(world.projection("wd-0").is_none());
    assert_eq!(run.objects("projector", "parked"), 3);
    for n in 0..3 {
        world.hub.delete("Instance", NS_A, &format!("wd-{n}")).unwrap();
    }
    quiet(60).await;
    assert!(asked(&world.hub, hub).is_empty(), "{:?}", asked(&world.hub, hub));
    assert!(asked(&world.alpha, alpha).is_empty(), "{:?}", asked(&world.alpha, alpha));
    assert_eq!(run.objects("projector", "parked"), 0);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p7_past_the_grace_a_missing_wd_quarantines_and_its_event_still_wakes() {
    let world = World::new();
    world.alpha.delete("WorkloadDeployment", SPACE, "wd").unwrap();
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    quiet(14 * 60).await;
    assert_eq!(
        (run.objects("projector", "parked"), run.quarantined("deployment_absent")),
        (1, 0),
        "within the grace"
    );
    quiet(2 * 60).await;
    assert_eq!((run.objects("projector", "parked"), run.quarantined("deployment_absent")), (0, 1), "past it");
    put_project_wd(&world.alpha, "wd", NS_A);
    quiet(1).await;
    assert_eq!(
        (run.objects("projector", "parked"), run.quarantined("deployment_absent")),
        (1, 0),
        "the hub WD is another one's yet"
    );
    world.put_hub_wd(NS_A, "wd");
    quiet(1).await;
    assert!(world.projection("wd-0").is_some());
    assert_eq!(run.objects("projector", "parked"), 0);
    run.stop().await;
}

/// What the hub does not collect, for whatever reason, does not put the end of the grace off.
#[tokio::test(start_paused = true)]
async fn p7_past_the_grace_an_instance_without_a_wd_on_either_side_is_quarantined() {
    let world = World::new();
    world.hub.set_garbage_collection(false);
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    quiet(5).await;
    world.hub.delete("WorkloadDeployment", NS_A, "wd").unwrap();
    world.alpha.delete("WorkloadDeployment", SPACE, "wd").unwrap();
    quiet(5).await;
    let from = position(&world.alpha);
    quiet(13 * 60).await;
    assert_eq!(
        (run.objects("projector", "parked"), run.quarantined("deployment_absent")),
        (1, 0),
        "within the grace"
    );
    assert!(asked(&world.alpha, from).len() < 3, "it waits: {:?}", asked(&world.alpha, from));
    quiet(3 * 60).await;
    assert_eq!((run.objects("projector", "parked"), run.quarantined("deployment_absent")), (0, 1), "past it");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p2_a_wd_that_the_watch_does_not_show_is_confirmed_live() {
    let world = World::new();
    world.put_instance(NS_A, "wd-0");
    world.alpha.fault(Fault::EmptyList.on("list", "workloaddeployments").times(1));
    let run = world.run();
    quiet(5).await;
    assert!(world.projection("wd-0").is_some());
    assert!(asked(&world.alpha, 0).contains(&"get workloaddeployments/wd".to_owned()));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i5_an_old_instance_is_never_owned_by_the_wd_made_anew() {
    let world = World::new();
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    quiet(5).await;
    // Both WDs are created again; the hub's garbage collection has not come round yet.
    world.hub.set_garbage_collection(false);
    world.alpha.delete("WorkloadDeployment", SPACE, "wd").unwrap();
    world.hub.delete("WorkloadDeployment", NS_A, "wd").unwrap();
    quiet(5).await;
    assert!(world.projection("wd-0").is_none(), "the plane's own garbage collection took it");
    let from = position(&world.alpha);
    let owner = put_project_wd(&world.alpha, "wd", NS_A);
    world.put_hub_wd(NS_A, "wd");
    quiet(600).await;
    assert!(writes(&world.alpha, from).is_empty(), "{:?}", writes(&world.alpha, from));

    let run = {
        run.stop().await;
        world.run()
    };
    quiet(600).await;
    assert!(writes(&world.alpha, from).is_empty(), "nor after a restart");

    // The cell writes the copy again, for the WD that lives.
    world.hub.delete("Instance", NS_A, "wd-0").unwrap();
    world.put_instance(NS_A, "wd-0");
    quiet(5).await;
    let projection = world.projection("wd-0").unwrap();
    assert_eq!(projection["metadata"]["ownerReferences"][0]["uid"], uid(&owner).as_str());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i6_a_wd_applied_again_with_its_annotation_gets_no_instance_of_the_one_before_it() {
    let world = World::new();
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    quiet(5).await;
    // Its finalizer was stripped: the hub WD of the former one lives on, and so do its Instances.
    world.alpha.delete("WorkloadDeployment", SPACE, "wd").unwrap();
    quiet(5).await;
    let from = position(&world.alpha);
    put_project_wd(&world.alpha, "wd", NS_A);
    quiet(600).await;
    assert!(writes(&world.alpha, from).is_empty(), "{:?}", writes(&world.alpha, from));
    assert_eq!(run.objects("projector", "parked"), 1);
    run.stop().await;
    world.run().stop_after(600).await;
    assert!(writes(&world.alpha, from).is_empty(), "nor after a restart: {:?}", writes(&world.alpha, from));
}

#[tokio::test(start_paused = true)]
async fn i5_a_projection_of_a_former_wd_is_owned_by_the_one_that_lives_now() {
    let world = World::new();
    world.put_instance(NS_A, "wd-0");
    world.alpha.set_garbage_collection(false);
    let run = world.run();
    quiet(5).await;
    world.alpha.delete("WorkloadDeployment", SPACE, "wd").unwrap();
    quiet(5).await;
    let new = put_project_wd(&world.alpha, "wd", NS_A);
    world.put_hub_wd(NS_A, "wd");
    quiet(5).await;
    let projection = world.projection("wd-0").unwrap();
    let owners = projection["metadata"]["ownerReferences"].as_array().unwrap();
    assert_eq!(owners.len(), 1, "the dead UID is gone: {owners:?}");
    assert_eq!(owners[0]["uid"], uid(&new).as_str());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i5_a_copy_without_an_owner_is_accepted_from_older_cells_while_its_wd_lives() {
    let world = World::new();
    world.put_instance(NS_A, "wd-0");
    world.hub.patch("Instance", NS_A, "wd-0", &json!({"metadata": {"ownerReferences": null}})).unwrap();
    let run = world.run();
    quiet(5).await;
    assert!(world.projection("wd-0").is_some());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i5_without_the_hub_wd_nothing_is_projected() {
    let world = World::new();
    world.put_instance(NS_A, "wd-0");
    world.hub.set_garbage_collection(false);
    world.hub.delete("WorkloadDeployment", NS_A, "wd").unwrap();
    let run = world.run();
    quiet(600).await;
    assert!(writes(&world.alpha, 0).is_empty());
    assert_eq!(run.objects("projector", "parked"), 1);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p6_a_wd_that_is_deleted_takes_its_projections_and_nobody_puts_them_back() {
    let world = World::new();
    let hold = json!({"metadata": {"finalizers": ["compute.datumapis.com/federator"]}});
    world.alpha.patch("WorkloadDeployment", SPACE, "wd", &hold).unwrap();
    for n in 0..3 {
        world.put_instance(NS_A, &format!("wd-{n}"));
    }
    let run = world.run();
    quiet(5).await;
    let hub = position(&world.hub);
    let from = position(&world.alpha);
    world.alpha.delete("WorkloadDeployment", SPACE, "wd").unwrap();
    quiet(5).await;
    // A user, or garbage collection in the foreground, takes them one by one.
    world.alpha.delete("Instance", SPACE, "wd-0").unwrap();
    quiet(60).await;
    assert!(asked(&world.alpha, from).is_empty(), "{:?}", asked(&world.alpha, from));
    assert!(asked(&world.hub, hub).is_empty(), "nothing is read for it: {:?}", asked(&world.hub, hub));

    world.alpha.patch("WorkloadDeployment", SPACE, "wd", &json!({"metadata": {"finalizers": null}})).unwrap();
    quiet(60).await;
    assert!(world.alpha.list("Instance").is_empty());
    assert!(writes(&world.alpha, from).is_empty(), "{:?}", writes(&world.alpha, from));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p7_what_can_come_right_is_retried_with_a_back_off() {
    let world = World::new();
    let run = world.run();
    quiet(5).await;
    // Refused, which says something of the object: it has a back-off of its own.
    world.alpha.fault(Fault::Status(403).on("create", "instances"));
    let from = position(&world.alpha);
    world.put_instance(NS_A, "wd-0");
    quiet(600).await;
    let tries = writes(&world.alpha, from).len();
    assert!((8..=14).contains(&tries), "doubled from 0.5 s on: {tries}");
    world.alpha.clear_faults();
    let event = json!({"metadata": {"labels": {"any": "event"}}});
    world.hub.patch("Instance", NS_A, "wd-0", &event).unwrap();
    tokio::time::timeout(
        Duration::from_secs(1),
        until("an event ends the back-off", || {
            world.projection("wd-0").is_some_and(|p| p["status"] != Value::Null)
        }),
    )
    .await
    .unwrap();
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p7_a_plane_that_fails_is_tried_by_one_object_at_least_once_a_minute() {
    let world = World::new();
    let run = world.run();
    quiet(5).await;
    world.alpha.fault(Fault::Status(503).on("create", "instances"));
    let from = position(&world.alpha);
    (0..50).for_each(|n| drop(world.put_instance(NS_A, &format!("wd-{n}"))));
    quiet(600).await;
    let tries = writes(&world.alpha, from).len();
    assert!((12..=40).contains(&tries), "of fifty objects: {tries}");
    assert_eq!(run.queue.circuits_open(), 1);
    world.alpha.clear_faults();
    let all = || (0..50).all(|n| world.projection(&format!("wd-{n}")).is_some());
    tokio::time::timeout(Duration::from_secs(61), until("all", all)).await.unwrap();
    assert_eq!(run.queue.circuits_open(), 0);
    run.stop().await;
}

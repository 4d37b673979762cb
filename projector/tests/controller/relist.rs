//! What was missed without a watch (I4): a projection is deleted only where it is proven that its Instance is
//! gone.

use fedhub_core::names::CITY_CODE;
use fedhub_fake_apiserver::Fault;
use fedhub_projector::controller::ProjectorConfig;
use serde_json::json;

use crate::controller::support::*;

/// Planes whose hub has so many Instances, all of them projected.
pub async fn with_instances(count: usize) -> World {
    let world = World::new();
    for n in 0..count {
        world.put_instance(NS_A, &format!("wd-{n}"));
    }
    world.run().stop_after(30).await;
    assert_eq!(world.alpha.list("Instance").len(), count);
    world
}

#[tokio::test(start_paused = true)]
async fn i4_instances_that_vanished_in_a_gap_go_with_proof() {
    let world = with_instances(3).await;
    let run = world.run();
    quiet(5).await;
    let hub = position(&world.hub);
    let alpha = position(&world.alpha);
    let id = world.hub.fault(Fault::Hang.on("watch", "instances"));
    world.hub.delete("Instance", NS_A, "wd-1").unwrap();
    world.gap();
    world.hub.clear_fault(id);
    until("the projection to go", || world.projection("wd-1").is_none()).await;
    quiet(60).await;
    assert_eq!(asked(&world.alpha, alpha), ["get instances/wd-1", "delete instances/wd-1"]);
    assert_eq!(
        asked(&world.hub, hub),
        ["get namespaces/ns-a", "get instances/wd-1", "get workloaddeployments/wd"]
    );
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_deletes_after_a_restart_carry_the_uid_and_stay_in_the_bucket() {
    let world = with_instances(50).await;
    for n in 0..50 {
        world.hub.delete("Instance", NS_A, &format!("wd-{n}")).unwrap();
    }
    world.put_instance(NS_B, "wd-0");
    let hub = position(&world.hub);
    let from = position(&world.alpha);
    let run = world.run();
    quiet(5).await;
    let left = || world.alpha.list("Instance").len();
    assert!((28..=30).contains(&left()), "twenty at once: {}", left());
    assert!(world.beta.get("Instance", SPACE, "wd-0").is_some(), "the other plane does not wait");
    quiet(60).await;
    assert!((8..=11).contains(&left()), "twenty a minute: {}", left());
    until("all to be gone", || left() == 0).await;
    assert_eq!(run.withheld("rate"), 30, "what waits is counted, each once");
    let deletes = &world.alpha.audit()[from..];
    let deletes: Vec<_> = deletes.iter().filter(|e| e.verb == "delete").collect();
    assert_eq!(deletes.len(), 50);
    assert!(deletes.iter().all(|d| d.body.as_ref().is_some_and(|b| b["preconditions"]["uid"].is_string())));
    let reads = asked(&world.hub, hub).len();
    assert!(reads <= 50 * 6, "what waits for its turn does not ask all the while: {reads} reads");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_an_empty_list_deletes_nothing() {
    let world = with_instances(3).await;
    let alpha = position(&world.alpha);
    let beta = position(&world.beta);
    let run = world.run();
    quiet(5).await;
    for resource in ["instances", "*"] {
        world.hub.fault(Fault::EmptyList.on("list", resource).times(5));
        world.gap();
        quiet(300).await;
        world.hub.clear_faults();
        world.gap();
        quiet(300).await;
    }
    assert!(writes(&world.alpha, alpha).is_empty(), "{:?}", writes(&world.alpha, alpha));
    assert!(writes(&world.beta, beta).is_empty());
    run.stop().await;

    world.hub.fault(Fault::EmptyList);
    let run = world.run();
    quiet(300).await;
    assert!(writes(&world.alpha, alpha).is_empty(), "after a restart into it");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_refusals_and_silence_of_the_hub_delete_nothing() {
    let world = with_instances(3).await;
    let from = position(&world.alpha);
    for fault in [
        Fault::Status(403),
        Fault::Status(410),
        Fault::Status(404),
        Fault::Status(500),
        Fault::Garbage,
        Fault::Disconnect,
        Fault::Hang,
    ] {
        let run = world.run();
        quiet(5).await;
        world.hub.fault(fault);
        world.gap();
        quiet(300).await;
        world.hub.clear_faults();
        quiet(300).await;
        run.stop().await;
        assert!(writes(&world.alpha, from).is_empty(), "{fault:?}: {:?}", writes(&world.alpha, from));
    }
}

#[tokio::test(start_paused = true)]
async fn i4_a_live_read_that_fails_deletes_nothing() {
    let world = with_instances(2).await;
    world.hub.delete("Instance", NS_A, "wd-1").unwrap();
    let from = position(&world.alpha);
    for resource in ["namespaces", "instances", "workloaddeployments"] {
        for code in [401, 403, 429, 500] {
            let id = world.hub.fault(Fault::Status(code).on("get", resource));
            world.run().stop_after(120).await;
            assert!(writes(&world.alpha, from).is_empty(), "{resource} {code}");
            world.hub.clear_fault(id);
        }
    }
    world.run().stop_after(5).await;
    assert_eq!(writes(&world.alpha, from), ["delete instances/wd-1"]);
}

#[tokio::test(start_paused = true)]
async fn i4_a_hub_that_was_emptied_deletes_nothing_and_the_withheld_are_counted() {
    let world = with_instances(3).await;
    let empty = fedhub_fake_apiserver::ApiServer::hub("hub").snapshot();
    let run = world.run();
    quiet(5).await;
    let from = position(&world.alpha);
    world.hub.restore_bumped(&empty);
    quiet(600).await;
    assert!(writes(&world.alpha, from).is_empty(), "{:?}", writes(&world.alpha, from));
    run.stop().await;
    // The federator creates the namespace again, with another UID, and the WD, which no cell has reported on.
    let rebuilt = World::new();
    let labels = rebuilt.hub.get("Namespace", "", NS_A).unwrap()["metadata"]["labels"].clone();
    world
        .hub
        .put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NS_A, "labels": labels}}))
        .unwrap();
    let run = world.run();
    quiet(120).await;
    assert!(run.withheld("namespace_lost") >= 3);
    world.put_hub_wd(NS_A, "wd");
    world.hub.patch_status("WorkloadDeployment", NS_A, "wd", &json!({"replicas": 3})).unwrap();
    quiet(120).await;
    assert!(writes(&world.alpha, from).is_empty(), "{:?}", writes(&world.alpha, from));
    assert!(run.withheld("namespace_lost") >= 3);

    // The cell writes back: the projections are repaired in place.
    for n in 0..3 {
        world.put_instance(NS_A, &format!("wd-{n}"));
    }
    quiet(60).await;
    let now = writes(&world.alpha, from);
    assert!(now.iter().all(|w| w.starts_with("update instances/wd-")), "{now:?}");
    assert_eq!(now.len(), 3);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_a_silent_missing_or_dying_hub_wd_proves_nothing() {
    let world = with_instances(1).await;
    world.hub.delete("Instance", NS_A, "wd-0").unwrap();
    let from = position(&world.alpha);
    let (wd, right) = ("WorkloadDeployment", world.hub.get("WorkloadDeployment", NS_A, "wd").unwrap());
    world.hub.patch(wd, NS_A, "wd", &json!({"status": null})).unwrap();
    world.run().stop_after(120).await;
    world.hub.patch(wd, NS_A, "wd", &json!({"status": {}})).unwrap();
    world.run().stop_after(120).await;
    world
        .hub
        .patch(wd, NS_A, "wd", &json!({"status": right["status"], "metadata": {"finalizers": ["a/b"]}}))
        .unwrap();
    world.hub.delete(wd, NS_A, "wd").unwrap();
    world.run().stop_after(120).await;
    world.hub.patch(wd, NS_A, "wd", &json!({"metadata": {"finalizers": null}})).unwrap();
    assert!(world.hub.get(wd, NS_A, "wd").is_none());
    let run = world.run();
    quiet(120).await;
    assert!(run.withheld("deployment_silent") >= 1);
    assert!(writes(&world.alpha, from).is_empty(), "{:?}", writes(&world.alpha, from));
    world.put_hub_wd(NS_A, "wd");
    until("proof", || world.projection("wd-0").is_none()).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_a_bucket_of_nothing_keeps_everything() {
    let world = with_instances(2).await;
    world.hub.delete("Instance", NS_A, "wd-0").unwrap();
    let from = position(&world.alpha);
    let run = world.run_with(ProjectorConfig { deletes_per_minute: 0, ..ProjectorConfig::default() });
    quiet(7200).await;
    assert!(writes(&world.alpha, from).is_empty());
    assert!(run.withheld("rate") >= 1);
    world.hub.delete("Instance", NS_A, "wd-1").unwrap();
    quiet(5).await;
    assert_eq!(writes(&world.alpha, from), ["delete instances/wd-1"], "what is seen needs no token");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_a_plane_that_comes_back_brings_no_full_bucket() {
    let world = with_instances(4).await;
    for n in 0..4 {
        world.hub.delete("Instance", NS_A, &format!("wd-{n}")).unwrap();
    }
    let run = world.run_with(ProjectorConfig { deletes_per_minute: 1, ..ProjectorConfig::default() });
    quiet(5).await;
    for _ in 0..3 {
        run.planes.disengage(&plane_name("alpha"));
        quiet(1).await;
        run.planes.engage(&plane_name("alpha"), client(&world.alpha));
        quiet(5).await;
    }
    assert_eq!(world.alpha.list("Instance").len(), 3);
    until("all to be gone", || world.alpha.list("Instance").is_empty()).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_a_restored_backup_that_has_the_instances_deletes_nothing_and_is_followed() {
    for bumped in [true, false] {
        let world = with_instances(3).await;
        let backup = world.hub.snapshot();
        let run = world.run();
        quiet(5).await;
        for n in 0..3 {
            world.hub.patch_status("Instance", NS_A, &format!("wd-{n}"), &status("False")).unwrap();
        }
        quiet(5).await;
        let from = position(&world.alpha);
        if bumped {
            world.hub.restore_bumped(&backup);
        } else {
            world.hub.restore(&backup);
        }
        quiet(300).await;
        // The cells write back what the backup did not have.
        for n in 0..3 {
            world.hub.patch_status("Instance", NS_A, &format!("wd-{n}"), &status("Unknown")).unwrap();
            world.hub.patch_status("Instance", NS_A, &format!("wd-{n}"), &status("False")).unwrap();
        }
        quiet(300).await;
        let now = writes(&world.alpha, from);
        assert!(now.iter().all(|w| w.starts_with("update instances/status/")), "{now:?}");
        assert_eq!(world.projection("wd-0").unwrap()["status"], status("False"));
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn i4_a_hub_emptied_behind_the_watch_deletes_nothing() {
    let world = with_instances(3).await;
    let empty = fedhub_fake_apiserver::ApiServer::hub("hub").snapshot();
    let run = world.run();
    quiet(5).await;
    let from = position(&world.alpha);
    world.hub.restore(&empty);
    quiet(600).await;
    run.stop().await;
    let run = world.run();
    quiet(600).await;
    assert!(writes(&world.alpha, from).is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_a_deletion_seen_while_the_plane_was_away_is_done_when_it_is_back() {
    let world = with_instances(2).await;
    let run = world.run();
    quiet(5).await;
    run.planes.disengage(&plane_name("alpha"));
    world.hub.delete("Instance", NS_A, "wd-0").unwrap();
    quiet(60).await;
    let hub = position(&world.hub);
    run.planes.engage(&plane_name("alpha"), client(&world.alpha));
    until("the projection to go", || world.projection("wd-0").is_none()).await;
    assert!(asked(&world.hub, hub).is_empty(), "it was seen");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p5_an_instance_replaced_in_a_gap_shows_nothing_of_the_one_before_it() {
    let world = with_instances(1).await;
    let mut instance = world.hub.get("Instance", NS_A, "wd-0").unwrap();
    world.hub.delete("Instance", NS_A, "wd-0").unwrap();
    for field in ["status", "uid"] {
        instance.as_object_mut().unwrap().remove(field);
        instance["metadata"].as_object_mut().unwrap().remove(field);
    }
    let instance = world.hub.put(instance).unwrap();
    let from = position(&world.alpha);
    world.run().stop_after(30).await;
    let projection = world.projection("wd-0").unwrap();
    assert!(mark_of(&projection).ends_with(&uid(&instance)));
    assert_ne!(projection["status"], status("True"), "no cell has reported on this one");
    assert_eq!(writes(&world.alpha, from), ["update instances/status/wd-0", "update instances/wd-0"]);
    world.run().stop_after(30).await;
    assert_eq!(writes(&world.alpha, from).len(), 2, "and that is that");
}

/// A process and a hub that lost its last Instance of `count` to a restore, and a status that a cell had
/// reported.
async fn restored(count: usize) -> (World, Run) {
    let world = with_instances(count - 1).await;
    let backup = world.hub.snapshot();
    world.put_instance(NS_A, &format!("wd-{}", count - 1));
    let run = world.run();
    quiet(5).await;
    assert_eq!(world.alpha.list("Instance").len(), count);
    world.hub.restore(&backup);
    (world, run)
}

#[tokio::test(start_paused = true)]
async fn i4_what_a_restored_hub_lacks_is_kept_until_its_cells_have_written_back() {
    let (world, run) = restored(3).await;
    let from = position(&world.alpha);
    quiet(600).await;
    assert_eq!((world.alpha.list("Instance").len(), writes(&world.alpha, from)), (3, vec![]));
    assert_eq!(run.withheld("hub_restored"), 1, "once, however often it is looked at");
    assert_eq!(run.metrics.hub_restored.get(), 1);
    // The federator writes on the hub, too: that says nothing of a cell.
    world.hub.patch("WorkloadDeployment", NS_A, "wd", &json!({"metadata": {"labels": {"a": "b"}}})).unwrap();
    quiet(600).await;
    assert_eq!(run.metrics.hub_restored.get(), 1);

    // The cell writes: one that it has still, and not the one that has gone meanwhile.
    world.hub.patch_status("Instance", NS_A, "wd-0", &status("False")).unwrap();
    until("the hub to be trusted", || run.metrics.hub_restored.get() == 0).await;
    until("what is gone to go", || world.projection("wd-2").is_none()).await;
    assert_eq!(world.projection("wd-0").unwrap()["status"], status("False"));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_a_restored_hub_is_listed_anew_and_followed_before_it_reaches_its_old_versions() {
    let (world, run) = restored(3).await;
    quiet(60).await;
    // The copy that the backup lacks is written again, with another UID, at a version that was seen before.
    let instance = world.put_instance(NS_A, "wd-2");
    until("the projection to be of it", || {
        mark_of(&world.projection("wd-2").unwrap()).ends_with(&uid(&instance))
    })
    .await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_every_city_in_use_has_to_write_back() {
    let (world, run) = restored(3).await;
    until("the hub to be distrusted", || run.metrics.hub_restored.get() == 1).await;
    // `beta`'s WD is in another city, with no Instance, and its cell is silent.
    let ord = json!({"metadata": {"labels": {CITY_CODE: "ORD"}}});
    world.hub.patch("WorkloadDeployment", NS_B, "wd", &ord).unwrap();
    quiet(60).await;
    world.hub.patch_status("Instance", NS_A, "wd-0", &status("False")).unwrap();
    quiet(600).await;
    assert_eq!(run.metrics.hub_restored.get(), 1);
    world.hub.patch_status("WorkloadDeployment", NS_B, "wd", &json!({"replicas": 2})).unwrap();
    until("the hub to be trusted", || run.metrics.hub_restored.get() == 0).await;
    run.stop().await;
}

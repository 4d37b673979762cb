//! What tenants do to projections by hand, what servers refuse, and planes that were restored before they are
//! listed again.

use fedhub_core::names::{PROJECTED_FROM, UPSTREAM_CLUSTER};
use fedhub_fake_apiserver::{ApiServer, Fault, Resource, Snapshot, resource};
use serde_json::{Value, json};

use crate::controller::support::*;

#[tokio::test(start_paused = true)]
async fn p4_a_projection_edited_by_hand_is_restored_by_one_write() {
    let world = World::new();
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    quiet(5).await;
    let right = world.projection("wd-0").unwrap();
    let edits = [
        json!({"spec": {"size": "huge"}}),
        json!({"spec": {"extra": 1}}),
        json!({"spec": null}),
        json!({"metadata": {"annotations": {PROJECTED_FROM: null}}}),
        json!({"metadata": {"annotations": {PROJECTED_FROM: "ns-b/x/y"}}}),
        json!({"metadata": {"labels": null}}),
        json!({"metadata": {"labels": {UPSTREAM_CLUSTER: "cluster-beta"}}}),
        json!({"metadata": {"labels": {"compute.datumapis.com/workload-name": "invented"}}}),
        json!({"metadata": {"ownerReferences": null}}),
        json!({"metadata": {"labels": null, "annotations": null}}),
        json!({"status": {"suspended": true}}),
    ];
    for edit in edits {
        let from = position(&world.alpha);
        world.alpha.patch("Instance", SPACE, "wd-0", &edit).unwrap();
        quiet(5).await;
        let now = world.projection("wd-0").unwrap_or_else(|| panic!("gone after {edit}"));
        for part in ["spec", "status"] {
            assert_eq!(now[part], right[part], "{part} after {edit}");
        }
        for part in ["labels", "annotations", "ownerReferences", "uid"] {
            assert_eq!(now["metadata"][part], right["metadata"][part], "{part} after {edit}");
        }
        assert_eq!(asked(&world.alpha, from).len(), 1, "{edit}: {:?}", asked(&world.alpha, from));
    }
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p4_a_projection_deleted_by_hand_is_made_again() {
    let world = World::new();
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    quiet(5).await;
    let from = position(&world.alpha);
    world.alpha.delete("Instance", SPACE, "wd-0").unwrap();
    quiet(5).await;
    assert_eq!(writes(&world.alpha, from), ["create instances/wd-0", "update instances/status/wd-0"]);
    assert_eq!(world.projection("wd-0").unwrap()["status"], status("True"));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p4_an_instance_of_somebody_else_is_not_touched_and_its_removal_frees_the_name() {
    let world = World::new();
    world
        .alpha
        .put(json!({"apiVersion": API, "kind": "Instance", "metadata": {"namespace": SPACE, "name": "wd-0"}, "spec": {"mine": true}}))
        .unwrap();
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    quiet(60).await;
    assert_eq!(run.quarantined("name_taken"), 1);
    assert!(writes(&world.alpha, 0).is_empty());
    world.hub.delete("Instance", NS_A, "wd-0").unwrap();
    quiet(60).await;
    assert!(writes(&world.alpha, 0).is_empty(), "nor deleted with the hub's");
    assert_eq!(run.quarantined("name_taken"), 0);

    world.put_instance(NS_A, "wd-0");
    quiet(5).await;
    assert_eq!(run.quarantined("name_taken"), 1);
    world.alpha.delete("Instance", SPACE, "wd-0").unwrap();
    quiet(5).await;
    assert_eq!(world.projection("wd-0").unwrap()["spec"]["size"], "small");
    assert_eq!(run.quarantined("name_taken"), 0);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i5_an_ownerless_projection_is_healed_after_a_restart_too() {
    let world = World::new();
    world.put_instance(NS_A, "wd-0");
    world.run().stop_after(5).await;
    let bare = json!({"metadata": {"ownerReferences": null, "annotations": null}});
    world.alpha.patch("Instance", SPACE, "wd-0", &bare).unwrap();
    let run = world.run();
    quiet(5).await;
    let owner = uid(&world.alpha.get("WorkloadDeployment", SPACE, "wd").unwrap());
    assert_eq!(world.projection("wd-0").unwrap()["metadata"]["ownerReferences"][0]["uid"], owner.as_str());
    run.stop().await;
}

/// A plane on which `spec.size` of an Instance cannot change.
fn strict() -> ApiServer {
    let instance = Resource::custom("compute.datumapis.com", "v1alpha", "Instance", "instances")
        .with_status()
        .immutable(&["/spec/size"]);
    ApiServer::builder("alpha").resources(resource::project_plane()).resource(instance).build()
}

#[tokio::test(start_paused = true)]
async fn p3_an_update_refused_for_an_immutable_field_is_a_delete_and_a_create() {
    let world = World::over(strict());
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    quiet(5).await;
    let old = uid(&world.projection("wd-0").unwrap());
    let from = position(&world.alpha);
    world.hub.patch("Instance", NS_A, "wd-0", &json!({"spec": {"size": "large"}})).unwrap();
    quiet(60).await;
    let now = world.projection("wd-0").unwrap();
    assert_eq!(now["spec"]["size"], "large");
    assert_ne!(uid(&now), old);
    let writes = writes(&world.alpha, from);
    assert_eq!(writes.iter().filter(|w| w.starts_with("delete")).count(), 1, "{writes:?}");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p3_no_other_refusal_deletes() {
    let world = World::new();
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    quiet(5).await;
    let from = position(&world.alpha);
    for code in [400, 401, 403, 404, 409, 410, 422, 429, 500, 503] {
        let id = world.alpha.fault(Fault::Status(code).on("update", "instances"));
        let size = json!({"spec": {"size": format!("s{code}")}});
        world.hub.patch("Instance", NS_A, "wd-0", &size).unwrap();
        quiet(10).await;
        world.alpha.clear_fault(id);
        until(&format!("recovery from {code}"), || {
            world.projection("wd-0").is_some_and(|p| p["spec"]["size"] == size["spec"]["size"])
        })
        .await;
    }
    assert!(!asked(&world.alpha, from).iter().any(|a| a.starts_with("delete")));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p7_a_lost_answer_is_not_a_second_object() {
    let world = World::new();
    let run = world.run();
    quiet(5).await;
    world.alpha.fault(Fault::LostAnswer.on("create", "instances").times(1));
    world.alpha.fault(Fault::LostAnswer.on("update", "instances/status").times(1));
    let source = world.put_instance(NS_A, "wd-0");
    quiet(60).await;
    let made: Vec<Value> = world.alpha.list("Instance");
    assert_eq!(made.len(), 1);
    assert_eq!(made[0]["status"], source["status"]);
    assert_eq!(run.queue.pending(), 0, "steady state");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p7_a_projection_that_an_empty_list_hid_is_found_again() {
    let world = World::new();
    world.put_instance(NS_A, "wd-0");
    world.run().stop_after(5).await;
    world.alpha.fault(Fault::EmptyList.on("list", "instances").times(1));
    let from = position(&world.alpha);
    let run = world.run();
    quiet(600).await;
    assert!(!writes(&world.alpha, from).iter().any(|w| w.starts_with("delete")));
    world.hub.patch_status("Instance", NS_A, "wd-0", &status("False")).unwrap();
    quiet(600).await;
    assert_eq!(world.projection("wd-0").unwrap()["status"], status("False"));
    assert_eq!(run.queue.pending(), 0, "steady state: {:?}", asked(&world.alpha, from));
    run.stop().await;
}

/// A process whose hub Instance and projection have both changed since a backup of their planes, with nothing
/// of them kept in memory, and the watches of Instances on `plane` silent.
async fn changed_since_a_backup(world: &World, plane: &ApiServer) -> (Run, Snapshot) {
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    quiet(5).await;
    let backup = plane.snapshot();
    for size in ["medium", "large", "huge"] {
        world.hub.patch("Instance", NS_A, "wd-0", &json!({"spec": {"size": size}})).unwrap();
        quiet(5).await;
    }
    assert_eq!(world.projection("wd-0").unwrap()["spec"]["size"], "huge");
    plane.fault(Fault::Hang.on("watch", "instances"));
    plane.fault(Fault::Hang.on("list", "instances"));
    (run, backup)
}

#[tokio::test(start_paused = true)]
async fn i4_a_restored_project_plane_is_repaired_before_it_is_listed_again() {
    let world = World::new();
    let (run, backup) = changed_since_a_backup(&world, &world.alpha).await;
    world.alpha.restore(&backup);
    let from = position(&world.alpha);
    world.hub.patch("Instance", NS_A, "wd-0", &json!({"spec": {"size": "small", "more": 1}})).unwrap();
    quiet(2).await;
    let now = world.projection("wd-0").unwrap();
    assert_eq!((&now["spec"]["size"], &now["spec"]["more"]), (&json!("small"), &json!(1)));
    assert_eq!(writes(&world.alpha, from), ["update instances/wd-0"]);
    assert_eq!((run.failed("projector"), run.queue.pending()), (0, 0), "by one reconcile");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_a_restored_hub_is_followed_before_it_is_listed_again() {
    let world = World::new();
    let (run, backup) = changed_since_a_backup(&world, &world.hub).await;
    world.hub.restore(&backup);
    let from = position(&world.alpha);
    world.alpha.patch("Instance", SPACE, "wd-0", &json!({"spec": {"size": "mine"}})).unwrap();
    quiet(2).await;
    let now = world.projection("wd-0").unwrap();
    assert_eq!(now["spec"], world.hub.get("Instance", NS_A, "wd-0").unwrap()["spec"]);
    assert_eq!(writes(&world.alpha, from), ["update instances/wd-0"]);
    assert_eq!((run.failed("projector"), run.queue.pending()), (0, 0), "by one reconcile");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p4_a_terminating_instance_gets_no_projection_anew_while_the_watch_is_late() {
    let world = World::new();
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    quiet(5).await;
    world.hub.patch("Instance", NS_A, "wd-0", &json!({"metadata": {"finalizers": ["a/b"]}})).unwrap();
    world.hub.delete("Instance", NS_A, "wd-0").unwrap();
    quiet(5).await;
    let late = world.alpha.fault(Fault::Hang.on("watch", "instances"));
    world.alpha.delete("Instance", SPACE, "wd-0").unwrap();
    let from = position(&world.alpha);
    world.hub.patch("Instance", NS_A, "wd-0", &json!({"spec": {"size": "large"}})).unwrap();
    quiet(2).await;
    assert_eq!(asked(&world.alpha, from), ["get instances/wd-0"], "it is read, and not made again");
    world.alpha.clear_fault(late);
    quiet(60).await;
    assert!(writes(&world.alpha, from).is_empty() && world.projection("wd-0").is_none());
    assert_eq!((run.failed("projector"), run.queue.pending()), (0, 0));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p3_what_the_plane_does_not_let_change_is_made_anew() {
    let instances = Resource::custom("compute.datumapis.com", "v1alpha", "Instance", "instances")
        .with_status()
        .immutable(&["/spec/size"]);
    let alpha = ApiServer::builder("alpha").resources(resource::project_plane()).resource(instances);
    let world = World::over(alpha.build());
    let source = world.put_instance(NS_A, "wd-0");
    let run = world.run();
    quiet(5).await;
    let former = uid(&world.projection("wd-0").unwrap());
    let from = position(&world.alpha);
    world.hub.patch("Instance", NS_A, "wd-0", &json!({"spec": {"size": "large"}})).unwrap();
    quiet(60).await;
    assert_eq!(
        asked(&world.alpha, from),
        [
            "get instances/wd-0",
            "update instances/wd-0",
            "delete instances/wd-0",
            "create instances/wd-0",
            "update instances/status/wd-0"
        ]
    );
    let projection = world.projection("wd-0").unwrap();
    assert_ne!(uid(&projection), former);
    assert_eq!((&projection["spec"]["size"], &projection["status"]), (&json!("large"), &source["status"]));
    run.stop().await;
}

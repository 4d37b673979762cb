//! F9, C7: what the project sees of a deletion lasts as long as the teardown in the cell, request by request.

use std::time::Duration;

use fedhub_core::clock::stamp;
use fedhub_core::names::{CELL_SOURCE, LOST, PROPAGATED_BY};
use fedhub_fake_apiserver::Fault;
use serde_json::{Value, json};

use crate::controller::support::*;

const BINDING: &str = "web-workloaddeployment";

/// The cell's copies of these Instances of `alpha`'s WD, and Karmada's `ResourceBinding`.
fn run_in_cell(world: &World, instances: &[&str]) {
    let space = hub_space(&world.alpha);
    let hub_wd = world.hub_wd(WD).unwrap();
    let owner = json!({
        "apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadDeployment", "name": WD,
        "uid": hub_wd["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
    });
    let put = |object: Value| world.hub.put(object).unwrap();
    put(json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"namespace": space, "name": BINDING, "ownerReferences": [owner]},
        "spec": {"clusters": [{"name": "cell-1"}], "resource": {"kind": "WorkloadDeployment", "name": WD}},
    }));
    for (n, name) in instances.iter().enumerate() {
        put(json!({
            "apiVersion": "compute.datumapis.com/v1alpha", "kind": "Instance",
            "metadata": {
                "namespace": space, "name": name, "ownerReferences": [owner],
                "labels": {"compute.datumapis.com/workload-deployment-name": WD},
                "annotations": {CELL_SOURCE: format!("cell-1/kube-system-of-cell-1/instance-{n}")},
            },
            "spec": {},
        }));
    }
}

/// The cell has torn an Instance down.
fn torn_down(world: &World, instance: &str) {
    world.hub.delete("Instance", &hub_space(&world.alpha), instance).unwrap();
}

fn is_bound(world: &World) -> bool {
    world.hub.get("ResourceBinding", &hub_space(&world.alpha), BINDING).is_some()
}

/// Karmada does, or does not, reach the cell.
fn reach(world: &World, reached: bool) {
    let since = world.hub.clock().now().to_string();
    let status = json!({"conditions": [{
        "type": "Ready", "status": if reached { "True" } else { "False" }, "reason": "r", "message": "m",
        "lastTransitionTime": since,
    }]});
    world.hub.patch_status("Cluster", "", "cell-1", &status).unwrap();
}

#[tokio::test(start_paused = true)]
async fn c7_the_wd_and_its_copies_stay_until_the_cell_has_torn_down_the_last_instance() {
    let world = World::new();
    let run = world.federated().await;
    run_in_cell(&world, &["web-0", "web-1"]);
    quiet(1).await;
    let from = world.positions();
    world.delete(WD);
    until("the cell to be told", || !is_bound(&world)).await;
    quiet(30).await;
    torn_down(&world, "web-1");
    quiet(30).await;
    let space = hub_space(&world.alpha);
    assert!(has_our_finalizer(&world.wd(WD).unwrap()) && world.hub_wd(WD).is_some());
    assert!(world.hub.get("Instance", &space, "web-0").is_some(), "nothing takes what the cell still has");
    assert_eq!(reason(&world.wd(WD).unwrap()).as_deref(), Some("Terminating"));
    assert_eq!(events(&world, "CleanupHeld"), 0, "it is no trouble");
    torn_down(&world, "web-0");
    quiet(2).await;
    assert_eq!((world.wd(WD), world.hub_wd(WD)), (None, None), "no timer brings it on");
    // The price of it, beside a WD without Instances: the reads, one write for the binding, one of the
    // status.
    let [hub, alpha, _] = world.asked(from);
    let get = format!("get resourcebindings/{BINDING}");
    assert_eq!(
        hub,
        [
            "get workloaddeployments/web",
            "update workloaddeployments/web",
            &get,
            &format!("delete resourcebindings/{BINDING}"),
            &get,
            &get,
            &get,
            "delete workloaddeployments/web",
            &format!("get namespaces/{space}"),
            "get workloaddeployments/web",
        ]
    );
    let lists = world.hub.audit().into_iter().skip(from[0]);
    assert_eq!(lists.filter(|entry| entry.verb == "list" && entry.resource == "instances").count(), 5);
    assert_eq!(alpha, ["update workloaddeployments/status/web", "patch workloaddeployments/web"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f9_a_cell_that_does_not_finish_is_named_and_an_operator_has_a_way_out() {
    let world = World::new();
    let run = world.federated().await;
    run_in_cell(&world, &["web-0"]);
    quiet(1).await;
    world.delete(WD);
    quiet(3600).await;
    assert!(has_our_finalizer(&world.wd(WD).unwrap()) && world.hub_wd(WD).is_some(), "however long it takes");
    assert_eq!(reason(&world.wd(WD).unwrap()).as_deref(), Some("CleanupHeld"));
    let notes = event_notes(&world.alpha, "CleanupHeld");
    assert!(notes.len() == 1 && notes[0].contains("cell-1 (web-0)"), "{notes:?}");
    assert_eq!(run.held("cell_holds"), 1);
    // Karmada protects it no longer, and its end counts as before.
    world.hub.delete("WorkloadDeployment", &hub_space(&world.alpha), WD).unwrap();
    until("the WD to go", || world.wd(WD).is_none()).await;
    assert_eq!(run.held("cell_holds"), 0);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f9_a_cell_that_is_away_is_given_up_visibly_and_one_that_is_lost_at_once() {
    for lost in [false, true] {
        let world = World::telling();
        let run = world.federated().await;
        run_in_cell(&world, &["web-0"]);
        quiet(1).await;
        world.delete(WD);
        quiet(8).await;
        assert_eq!(reason(&world.wd(WD).unwrap()).as_deref(), Some("Terminating"));
        reach(&world, false);
        quiet(300).await;
        assert!(world.hub_wd(WD).is_some(), "it may be back in a moment");
        assert_eq!((run.held("cell_unreachable"), events(&world, "CleanupHeld")), (1, 1), "visibly");
        if lost {
            let now = stamp(world.hub.clock().now());
            let patch = json!({"metadata": {"annotations": {LOST: now}}});
            world.hub.patch("Cluster", "", "cell-1", &patch).unwrap();
            quiet(5).await;
        } else {
            quiet(360).await;
        }
        assert!(world.wd(WD).is_none() && world.hub_wd(WD).is_none(), "lost: {lost}");
        assert_eq!(events(&world, "DeletedWithoutCell"), usize::from(!lost), "lost: {lost}");
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn f9_a_process_that_is_killed_at_any_point_goes_on_where_it_was() {
    for verb in ["update", "delete", "get", "list"] {
        for fault in [Fault::LostAnswer, Fault::Status(503), Fault::Status(409)] {
            let world = World::new();
            let run = world.federated().await;
            run_in_cell(&world, &["web-0"]);
            quiet(1).await;
            for kind in ["workloaddeployments", "resourcebindings", "instances"] {
                world.hub.fault(fault.on(verb, kind).times(1));
            }
            world.delete(WD);
            tokio::time::sleep(Duration::from_millis(200)).await;
            run.stop().await;
            let run = world.run();
            until("the cell to be told", || !is_bound(&world)).await;
            quiet(20).await;
            assert!(world.hub_wd(WD).is_some(), "{verb} {fault:?}");
            torn_down(&world, "web-0");
            until("the WD to go", || world.wd(WD).is_none()).await;
            assert!(world.hub_wd(WD).is_none(), "{verb} {fault:?}");
            run.stop().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn f9_a_hub_that_refuses_to_tell_the_cell_holds_visibly() {
    let world = World::new();
    let run = world.federated().await;
    run_in_cell(&world, &["web-0"]);
    quiet(1).await;
    let id = world.hub.fault(Fault::Status(403).on("delete", "resourcebindings"));
    world.delete(WD);
    quiet(600).await;
    assert_eq!(run.held("hub_refuses"), 1);
    assert_eq!(reason(&world.wd(WD).unwrap()).as_deref(), Some("CleanupHeld"));
    assert_eq!(world.hub_wd(WD).unwrap()["metadata"]["labels"][PROPAGATED_BY.0], PROPAGATED_BY.1);
    world.hub.clear_fault(id);
    until("the cell to be told", || !is_bound(&world)).await;
    torn_down(&world, "web-0");
    until("the WD to go", || world.wd(WD).is_none()).await;
    run.stop().await;
}

fn events(world: &World, reason: &str) -> usize {
    event_notes(&world.alpha, reason).len()
}

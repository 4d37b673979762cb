//! I3, F9: the finalizer goes last, whatever happens on the way.

use fedhub_fake_apiserver::Fault;
use serde_json::json;

use crate::controller::support::*;

const HELD_BY_A_CELL: &str = "karmada.io/execution-controller";

/// Adds a finalizer to `alpha`'s hub WD, or removes it.
fn hold(world: &World, on: bool) {
    let finalizers = if on { json!([HELD_BY_A_CELL]) } else { json!(null) };
    let patch = json!({"metadata": {"finalizers": finalizers}});
    world.hub.patch("WorkloadDeployment", &hub_space(&world.alpha), WD, &patch).unwrap();
}

#[tokio::test(start_paused = true)]
async fn i3_the_finalizer_goes_after_the_hub_wd() {
    let world = World::new();
    let run = world.federated().await;
    hold(&world, true);
    quiet(1).await;
    let from = world.positions();
    world.delete(WD);
    quiet(3600).await;
    assert!(has_our_finalizer(&world.wd(WD).unwrap()), "while the hub WD stands");
    let [hub, alpha, beta] = world.writes(from);
    assert_eq!(hub, ["update workloaddeployments/web", "delete workloaddeployments/web"], "asked once");
    assert_eq!(alpha, ["update workloaddeployments/status/web"], "told once");
    assert!(beta.is_empty());
    assert_eq!(reason(&world.wd(WD).unwrap()).as_deref(), Some("CleanupHeld"));
    assert_eq!((run.held("hub_object_held"), events(&world, "CleanupHeld")), (1, 1), "visibly");
    hold(&world, false);
    until("the WD to go", || world.wd(WD).is_none()).await;
    assert_eq!(run.held("hub_object_held"), 0);
    assert!(
        world.hub_wd_of(&world.beta, WD).is_some()
            && world.beta.get("WorkloadDeployment", SPACE, WD).is_some()
    );
    until("its policy to go", || world.policy("city-dfw").is_none()).await;
    assert!(world.hub.get("Namespace", "", &hub_space(&world.alpha)).is_some(), "the namespace stays (F11)");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f9_a_deletion_request_by_request() {
    let world = World::new();
    let run = world.federated().await;
    let from = world.positions();
    world.delete(WD);
    until("the WD to go", || world.wd(WD).is_none()).await;
    quiet(1).await;
    let [hub, alpha, _] = world.asked(from);
    let space = hub_space(&world.alpha);
    assert_eq!(
        hub,
        [
            "get workloaddeployments/web",
            "update workloaddeployments/web",
            "delete workloaddeployments/web",
            &format!("get namespaces/{space}"),
            "get workloaddeployments/web"
        ]
    );
    assert_eq!(alpha, ["patch workloaddeployments/web"]);
    let delete = world.hub.audit().into_iter().find(|e| e.verb == "delete").unwrap();
    assert!(delete.body.unwrap()["preconditions"]["uid"].is_string());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f4_a_wd_made_again_before_the_hubs_watch_brings_the_deletion_meets_no_conflict() {
    for by_hand in [false, true] {
        let world = World::new();
        let run = world.federated().await;
        let id = world.hub.fault(Fault::Hang.on("watch", "workloaddeployments"));
        world.hub.break_watches();
        if by_hand {
            world.hub.delete("WorkloadDeployment", &hub_space(&world.alpha), WD).unwrap();
        }
        world.delete(WD);
        until("the WD to go", || world.wd(WD).is_none()).await;
        let new = put_wd(&world.alpha, WD, "DFW");
        let source = "federation.datumapis.com/source-uid";
        until("the new hub WD, or an answer", || {
            world.hub_wd(WD).is_some() || reason(&world.wd(WD).unwrap()).is_some()
        })
        .await;
        assert_eq!(reason(&world.wd(WD).unwrap()), None, "by hand: {by_hand}");
        assert_eq!(world.hub_wd(WD).unwrap()["metadata"]["annotations"][source], new["metadata"]["uid"]);
        world.hub.clear_fault(id);
        quiet(60).await;
        assert_eq!(events(&world, "FederationFailed"), 0, "by hand: {by_hand}");
        assert!(world.hub_wd(WD).is_some(), "by hand: {by_hand}");
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn f9_a_hub_that_is_down_holds_and_its_return_ends_it() {
    for fault in [Fault::Status(503), Fault::Disconnect, Fault::Garbage, Fault::Status(429)] {
        let world = World::new();
        let run = world.federated().await;
        let id = world.hub.fault(fault);
        world.delete(WD);
        quiet(600).await;
        assert!(has_our_finalizer(&world.wd(WD).unwrap()), "{fault:?}");
        assert_eq!(run.held("hub_unreachable"), 1, "{fault:?}");
        assert_eq!(events(&world, "CleanupHeld"), 1, "{fault:?}: said once, not for each retry");
        assert_eq!(reason(&world.wd(WD).unwrap()).as_deref(), Some("CleanupHeld"), "{fault:?}");
        world.hub.clear_fault(id);
        until("the WD to go", || world.wd(WD).is_none()).await;
        assert!(world.hub_wd(WD).is_none(), "{fault:?}");
        assert_eq!(run.held("hub_unreachable"), 0, "{fault:?}");
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn f9_a_live_read_that_fails_holds() {
    let world = World::new();
    let run = world.federated().await;
    let id = world.hub.fault(Fault::Status(500).on("get", "namespaces"));
    world.delete(WD);
    quiet(600).await;
    assert!(world.hub_wd(WD).is_none());
    assert!(has_our_finalizer(&world.wd(WD).unwrap()), "gone, but not seen gone");
    world.hub.clear_fault(id);
    until("the WD to go", || world.wd(WD).is_none()).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f9_lost_answers_and_a_process_killed_at_any_point_come_to_the_same_end() {
    let verbs = ["update", "delete", "get", "patch"];
    for verb in verbs {
        for fault in [Fault::LostAnswer, Fault::Status(409), Fault::Disconnect] {
            let world = World::new();
            let run = world.federated().await;
            for server in [&world.hub, &world.alpha] {
                server.fault(fault.on(verb, "workloaddeployments").times(1));
            }
            world.delete(WD);
            // Short of the first back-off: what failed is not tried again by this process.
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            run.stop().await;
            let run = world.run();
            until("the WD to go", || world.wd(WD).is_none()).await;
            assert!(world.hub_wd(WD).is_none(), "{verb} {fault:?}");
            assert!(world.hub_wd_of(&world.beta, WD).is_some());
            run.stop().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn i3_f9_a_hub_that_lost_its_state_proves_nothing() {
    for recreated in [false, true] {
        let world = World::new();
        let run = world.federated().await;
        let space = hub_space(&world.alpha);
        run.stop().await;
        // While no process runs, the namespace and all in it are deleted, perhaps created again; and the WD
        // is deleted.
        world.hub.delete("Namespace", "", &space).unwrap();
        assert!(world.hub_wd(WD).is_none());
        if recreated {
            world
                .hub
                .put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}))
                .unwrap();
        }
        world.delete(WD);
        let run = world.run();
        quiet(3600).await;
        assert!(has_our_finalizer(&world.wd(WD).unwrap()), "recreated: {recreated}");
        assert_eq!(run.held("hub_state_lost"), 1, "visibly");
        assert_eq!(events(&world, "CleanupHeld"), 1, "visibly");
        let status = world.wd(WD).unwrap()["status"].clone();
        assert_eq!(status["conditions"][0]["reason"], "CleanupHeld", "visibly: {status}");
        run.stop().await;
    }
}

/// `alpha`'s hub WD was made in place of one that was lost.
fn is_refilled(world: &World) -> bool {
    world
        .hub_wd(WD)
        .is_some_and(|wd| wd["metadata"]["annotations"]["federation.datumapis.com/hub-lost"] == "true")
}

#[tokio::test(start_paused = true)]
async fn f9_a_wd_that_is_deleted_around_the_loss_of_the_hub_goes_when_its_cell_has_reported() {
    for deleted_before in [true, false] {
        let world = World::new();
        let empty = world.hub.snapshot();
        let run = world.federated().await;
        world.report(WD, &reported(3));
        until("the status", || world.wd(WD).unwrap()["status"]["replicas"] == 3).await;
        if deleted_before {
            let stuck = world.hub.fault(Fault::Status(503));
            world.delete(WD);
            quiet(1).await;
            world.hub.clear_fault(stuck);
        }
        world.hub.restore_bumped(&empty);
        until("the refill", || is_refilled(&world)).await;
        world.delete(WD);
        quiet(600).await;
        assert!(has_our_finalizer(&world.wd(WD).unwrap()), "deleted before: {deleted_before}");
        assert_eq!(run.held("hub_state_lost"), 1, "visibly");
        assert_eq!(events(&world, "CleanupHeld"), 1, "visibly");
        assert_eq!(reason(&world.wd(WD).unwrap()).as_deref(), Some("CleanupHeld"), "visibly");
        // Another process knows of it, too.
        run.stop().await;
        let run = world.run();
        let from = world.positions();
        quiet(600).await;
        assert_eq!(world.writes(from)[0], Vec::<String>::new());
        world.report(WD, &reported(3));
        until("the WD to go", || world.wd(WD).is_none()).await;
        assert!(world.hub_wd(WD).is_none());
        assert_eq!(run.held("hub_state_lost"), 0);
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn f9_a_process_killed_while_it_refills_forgets_no_loss() {
    for (verb, resource) in
        [("create", "namespaces"), ("create", "propagationpolicies"), ("create", "workloaddeployments")]
    {
        for fault in [Fault::LostAnswer, Fault::Status(409), Fault::Disconnect] {
            for deleting in [true, false] {
                let world = World::new();
                let empty = world.hub.snapshot();
                let run = world.federated().await;
                world.report(WD, &reported(3));
                until("the status", || world.wd(WD).unwrap()["status"]["replicas"] == 3).await;
                run.stop().await;
                world.hub.restore_bumped(&empty);
                if deleting {
                    world.delete(WD);
                }
                world.hub.fault(fault.on(verb, resource).times(2));
                let run = world.run();
                // Short of the first back-off: what failed is not tried again by this process.
                tokio::time::sleep(std::time::Duration::from_millis(300)).await;
                run.stop().await;
                world.hub.clear_faults();
                if !deleting {
                    world.delete(WD);
                }
                let run = world.run();
                until("the refill", || is_refilled(&world)).await;
                quiet(600).await;
                assert!(world.wd(WD).is_some(), "{verb} {resource} {fault:?}: nothing is proven");
                world.report(WD, &reported(3));
                until("the WD to go", || world.wd(WD).is_none()).await;
                assert!(world.hub_wd(WD).is_none(), "{verb} {resource} {fault:?}");
                run.stop().await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn f9_what_a_tenant_edits_during_the_deletion_is_put_back_and_wedges_nothing() {
    for value in [json!("x"), json!(null)] {
        let world = World::new();
        let run = world.federated().await;
        hold(&world, true);
        quiet(1).await;
        let recorded = world.wd(WD).unwrap()["metadata"]["annotations"].clone();
        world.delete(WD);
        quiet(1).await;
        let keys =
            ["federation.datumapis.com/hub-namespace-uid", "compute.datumapis.com/federation-namespace"];
        for key in keys {
            let patch = json!({"metadata": {"annotations": {key: value}}});
            world.alpha.patch("WorkloadDeployment", SPACE, WD, &patch).unwrap();
            until("it to be put back", || world.wd(WD).unwrap()["metadata"]["annotations"] == recorded).await;
        }
        hold(&world, false);
        until("the WD to go", || world.wd(WD).is_none()).await;
        assert_eq!(run.held("hub_state_lost"), 0);
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn i3_a_plane_that_is_lost_and_back_comes_to_the_same_end() {
    let world = World::new();
    let run = world.federated().await;
    let name = plane_name("alpha");
    run.planes.disengage(&name);
    world.delete(WD);
    quiet(600).await;
    assert!(
        has_our_finalizer(&world.wd(WD).unwrap()) && world.hub_wd(WD).is_some(),
        "nothing is done for it"
    );
    run.planes.engage(&name, world.alpha.client());
    until("the WD to go", || world.wd(WD).is_none()).await;
    assert!(world.hub_wd(WD).is_none());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i6_a_mark_taken_off_on_the_hub_is_put_back_and_the_hub_wd_deleted_under_it() {
    let world = World::new();
    let run = world.federated().await;
    let bare = json!({"metadata": {"annotations": null}});
    let space = hub_space(&world.alpha);
    world.hub.patch("WorkloadDeployment", &space, WD, &bare).unwrap();
    until("its mark", || {
        let mark = world.hub_wd(WD).unwrap()["metadata"]["annotations"].clone();
        mark["federation.datumapis.com/source-uid"] == world.wd(WD).unwrap()["metadata"]["uid"]
    })
    .await;
    run.stop().await;
    world.hub.patch("WorkloadDeployment", &space, WD, &bare).unwrap();
    world.delete(WD);
    let run = world.run();
    until("the WD to go", || world.wd(WD).is_none()).await;
    assert!(world.hub_wd(WD).is_none());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i6_i3_mark_and_labels_taken_off_on_the_hub_hold_the_finalizer() {
    let world = World::new();
    let run = world.federated().await;
    run.stop().await;
    let bare = json!({"metadata": {"annotations": null}});
    let bald = json!({"metadata": {"labels": null}});
    world.hub.patch("Namespace", "", &hub_space(&world.alpha), &bald).unwrap();
    world.hub.patch("WorkloadDeployment", &hub_space(&world.alpha), WD, &bare).unwrap();
    world.delete(WD);
    let run = world.run();
    quiet(600).await;
    assert!(world.hub_wd(WD).is_some(), "not ours to delete without its mark");
    assert!(has_our_finalizer(&world.wd(WD).unwrap()), "and not proven gone");
    assert_eq!(run.held("tenant_conflict"), 1);
    run.stop().await;
}

/// Events on the project plane with this reason.
fn events(world: &World, reason: &str) -> usize {
    world.alpha.list("events.events.k8s.io").iter().filter(|e| e["reason"] == reason).count()
}

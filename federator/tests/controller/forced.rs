//! F9, I3: a project namespace that is taken away by force while WDs stand in it, and is made again.

use fedhub_core::names::{FEDERATION_NAMESPACE, FEDERATOR_FINALIZER};
use fedhub_fake_apiserver::Fault;
use serde_json::json;

use crate::controller::support::*;

/// The hub namespace of `alpha`'s namespace as it is now, and the WD deleted and its namespace taken away.
fn force(world: &World) -> String {
    let space = hub_space(&world.alpha);
    world.delete(WD);
    world.alpha.remove_namespace(SPACE).unwrap();
    space
}

fn on_hub(world: &World, space: &str) -> bool {
    world.hub.get("WorkloadDeployment", space, WD).is_some()
}

fn make_again(world: &World) {
    world.alpha.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})).unwrap();
}

#[tokio::test(start_paused = true)]
async fn f9_a_namespace_taken_away_by_force_holds_visibly_and_ends_when_it_is_made_again() {
    for restart in [false, true] {
        let world = World::new();
        let run = world.federated().await;
        let space = hub_space(&world.alpha);
        let run = if restart {
            run.stop().await;
            force(&world);
            world.run()
        } else {
            force(&world);
            run
        };
        until("the hub to be clean", || !on_hub(&world, &space)).await;
        quiet(600).await;
        assert!(has_our_finalizer(&world.wd(WD).unwrap()), "restart: {restart}");
        assert_eq!(run.held("namespace_gone"), 1, "restart: {restart}");
        let events = world.alpha.list("events.events.k8s.io");
        let said: Vec<_> = events.iter().filter(|e| e["reason"] == "CleanupHeld").collect();
        assert_eq!(said.len(), 1, "restart: {restart}");
        assert_eq!(said[0]["regarding"]["kind"], "Namespace");
        assert_eq!(said[0]["metadata"]["namespace"], "default", "where it can be written");
        let run = if restart {
            run.stop().await;
            make_again(&world);
            world.run()
        } else {
            make_again(&world);
            run
        };
        let from = world.positions();
        until("the WD to go", || world.wd(WD).is_none()).await;
        quiet(60).await;
        assert_eq!(run.held("namespace_gone"), 0);
        let [hub, _, _] = world.writes(from);
        assert!(
            hub.iter().all(|w| w.starts_with("delete propagationpolicies")),
            "nothing comes to life again: {hub:?}"
        );
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn f9_where_the_namespace_was_made_again_a_wd_is_deleted_in_the_hub_namespace_it_is_in() {
    let world = World::new();
    let run = world.federated().await;
    run.stop().await;
    let space = force(&world);
    make_again(&world);
    let run = world.run();
    until("the WD to go", || world.wd(WD).is_none()).await;
    assert!(!on_hub(&world, &space));
    assert!(world.hub.get("Namespace", "", &hub_space(&world.alpha)).is_none(), "no other was made");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f9_a_wd_that_lives_on_in_a_namespace_that_was_made_again_stays_in_its_hub_namespace() {
    let world = World::new();
    let run = world.federated().await;
    run.stop().await;
    let space = hub_space(&world.alpha);
    world.alpha.remove_namespace(SPACE).unwrap();
    make_again(&world);
    let before = uid(&world.hub.get("WorkloadDeployment", &space, WD).unwrap());
    let run = world.run();
    let from = world.positions();
    quiet(60).await;
    assert_eq!(world.writes(from), nothing());
    put_wd(&world.alpha, "new", "DFW");
    let new = hub_space(&world.alpha);
    until("a new one", || {
        [&space, &new].iter().any(|s| world.hub.get("WorkloadDeployment", s, "new").is_some())
    })
    .await;
    world.hub.patch_status("WorkloadDeployment", &space, WD, &reported(3)).unwrap();
    until("its status", || world.wd(WD).unwrap()["status"]["replicas"] == 3).await;
    assert_eq!(uid(&world.hub.get("WorkloadDeployment", &space, WD).unwrap()), before);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i3_an_older_hub_namespace_that_a_tenant_names_proves_nothing() {
    let world = World::new();
    let run = world.federated().await;
    let old = hub_space(&world.alpha);
    let old_uid = uid(&world.hub.get("Namespace", "", &old).unwrap());
    // The project namespace is deleted and made again, as users do.
    world.delete(WD);
    until("the WD to go", || world.wd(WD).is_none()).await;
    world.alpha.delete("Namespace", "", SPACE).unwrap();
    put_wd(&world.alpha, WD, "DFW");
    let new = hub_space(&world.alpha);
    assert_ne!(old, new);
    until("the new one", || on_hub(&world, &new)).await;
    run.stop().await;
    let marks = json!({"metadata": {"annotations": {
        "compute.datumapis.com/federation-namespace": old,
        "federation.datumapis.com/hub-namespace-uid": old_uid,
    }}});
    world.alpha.patch("WorkloadDeployment", SPACE, WD, &marks).unwrap();
    world.delete(WD);
    // The watch shows nothing of it, either.
    let empty = world.hub.fault(Fault::EmptyList.on("list", "workloaddeployments"));
    let run = world.run();
    until("the WD to go", || world.wd(WD).is_none()).await;
    assert!(!on_hub(&world, &new), "it was deleted where it was");
    world.hub.clear_fault(empty);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f2_a_terminating_wd_of_an_older_namespace_does_not_prove_the_namespace_of_a_new_one() {
    let world = World::new();
    world.federated().await.stop().await;
    let old = hub_space(&world.alpha);
    assert_eq!(world.wd(WD).unwrap()["metadata"]["annotations"][FEDERATION_NAMESPACE], old.as_str());
    // Ours is done; another finalizer holds it.
    let held = json!({"metadata": {"finalizers": ["a/b"]}});
    world.alpha.patch("WorkloadDeployment", SPACE, WD, &held).unwrap();
    world.hub.delete("WorkloadDeployment", &old, WD).unwrap();
    force(&world);
    make_again(&world);
    let new = hub_space(&world.alpha);
    assert_ne!(old, new);
    // A process took it on, and ended before it could federate it.
    put_wd(&world.alpha, "next", "DFW");
    let ours = json!({"metadata": {"finalizers": [FEDERATOR_FINALIZER]}});
    world.alpha.patch("WorkloadDeployment", SPACE, "next", &ours).unwrap();
    let run = world.run();
    quiet(30).await;
    let is_in = |space: &str| world.hub.get("WorkloadDeployment", space, "next").is_some();
    assert_eq!((is_in(&new), is_in(&old)), (true, false), "by the UID of the namespace that stands");
    run.stop().await;
}

//! F11: hub WDs whose project WD is proven gone although its finalizer never ran are counted and named, and
//! left.

use fedhub_core::names::UPSTREAM_NAMESPACE;
use fedhub_fake_apiserver::Fault;
use fedhub_planes::Settings;
use serde_json::json;

use crate::controller::support::*;

/// `alpha`'s WD goes without its finalizer having run.
fn strip(world: &World, name: &str) {
    let none = json!({"metadata": {"finalizers": null}});
    world.alpha.patch("WorkloadDeployment", SPACE, name, &none).unwrap();
    world.delete(name);
    assert!(world.wd(name).is_none());
}

#[tokio::test(start_paused = true)]
async fn f11_a_wd_that_went_without_its_finalizer_leaves_an_orphan_that_is_counted_and_left() {
    let world = World::new();
    let run = world.federated().await;
    strip(&world, WD);
    quiet(1).await;
    let from = world.positions();
    quiet(600).await;
    assert_eq!(run.objects("federator", "orphaned"), 1);
    assert!(world.hub_wd(WD).is_some(), "an operator decides");
    assert_eq!(world.writes(from), nothing());
    // Whatever becomes of it on the hub, no request is sent for it again.
    let from = world.positions();
    world.report(WD, &reported(3));
    quiet(60).await;
    assert_eq!((run.objects("federator", "orphaned"), world.asked(from)), (1, nothing()));
    world.hub.delete("WorkloadDeployment", &hub_space(&world.alpha), WD).unwrap();
    quiet(1).await;
    assert_eq!(run.objects("federator", "orphaned"), 0);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f11_what_went_while_nobody_looked_is_found_at_the_start() {
    let world = World::new();
    put_wd(&world.alpha, "other", "ORD");
    world.federated().await.stop().await;
    strip(&world, WD);
    let from = world.positions();
    let run = world.run();
    quiet(60).await;
    assert_eq!(run.objects("federator", "orphaned"), 1);
    assert_eq!(world.writes(from), nothing());
    assert_eq!(world.asked(from)[1], ["get workloaddeployments/web"]);
    // A gap is no news.
    world.gap();
    quiet(60).await;
    assert_eq!(run.objects("federator", "orphaned"), 1);
    // Its plane is disengaged: its state is unknown.
    run.planes.disengage(&plane_name("alpha"));
    assert_eq!(run.objects("federator", "orphaned"), 0);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f11_a_wd_made_anew_under_its_name_does_not_own_what_the_one_before_it_left() {
    let world = World::new();
    let run = world.federated().await;
    strip(&world, WD);
    put_wd(&world.alpha, WD, "DFW");
    quiet(60).await;
    assert_eq!(run.objects("federator", "orphaned"), 1);
    assert_eq!(reason(&world.wd(WD).unwrap()).as_deref(), Some("FederationConflict"));
    world.hub.delete("WorkloadDeployment", &hub_space(&world.alpha), WD).unwrap();
    until("the new one to be federated", || world.hub_wd(WD).is_some()).await;
    quiet(1).await;
    assert_eq!(run.objects("federator", "orphaned"), 0);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f11_a_namespace_made_anew_under_its_name_leaves_those_of_the_former_hub_namespace() {
    let world = World::new();
    let run = world.federated().await;
    let old = hub_space(&world.alpha);
    strip(&world, WD);
    world.alpha.delete("Namespace", "", SPACE).unwrap();
    put_wd(&world.alpha, WD, "DFW");
    assert_ne!(hub_space(&world.alpha), old);
    until("the new one to be federated", || world.hub_wd(WD).is_some()).await;
    quiet(60).await;
    assert_eq!(run.objects("federator", "orphaned"), 1);
    assert!(world.hub.get("WorkloadDeployment", &old, WD).is_some());
    run.stop().await;
    let run = world.run();
    quiet(60).await;
    assert_eq!(run.objects("federator", "orphaned"), 1, "the living one of that name is in order");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f11_absence_that_is_not_proven_makes_no_orphan() {
    let world = World::new();
    world.federated().await.stop().await;
    // A list that was not whole: the live read shows that it is there.
    world.alpha.fault(Fault::EmptyList.on("list", "workloaddeployments").times(1));
    let run = world.run();
    quiet(60).await;
    assert_eq!(run.objects("federator", "orphaned"), 0);
    run.stop().await;
    strip(&world, WD);
    for fault in [Fault::Status(403), Fault::Status(500), Fault::Garbage, Fault::Disconnect] {
        let id = world.alpha.fault(fault.on("get", "workloaddeployments"));
        let run = world.run();
        quiet(60).await;
        assert_eq!(run.objects("federator", "orphaned"), 0, "{fault:?}");
        world.alpha.clear_fault(id);
        quiet(600).await;
        assert_eq!(run.objects("federator", "orphaned"), 1, "{fault:?}");
        run.stop().await;
    }
    // Its plane does not answer at all.
    world.alpha.fault(Fault::Status(503));
    let run = world.run();
    quiet(600).await;
    assert_eq!(run.objects("federator", "orphaned"), 0);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f11_what_nobody_of_us_made_is_no_orphan() {
    let world = World::new();
    let run = world.federated().await;
    let put = |name: &str, annotations| {
        let wd = json!({
            "apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadDeployment",
            "metadata": {"namespace": hub_space(&world.alpha), "name": name, "annotations": annotations,
                         "labels": {UPSTREAM_NAMESPACE: SPACE}},
            "spec": {"cityCode": "DFW"},
        });
        world.hub.put(wd).unwrap();
    };
    put("theirs", json!({"federation.datumapis.com/source": "alpha/shop/another"}));
    quiet(60).await;
    assert_eq!(run.objects("federator", "orphaned"), 0);
    put("bare", json!({}));
    quiet(60).await;
    assert_eq!(
        run.objects("federator", "orphaned"),
        1,
        "in a hub namespace of ours one that lost its whole mark is ours (I6)"
    );
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f11_a_deletion_in_its_order_leaves_no_orphan() {
    let world = World::new();
    let run = world.federated().await;
    world.delete(WD);
    for _ in 0..200 {
        tokio::time::advance(std::time::Duration::from_millis(5)).await;
        assert_eq!(run.objects("federator", "orphaned"), 0);
    }
    until("it to go", || world.wd(WD).is_none()).await;
    quiet(60).await;
    assert_eq!(run.objects("federator", "orphaned"), 0);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f11_what_a_plane_that_is_gone_left_on_the_hub_is_orphaned() {
    let world = World::new();
    put_wd(&world.alpha, "other", "ORD");
    let run = world.federated().await;
    run.planes.declare_gone(&plane_name("alpha"));
    assert_eq!(run.objects("federator", "orphaned"), 2);
    quiet(60).await;
    world.gap();
    quiet(60).await;
    let from = world.positions();
    world.report(WD, &reported(3));
    quiet(60).await;
    assert_eq!((run.objects("federator", "orphaned"), world.asked(from)), (2, nothing()));
    world.hub.delete("WorkloadDeployment", &hub_space(&world.alpha), WD).unwrap();
    quiet(1).await;
    assert_eq!(run.objects("federator", "orphaned"), 1);
    // One of that name comes: now it says what is its.
    run.planes.engage(&plane_name("alpha"), world.alpha.client());
    quiet(60).await;
    assert_eq!((run.objects("federator", "orphaned"), run.planes.is_gone(&plane_name("alpha"))), (0, false));
    assert!(world.hub_wd(WD).is_some());
    run.stop().await;

    let run = world.run_without_planes(world.hub.client(), Settings::default());
    run.planes.declare_gone(&plane_name("alpha"));
    quiet(60).await;
    assert_eq!(run.objects("federator", "orphaned"), 2, "declared before the hub was listed");
    run.stop().await;
}

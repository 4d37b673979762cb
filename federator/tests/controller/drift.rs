//! F2, F4, I6: what users, tenants and cells edit is repaired, and objects of others are not touched.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fedhub_core::names::{FEDERATION_NAMESPACE, FEDERATOR_FINALIZER, HUB_NAMESPACE_UID, SOURCE};
use fedhub_fake_apiserver::ApiServer;
use fedhub_planes::Settings;
use http::Request;
use kube::client::Body;
use serde_json::{Value, json};
use tower::{Service, service_fn};

use crate::controller::support::*;

/// All that matters of a hub WD.
fn essence(wd: &Value) -> Value {
    json!([wd["spec"], wd["metadata"]["labels"], wd["metadata"]["annotations"]])
}

#[tokio::test(start_paused = true)]
async fn f4_a_hub_wd_that_is_edited_is_restored_in_one_write() {
    let world = World::new();
    let run = world.federated().await;
    let wanted = essence(&world.hub_wd(WD).unwrap());
    let edits = [
        json!({"spec": {"placementName": "x"}}),
        json!({"spec": {"added": true}}),
        json!({"metadata": {"labels": null}}),
        json!({"metadata": {"annotations": {SOURCE: null}}}),
        json!({"metadata": {"annotations": {"compute.datumapis.com/suspended": "true"}}}),
    ];
    for edit in edits {
        let from = world.positions();
        world.hub.patch("WorkloadDeployment", &hub_space(&world.alpha), WD, &edit).unwrap();
        until("the edit to be undone", || essence(&world.hub_wd(WD).unwrap()) == wanted).await;
        quiet(60).await;
        assert_eq!(
            world.asked(from),
            [
                vec!["update workloaddeployments/web".to_owned()],
                vec!["get workloaddeployments/web".to_owned()],
                vec![]
            ],
            "{edit}"
        );
    }
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f4_a_hub_wd_that_is_deleted_is_made_anew_and_no_status_is_blanked() {
    let world = World::new();
    let run = world.federated().await;
    world.report(WD, &reported(2));
    until("the status", || world.wd(WD).unwrap()["status"]["replicas"] == 2).await;
    let wanted = essence(&world.hub_wd(WD).unwrap());
    let old = uid(&world.hub_wd(WD).unwrap());
    let from = world.positions();
    world.hub.delete("WorkloadDeployment", &hub_space(&world.alpha), WD).unwrap();
    until("another", || world.hub_wd(WD).is_some_and(|wd| uid(&wd) != old)).await;
    quiet(60).await;
    assert_eq!(essence(&world.hub_wd(WD).unwrap()), wanted);
    let create = "create workloaddeployments/web";
    let read = "get workloaddeployments/web";
    assert_eq!(world.asked(from), [vec![create.to_owned()], vec![read.to_owned()], vec![]]);
    assert_eq!(plain(&world.wd(WD).unwrap()), reported(2));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i6_an_annotation_that_points_at_another_tenant_is_put_back_and_never_followed() {
    let world = World::new();
    let run = world.federated().await;
    let mine = hub_space(&world.alpha);
    let theirs = hub_space(&world.beta);
    let uid_of_theirs = uid(&world.hub.get("Namespace", "", &theirs).unwrap());
    let before = world.hub_wd_of(&world.beta, WD);
    let spoof = json!({"metadata": {"annotations": {FEDERATION_NAMESPACE: theirs, HUB_NAMESPACE_UID: uid_of_theirs}}});
    let from = world.positions();
    world.alpha.patch("WorkloadDeployment", SPACE, WD, &spoof).unwrap();
    until("the annotation", || {
        world.wd(WD).unwrap()["metadata"]["annotations"][FEDERATION_NAMESPACE] == mine
    })
    .await;
    quiet(60).await;
    assert_eq!(world.asked(from), [vec![], vec!["patch workloaddeployments/web".to_owned()], vec![]]);

    // Nor in a deletion that sees the spoofed annotation only.
    run.stop().await;
    world.alpha.patch("WorkloadDeployment", SPACE, WD, &spoof).unwrap();
    world.delete(WD);
    let run = world.run();
    quiet(600).await;
    assert_eq!(world.hub_wd_of(&world.beta, WD), before, "the other tenant's WD is untouched");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i6_a_stranger_in_our_place_is_a_conflict_and_is_left_alone() {
    let world = World::new();
    let space = hub_space(&world.alpha);
    let stranger = world
        .hub
        .put(json!({
            "apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadDeployment",
            "metadata": {"namespace": space, "name": WD, "annotations": {SOURCE: "gamma/shop/web"}},
            "spec": {"cityCode": "ORD"}, "status": reported(9),
        }))
        .unwrap();
    let run = world.run();
    until("the conflict", || reason(&world.wd(WD).unwrap()).as_deref() == Some("FederationConflict")).await;
    quiet(60).await;
    assert_eq!(world.hub_wd(WD).unwrap(), stranger);
    assert_eq!(world.wd(WD).unwrap()["status"]["replicas"], 0, "nor is its status passed on");
    world.hub.delete("WorkloadDeployment", &space, WD).unwrap();
    until("ours", || world.hub_wd(WD).is_some()).await;
    until("no conflict", || reason(&world.wd(WD).unwrap()).is_none()).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i6_a_hub_namespace_that_becomes_anothers_is_left_alone() {
    let world = World::new();
    let run = world.federated().await;
    let space = hub_space(&world.alpha);
    let labels =
        json!({"metadata": {"labels": {"meta.datumapis.com/upstream-cluster-name": "cluster-gamma"}}});
    let from = world.positions();
    world.hub.patch("Namespace", "", &space, &labels).unwrap();
    until("the conflict", || reason(&world.wd(WD).unwrap()).as_deref() == Some("FederationConflict")).await;
    world.delete(WD);
    quiet(600).await;
    assert!(world.writes(from)[0].is_empty(), "{:?}", world.writes(from)[0]);
    assert!(has_our_finalizer(&world.wd(WD).unwrap()));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i3_a_wd_made_anew_under_its_name_is_another_wd() {
    let world = World::new();
    let run = world.federated().await;
    let old = uid(&world.wd(WD).unwrap());
    let old_hub = uid(&world.hub_wd(WD).unwrap());
    world.delete(WD);
    until("the old one to go", || world.wd(WD).is_none()).await;
    put_wd(&world.alpha, WD, "ORD");
    let made = |w: &World| w.hub_wd(WD).filter(|wd| uid(wd) != old_hub);
    until("the new one", || made(&world).is_some()).await;
    let new = uid(&world.wd(WD).unwrap());
    assert_ne!(old, new);
    assert_eq!(made(&world).unwrap()["metadata"]["annotations"]["federation.datumapis.com/source-uid"], new);
    assert_eq!(made(&world).unwrap()["spec"]["cityCode"], "ORD");
    until("the old city's policy to go", || world.policy("city-dfw").is_none()).await;
    assert!(world.policy("city-ord").is_some());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f11_what_a_stripped_finalizer_left_behind_is_not_taken_over() {
    let world = World::new();
    let run = world.federated().await;
    let orphan = world.hub_wd(WD).unwrap();
    run.stop().await;
    world.alpha.patch("WorkloadDeployment", SPACE, WD, &json!({"metadata": {"finalizers": null}})).unwrap();
    world.delete(WD);
    put_wd(&world.alpha, WD, "DFW");
    let run = world.run();
    until("the conflict", || reason(&world.wd(WD).unwrap()).as_deref() == Some("FederationConflict")).await;
    quiet(600).await;
    assert_eq!(world.hub_wd(WD).unwrap(), orphan);
    run.stop().await;
}

/// `alpha`'s WD goes, and its namespace with it, which is made anew.
fn make_namespace_anew(world: &World) {
    world.alpha.patch("WorkloadDeployment", SPACE, WD, &json!({"metadata": {"finalizers": null}})).unwrap();
    world.delete(WD);
    for event in world.alpha.list("events.events.k8s.io") {
        let name = event["metadata"]["name"].as_str().unwrap();
        world.alpha.delete("events.events.k8s.io", SPACE, name).unwrap();
    }
    world.alpha.delete("Namespace", "", SPACE).unwrap();
}

/// A standby whose client is replaced sees nothing of what the leader does meanwhile, and then leads.
#[tokio::test(start_paused = true)]
async fn f2_a_namespace_made_anew_while_a_client_was_replaced_has_a_hub_namespace_of_its_own() {
    let world = World::new();
    let run = world.federated().await;
    let old = hub_space(&world.alpha);
    world.alpha.fault(fedhub_fake_apiserver::Fault::Hang.on("watch", "workloaddeployments"));
    make_namespace_anew(&world);
    let marked = json!({"metadata": {"finalizers": [FEDERATOR_FINALIZER]}});
    put_wd(&world.alpha, "theirs", "DFW");
    world.alpha.patch("WorkloadDeployment", SPACE, "theirs", &marked).unwrap();
    put_wd(&world.alpha, "other", "DFW");
    world.alpha.clear_faults();
    run.planes.engage(&plane_name("alpha"), world.alpha.client());
    assert_ne!(old, hub_space(&world.alpha));
    until("the new WDs", || world.hub_wd("other").is_some() && world.hub_wd("theirs").is_some()).await;
    assert!(world.hub.get("WorkloadDeployment", &old, "other").is_none());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f2_a_namespace_made_anew_during_a_gap_has_a_hub_namespace_of_its_own() {
    let world = World::new();
    let run = world.federated().await;
    let old = hub_space(&world.alpha);
    // The federator does not see that WD and namespace go and come back: its watch is silent, then relists.
    let id = world.alpha.fault(fedhub_fake_apiserver::Fault::Hang.on("watch", "workloaddeployments"));
    make_namespace_anew(&world);
    put_wd(&world.alpha, "other", "DFW");
    world.alpha.compact();
    world.alpha.break_watches();
    world.alpha.clear_fault(id);
    let new = hub_space(&world.alpha);
    assert_ne!(old, new);
    until("the new WD", || world.hub_wd("other").is_some()).await;
    quiet(60).await;
    let annotation = &world.wd("other").unwrap()["metadata"]["annotations"][FEDERATION_NAMESPACE];
    assert_eq!(*annotation, json!(new));
    run.stop().await;
}

/// A client of a plane whose tenant has a webhook that writes another hub namespace into each mark of ours.
/// It counts them.
fn behind_a_webhook(server: &ApiServer, marks: &Arc<AtomicUsize>) -> kube::Client {
    let server = server.clone();
    let marks = marks.clone();
    let service = service_fn(move |request: Request<Body>| {
        let mut server = server.service();
        let marks = marks.clone();
        async move {
            let (parts, body) = request.into_parts();
            let mut body = body.collect_bytes().await.unwrap().to_vec();
            if parts.method == "PATCH" && parts.uri.path().ends_with("/workloaddeployments/web") {
                let mut patch: Value = serde_json::from_slice(&body).unwrap();
                let number = marks.fetch_add(1, Ordering::Relaxed);
                patch["metadata"]["annotations"][FEDERATION_NAMESPACE] = json!(format!("ns-{number}"));
                body = patch.to_string().into_bytes();
            }
            Service::call(&mut server, Request::from_parts(parts, Body::from(body))).await
        }
    });
    kube::Client::new(service, "default")
}

#[tokio::test(start_paused = true)]
async fn i8_a_webhook_that_rewrites_each_of_our_marks_makes_no_loop_without_pause() {
    let world = World::new();
    let marks = Arc::new(AtomicUsize::new(0));
    let run = world.run_without_planes(world.hub.client(), Settings { seed: 7, ..Settings::default() });
    run.planes.engage(&plane_name("alpha"), behind_a_webhook(&world.alpha, &marks));
    quiet(60).await;
    let minute = marks.load(Ordering::Relaxed);
    assert!((8..=64).contains(&minute), "{minute} marks in a minute");
    quiet(3_600).await;
    let hour = marks.load(Ordering::Relaxed) - minute;
    assert!(hour <= 160, "{hour} marks in an hour");
    // The webhook is gone, and somebody touches the WD.
    run.planes.engage(&plane_name("alpha"), world.alpha.client());
    until("it to be federated", || world.hub_wd(WD).is_some()).await;
    run.stop().await;
}

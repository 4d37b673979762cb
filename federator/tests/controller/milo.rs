//! F7: Projects of a Milo that are deleted leave no policy on the hub.

use std::collections::BTreeMap;

use fedhub_fake_apiserver::{ApiServer, Resource, resource};
use fedhub_planes::Settings;
use fedhub_planes::discovery::milo::Milo;
use serde_json::json;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::controller::support::*;

const GROUP: &str = "resourcemanager.miloapis.com";

/// The server of Projects, with one for `alpha`.
fn milo() -> ApiServer {
    let projects = Resource::custom(GROUP, "v1alpha1", "Project", "projects").cluster_scoped().with_status();
    let milo = ApiServer::builder("milo").resources(resource::base()).resource(projects).build();
    milo.put(json!({
        "apiVersion": format!("{GROUP}/v1alpha1"), "kind": "Project",
        "metadata": {"name": "alpha", "finalizers": ["test/held"]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }))
    .unwrap();
    milo
}

/// A process that finds its planes by the Projects of `milo`, until the guard is dropped.
fn discovering(world: &World, milo: &ApiServer) -> (Run, DropGuard) {
    let run = world.run_without_planes(world.hub.client(), Settings { seed: 7, ..Settings::default() });
    let servers = BTreeMap::from([("alpha", world.alpha.clone())]);
    let discovery = Milo::new(
        run.planes.clone(),
        milo.client(),
        Box::new(move |name| match servers.get(name.as_str()) {
            Some(server) => Ok(server.client().into()),
            None => Err("no such server".to_owned()),
        }),
    );
    let stop = CancellationToken::new();
    tokio::spawn(discovery.run(stop.clone()));
    (run, stop.drop_guard())
}

/// The Project of `alpha` goes, as it does when nothing in it holds it any more.
fn vanish(milo: &ApiServer) {
    milo.patch("Project", "", "alpha", &json!({"metadata": {"finalizers": null}})).unwrap();
    if milo.get("Project", "", "alpha").is_some() {
        milo.delete("Project", "", "alpha").unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn f7_of_a_project_that_is_deleted_no_policy_stays() {
    let world = World::new();
    let milo = milo();
    let (run, _discovering) = discovering(&world, &milo);
    until("the WD to be federated", || world.hub_wd(WD).is_some()).await;
    milo.delete("Project", "", "alpha").unwrap();
    world.delete(WD);
    until("the WD to go", || world.wd(WD).is_none()).await;
    until("the plane to leave", || run.planes.project(&plane_name("alpha")).is_none()).await;
    assert!(world.policy("city-dfw").is_some());
    vanish(&milo);
    quiet(8).await;
    assert!(world.policy("city-dfw").is_some(), "not before the quiet time");
    until("the policy to go", || world.policy("city-dfw").is_none()).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f7_what_an_earlier_process_left_of_a_project_goes_and_its_plane_is_not_asked() {
    let world = World::new();
    let milo = milo();
    let (run, first) = discovering(&world, &milo);
    until("the WD to be federated", || world.hub_wd(WD).is_some()).await;
    world.delete(WD);
    until("the WD to go", || world.wd(WD).is_none()).await;
    run.stop().await;
    drop(first);
    vanish(&milo);
    let from = world.alpha.mark();
    let (run, _discovering) = discovering(&world, &milo);
    until("the policy to go", || world.policy("city-dfw").is_none()).await;
    quiet(600).await;
    assert!(world.alpha.requests_since(from).is_empty(), "{:?}", world.alpha.requests_since(from));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f7_f11_an_orphan_of_a_project_that_is_gone_keeps_its_policy() {
    let world = World::new();
    let milo = milo();
    let (run, _discovering) = discovering(&world, &milo);
    until("the WD to be federated", || world.hub_wd(WD).is_some()).await;
    let stripped = json!({"metadata": {"finalizers": null}});
    world.alpha.patch("WorkloadDeployment", SPACE, WD, &stripped).unwrap();
    world.delete(WD);
    vanish(&milo);
    until("the plane to leave", || run.planes.project(&plane_name("alpha")).is_none()).await;
    quiet(600).await;
    assert_eq!(run.objects("federator", "orphaned"), 1);
    assert!(world.policy("city-dfw").is_some(), "its orphan uses it");
    world.hub.delete("WorkloadDeployment", &hub_space(&world.alpha), WD).unwrap();
    until("the policy to go", || world.policy("city-dfw").is_none()).await;
    run.stop().await;
}

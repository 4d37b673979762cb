//! Another cluster under a known name (I4).

use fedhub_core::fence::Fence;
use fedhub_fake_apiserver::{ApiServer, Fault};
use fedhub_planes::{Health, Identities, Settings};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::controller::support::*;

const HOME: &str = "fedhub-system";

/// A process that remembers identities on this management plane.
fn remembering(world: &World, management: &ApiServer) -> Run {
    let identities = Identities::new(HOME);
    let settings = Settings { seed: 7, identities: Some(identities.clone()), ..Settings::default() };
    let run = world.run_with(world.hub.client(), settings);
    let planes = run.planes.clone();
    let stop = CancellationToken::new();
    tokio::spawn(identities.run(management.client(), planes, Fence::open(), stop));
    run
}

fn management() -> ApiServer {
    let management = ApiServer::management("m");
    management.put(namespace(HOME)).unwrap();
    management
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// Everything in that namespace of `alpha`, and the namespace, goes as its watches tell of a storage that is
/// emptied: no finalizer runs.
fn empty(world: &World) {
    world.alpha.patch("WorkloadDeployment", SPACE, WD, &json!({"metadata": {"finalizers": null}})).unwrap();
    world.delete(WD);
    world.alpha.delete("Namespace", "", SPACE).unwrap();
}

/// The storage of its plane is emptied and made again, and no watch fails.
#[tokio::test(start_paused = true)]
async fn i4_f11_a_plane_that_was_swapped_under_its_watches_is_refused_until_an_operator_says_so() {
    let management = management();
    let world = World::new();
    let run = remembering(&world, &management);
    until("both WDs to be federated", || {
        world.hub_wd(WD).is_some() && world.hub_wd_of(&world.beta, WD).is_some()
    })
    .await;
    quiet(30).await;
    let old = hub_space(&world.alpha);
    empty(&world);
    world.alpha.delete("Namespace", "", "default").unwrap();
    quiet(60).await;
    world.alpha.put(namespace("default")).unwrap();
    assert!(run.planes.engaged(&plane_name("alpha")).is_some(), "nothing has shown it yet");
    put_wd(&world.alpha, WD, "DFW");
    let from = world.positions();
    quiet(600).await;
    match run.planes.project(&plane_name("alpha")).unwrap().health() {
        Health::Unreachable(reason) => assert!(reason.contains("this is another cluster"), "{reason}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(world.writes(from), nothing());
    let maps = management.list("configmaps");
    let map = maps.iter().find(|map| !map["data"]["alpha"].is_null()).unwrap();
    let map = map["metadata"]["name"].as_str().unwrap();
    management.patch("ConfigMap", HOME, map, &json!({"data": {"alpha": null}})).unwrap();
    until("the new one to be federated", || world.hub_wd(WD).is_some()).await;
    quiet(60).await;
    assert_eq!(run.objects("federator", "orphaned"), 1, "what the former one left");
    assert!(world.hub.get("WorkloadDeployment", &old, WD).is_some());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_a_namespace_that_is_made_anew_on_the_same_plane_is_followed() {
    let management = management();
    let world = World::new();
    let run = remembering(&world, &management);
    until("the WD to be federated", || world.hub_wd(WD).is_some()).await;
    quiet(30).await;
    empty(&world);
    quiet(60).await;
    put_wd(&world.alpha, WD, "DFW");
    // A plane that does not say who it is is not written to.
    let fault = world.alpha.fault(Fault::Status(503).on("get", "namespaces"));
    let from = world.positions();
    quiet(60).await;
    assert_eq!(world.writes(from), nothing());
    world.alpha.clear_fault(fault);
    until("the new one to be federated", || world.hub_wd(WD).is_some()).await;
    assert!(run.planes.engaged(&plane_name("alpha")).is_some());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_nothing_is_written_or_deleted_for_a_twin() {
    let management = management();
    let world = World::new();
    put_wd(&world.alpha, "gone-from-the-twin", "ORD");
    let run = remembering(&world, &management);
    until("all to be federated", || {
        world.hub_wd("gone-from-the-twin").is_some()
            && world.hub_wd(WD).is_some()
            && world.hub_wd_of(&world.beta, WD).is_some()
    })
    .await;
    quiet(30).await;
    run.stop().await;

    // The same namespace and WD, and a namespace and a WD of its own.
    let twin = ApiServer::project_plane("twin");
    put_wd(&twin, WD, "ORD");
    put_wd(&twin, "only-there", "ORD");
    let before = world.hub.objects_hash();
    let wrong =
        World { telling: false, hub: world.hub.clone(), alpha: twin.clone(), beta: world.beta.clone() };
    let from = wrong.positions();
    let run = remembering(&wrong, &management);
    until("the neighbour", || run.planes.engaged(&plane_name("beta")).is_some()).await;
    wrong.gap();
    quiet(600).await;
    assert_eq!(wrong.writes(from), nothing());
    assert_eq!(world.hub.objects_hash(), before);
    assert_eq!(
        twin.audit().iter().filter(|entry| entry.resource != "namespaces").count(),
        0,
        "not even read"
    );
    run.stop().await;
}

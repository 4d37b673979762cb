//! Another cluster under a known name (I4).

use fedhub_core::fence::Fence;
use fedhub_fake_apiserver::ApiServer;
use fedhub_planes::{Identities, Settings};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::controller::support::*;

const HOME: &str = "fedhub-system";

/// A process that remembers identities on this management plane.
fn remembering(world: &World, management: &ApiServer) -> Run {
    let identities = Identities::new(HOME);
    let settings = Settings { seed: 7, identities: Some(identities.clone()), ..Settings::default() };
    let run = world.run_with(world.hub.client(), settings);
    let (planes, stop) = (run.planes.clone(), CancellationToken::new());
    tokio::spawn(identities.run(management.client(), planes, Fence::open(), stop));
    run
}

#[tokio::test(start_paused = true)]
async fn i4_nothing_is_written_or_deleted_for_a_twin() {
    let management = ApiServer::management("m");
    management.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}})).unwrap();
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

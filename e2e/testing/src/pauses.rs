//! An operator who pauses planes.

use std::sync::Arc;

use fedhub_fake_apiserver::ApiServer;
use fedhub_planes::Planes;
use fedhub_planes::pauses::stored::{Pause, PausedPlanes, update};
use serde_json::json;
use tokio_util::sync::{CancellationToken, DropGuard};

/// fedhub's own namespace on the management plane.
pub const HOME: &str = "fedhub-system";

/// A management plane with that namespace.
pub fn management_plane() -> ApiServer {
    let server = ApiServer::management("management");
    server.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}})).unwrap();
    server
}

/// Makes a registry follow its pauses until the guard is dropped.
pub fn follow_pauses(planes: &Arc<Planes>) -> DropGuard {
    let stop = CancellationToken::new();
    tokio::spawn(planes.clone().follow_pauses(stop.clone()));
    stop.drop_guard()
}

/// Pauses or resumes a plane; without a name, all planes.
pub async fn set_paused(management: &ApiServer, plane: Option<&str>, paused: bool) {
    let change = |stored: &mut PausedPlanes| {
        match plane {
            None => stored.all = paused.then(Pause::default),
            Some(plane) if paused => drop(stored.planes.insert(plane.to_owned(), Pause::default())),
            Some(plane) => drop(stored.planes.remove(plane)),
        }
        ((), true)
    };
    update(&management.client(), HOME, change).await.unwrap();
}

//! Planes over simulated servers, and a listener that notes what it hears.

use std::sync::{Arc, Mutex};

use fedhub_api::facts::Change;
use fedhub_core::clock::Clock;
use fedhub_core::fence::Fence;
use fedhub_core::metrics::Metrics;
use fedhub_core::object::{Kind, PlaneId};
use fedhub_fake_apiserver::ApiServer;
use fedhub_planes::Listener;
use fedhub_planes::{Health, Identities, Plane, Planes, Settings};
pub use fedhub_testing::{HEADERS, client, plane_name, quiet, until};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

pub const API: &str = "compute.datumapis.com/v1alpha";

pub fn metrics() -> Metrics {
    Metrics::new().unwrap()
}

pub fn registry(hub: &ApiServer) -> Arc<Planes> {
    Planes::new(client(hub), metrics(), Clock::from_tokio(hub.clock().now()), 7)
}

/// Where planes are remembered on the management plane.
pub const HOME: &str = "fedhub-system";

/// A registry that remembers planes on the management plane, until `stop`.
pub fn remembering_registry(
    hub: &ApiServer,
    management: &ApiServer,
    fence: Fence,
    stop: &CancellationToken,
) -> Arc<Planes> {
    let identities = Identities::new(HOME);
    let settings = Settings {
        seed: 7,
        fence: fence.clone(),
        identities: Some(identities.clone()),
        ..Settings::default()
    };
    let planes = Planes::with(client(hub), metrics(), Clock::from_tokio(hub.clock().now()), settings);
    tokio::spawn(identities.run(client(management), planes.clone(), fence, stop.clone()));
    planes
}

pub fn project(name: &str) -> PlaneId {
    PlaneId::Project(plane_name(name))
}

pub fn instance(name: &str) -> Value {
    json!({"apiVersion": API, "kind": "Instance", "metadata": {"namespace": "n", "name": name}, "spec": {"a": 1}})
}

/// What was delivered, in short: `alpha +a`, `alpha -a`, `alpha -a?` (after a gap), `alpha sync Instance`,
/// `alpha left`.
#[derive(Default)]
pub struct Notes(Mutex<Vec<String>>);

impl Notes {
    pub fn on(planes: &Planes) -> Arc<Self> {
        let notes = Arc::new(Self::default());
        planes.listen(notes.clone());
        notes
    }

    /// What was delivered since the last call.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    fn note(&self, plane: &Plane, words: String) {
        let name = match &plane.id {
            PlaneId::Project(name) => name.to_string(),
            other => other.to_string(),
        };
        self.0.lock().unwrap().push(format!("{name} {words}"));
    }
}

impl Listener for Notes {
    fn changed(&self, plane: &Plane, kind: Kind, change: &Change) {
        if kind == Kind::Namespace {
            return;
        }
        self.note(
            plane,
            match change {
                Change::Applied { new, .. } => format!("+{}", new.name),
                Change::Deleted { last, inferred: false } => format!("-{}", last.name),
                Change::Deleted { last, inferred: true } => format!("-{}?", last.name),
            },
        );
    }

    fn synced(&self, plane: &Plane, kind: Kind) {
        if kind == Kind::Instance {
            self.note(plane, format!("sync {kind:?}"));
        }
    }

    fn left(&self, plane: &Plane) {
        self.note(plane, "left".to_owned());
    }
}

/// How many requests of that verb for that resource a server has seen.
pub fn count(server: &ApiServer, verb: &str, resource: &str) -> usize {
    server.audit().iter().filter(|e| e.verb == verb && e.resource == resource).count()
}

/// A registry with the plane `alpha` in sync, and what was delivered since.
pub async fn engaged(server: &ApiServer) -> (Arc<Planes>, Arc<Plane>, Arc<Notes>) {
    let planes = registry(&ApiServer::hub("hub"));
    let notes = Notes::on(&planes);
    let plane = planes.engage(&plane_name("alpha"), client(server));
    until("alpha in sync", || plane.synced()).await;
    (planes, plane, notes)
}

/// Why a plane is unreachable.
pub fn reason(health: &Health) -> String {
    match health {
        Health::Unreachable(reason) => reason.clone(),
        other => panic!("{other:?}"),
    }
}

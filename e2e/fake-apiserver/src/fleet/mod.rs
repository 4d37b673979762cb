//! Many planes in one process, behind one address: a hub, a management plane, and project planes as discovery
//! `milo` finds them.
//!
//! | path | what is there |
//! |---|---|
//! | `/hub` | the hub, with a cell for each city |
//! | `/` | the management plane, with a `Project` for each project plane, Ready |
//! | `/apis/resourcemanager.miloapis.com/v1alpha1/projects/<name>/control-plane` | the plane of a project |
//! | `/control` | the [`control`] API |

pub mod control;
pub mod kubeconfig;
mod objects;
mod outage;
mod populate;
mod route;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
pub use outage::{Outage, Outages};
pub use populate::{Population, State};
pub use route::FleetService;
use serde_json::{Value, json};

use crate::answer::Refusal;
use crate::clock::Clock;
use crate::http::Census;
use crate::resource;
use crate::server::{ApiServer, Builder, Snapshot};

/// The name of the hub among the planes.
pub const HUB: &str = "hub";
/// The name of the management plane among the planes.
pub const MANAGEMENT: &str = "management";

/// The settings of a [`Fleet`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many project planes there are; they are called `p-00000` and so on.
    pub planes: usize,
    /// The codes of the cities that have a cell.
    pub cities: Vec<String>,
    /// How many changes each plane remembers.
    pub history: usize,
    /// The time of all planes.
    pub clock: Clock,
    /// Whether every request is recorded, for tests; else they are only counted.
    pub audit: bool,
}

impl Settings {
    /// Returns the settings of a fleet of `planes` planes that uses the machine's clock and records no
    /// requests.
    pub fn new(planes: usize) -> Self {
        Self {
            planes,
            cities: ["DFW", "ORD", "AMS"].map(str::to_owned).to_vec(),
            history: 4096,
            clock: Clock::from_fn(Timestamp::now),
            audit: false,
        }
    }
}

/// The planes. Clones are handles to the same ones.
#[derive(Clone, Debug)]
pub struct Fleet {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    hub: ApiServer,
    management: ApiServer,
    projects: BTreeMap<String, ApiServer>,
    cities: Vec<String>,
    census: Arc<Census>,
    outages: Outages,
    snapshots: std::sync::Mutex<BTreeMap<String, Snapshot>>,
}

impl Fleet {
    /// Makes the planes. The projects are Ready at once.
    pub fn new(settings: &Settings) -> Result<Self, Refusal> {
        let builder = |name: &str| {
            ApiServer::builder(name)
                .clock(settings.clock.clone())
                .history(settings.history)
                .audit(settings.audit)
        };
        let hub = builder(HUB).resources(resource::hub()).build();
        prepare_hub(&hub, &settings.cities)?;
        let management =
            builder(MANAGEMENT).resources(resource::base()).resource(resource::project()).build();
        let plane: Builder = builder("").resources(resource::project_plane());
        let mut projects = BTreeMap::new();
        for index in 0..settings.planes {
            let name = format!("p-{index:05}");
            let server = plane.clone().name(&name).build();
            for namespace in ["kube-system", resource::FEDHUB_NAMESPACE] {
                server.put(namespace_named(namespace))?;
            }
            projects.insert(name.clone(), server);
            management.put(ready_project(&name, &settings.clock))?;
        }
        for server in [&hub, &management] {
            server.put(namespace_named("kube-system"))?;
        }
        management.put(namespace_named(resource::FEDHUB_NAMESPACE))?;
        let inner = Inner {
            hub,
            management,
            projects,
            cities: settings.cities.clone(),
            census: Arc::default(),
            outages: Outages::default(),
            snapshots: std::sync::Mutex::default(),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The hub.
    pub fn hub(&self) -> &ApiServer {
        &self.inner.hub
    }

    /// The management plane, which the Projects are on.
    pub fn management(&self) -> &ApiServer {
        &self.inner.management
    }

    /// The planes of the projects, by name.
    pub fn projects(&self) -> &BTreeMap<String, ApiServer> {
        &self.inner.projects
    }

    /// A plane by name, [`HUB`] and [`MANAGEMENT`] included.
    pub fn plane(&self, name: &str) -> Option<&ApiServer> {
        match name {
            HUB => Some(self.hub()),
            MANAGEMENT => Some(self.management()),
            name => self.inner.projects.get(name),
        }
    }

    /// All planes, the hub first.
    pub fn planes(&self) -> impl Iterator<Item = &ApiServer> {
        [self.hub(), self.management()].into_iter().chain(self.inner.projects.values())
    }

    /// Returns what is open on the server of these planes.
    pub fn census(&self) -> Arc<Census> {
        self.inner.census.clone()
    }

    /// The outages of the server of these planes.
    pub fn outages(&self) -> &Outages {
        &self.inner.outages
    }
}

/// The cells, and the interpreter that fedhub looks for at its start.
fn prepare_hub(hub: &ApiServer, cities: &[String]) -> Result<(), Refusal> {
    hub.register(resource::interpreter());
    hub.put(json!({
        "apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization",
        "metadata": { "name": "workloaddeployment" },
        "spec": { "target": {
            "apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadDeployment",
        } },
    }))?;
    for city in cities {
        hub.put(json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
            "metadata": {
                "name": format!("cell-{}", city.to_lowercase()),
                "labels": { "topology.datum.net/city-code": city },
            },
        }))?;
    }
    Ok(())
}

fn namespace_named(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })
}

fn ready_project(name: &str, clock: &Clock) -> Value {
    json!({
        "apiVersion": "resourcemanager.miloapis.com/v1alpha1", "kind": "Project",
        "metadata": { "name": name }, "spec": { "ownerRef": { "kind": "Organization", "name": "fake" } },
        "status": { "conditions": [{
            "type": "Ready", "status": "True", "reason": "Ready", "message": "",
            "lastTransitionTime": clock.stamp(),
        }] },
    })
}

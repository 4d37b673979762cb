//! A hub and two project planes that have the same namespace and the same WD name, and a federator over them.

use std::sync::Arc;
use std::time::Duration;

use fedhub_api::conditions::is_default;
use fedhub_core::names::{CITY_CODE, FEDERATOR_FINALIZER};
use fedhub_engine::{Queue, QueueConfig};
use fedhub_fake_apiserver::ApiServer;
use fedhub_federator::progress::PATIENCE;
use fedhub_federator::teardown::TeardownLimits;
use fedhub_federator::{Federator, FederatorConfig};
use fedhub_planes::{Planes, Settings};
use fedhub_testing::{Process, asked, gap, position, writes};
pub use fedhub_testing::{client, event_notes, plane_name, quiet, uid, until};
use serde_json::{Value, json};

/// The namespace in both project planes.
pub const SPACE: &str = "shop";
/// The WD in both project planes.
pub const WD: &str = "web";
/// How long a policy is unused before it goes.
pub const QUIET: Duration = Duration::from_secs(10);
/// Longer than any test.
const NEVER: Duration = Duration::from_hours(24 * 365);

pub struct World {
    pub hub: ApiServer,
    pub alpha: ApiServer,
    pub beta: ApiServer,
    /// Whether processes report the progress of WDs without a status (U2). If not, all requests are those of
    /// reconciles.
    pub telling: bool,
}

impl World {
    /// A hub with cells for DFW and ORD, and both planes with their WD in DFW.
    pub fn new() -> Self {
        Self::over(ApiServer::hub("hub"), ApiServer::project_plane("alpha"))
    }

    /// Like [`Self::new`], but processes report the progress of WDs without a status (U2).
    pub fn telling() -> Self {
        Self { telling: true, ..Self::new() }
    }

    /// Like [`Self::new`], but with these servers.
    pub fn over(hub: ApiServer, alpha: ApiServer) -> Self {
        let world = Self { hub, alpha, beta: ApiServer::project_plane("beta"), telling: false };
        world.put_cell("cell-1", "DFW");
        world.put_cell("cell-2", "ORD");
        put_wd(&world.alpha, WD, "DFW");
        put_wd(&world.beta, WD, "DFW");
        world
    }

    pub fn put_cell(&self, name: &str, city: &str) {
        let cluster = json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
            "metadata": {"name": name, "labels": {CITY_CODE: city}},
        });
        self.hub.put(cluster).unwrap();
    }

    /// A process: registry, queue, federator, workers; both planes engaged.
    pub fn run(&self) -> Run {
        self.run_with(self.hub.client(), Settings { seed: 7, ..Settings::default() })
    }

    /// Like [`Self::run`], but with this client of the hub.
    pub fn run_over(&self, hub: kube::Client) -> Run {
        self.run_with(hub, Settings { seed: 7, ..Settings::default() })
    }

    /// Like [`Self::run_over`], but with these settings.
    pub fn run_with(&self, hub: kube::Client, settings: Settings) -> Run {
        self.run_sized(hub, settings, 4, 2)
    }

    /// Like [`Self::run_with`], but with `workers` workers, `per_plane` of them for one plane.
    pub fn run_sized(&self, hub: kube::Client, settings: Settings, workers: usize, per_plane: usize) -> Run {
        let run = self.start(hub, settings, workers, per_plane);
        run.planes.engage(&plane_name("alpha"), self.alpha.client());
        run.planes.engage(&plane_name("beta"), self.beta.client());
        run
    }

    /// Like [`Self::run_with`], but without any plane engaged.
    pub fn run_without_planes(&self, hub: kube::Client, settings: Settings) -> Run {
        self.start(hub, settings, 4, 2)
    }

    fn start(&self, hub: kube::Client, settings: Settings, workers: usize, per_plane: usize) -> Run {
        let mut process = Process::on(&self.hub);
        let planes = process.planes(hub, settings);
        let config = QueueConfig { seed: planes.seed(), per_plane, ..QueueConfig::default() };
        let queue = process.queue_with(config);
        let sources = process.queue(planes.seed());
        let patience = if self.telling { PATIENCE } else { NEVER };
        let config =
            FederatorConfig { policy_gc_delay: QUIET, patience, teardown: TeardownLimits::default() };
        let federator = Federator::new(planes.clone(), queue.clone(), vec![sources.clone()], config);
        planes.listen(federator.clone());
        planes.start();
        process.work(&federator, &queue, workers);
        process.running(Parts { planes, queue, sources, federator })
    }

    /// A process on planes whose WDs are federated, in sync and in steady state.
    pub async fn federated(&self) -> Run {
        let run = self.run();
        until("both WDs to be federated", || {
            self.hub_wd(WD).is_some() && self.hub_wd_of(&self.beta, WD).is_some()
        })
        .await;
        quiet(1).await;
        run
    }

    /// The hub WD of `alpha`'s WD of that name.
    pub fn hub_wd(&self, name: &str) -> Option<Value> {
        self.hub_wd_of(&self.alpha, name)
    }

    pub fn hub_wd_of(&self, plane: &ApiServer, name: &str) -> Option<Value> {
        self.hub.get("WorkloadDeployment", &hub_space(plane), name)
    }

    /// `alpha`'s WD of that name.
    pub fn wd(&self, name: &str) -> Option<Value> {
        self.alpha.get("WorkloadDeployment", SPACE, name)
    }

    /// The policy of that name in `alpha`'s hub namespace.
    pub fn policy(&self, name: &str) -> Option<Value> {
        self.hub.get("PropagationPolicy", &hub_space(&self.alpha), name)
    }

    pub fn delete(&self, name: &str) {
        self.alpha.delete("WorkloadDeployment", SPACE, name).unwrap();
    }

    /// The cell reports on `alpha`'s WD.
    pub fn report(&self, name: &str, status: &Value) {
        self.hub.patch_status("WorkloadDeployment", &hub_space(&self.alpha), name, status).unwrap();
    }

    /// The hub forgets what watches may resume from, and ends them: a gap.
    pub fn gap(&self) {
        gap(&self.hub);
    }

    /// Where the records of hub, `alpha` and `beta` end now.
    pub fn positions(&self) -> [usize; 3] {
        [&self.hub, &self.alpha, &self.beta].map(position)
    }

    /// The writes to all three since then, in short.
    pub fn writes(&self, from: [usize; 3]) -> [Vec<String>; 3] {
        [writes(&self.hub, from[0]), writes(&self.alpha, from[1]), writes(&self.beta, from[2])]
    }

    /// All requests but those of watches since then, in short.
    pub fn asked(&self, from: [usize; 3]) -> [Vec<String>; 3] {
        [asked(&self.hub, from[0]), asked(&self.alpha, from[1]), asked(&self.beta, from[2])]
    }
}

/// A process that federates.
pub type Run = fedhub_testing::Run<Parts>;

/// What of a process the tests look at.
pub struct Parts {
    pub planes: Arc<Planes>,
    pub queue: Arc<Queue>,
    /// The queue of a controller that makes WDs, which nobody works on.
    pub sources: Arc<Queue>,
    pub federator: Arc<Federator>,
}

pub fn put_wd(plane: &ApiServer, name: &str, city: &str) -> Value {
    put_wd_in(plane, SPACE, name, city)
}

pub fn put_wd_in(plane: &ApiServer, namespace: &str, name: &str, city: &str) -> Value {
    let wd = json!({
        "apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadDeployment",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"cityCode": city, "placementName": "p", "unknown": {"kept": [1, null]}},
    });
    plane.put(wd).unwrap()
}

/// The hub namespace of a plane's namespace.
pub fn hub_space(plane: &ApiServer) -> String {
    format!("ns-{}", uid(&plane.get("Namespace", "", SPACE).unwrap()))
}

pub fn has_our_finalizer(wd: &Value) -> bool {
    wd["metadata"]["finalizers"].as_array().is_some_and(|f| f.contains(&json!(FEDERATOR_FINALIZER)))
}

/// The reason of the condition `Available`; `None` while it is not reported.
pub fn reason(wd: &Value) -> Option<String> {
    let conditions = wd["status"]["conditions"].as_array()?;
    let available = conditions.iter().find(|c| c["type"] == "Available" && c["reason"] != "Pending")?;
    Some(available["reason"].as_str()?.to_owned())
}

/// Whether a status is what the schema puts there (U1).
pub fn is_unreported(wd: &Value) -> bool {
    let conditions = wd["status"]["conditions"].as_array().cloned().unwrap_or_default();
    conditions.len() == 3 && conditions.iter().all(is_default)
}

/// A status without the condition `Federated`.
pub fn plain(wd: &Value) -> Value {
    let mut status = wd["status"].clone();
    if let Some(conditions) = status["conditions"].as_array_mut() {
        conditions.retain(|c| c["type"] != "Federated");
    }
    status
}

/// Status and reason of the condition `Federated`; `None` while it is not written.
pub fn federated(wd: &Value) -> Option<(String, String)> {
    let conditions = wd["status"]["conditions"].as_array()?;
    let condition = conditions.iter().find(|c| c["type"] == "Federated" && !is_default(c))?;
    let text = |field: &str| condition[field].as_str().unwrap().to_owned();
    Some((text("status"), text("reason")))
}

/// A status as a cell reports it.
pub fn reported(replicas: u64) -> Value {
    json!({
        "replicas": replicas, "currentReplicas": replicas, "updatedReplicas": replicas,
        "desiredReplicas": replicas, "readyReplicas": 0, "observedGeneration": 1,
        "unknown": {"kept": [null, 0, ""]},
        "conditions": [{"type": "Available", "status": "True", "reason": "Stable", "message": "",
                        "lastTransitionTime": "2026-01-02T00:00:00Z"}],
    })
}

/// No writes anywhere.
pub fn nothing() -> [Vec<String>; 3] {
    [vec![], vec![], vec![]]
}

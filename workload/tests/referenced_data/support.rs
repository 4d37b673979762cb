//! A hub and a project plane, and a process that federates its WDs and copies what they refer to.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fedhub_core::names::{
    CITY_CODE, EXPECTED_REFERENCED_DATA, REFERENCED_BY, REFERENCED_DATA, REFERENCED_DATA_ERROR,
    SOURCE_GENERATION,
};
use fedhub_fake_apiserver::ApiServer;
use fedhub_federator::teardown::TeardownLimits;
use fedhub_federator::{Federator, FederatorConfig};
use fedhub_planes::{DATA_KINDS, HUB_KINDS, Planes, Settings, Watched, watched};
use fedhub_testing::Process;
pub use fedhub_testing::{asked, plane_name, position, quiet, uid, until, writes};
use fedhub_workload::referenced_data::ReferencedData;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tower::ServiceExt;

/// The namespace in the project plane.
pub const SPACE: &str = "shop";

pub struct World {
    pub hub: ApiServer,
    pub alpha: ApiServer,
    /// Whether processes follow what entitles the project to the service.
    pub entitled: bool,
}

/// What of a process the tests look at.
pub struct Parts {
    pub planes: Arc<Planes>,
    pub data: Arc<ReferencedData>,
}

pub type Run = fedhub_testing::Run<Parts>;

/// When a process is killed: its requests get no answer from then on.
#[derive(Clone)]
pub struct Kill {
    /// How many writes it may still make.
    left: Arc<AtomicUsize>,
    /// Whether the last of them is carried out.
    carried_out: bool,
}

impl Kill {
    pub fn after(writes: usize, carried_out: bool) -> Self {
        Self { left: Arc::new(AtomicUsize::new(writes)), carried_out }
    }

    /// Whether it was killed.
    pub fn has_struck(&self) -> bool {
        self.left.load(Ordering::SeqCst) == 0
    }

    fn client(&self, server: &ApiServer) -> Client {
        let inner = server.service();
        let kill = self.clone();
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let inner = inner.clone();
            let kill = kill.clone();
            async move {
                let is_write = request.method() != http::Method::GET;
                if kill.has_struck() {
                    std::future::pending::<()>().await;
                }
                let is_last = is_write && kill.left.fetch_sub(1, Ordering::SeqCst) == 1;
                if is_last && !kill.carried_out {
                    std::future::pending::<()>().await;
                }
                let answer = inner.oneshot(request).await;
                if is_last {
                    std::future::pending::<()>().await;
                }
                answer
            }
        });
        Client::new(service, "default")
    }
}

impl World {
    /// A hub with a cell for DFW, and a project plane with nothing in it.
    pub fn new() -> Self {
        let world =
            Self { hub: ApiServer::hub("hub"), alpha: ApiServer::project_plane("alpha"), entitled: false };
        let cluster = json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
            "metadata": {"name": "cell-1", "labels": {CITY_CODE: "DFW"}},
        });
        world.hub.put(cluster).unwrap();
        world
    }

    /// Like [`Self::new`], with a `ConfigMap` named `app`, a Secret `db`, and a WD `web` that refers to both.
    pub fn with_web() -> Self {
        let world = Self::new();
        world.put_source("ConfigMap", "app", &json!({"mode": "on"}));
        world.put_source("Secret", "db", &json!({"password": "Y2FuYXJ5"}));
        world.put_wd("web", &json!([{"configMap": {"name": "app"}}, {"secret": {"secretName": "db"}}]));
        world
    }

    pub fn put_source(&self, kind: &str, name: &str, data: &Value) -> Value {
        let metadata = json!({"namespace": SPACE, "name": name});
        self.alpha.put(json!({"apiVersion": "v1", "kind": kind, "metadata": metadata, "data": data})).unwrap()
    }

    /// A WD whose template has these volumes.
    pub fn put_wd(&self, name: &str, volumes: &Value) -> Value {
        let wd = json!({
            "apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadDeployment",
            "metadata": {"namespace": SPACE, "name": name},
            "spec": {"cityCode": "DFW", "placementName": "p", "template": {"spec": {"volumes": volumes}}},
        });
        self.alpha.put(wd).unwrap()
    }

    pub fn edit_wd(&self, name: &str, volumes: &Value) {
        let spec = json!({"spec": {"template": {"spec": {"volumes": volumes}}}});
        self.alpha.patch("WorkloadDeployment", SPACE, name, &spec).unwrap();
    }

    /// The cell reports that all Instances of the WD are on its newest template.
    pub async fn roll_out(&self, name: &str) {
        let generation = || self.wd(name).unwrap()["metadata"]["generation"].clone();
        let hub = || self.hub.get("WorkloadDeployment", &self.hub_space(), name);
        let written_for = || hub()?["metadata"]["annotations"][SOURCE_GENERATION].as_str().map(str::to_owned);
        until("the WD to be on the hub", || written_for() == Some(generation().to_string())).await;
        let counts = json!({"replicas": 2, "updatedReplicas": 2, "currentReplicas": 2, "readyReplicas": 2,
            "desiredReplicas": 2, "observedGeneration": generation()});
        self.hub.patch("WorkloadDeployment", &self.hub_space(), name, &json!({"status": counts})).unwrap();
        until("the status", || self.wd(name).unwrap()["status"]["observedGeneration"] == generation()).await;
    }

    pub fn run(&self) -> Run {
        self.run_until(&Kill::after(usize::MAX, true))
    }

    /// A process that is killed so.
    pub fn run_until(&self, kill: &Kill) -> Run {
        let mut process = Process::on(&self.hub);
        let settings = Settings {
            seed: 7,
            anchor_kinds: watched::all(&HUB_KINDS)
                .into_iter()
                .chain(DATA_KINDS.map(|kind| Watched::labelled(kind, REFERENCED_DATA, "true").if_served()))
                .collect(),
            project_kinds: fedhub_workload::on_projects(false, self.entitled),
            ..Settings::default()
        };
        let planes = process.planes(kill.client(&self.hub), settings);
        let federates = process.queue(planes.seed());
        let copies = process.queue(planes.seed());
        let policy_gc_delay = Duration::from_secs(10);
        // No progress is told here: what counts are the data's writes.
        let config = FederatorConfig {
            policy_gc_delay,
            patience: Duration::from_hours(24 * 365),
            teardown: TeardownLimits::default(),
        };
        let federator = Federator::new(planes.clone(), federates.clone(), Vec::new(), config);
        let data = ReferencedData::new(planes.clone(), copies.clone());
        planes.listen(federator.clone());
        planes.listen(data.clone());
        planes.start();
        process.work(&federator, &federates, 2);
        process.work(&data, &copies, 2);
        planes.engage(&plane_name("alpha"), kill.client(&self.alpha));
        process.running(Parts { planes, data })
    }

    /// A process on planes whose WD `web` has all that it refers to.
    pub async fn ready(&self) -> Run {
        let run = self.run();
        until("the data to be on the hub", || self.is_ready("web")).await;
        quiet(2).await;
        run
    }

    pub fn wd(&self, name: &str) -> Option<Value> {
        self.alpha.get("WorkloadDeployment", SPACE, name)
    }

    /// The name of the hub namespace.
    pub fn hub_space(&self) -> String {
        format!("ns-{}", uid(&self.alpha.get("Namespace", "", SPACE).unwrap()))
    }

    pub fn companion(&self, kind: &str, name: &str) -> Option<Value> {
        self.hub.get(kind, &self.hub_space(), name)
    }

    /// The WDs that a companion counts.
    pub fn counted(&self, kind: &str, name: &str) -> Vec<String> {
        let companion = self.companion(kind, name);
        let list =
            companion.map(|c| c["metadata"]["annotations"][REFERENCED_BY].as_str().unwrap().to_owned());
        serde_json::from_str(&list.unwrap_or("[]".to_owned())).unwrap()
    }

    /// Status and reason of the condition, for the newest generation.
    pub fn condition(&self, name: &str) -> Option<(String, String)> {
        let wd = self.wd(name)?;
        let conditions = wd["status"]["conditions"].as_array()?.clone();
        let condition = conditions.into_iter().find(|c| c["type"] == "ReferencedDataReady")?;
        assert!(condition["message"].as_str().is_some_and(|message| !message.is_empty()));
        let text = |field: &str| condition[field].as_str().unwrap().to_owned();
        (condition["observedGeneration"] == wd["metadata"]["generation"])
            .then(|| (text("status"), text("reason")))
    }

    pub fn is_ready(&self, name: &str) -> bool {
        self.condition(name) == Some(("True".to_owned(), "Ready".to_owned()))
    }

    pub fn fails_with(&self, name: &str, reason: &str) -> bool {
        let error = self.annotation(name, REFERENCED_DATA_ERROR);
        let said: Value = serde_json::from_str(&error.unwrap_or_default()).unwrap_or_default();
        said["reason"] == reason && self.condition(name) == Some(("False".to_owned(), reason.to_owned()))
    }

    pub fn annotation(&self, name: &str, key: &str) -> Option<String> {
        self.wd(name)?["metadata"]["annotations"][key].as_str().map(str::to_owned)
    }

    /// What the cell is to expect, as the project says.
    pub fn expected(&self, name: &str) -> Value {
        let text = self.annotation(name, EXPECTED_REFERENCED_DATA);
        text.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap())
    }

    pub fn positions(&self) -> [usize; 2] {
        [&self.hub, &self.alpha].map(position)
    }

    pub fn writes(&self, from: [usize; 2]) -> [Vec<String>; 2] {
        [writes(&self.hub, from[0]), writes(&self.alpha, from[1])]
    }

    /// The requests for sources and companions, lists and watches aside.
    pub fn data_requests(&self, from: [usize; 2]) -> Vec<String> {
        let all = asked(&self.hub, from[0]).into_iter().chain(asked(&self.alpha, from[1]));
        all.filter(|request| request.contains("secrets") || request.contains("configmaps")).collect()
    }
}

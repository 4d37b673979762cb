//! A hub and two project planes that have the same namespace and the same WD name, and a projector over them.

use std::sync::Arc;
use std::time::Duration;

use fedhub_core::clock::Clock;
use fedhub_core::fence::Fence;
use fedhub_core::metrics::Metrics;
use fedhub_core::names::{
    CITY_CODE, FEDERATION_NAMESPACE, PROJECTED_FROM, PlaneName, SOURCE_UID, UPSTREAM_CLUSTER,
    UPSTREAM_NAMESPACE, WORKLOAD_DEPLOYMENT_NAME, WORKLOAD_DEPLOYMENT_UID,
};
use fedhub_engine::{Queue, QueueConfig, run_workers};
use fedhub_lease::{Leadership, LeaseConfig};
use fedhub_planes::events::OperatorEvents;
use fedhub_planes::transport::HeaderTimeoutLayer;
use fedhub_planes::{Planes, Settings};
use fedhub_projector::controller::ProjectorConfig;
use fedhub_projector::{LostCells, Projector};
use fedhub_sim::{ApiServer, AuditEntry};
pub use fedhub_sim::{quiet, until};
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;
use tower::Layer;

pub const API: &str = "compute.datumapis.com/v1alpha";
/// The namespace in both project planes.
pub const SPACE: &str = "shop";
/// The hub namespace of `alpha`'s.
pub const NS_A: &str = "ns-a";
/// The hub namespace of `beta`'s.
pub const NS_B: &str = "ns-b";

pub struct World {
    pub hub: ApiServer,
    pub alpha: ApiServer,
    pub beta: ApiServer,
    pub management: ApiServer,
}

impl World {
    /// Both planes with their WD `wd`, federated and reported on.
    pub fn new() -> Self {
        Self::over(ApiServer::project_plane("alpha"))
    }

    /// The same, `alpha` being this server.
    pub fn over(alpha: ApiServer) -> Self {
        let (hub, beta) = (ApiServer::hub("hub"), ApiServer::project_plane("beta"));
        let world = Self { hub, alpha, beta, management: ApiServer::management("management") };
        for (plane, name, space) in [(&world.alpha, "alpha", NS_A), (&world.beta, "beta", NS_B)] {
            let labels = json!({ UPSTREAM_CLUSTER: format!("cluster-{name}"), UPSTREAM_NAMESPACE: SPACE });
            world
                .hub
                .put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space, "labels": labels}}))
                .unwrap();
            put_project_wd(plane, "wd", space);
            world.put_hub_wd(space, "wd");
        }
        world
    }

    /// The hub WD as the federator makes it for the project WD of that name that lives now, reported on by a cell.
    pub fn put_hub_wd(&self, space: &str, name: &str) {
        let plane = if space == NS_B { &self.beta } else { &self.alpha };
        let source = plane.get("WorkloadDeployment", SPACE, name).as_ref().map(uid);
        self.hub
            .put(json!({
                "apiVersion": API, "kind": "WorkloadDeployment",
                "metadata": {"namespace": space, "name": name, "annotations": {SOURCE_UID: source}, "labels": {CITY_CODE: "DFW"}},
                "spec": {"cityCode": "DFW"}, "status": {"replicas": 1},
            }))
            .unwrap();
    }

    /// An Instance as a cell writes it back: owned by the hub WD that lives now, with a status.
    pub fn put_instance(&self, space: &str, name: &str) -> Value {
        let (wd, _) = name.rsplit_once('-').unwrap();
        let owner = uid(&self.hub.get("WorkloadDeployment", space, wd).unwrap());
        let plane = if space == NS_B { "cluster-beta" } else { "cluster-alpha" };
        self.hub
            .put(json!({
                "apiVersion": API, "kind": "Instance",
                "metadata": {
                    "namespace": space, "name": name,
                    "labels": {
                        UPSTREAM_CLUSTER: plane, UPSTREAM_NAMESPACE: SPACE,
                        WORKLOAD_DEPLOYMENT_NAME: wd, WORKLOAD_DEPLOYMENT_UID: owner,
                        "compute.datumapis.com/city-code": "DFW", "cells.example/private": "yes",
                    },
                    "ownerReferences": [{
                        "apiVersion": API, "kind": "WorkloadDeployment", "name": wd, "uid": owner,
                        "controller": true, "blockOwnerDeletion": true,
                    }],
                },
                "spec": {"size": "small", "unknown": {"kept": [1, 2]}},
                "status": status("True"),
            }))
            .unwrap()
    }

    pub fn run(&self) -> Run {
        self.run_with(ProjectorConfig::default())
    }

    /// A process that looks on and does not lead.
    pub fn run_as_standby(&self) -> Run {
        let management = ApiServer::hub("management");
        management.fault(fedhub_sim::Fault::Status(503));
        let config = LeaseConfig {
            namespace: "default".to_owned(),
            name: "fedhub".to_owned(),
            identity: "standby".to_owned(),
            duration: Duration::from_secs(15),
            renew: Duration::from_secs(5),
            warm_up: Duration::ZERO,
        };
        let clock = Clock::from_tokio(self.hub.clock().now());
        let fence = Leadership::start(management.client(), config, clock).fence();
        let run = self.run_fenced(ProjectorConfig::default(), fence);
        run.queue.hold();
        run
    }

    /// A process: registry, queue, projector, workers; both planes engaged.
    pub fn run_with(&self, config: ProjectorConfig) -> Run {
        self.run_fenced(config, Fence::open())
    }

    fn run_fenced(&self, config: ProjectorConfig, fence: Fence) -> Run {
        let metrics = Metrics::new().unwrap();
        let clock = Clock::from_tokio(self.hub.clock().now());
        let operators = Some(OperatorEvents::new(self.management.client(), "default", "fedhub", &metrics));
        let settings = Settings { seed: 7, fence, operators, ..Settings::default() };
        let planes = Planes::with(client(&self.hub), metrics.clone(), clock, settings);
        let queue = Arc::new(Queue::new(QueueConfig { seed: planes.seed(), ..QueueConfig::default() }));
        let projector = Projector::new(planes.clone(), queue.clone(), config);
        planes.listen(projector.clone());
        let lost_queue = Arc::new(Queue::new(QueueConfig { seed: planes.seed(), ..QueueConfig::default() }));
        let lost = LostCells::new(planes.clone(), lost_queue.clone(), config.deletes_per_minute);
        planes.listen(lost.clone());
        planes.start();
        let tasks = TaskTracker::new();
        run_workers(&lost, &lost_queue, &metrics, 2, &tasks);
        run_workers(&projector, &queue, &metrics, 4, &tasks);
        planes.engage(&plane_name("alpha"), client(&self.alpha));
        planes.engage(&plane_name("beta"), client(&self.beta));
        Run { planes, queue, lost_queue, projector, metrics, tasks }
    }

    /// The hub forgets what watches may resume from, and ends them: a gap.
    pub fn gap(&self) {
        self.hub.compact();
        self.hub.break_watches();
    }

    /// The notes of all Events on the management plane with this reason.
    pub fn told(&self, reason: &str) -> Vec<String> {
        let of = self.management.list("events.events.k8s.io").into_iter();
        of.filter(|e| e["reason"] == reason).map(|e| e["note"].as_str().unwrap().to_owned()).collect()
    }

    /// The projection of `name` in plane `alpha`.
    pub fn projection(&self, name: &str) -> Option<Value> {
        self.alpha.get("Instance", SPACE, name)
    }
}

pub struct Run {
    pub planes: Arc<Planes>,
    pub queue: Arc<Queue>,
    lost_queue: Arc<Queue>,
    pub projector: Arc<Projector>,
    pub metrics: Metrics,
    tasks: TaskTracker,
}

impl Run {
    /// The process ends; what it knew is forgotten.
    pub async fn stop(self) {
        self.queue.close();
        self.lost_queue.close();
        self.tasks.close();
        self.tasks.wait().await;
        self.planes.stop().await;
    }

    /// Runs for that long, then stops.
    pub async fn stop_after(self, seconds: u64) {
        quiet(seconds).await;
        self.stop().await;
    }

    pub fn quarantined(&self, reason: &str) -> i64 {
        self.metrics.quarantined.with_label_values(&[reason]).get()
    }

    pub fn parked(&self) -> i64 {
        self.metrics.objects.with_label_values(&["projector", "parked"]).get()
    }

    pub fn withheld(&self, reason: &str) -> u64 {
        self.metrics.deletes_withheld.with_label_values(&[reason]).get()
    }
}

/// A client as the transport makes them: with a limit on the time to headers.
pub fn client(server: &ApiServer) -> kube::Client {
    kube::Client::new(HeaderTimeoutLayer::new(Duration::from_secs(9)).layer(server.service()), "default")
}

pub fn plane_name(name: &str) -> PlaneName {
    PlaneName::new(name).unwrap()
}

/// A WD of a project plane that was federated into the hub namespace `federated`.
pub fn put_project_wd(plane: &ApiServer, name: &str, federated: &str) -> Value {
    plane
        .put(json!({
            "apiVersion": API, "kind": "WorkloadDeployment",
            "metadata": {"namespace": SPACE, "name": name, "annotations": {FEDERATION_NAMESPACE: federated}},
            "spec": {"cityCode": "DFW"},
        }))
        .unwrap()
}

pub fn status(ready: &str) -> Value {
    json!({"suspended": false, "conditions": [
        {"type": "Ready", "status": ready, "reason": "R", "message": "", "lastTransitionTime": "2026-01-02T00:00:00Z"},
    ]})
}

pub fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap().to_owned()
}

pub fn mark_of(projection: &Value) -> &str {
    projection["metadata"]["annotations"][PROJECTED_FROM].as_str().unwrap_or_default()
}

/// Where the record of a server ends now.
pub fn position(server: &ApiServer) -> usize {
    server.audit().len()
}

/// Requests for single objects since `from`, Events aside, in short: `create instances/wd-0`.
pub fn asked(server: &ApiServer, from: usize) -> Vec<String> {
    let single = |e: &&AuditEntry| e.is_single() && e.resource != "events";
    server.audit()[from..].iter().filter(single).map(AuditEntry::short).collect()
}

/// The writes since `from`, Events aside, in short.
pub fn writes(server: &ApiServer, from: usize) -> Vec<String> {
    let write = |e: &&AuditEntry| e.is_write() && e.resource != "events";
    server.audit()[from..].iter().filter(write).map(AuditEntry::short).collect()
}

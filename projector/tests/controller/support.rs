//! A hub and two project planes that have the same namespace and the same WD name, and a projector over them.

use std::sync::Arc;
use std::time::Duration;

use fedhub_core::names::{
    CITY_CODE, FEDERATION_NAMESPACE, PROJECTED_FROM, SOURCE_UID, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE,
    WORKLOAD_DEPLOYMENT_NAME, WORKLOAD_DEPLOYMENT_UID,
};
use fedhub_engine::Queue;
use fedhub_fake_apiserver::ApiServer;
use fedhub_lease::{Leadership, LeaseConfig};
use fedhub_planes::events::OperatorEvents;
use fedhub_planes::{Pauses, Planes, Settings};
use fedhub_projector::controller::ProjectorConfig;
use fedhub_projector::{LostCells, Projector};
use fedhub_testing::{Process, gap, put_hub_namespace};
pub use fedhub_testing::{
    asked, client, event_notes, instance_status as status, plane_name, position, quiet, uid, until, writes,
};
use serde_json::{Value, json};

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

    /// Like [`Self::new`], but with this server as `alpha`.
    pub fn over(alpha: ApiServer) -> Self {
        let hub = ApiServer::hub("hub");
        let beta = ApiServer::project_plane("beta");
        let world = Self { hub, alpha, beta, management: ApiServer::management("management") };
        for (plane, name, space) in [(&world.alpha, "alpha", NS_A), (&world.beta, "beta", NS_B)] {
            put_hub_namespace(&world.hub, space, name, SPACE);
            put_project_wd(plane, "wd", space);
            world.put_hub_wd(space, "wd");
        }
        world
    }

    /// The hub WD as the federator makes it for the project WD of that name that lives now, reported on by a
    /// cell.
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

    /// A process on standby, which does not lead.
    pub fn run_as_standby(&self) -> Run {
        let management = ApiServer::hub("management");
        management.fault(fedhub_fake_apiserver::Fault::Status(503));
        let config = LeaseConfig {
            namespace: "default".to_owned(),
            name: "fedhub".to_owned(),
            identity: "standby".to_owned(),
            duration: Duration::from_secs(15),
            renew: Duration::from_secs(5),
            warm_up: Duration::ZERO,
        };
        let process = Process::on(&self.hub);
        let fence = Leadership::start(management.client(), config, process.clock, &process.metrics).fence();
        let run = self.run_settled(ProjectorConfig::default(), Settings { fence, ..Settings::default() });
        run.queue.hold();
        run
    }

    /// A process: registry, queue, projector, workers; both planes engaged.
    pub fn run_with(&self, config: ProjectorConfig) -> Run {
        self.run_settled(config, Settings::default())
    }

    /// A process that honours these pauses.
    pub fn run_honouring(&self, pauses: &Arc<Pauses>) -> Run {
        let settings = Settings { pauses: pauses.clone(), ..Settings::default() };
        self.run_settled(ProjectorConfig::default(), settings)
    }

    fn run_settled(&self, config: ProjectorConfig, settings: Settings) -> Run {
        let mut process = Process::on(&self.hub);
        let operators =
            Some(OperatorEvents::new(self.management.client(), "default", "fedhub", &process.metrics));
        let settings = Settings { seed: 7, operators, ..settings };
        let planes = process.planes(client(&self.hub), settings);
        let queue = process.queue(planes.seed());
        let projector = Projector::new(planes.clone(), queue.clone(), config);
        planes.listen(projector.clone());
        let lost_queue = process.queue(planes.seed());
        let lost = LostCells::new(planes.clone(), lost_queue.clone(), config.deletes_per_minute);
        planes.listen(lost.clone());
        planes.start();
        process.work(&lost, &lost_queue, 2);
        process.work(&projector, &queue, 4);
        planes.engage(&plane_name("alpha"), client(&self.alpha));
        planes.engage(&plane_name("beta"), client(&self.beta));
        process.running(Parts { planes, queue, projector })
    }

    /// The hub forgets what watches may resume from, and ends them: a gap.
    pub fn gap(&self) {
        gap(&self.hub);
    }

    /// The projection of `name` in plane `alpha`.
    pub fn projection(&self, name: &str) -> Option<Value> {
        self.alpha.get("Instance", SPACE, name)
    }
}

/// A process that projects.
pub type Run = fedhub_testing::Run<Parts>;

/// What of a process the tests look at.
pub struct Parts {
    pub planes: Arc<Planes>,
    pub queue: Arc<Queue>,
    pub projector: Arc<Projector>,
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

pub fn mark_of(projection: &Value) -> &str {
    projection["metadata"]["annotations"][PROJECTED_FROM].as_str().unwrap_or_default()
}

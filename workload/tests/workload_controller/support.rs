//! A hub with the cells of two cities, a project plane that serves Workloads, and the workload controller
//! over them.

use std::sync::Arc;
use std::time::Duration;

use fedhub_core::names::CITY_CODE;
use fedhub_core::object::PlaneId;
use fedhub_fake_apiserver::ApiServer;
use fedhub_fake_apiserver::resource::{self, Resource};
use fedhub_planes::{Planes, Settings};
use fedhub_testing::{Process, put_namespace};
pub use fedhub_testing::{client, condition, plane_name, position, quiet, uid, until, writes};
use fedhub_workload::instance_types::{Catalog, watched_at_source};
use fedhub_workload::workload_controller::{Options, Strategy, WorkloadController};
use serde_json::{Value, json};

pub const API: &str = "compute.datumapis.com/v1alpha";
pub const SPACE: &str = "shop";
pub const GROUP: &str = "compute.datumapis.com";

pub struct World {
    pub hub: ApiServer,
    pub project: ApiServer,
    /// Whether a cell is on the project plane, too.
    pub single_cluster: bool,
    /// The way in which cities get a new template.
    pub default_rollout: Strategy,
}

/// How long a city has to become available that takes the place of another.
pub const MOVE_DEADLINE: Duration = Duration::from_mins(5);

/// What an operator chooses by default.
pub const OPTIONS: Options = Options { move_deadline: MOVE_DEADLINE, default_rollout: Strategy::InOrder };

/// A process that reconciles Workloads.
pub type Run = fedhub_testing::Run<Arc<Planes>>;

impl World {
    /// With a cell in DFW and one in ORD.
    pub fn new() -> Self {
        Self::serving(Resource::custom(GROUP, "v1alpha", "Workload", "workloads").with_status())
    }

    /// Like [`Self::new`], but the project plane serves this resource for Workloads.
    pub fn serving(workloads: Resource) -> Self {
        let hub = ApiServer::hub("hub");
        for city in ["DFW", "ORD"] {
            put_cluster(&hub, city);
        }
        let rollouts =
            Resource::custom(GROUP, "v1alpha", "WorkloadRollout", "workloadrollouts").with_status();
        let resources = resource::project_plane().into_iter().chain([workloads, rollouts]);
        let project = ApiServer::builder("alpha").resources(resources).build();
        put_namespace(&project, SPACE);
        Self { hub, project, single_cluster: false, default_rollout: Strategy::InOrder }
    }

    pub fn run(&self) -> Run {
        self.run_with(None)
    }

    /// Starts a process with the catalogue of instance types on this server; without a catalogue if `None`.
    pub fn run_with(&self, source: Option<&ApiServer>) -> Run {
        let mut process = Process::on(&self.hub);
        let project_kinds = fedhub_workload::on_projects(self.single_cluster, true);
        let settings = Settings { seed: 7, project_kinds, ..Settings::default() };
        let planes = process.planes(client(&self.hub), settings);
        let queue = process.queue(planes.seed());
        let source = source.map(|server| {
            let anchor = PlaneId::Management;
            let anchor_kinds = watched_at_source();
            let settings = Settings { seed: 8, anchor, anchor_kinds, ..Settings::default() };
            process.planes(client(server), settings)
        });
        let catalog = source.clone().map(Catalog::new);
        let options = Options { default_rollout: self.default_rollout, ..OPTIONS };
        let workloads = WorkloadController::new(planes.clone(), queue.clone(), catalog, options);
        for planes in source.iter().chain([&planes]) {
            planes.listen(workloads.clone());
            planes.start();
        }
        process.work(&workloads, &queue, 4);
        planes.engage(&plane_name("alpha"), client(&self.project));
        process.running(planes)
    }

    /// Puts a Workload with these cities in its placement `us`.
    pub fn put(&self, name: &str, cities: &[&str]) -> Value {
        self.project.put(workload(name, cities)).unwrap()
    }

    pub fn workload(&self, name: &str) -> Value {
        self.project.get("Workload", SPACE, name).unwrap()
    }

    pub fn wd(&self, name: &str) -> Option<Value> {
        self.project.get("WorkloadDeployment", SPACE, name)
    }

    /// The names of all WDs.
    pub fn wds(&self) -> Vec<String> {
        self.project.names("WorkloadDeployment").into_iter().map(|(_, name)| name).collect()
    }

    pub fn patch(&self, name: &str, patch: &Value) {
        self.project.patch("Workload", SPACE, name, patch).unwrap();
    }

    /// Sets the cities of the placement of a Workload.
    pub fn place(&self, name: &str, cities: &[&str]) {
        let placements = workload(name, cities)["spec"]["placements"].clone();
        self.patch(name, &json!({"spec": {"placements": placements}}));
    }

    /// Reports on a WD as the federator does.
    pub fn report(&self, name: &str, replicas: i32, available: (&str, &str, &str)) {
        let generation = self.wd(name).unwrap()["metadata"]["generation"].clone();
        let (status, reason, message) = available;
        let ready = if status == "True" { replicas } else { 0 };
        self.project
            .patch_status(
                "WorkloadDeployment",
                SPACE,
                name,
                &json!({
                    "observedGeneration": generation, "replicas": replicas, "desiredReplicas": replicas,
                    "updatedReplicas": replicas, "currentReplicas": ready, "readyReplicas": ready,
                    "conditions": [condition("Available", status, reason, message)],
                }),
            )
            .unwrap();
    }

    /// The status, reason and message of a condition of a Workload.
    pub fn said(&self, name: &str, kind: &str) -> (String, String, String) {
        let workload = self.workload(name);
        let mut conditions = workload["status"]["conditions"].as_array().into_iter().flatten();
        let condition = conditions.find(|condition| condition["type"] == kind).cloned().unwrap_or_default();
        let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
        (text("status"), text("reason"), text("message"))
    }
}

pub fn put_cluster(hub: &ApiServer, city: &str) {
    let metadata = json!({"name": format!("cell-{}", city.to_lowercase()), "labels": {CITY_CODE: city}});
    hub.put(json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": metadata,
        "spec": {"syncMode": "Push"}}))
        .unwrap();
}

/// A location of the project, ready or not.
pub fn put_location(project: &ApiServer, city: &str, ready: &str) {
    project.put(location_binding(city, ready)).unwrap();
}

pub fn location_binding(city: &str, ready: &str) -> Value {
    json!({
        "apiVersion": "networking.datumapis.com/v1alpha", "kind": "LocationBinding",
        "metadata": {"name": city.to_lowercase()},
        "spec": {"locationRef": {"name": city.to_lowercase()}, "topology": {CITY_CODE: city}},
        "status": {"conditions": [condition("Available", ready, "Set", "")]},
    })
}

pub fn location_bindings() -> Resource {
    Resource::custom("networking.datumapis.com", "v1alpha", "LocationBinding", "locationbindings")
        .cluster_scoped()
}

pub fn workload(name: &str, cities: &[&str]) -> Value {
    json!({
        "apiVersion": API, "kind": "Workload",
        "metadata": {"namespace": SPACE, "name": name},
        "spec": {
            "placements": [{"name": "us", "cityCodes": cities, "scaleSettings": {"minReplicas": 1}}],
            "template": template("nginx:1"),
        },
    })
}

pub fn template(image: &str) -> Value {
    json!({"spec": {
        "runtime": {
            "resources": {"instanceType": "datumcloud/d1-standard-2"},
            "sandbox": {"containers": [{"name": "app", "image": image}]},
        },
        "networkInterfaces": [{"network": {"name": "default"}}],
    }})
}

/// The requests for single objects since `from`, in short, less the question for a kind that the plane does
/// not serve, and what discovery is asked about it.
pub fn asked(server: &ApiServer, from: usize) -> Vec<String> {
    let mut asked = fedhub_testing::asked(server, from);
    asked.retain(|it| {
        let unserved = ["locationbindings", "networks", "serviceentitlements", "get /apis/"];
        !unserved.iter().any(|unserved| it.contains(unserved))
    });
    asked
}

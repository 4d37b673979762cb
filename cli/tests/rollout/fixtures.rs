//! A project with one Workload, as objects and on a server in memory.

use fedhub_api::facts::workload::{recorded_template, template_hash};
use fedhub_cli::args::Global;
use fedhub_cli::model::{Index, Workload};
use fedhub_cli::rollout::judge::{Judgement, Row, judge};
use fedhub_cli::session::Session;
use fedhub_core::names::deployment_name;
use fedhub_core::object::{Object, ObjectView};
use fedhub_fake_apiserver::ApiServer;
use fedhub_fake_apiserver::resource::{self, Resource};
use serde_json::{Value, json};

pub const API: &str = "compute.datumapis.com/v1alpha";
pub const SPACE: &str = "default";

/// The name of the Workload.
pub const NAME: &str = "web";
const UID: &str = "uid-of-web";

/// A template with that image.
pub fn template(image: &str) -> Value {
    json!({"spec": {
        "networkInterfaces": [{"name": "eth0", "network": {"name": "default"}}],
        "runtime": {
            "resources": {"instanceType": "datumcloud/d1-standard-2"},
            "sandbox": {"containers": [{"name": "app", "image": image, "env": [{"name": "A", "value": "1"}]}]},
        },
    }})
}

pub fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

/// Sets the generation that the condition was observed at.
pub fn of(generation: i64, mut condition: Value) -> Value {
    condition["observedGeneration"] = json!(generation);
    condition
}

/// A Workload, its deployments and Instances.
#[derive(Clone)]
pub struct World {
    pub workload: Object,
    pub deployments: Vec<Object>,
    pub instances: Vec<Object>,
}

fn object(value: Value) -> Object {
    serde_json::from_value(value).unwrap()
}

impl World {
    /// A rollout of `image` that is done, with two instances in each of these cities of the placement `us`.
    pub fn done(cities: &[&str], image: &str) -> Self {
        let mut world =
            Self { workload: workload(cities, image), deployments: Vec::new(), instances: Vec::new() };
        for city in cities {
            world.add("us", city);
        }
        world
    }

    /// Adds a city that is done to a placement.
    pub fn add(&mut self, placement: &str, city: &str) {
        let deployment = deployment(placement, city, &self.workload.spec()["template"]);
        for ordinal in 0..2 {
            self.instances.push(instance(&deployment, ordinal));
        }
        self.deployments.push(deployment);
    }

    /// What is known, joined.
    pub fn with<T>(&self, then: impl FnOnce(&Workload<'_>) -> T) -> T {
        then(&Index::new(&self.deployments, &self.instances).workload(&self.workload))
    }

    pub fn judge(&self) -> Judgement {
        self.with(judge)
    }

    /// The row of a city.
    pub fn row(&self, city: &str) -> Row {
        self.judge().rows.into_iter().find(|row| row.city == city).unwrap()
    }

    /// Puts it on a server, statuses included; what stands there goes.
    pub fn put(&self, server: &ApiServer) {
        for object in [&self.workload].into_iter().chain(&self.deployments).chain(&self.instances) {
            put(server, object);
        }
    }
}

/// Puts an object on a server, its UID and status included.
pub fn put(server: &ApiServer, object: &Object) {
    server.put(serde_json::to_value(object).unwrap()).unwrap();
}

pub fn workload(cities: &[&str], image: &str) -> Object {
    let counters = 2 * cities.len();
    object(json!({
        "apiVersion": API, "kind": "Workload",
        "metadata": {"namespace": SPACE, "name": NAME, "uid": UID, "generation": 1, "resourceVersion": "7"},
        "spec": {
            "placements": [{"name": "us", "cityCodes": cities, "scaleSettings": scale()}],
            "template": template(image),
        },
        "status": {
            "observedGeneration": 1, "deployments": cities.len(),
            "replicas": counters, "desiredReplicas": counters, "currentReplicas": counters,
            "updatedReplicas": counters, "readyReplicas": counters,
            "conditions": [
                of(1, condition("Available", "True", "AvailablePlacementFound",
                    "At least one available placement was found")),
                of(1, condition("Progressing", "False", "RolloutComplete", "All instances are on the newest template")),
            ],
        },
    }))
}

fn scale() -> Value {
    json!({"minReplicas": 2, "instanceManagementPolicy": "OrderedReady"})
}

pub fn deployment(placement: &str, city: &str, template: &Value) -> Object {
    object(json!({
        "apiVersion": API, "kind": "WorkloadDeployment",
        "metadata": {"namespace": SPACE, "name": deployment_name(NAME, placement, city), "generation": 1,
            "uid": format!("uid-{placement}-{city}"), "labels": {"compute.datumapis.com/workload-name": NAME}},
        "spec": {
            "cityCode": city, "placementName": placement, "scaleSettings": scale(), "template": template,
            "workloadRef": {"name": NAME, "uid": UID},
        },
        "status": {
            "observedGeneration": 1, "replicas": 2, "desiredReplicas": 2, "currentReplicas": 2, "updatedReplicas": 2,
            "readyReplicas": 2,
            "conditions": [
                condition("Available", "True", "StableInstanceFound", "2/2 instances are ready"),
                condition("ReplicasReady", "True", "ReplicasAvailable", "2/2 replicas available"),
                of(1, condition("Federated", "True", "Applied", "the cell has taken it")),
            ],
        },
    }))
}

pub fn instance(deployment: &Object, ordinal: u32) -> Object {
    let mut spec = deployment.spec()["template"]["spec"].clone();
    spec["controller"] = json!({"templateHash": "v2-new"});
    spec["location"] = json!({"name": "somewhere"});
    object(json!({
        "apiVersion": API, "kind": "Instance",
        "metadata": {"namespace": SPACE, "name": format!("{}-{ordinal}", deployment.name()), "generation": 1,
            "labels": {
                "compute.datumapis.com/workload-name": NAME,
                "compute.datumapis.com/workload-deployment-name": deployment.name(),
                // That of another plane.
                "compute.datumapis.com/workload-deployment-uid": "uid-on-the-cell",
                "compute.datumapis.com/city-code": deployment.spec()["cityCode"],
            }},
        "spec": spec,
        "status": {
            "controller": {"observedTemplateHash": "v2-new"},
            "conditions": [condition("Ready", "True", "Available", "Instance is ready")],
        },
    }))
}

/// A condition in place of the one of its type.
pub fn say(object: &mut Object, condition: Value) {
    fedhub_api::conditions::put(&mut object.data["status"], condition);
}

/// A project's server.
pub fn server() -> ApiServer {
    let workloads =
        Resource::custom("compute.datumapis.com", "v1alpha", "Workload", "workloads").with_status();
    let server = ApiServer::builder("alpha")
        .resources(resource::project_plane().into_iter().chain([workloads]))
        .build();
    server.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})).unwrap();
    server
}

pub fn session(server: &ApiServer) -> Session {
    Session::with_client(server.client(), Global::default())
}

/// The Workload with its newest template recorded under that revision.
pub fn recorded(mut workload: Object, revision: u64) -> Object {
    let template = workload.spec()["template"].clone();
    let annotations = [
        ("compute.datumapis.com/current-revision", revision.to_string()),
        ("federation.datumapis.com/recorded-template", recorded_template(revision, &template)),
    ];
    workload.metadata.annotations = Some(annotations.map(|(key, value)| (key.to_owned(), value)).into());
    workload
}

/// An entry of a history.
pub fn entry(revision: u64, template: &Value) -> Value {
    let spec = json!({"placements": [], "template": template});
    json!({
        "rev": revision, "timestamp": "2026-01-01T00:00:00Z", "image": "web:1", "actor": "datumctl-compute",
        "changes": "spec.runtime.sandbox.containers[0].image", "templateHash": template_hash(template),
        "spec": spec.to_string(),
    })
}

/// A history with these entries.
pub fn history(entries: &[(u64, Value)]) -> Object {
    let data = entries.iter().map(|(revision, entry)| (revision.to_string(), json!(entry.to_string())));
    object(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": SPACE, "name": format!("compute.datumapis.com-revision-history.{NAME}")},
        "data": data.collect::<serde_json::Map<_, _>>(),
    }))
}

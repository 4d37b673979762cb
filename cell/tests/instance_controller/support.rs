//! A cell, the plane of a project, and the readiness controller over both.

use std::sync::Arc;
use std::time::Duration;

use fedhub_api::conditions;
use fedhub_cell::identity::{Identity, IdentityFault};
use fedhub_cell::instance_controller::{InstanceController, Quota};
use fedhub_core::names::{REFERENCED_DATA, SOURCE_CLUSTER};
use fedhub_core::object::{Kind, PlaneId};
use fedhub_engine::Queue;
use fedhub_fake_apiserver::{ApiServer, resource};
use fedhub_planes::{Planes, Settings, Watched, watched};
use fedhub_testing::{Process, client, plane_name, put_hub_namespace, put_namespace};
pub use fedhub_testing::{asked, condition, position, quiet, uid, until};
use serde_json::{Value, json};

pub const API: &str = "compute.datumapis.com/v1alpha";
/// The cell's name.
pub const CELL: &str = "dfw";
/// The cell's namespace of the project `alpha`.
pub const NS: &str = "ns-a";
/// The namespace in the project's plane.
pub const SPACE: &str = "shop";
/// How long an Instance may take to go.
pub const DEADLINE: Duration = Duration::from_mins(10);
/// The UID that the cell is known by.
pub const CELL_UID: &str = "k";
/// The claim of `wd-0`.
pub const CLAIM: &str = "instance-wd-0-k";

/// What a process has switched on.
pub struct Features {
    pub quota: bool,
    pub referenced_data: bool,
}

impl Default for Features {
    fn default() -> Self {
        Self { quota: true, referenced_data: true }
    }
}

pub struct World {
    pub cell: ApiServer,
    pub hub: ApiServer,
    pub alpha: ApiServer,
}

impl World {
    /// A cell with the WD `wd`, and a project plane that knows claims.
    pub fn new() -> Self {
        let plane = || ApiServer::builder("alpha").resources(resource::project_plane());
        let alpha = plane().resource(resource::resource_claim()).build();
        let world = Self { cell: ApiServer::cell("cell"), hub: ApiServer::hub("hub"), alpha };
        let kube_system = json!({"name": "kube-system", "uid": CELL_UID});
        world.cell.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": kube_system})).unwrap();
        world.put_namespace(NS, "alpha");
        put_namespace(&world.alpha, SPACE);
        world.put_wd("wd");
        world
    }

    pub fn put_namespace(&self, name: &str, project: &str) {
        put_hub_namespace(&self.cell, name, project, SPACE);
    }

    pub fn put_wd(&self, name: &str) -> Value {
        let metadata = json!({"namespace": NS, "name": name});
        self.cell
            .put(json!({"apiVersion": API, "kind": "WorkloadDeployment", "metadata": metadata, "spec": {"cityCode": "DFW"}}))
            .unwrap()
    }

    /// An Instance of the WD that its name says, as the deployments' controller makes it, with those gates
    /// and the status that the schema puts there.
    pub fn put_instance(&self, name: &str, gates: &[&str]) -> Value {
        self.put_instance_in(NS, name, gates)
    }

    pub fn put_instance_in(&self, space: &str, name: &str, gates: &[&str]) -> Value {
        let (wd, _) = name.rsplit_once('-').unwrap();
        let owner = self.cell.get("WorkloadDeployment", space, wd).map(|wd| {
            json!([{"apiVersion": API, "kind": "WorkloadDeployment", "name": wd["metadata"]["name"], "uid": uid(&wd), "controller": true}])
        });
        let gates: Vec<_> = gates.iter().map(|gate| json!({"name": gate})).collect();
        let pending = |kind: &str, reason: &str, message: &str| {
            json!({"type": kind, "status": "Unknown", "reason": reason, "message": message,
                   "lastTransitionTime": "1970-01-01T00:00:00Z"})
        };
        self.cell
            .put(json!({
                "apiVersion": API, "kind": "Instance",
                "metadata": {"namespace": space, "name": name, "ownerReferences": owner},
                "spec": {
                    "runtime": {"resources": {"instanceType": "datumcloud/d1-standard-2"}},
                    "controller": {"templateHash": "h", "schedulingGates": gates},
                },
                "status": {"conditions": [
                    pending("Programmed", "Pending", "Waiting for controller"),
                    pending("Available", "Pending", "Waiting for controller"),
                    pending("Ready", "Pending", "Waiting for controller"),
                    pending("QuotaGranted", "PendingEvaluation", "Waiting for quota evaluation"),
                ]},
            }))
            .unwrap()
    }

    pub fn instance(&self, name: &str) -> Value {
        self.cell.get("Instance", NS, name).unwrap()
    }

    /// Status, reason and message of a condition of an Instance.
    pub fn says(&self, name: &str, kind: &str) -> (String, String, String) {
        let instance = self.instance(name);
        let found = conditions::find(&instance["status"], kind).unwrap_or(&Value::Null);
        let (status, reason, message) = conditions::said(found);
        (status.to_owned(), reason.to_owned(), message.to_owned())
    }

    pub fn reason(&self, name: &str, kind: &str) -> String {
        self.says(name, kind).1
    }

    /// The provider says that.
    pub fn provide(&self, name: &str, kind: &str, status: &str, reason: &str, message: &str) {
        let mut now = self.instance(name)["status"].clone();
        conditions::put(&mut now, condition(kind, status, reason, message));
        self.cell.patch_status("Instance", NS, name, &now).unwrap();
    }

    pub fn run_an_instance(&self, name: &str) {
        let mut now = self.instance(name)["status"].clone();
        for kind in ["Programmed", "Available"] {
            conditions::put(&mut now, condition(kind, "True", kind, ""));
        }
        self.cell.patch_status("Instance", NS, name, &now).unwrap();
    }

    pub fn claim(&self) -> Option<Value> {
        self.alpha.get("ResourceClaim", SPACE, CLAIM)
    }

    /// The quota service answers a claim.
    pub fn answer(&self, claim: &str, status: &str, reason: &str, message: &str) {
        let granted = condition("Granted", status, reason, message);
        self.alpha.patch_status("ResourceClaim", SPACE, claim, &json!({"conditions": [granted]})).unwrap();
    }

    pub fn grant(&self) {
        self.answer(CLAIM, "True", "QuotaAvailable", "Quota is available");
    }

    /// A process without quota.
    pub fn run(&self) -> Run {
        self.process(None)
    }

    /// A process with quota; the plane of `alpha` is engaged.
    pub fn run_with_quota(&self) -> Run {
        let run = self.process(Some(CELL));
        run.engage("alpha", &self.alpha);
        run
    }

    /// A process of that cell, which knows no project plane yet.
    pub fn process(&self, quota: Option<&str>) -> Run {
        self.process_with(quota, &Features::default())
    }

    /// Starts a process with these features, which does not know any project plane yet.
    pub fn process_with(&self, quota: Option<&str>, features: &Features) -> Run {
        let mut process = Process::on(&self.cell);
        let kinds = [
            Kind::Namespace,
            Kind::WorkloadDeployment,
            Kind::Instance,
            Kind::InstanceType,
            Kind::LocationBinding,
            Kind::NetworkBinding,
            Kind::NetworkContext,
            Kind::SubnetClaim,
            Kind::Subnet,
        ];
        let companions: &[_] = if features.referenced_data { &[Kind::ConfigMap, Kind::Secret] } else { &[] };
        let companions: Vec<_> =
            companions.iter().map(|kind| Watched::labelled(*kind, REFERENCED_DATA, "true")).collect();
        let around_cell = Settings {
            seed: 7,
            anchor: PlaneId::Cell,
            anchor_kinds: [watched::all(&kinds), companions].concat(),
            project_kinds: Vec::new(),
            ..Settings::default()
        };
        let cell = process.planes(client(&self.cell), around_cell);
        let around_hub = Settings {
            seed: 8,
            project_kinds: vec![Watched::labelled(
                Kind::ResourceClaim,
                SOURCE_CLUSTER,
                quota.unwrap_or_default(),
            )],
            ..Settings::default()
        };
        let hub = process.planes(client(&self.hub), around_hub);
        let queue = process.queue(cell.seed());
        let identity = Identity::new(quota.unwrap_or_default(), cell.clone(), Some(hub.clone()));
        let quota = quota.map(|_| Quota {
            projects: hub.clone(),
            identity: identity.clone(),
            enabled: features.quota,
        });
        let readiness = InstanceController::new(cell.clone(), queue.clone(), quota, DEADLINE);
        cell.listen(readiness.clone());
        hub.listen(readiness.clone());
        cell.start();
        hub.start();
        process.work(&readiness, &queue, 8);
        process.running(Parts { cell, hub, queue, identity })
    }
}

/// A process of the cell.
pub type Run = fedhub_testing::Run<Parts>;

/// What of a process the tests look at.
pub struct Parts {
    pub cell: Arc<Planes>,
    pub hub: Arc<Planes>,
    pub queue: Arc<Queue>,
    identity: Arc<Identity>,
}

impl Parts {
    pub fn engage(&self, name: &str, server: &ApiServer) {
        self.hub.engage(&plane_name(name), client(server));
    }

    /// Why the cell is not ready.
    pub fn faults(&self) -> Vec<&'static str> {
        self.identity.faults().iter().map(IdentityFault::label).collect()
    }

    pub fn disengage(&self, name: &str) {
        self.hub.disengage(&plane_name(name));
    }
}

/// The mark of what stands for that Instance of the cell.
pub fn mark_of(instance: &Value) -> String {
    format!("{CELL}/{CELL_UID}/{}", uid(instance))
}

/// The names of an Instance's gates.
pub fn gates(instance: &Value) -> Vec<&str> {
    let list = instance["spec"]["controller"]["schedulingGates"].as_array();
    list.into_iter().flatten().filter_map(|gate| gate["name"].as_str()).collect()
}

/// Reasons and notes of the Events that were said since `from`.
pub fn events(server: &ApiServer, from: usize) -> Vec<(String, String)> {
    server.audit()[from..]
        .iter()
        .filter_map(|e| {
            let body = e.body.as_ref().filter(|_| e.resource == "events" && e.verb == "create")?;
            Some((body["reason"].as_str()?.to_owned(), body["note"].as_str()?.to_owned()))
        })
        .collect()
}

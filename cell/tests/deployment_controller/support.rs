//! A cell with a WD `web`, and a controller of WDs over it. The provider and the network service are the
//! tests.

use fedhub_cell::deployment_controller::{DeploymentController, DeploymentControllerConfig};
use fedhub_core::object::{Kind, PlaneId};
use fedhub_fake_apiserver::ApiServer;
use fedhub_planes::{Settings, Watched};
use fedhub_testing::{Process, client};
pub use fedhub_testing::{Run, asked, is_terminating, position, quiet, uid};
use serde_json::{Value, json};

pub const API: &str = "compute.datumapis.com/v1alpha";
pub const NET: &str = "networking.datumapis.com/v1alpha";
pub const SPACE: &str = "ns-a";
pub const WD: &str = "web";

/// The controller alone: no quota, no networking, no waiting for data.
pub const ALONE: DeploymentControllerConfig =
    DeploymentControllerConfig { quota: false, networking: false, referenced_data: false, rebuilds: false };
pub const NETWORKING: DeploymentControllerConfig = DeploymentControllerConfig { networking: true, ..ALONE };

/// What is watched; of the network service the location alone where networking is off.
const KINDS: [Kind; 9] = [
    Kind::Namespace,
    Kind::WorkloadDeployment,
    Kind::Instance,
    Kind::HorizontalPodAutoscaler,
    Kind::LocationBinding,
    Kind::NetworkBinding,
    Kind::NetworkContext,
    Kind::SubnetClaim,
    Kind::Subnet,
];

fn watched(kind: Kind) -> Watched {
    let watched = Watched::all(kind);
    if kind == Kind::HorizontalPodAutoscaler { watched.if_served() } else { watched }
}

pub fn wd(name: &str, replicas: u32) -> Value {
    json!({
        "apiVersion": API, "kind": "WorkloadDeployment",
        "metadata": {"namespace": SPACE, "name": name},
        "spec": {
            "cityCode": "DFW", "placementName": "us", "workloadRef": {"name": "shop", "uid": "uid-of-shop"},
            "replicas": replicas,
            "scaleSettings": {"minReplicas": 1, "instanceManagementPolicy": "OrderedReady"},
            "template": {
                "metadata": {"labels": {"app": "web"}, "annotations": {"other.example/hint": "slow"}},
                "spec": {
                    "runtime": {"resources": {"instanceType": "datumcloud/d1-standard-2"}},
                    "networkInterfaces": [{"network": {"name": "default"}}],
                },
            },
        },
    })
}

pub struct World {
    pub cell: ApiServer,
    /// Whether a provider holds each Instance that runs.
    pub provided: bool,
}

impl World {
    /// A cell with `web` of so many replicas.
    pub fn with_replicas(replicas: u32) -> Self {
        let world = Self { cell: ApiServer::cell("cell"), provided: false };
        world.cell.put(wd(WD, replicas)).unwrap();
        world
    }

    /// A cell with `web` of `replicas` replicas, in which a provider holds each running Instance: a deleted
    /// one stays until it is released.
    pub fn provided(replicas: u32) -> Self {
        Self { provided: true, ..Self::with_replicas(replicas) }
    }

    /// A process: registry, queue, controller, workers.
    pub fn run(&self, config: DeploymentControllerConfig) -> Run<()> {
        let kinds = if config.networking { &KINDS[..] } else { &KINDS[..5] };
        let settings = Settings {
            seed: 7,
            anchor: PlaneId::Cell,
            anchor_kinds: kinds.iter().copied().map(watched).collect(),
            project_kinds: Vec::new(),
            ..Settings::default()
        };
        let mut process = Process::on(&self.cell);
        let planes = process.planes(client(&self.cell), settings);
        let queue = process.queue(planes.seed());
        let controller = DeploymentController::new(planes.clone(), queue.clone(), config);
        planes.listen(controller.clone());
        planes.start();
        process.work(&controller, &queue, 4);
        process.running(())
    }

    /// Merges into `web`.
    pub fn bend(&self, patch: Value) {
        self.cell.patch("WorkloadDeployment", SPACE, WD, &patch).unwrap();
    }

    pub fn scale(&self, replicas: u32) {
        self.bend(json!({"spec": {"replicas": replicas}}));
    }

    /// A new template.
    pub fn release(&self, name: &str) {
        self.bend(json!({"spec": {"template": {"metadata": {"annotations": {"release": name}}}}}));
    }

    pub fn suspend(&self, suspended: bool) {
        self.bend(
            json!({"metadata": {"annotations": {"compute.datumapis.com/suspended": suspended.to_string()}}}),
        );
    }

    pub fn wd(&self) -> Value {
        self.cell.get("WorkloadDeployment", SPACE, WD).unwrap()
    }

    pub fn instance(&self, name: &str) -> Value {
        self.cell.get("Instance", SPACE, name).unwrap_or_else(|| panic!("no {name}: {:?}", self.names()))
    }

    /// Names of the Instances; those on their way out with a `-` before them.
    pub fn names(&self) -> Vec<String> {
        let all = self.cell.list("Instance");
        let name = |i: &Value| i["metadata"]["name"].as_str().unwrap().to_owned();
        all.iter().map(|i| if is_terminating(i) { format!("-{}", name(i)) } else { name(i) }).collect()
    }

    pub fn ready(&self, name: &str) {
        self.say(name, "True", "Ready");
    }

    /// The Instance is Ready, or not for that reason.
    pub fn say(&self, name: &str, status: &str, reason: &str) {
        let hash = self.instance(name)["spec"]["controller"]["templateHash"].clone();
        let conditions: Vec<_> = ["Programmed", "Available", "Ready"]
            .map(|kind| {
                json!({"type": kind, "status": status, "reason": reason, "message": "words",
                "lastTransitionTime": "2026-01-01T00:00:00Z"})
            })
            .into();
        let status = json!({"controller": {"observedTemplateHash": hash}, "conditions": conditions});
        self.cell.patch_status("Instance", SPACE, name, &status).unwrap();
    }

    /// Lets the cell do what it does until nothing changes any more: what has no gate becomes Ready.
    pub async fn settle(&self) {
        for _ in 0..60 {
            quiet(5).await;
            let before = self.cell.revision();
            for i in self.cell.list("Instance") {
                let ready = condition(&i, "Ready")["status"] == "True";
                if !ready && !is_terminating(&i) && i["spec"]["controller"]["schedulingGates"].is_null() {
                    let name = i["metadata"]["name"].as_str().unwrap();
                    if self.provided {
                        let held = json!({"metadata": {"finalizers": ["vm.example/provider"]}});
                        self.cell.patch("Instance", SPACE, name, &held).unwrap();
                    }
                    self.ready(name);
                }
            }
            quiet(5).await;
            if self.cell.revision() == before {
                return;
            }
        }
        panic!("no rest: {:?}", self.names());
    }

    /// The provider's part: terminating Instances are released.
    pub fn release_terminating(&self) {
        for i in self.cell.list("Instance").iter().filter(|i| is_terminating(i)) {
            let name = i["metadata"]["name"].as_str().unwrap();
            self.cell.patch("Instance", SPACE, name, &json!({"metadata": {"finalizers": null}})).unwrap();
        }
    }

    /// Reason and message of a condition of `web` that is False.
    pub fn lacks(&self, kind: &str) -> (String, String) {
        let wd = self.wd();
        let condition = condition(&wd, kind);
        assert_eq!(condition["status"], "False", "{wd:#}");
        let text = |field: &str| condition[field].as_str().unwrap().to_owned();
        (text("reason"), text("message"))
    }

    /// The reasons of the Events on WDs, each with how often it was recorded.
    pub fn events(&self) -> Vec<(String, u64)> {
        let all = self.cell.list("events.events.k8s.io").into_iter();
        let of_wds = all.filter(|e| e["regarding"]["kind"] == "WorkloadDeployment");
        let each =
            |e: Value| (e["reason"].as_str().unwrap().to_owned(), e["series"]["count"].as_u64().unwrap_or(1));
        of_wds.map(each).collect()
    }
}

/// A condition, null where there is none of that type.
pub fn condition(object: &Value, kind: &str) -> Value {
    let mut all = object["status"]["conditions"].as_array().into_iter().flatten();
    all.find(|c| c["type"] == kind).cloned().unwrap_or_default()
}

/// I7: what runs after `run` asks for nothing, however long it does.
pub async fn rests_after_a_restart(world: &World, run: Run<()>, config: DeploymentControllerConfig) {
    let from = position(&world.cell);
    run.stop().await;
    let run = world.run(config);
    quiet(600).await;
    assert!(asked(&world.cell, from).is_empty(), "{:?}", asked(&world.cell, from));
    run.stop().await;
}

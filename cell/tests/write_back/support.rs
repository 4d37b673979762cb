//! A hub, a cell, and the write-back between them: two registries and one queue.

use std::sync::Arc;

use fedhub_cell::identity::{Identity, IdentityFault};
use fedhub_cell::write_back::WriteBack;
use fedhub_core::names::{
    CELL_SOURCE, CITY_CODE, INSTANCE_CITY, INSTANCE_INDEX, PLACEMENT_NAME, SOURCE_UID,
    WORKLOAD_DEPLOYMENT_NAME, WORKLOAD_DEPLOYMENT_UID, WORKLOAD_NAME, WORKLOAD_UID,
};
use fedhub_core::object::{Kind, PlaneId};
use fedhub_engine::Queue;
use fedhub_fake_apiserver::{ApiServer, AuditEntry, Fault};
use fedhub_planes::{Settings, Watched, watched};
use fedhub_testing::{Process, client, gap, put_hub_namespace, requests};
pub use fedhub_testing::{
    cell, cell_uid, condition, instance_status as status, position, put_kube_system, quiet, uid, until,
};
use serde_json::{Value, json};

pub const API: &str = "compute.datumapis.com/v1alpha";
/// The hub namespaces of two projects, which have these names in the cell too.
pub const NS_A: &str = "ns-a";
pub const NS_B: &str = "ns-b";
pub const WD: &str = "WorkloadDeployment";
pub const INSTANCE: &str = "Instance";
/// The UID of the project's WD that those of the hub and the cell are made from.
pub const SOURCE: &str = "uid-in-project";

pub struct World {
    pub hub: ApiServer,
    pub cell: ApiServer,
}

impl World {
    /// A hub with the namespaces of two projects and in each a WD `wd` in `DFW`, and a cell without
    /// Instances.
    pub fn new() -> Self {
        Self::over(ApiServer::hub("hub"))
    }

    /// Like [`Self::new`], but with this hub.
    pub fn over(hub: ApiServer) -> Self {
        let world = Self { hub, cell: cell("dfw") };
        for (space, project) in [(NS_A, "alpha"), (NS_B, "beta")] {
            world.put_namespace(space, project);
            world.put_wd(space, "wd", "DFW");
        }
        world
    }

    pub fn put_namespace(&self, space: &str, project: &str) {
        put_hub_namespace(&self.hub, space, project, "shop");
    }

    pub fn put_wd(&self, space: &str, name: &str, city: &str) -> Value {
        put_wd(&self.hub, space, name, city, SOURCE)
    }

    /// An Instance of the cell as its controllers make it, with a status.
    pub fn put_instance(&self, space: &str, name: &str) -> Value {
        put_instance(&self.cell, space, name, "DFW")
    }

    pub fn patch_instance(&self, name: &str, patch: &Value) {
        self.cell.patch(INSTANCE, NS_A, name, patch).unwrap();
    }

    /// The copy on the hub.
    pub fn copy(&self, name: &str) -> Option<Value> {
        self.hub.get(INSTANCE, NS_A, name)
    }

    /// The mark of the copy of an Instance of the cell.
    pub fn source_of(&self, instance: &Value) -> String {
        format!("dfw/{}/{}", cell_uid(&self.cell), uid(instance))
    }

    /// The cell's process.
    pub fn run(&self) -> Run {
        self.run_cell(&self.cell, "dfw", "DFW", 20)
    }

    pub fn run_with_bucket(&self, deletes_per_minute: u32) -> Run {
        self.run_cell(&self.cell, "dfw", "DFW", deletes_per_minute)
    }

    /// A process of the cell of that name and city.
    pub fn run_cell(&self, cell: &ApiServer, name: &str, city: &str, deletes_per_minute: u32) -> Run {
        let mut process = Process::on(&self.hub);
        let around_cell = Settings {
            seed: 7,
            anchor: PlaneId::Cell,
            anchor_kinds: watched::all(&[Kind::Namespace, Kind::WorkloadDeployment, Kind::Instance]),
            project_kinds: Vec::new(),
            ..Settings::default()
        };
        let around_hub = Settings {
            seed: 8,
            anchor_kinds: vec![
                Watched::all(Kind::Namespace),
                Watched::all(Kind::Cluster),
                Watched::labelled(Kind::WorkloadDeployment, CITY_CODE, city),
                Watched::labelled(Kind::Instance, INSTANCE_CITY, city),
            ],
            project_kinds: Vec::new(),
            ..Settings::default()
        };
        let cell = process.planes(client(cell), around_cell);
        let hub = process.planes(client(&self.hub), around_hub);
        let queue = process.queue(9);
        let identity = Identity::new(name, cell.clone(), Some(hub.clone()));
        let write_back =
            WriteBack::new(cell.clone(), hub.clone(), identity.clone(), deletes_per_minute, queue.clone());
        cell.listen(write_back.clone());
        hub.listen(write_back.clone());
        cell.start();
        hub.start();
        process.work(&write_back, &queue, 4);
        process.running(Parts { queue, write_back, identity })
    }

    /// The hub forgets what watches may resume from, and ends them: a gap.
    pub fn gap(&self) {
        gap(&self.hub);
    }

    /// Instances that stand, and their copies as a process left them.
    pub async fn with_copies(count: usize) -> Self {
        let world = Self::new();
        for n in 0..count {
            world.put_instance(NS_A, &format!("wd-{n}"));
        }
        world.run().stop_after(30).await;
        assert_eq!(world.hub.list(INSTANCE).len(), count);
        world
    }
}

/// A process of the cell.
pub type Run = fedhub_testing::Run<Parts>;

/// What of a process the tests look at.
pub struct Parts {
    pub queue: Arc<Queue>,
    pub write_back: Arc<WriteBack>,
    pub identity: Arc<Identity>,
}

impl Parts {
    /// Why the cell is not ready.
    pub fn faults(&self) -> Vec<&'static str> {
        self.identity.faults().iter().map(IdentityFault::label).collect()
    }
}

pub fn put_instance(cell: &ApiServer, space: &str, name: &str, city: &str) -> Value {
    put_instance_saying(cell, space, name, city, &status("True"))
}

pub fn put_instance_saying(cell: &ApiServer, space: &str, name: &str, city: &str, status: &Value) -> Value {
    cell.put(instance_saying(cell, space, name, city, status)).unwrap()
}

/// A WD of a hub or a cell, made from the project's WD of the UID `source`.
pub fn put_wd(plane: &ApiServer, space: &str, name: &str, city: &str, source: &str) -> Value {
    let wd = json!({
        "apiVersion": API, "kind": WD,
        "metadata": {
            "namespace": space, "name": name,
            "labels": {CITY_CODE: city}, "annotations": {SOURCE_UID: source},
        },
        "spec": {"cityCode": city},
    });
    plane.put(wd).unwrap()
}

/// An Instance as its controllers make it, of the WD that the cell has or gets.
pub fn instance_saying(cell: &ApiServer, space: &str, name: &str, city: &str, status: &Value) -> Value {
    let (wd, ordinal) = name.rsplit_once('-').unwrap();
    let maker = cell.get(WD, space, wd).unwrap_or_else(|| put_wd(cell, space, wd, city, SOURCE));
    json!({
        "apiVersion": API, "kind": INSTANCE,
        "metadata": {
            "namespace": space, "name": name,
            "labels": {
                WORKLOAD_UID: "uid-of-workload", WORKLOAD_NAME: "web", PLACEMENT_NAME: "us",
                WORKLOAD_DEPLOYMENT_UID: "uid-in-cell", WORKLOAD_DEPLOYMENT_NAME: wd,
                INSTANCE_CITY: city, INSTANCE_INDEX: ordinal, "cells.example/private": "yes",
            },
            "annotations": {"cells.example/note": "stays"},
            "ownerReferences": [{
                "apiVersion": API, "kind": WD, "name": wd, "uid": uid(&maker),
                "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": {"size": "small", "unknown": {"kept": [1, 2]}},
        "status": status,
    })
}

/// Instances of the cell end.
pub fn end(world: &World, ordinals: impl IntoIterator<Item = usize>) {
    for n in ordinals {
        world.cell.delete(INSTANCE, NS_A, &format!("wd-{n}")).unwrap();
    }
}

/// They end in a gap of the cell's watch.
pub async fn miss(world: &World, ordinals: impl IntoIterator<Item = usize>) {
    let id = world.cell.fault(Fault::Hang.on("watch", "instances"));
    world.cell.break_watches();
    quiet(1).await;
    end(world, ordinals);
    world.cell.compact();
    world.cell.break_watches();
    world.cell.clear_fault(id);
}

pub fn mark_of(copy: &Value) -> &str {
    copy["metadata"]["annotations"][CELL_SOURCE].as_str().unwrap_or_default()
}

/// Requests for single objects since `from`, in short: `create instances/wd-0`.
pub fn asked(server: &ApiServer, from: usize) -> Vec<String> {
    requests(server, from, AuditEntry::is_single)
}

/// The writes since `from`, in short.
pub fn writes(server: &ApiServer, from: usize) -> Vec<String> {
    requests(server, from, AuditEntry::is_write)
}

//! A hub, and a source with the CRD of types.

use std::sync::Arc;

use fedhub_core::object::PlaneId;
use fedhub_fake_apiserver::ApiServer;
use fedhub_fake_apiserver::resource::{self, Resource};
use fedhub_planes::{HUB_KINDS, Planes, Settings, watched};
use fedhub_testing::Process;
pub use fedhub_testing::{asked, client, position, quiet, uid, until, writes};
use fedhub_workload::instance_types::{InstanceTypes, watched_at_source, watched_on_hub};
use serde_json::{Value, json};

pub const API: &str = "compute.datumapis.com/v1alpha";
pub const KIND: &str = "InstanceType";
pub const CRD: &str = "instancetypes.compute.datumapis.com";
pub const POLICY: &str = "ClusterPropagationPolicy";

pub struct World {
    pub hub: ApiServer,
    pub source: ApiServer,
}

pub type Run = fedhub_testing::Run<Arc<Planes>>;

impl World {
    /// A source without a type.
    pub fn new() -> Self {
        let definitions = ("CustomResourceDefinition", "customresourcedefinitions");
        let crd = Resource::builtin("apiextensions.k8s.io", "v1", definitions.0, definitions.1);
        let resources = [resource::instance_types(), crd.cluster_scoped()];
        let source =
            ApiServer::builder("source").resources(resource::base().into_iter().chain(resources)).build();
        let world = Self { hub: ApiServer::hub("hub"), source };
        world.put_crd();
        world
    }

    pub fn put_crd(&self) {
        let metadata = json!({"name": CRD, "finalizers": ["customresourcecleanup.apiextensions.k8s.io"]});
        let api = "apiextensions.k8s.io/v1";
        let kind = "CustomResourceDefinition";
        self.source.put(json!({"apiVersion": api, "kind": kind, "metadata": metadata})).unwrap();
    }

    /// What a server does with a CRD that is deleted: the CRD is terminating until all objects are gone.
    pub fn delete_crd(&self) {
        let kind = "CustomResourceDefinition";
        self.source.delete(kind, "", CRD).unwrap();
        for (_, name) in self.source.names(KIND) {
            self.source.delete(KIND, "", &name).unwrap();
        }
    }

    /// And at last the CRD itself is gone.
    pub fn finish_crd(&self) {
        let finalizers = json!({"metadata": {"finalizers": null}});
        self.source.patch("CustomResourceDefinition", "", CRD, &finalizers).unwrap();
    }

    pub fn put(&self, name: &str, cpu: &str) -> Value {
        self.source.put(instance_type(name, cpu)).unwrap()
    }

    /// A process that may delete so many copies in a minute.
    pub fn run_with(&self, deletes_per_minute: u32) -> Run {
        let mut process = Process::on(&self.hub);
        let anchor_kinds = watched::all(&HUB_KINDS).into_iter().chain(watched_on_hub()).collect();
        let around_hub = Settings { seed: 7, anchor_kinds, ..Settings::default() };
        let planes = process.planes(client(&self.hub), around_hub);
        let at_source = Settings {
            seed: 8,
            anchor: PlaneId::Management,
            anchor_kinds: watched_at_source(),
            project_kinds: Vec::new(),
            ..Settings::default()
        };
        let source = process.planes(client(&self.source), at_source);
        let queue = process.queue(planes.seed());
        let types = InstanceTypes::new(planes.clone(), source.clone(), queue.clone(), deletes_per_minute);
        planes.listen(types.clone());
        source.listen(types.clone());
        planes.start();
        source.start();
        process.work(&types, &queue, 2);
        process.running(planes)
    }

    pub fn run(&self) -> Run {
        self.run_with(20)
    }

    /// A process whose catalogue, `d1` and `d2`, is on the hub.
    pub async fn running(&self) -> Run {
        self.put("d1", "1");
        self.put("d2", "2");
        let run = self.run();
        until("the copies", || self.copies() == ["d1", "d2"]).await;
        quiet(5).await;
        run
    }

    /// The names of all types on the hub.
    pub fn copies(&self) -> Vec<String> {
        self.hub.names(KIND).into_iter().map(|(_, name)| name).collect()
    }

    pub fn copy(&self, name: &str) -> Value {
        self.hub.get(KIND, "", name).unwrap()
    }

    pub fn cpu(&self, name: &str) -> Value {
        self.copy(name)["spec"]["resources"]["cpu"].clone()
    }

    pub fn policy(&self) -> Option<Value> {
        self.hub.get(POLICY, "", "instance-types")
    }
}

pub fn instance_type(name: &str, cpu: &str) -> Value {
    json!({
        "apiVersion": API, "kind": KIND, "metadata": {"name": name},
        "spec": {"resources": {"cpu": cpu, "memory": "2Gi"}, "lifecycle": {"phase": "Active"}},
    })
}

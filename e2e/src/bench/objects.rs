//! The objects that benchmarks make.

use jiff::Timestamp;
use kube::api::DynamicObject;
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::demo::objects;
pub use crate::demo::objects::Kind;

/// The city of everything.
pub const CITY: &str = "DFW";
/// fedhub's finalizer on a project WD.
pub const FINALIZER: &str = "compute.datumapis.com/federator";
/// Annotation of a project WD: the name of its hub namespace.
pub const FEDERATION_NAMESPACE: &str = "compute.datumapis.com/federation-namespace";

/// The API of a kind in a namespace.
pub fn api(client: &Client, kind: Kind, namespace: &str) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, &kind.resource())
}

/// The API of a kind in all namespaces.
pub fn api_all(client: &Client, kind: Kind) -> Api<DynamicObject> {
    Api::all_with(client.clone(), &kind.resource())
}

/// A namespace.
pub fn namespace(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })
}

/// A WD as a user writes it: that of the demonstration under another name.
pub fn deployment(namespace: &str, name: &str) -> Value {
    let mut deployment = objects::deployment(CITY, 1);
    deployment["metadata"] = json!({ "namespace": namespace, "name": name });
    deployment
}

/// The cities of a Workload.
pub const CITIES: [&str; 2] = [CITY, "ORD"];

/// A Workload in these cities as a user writes it: that of the demonstration under another name, and without
/// data.
pub fn workload(namespace: &str, name: &str, cities: &[&str]) -> Value {
    let mut workload = objects::workload(cities, 1);
    workload["metadata"] = json!({ "namespace": namespace, "name": name });
    workload
}

/// A hub Instance as a cell writes it: `at` is its hub namespace, `of` the hub WD.
pub fn instance(at: &HubNamespace, of: &Owner, ordinal: usize) -> Value {
    json!({
        "apiVersion": "compute.datumapis.com/v1alpha",
        "kind": "Instance",
        "metadata": {
            "namespace": at.name,
            "name": format!("{}-{ordinal}", of.name),
            "labels": {
                "meta.datumapis.com/upstream-cluster-name": at.plane_label,
                "meta.datumapis.com/upstream-namespace": at.of,
                "compute.datumapis.com/workload-uid": "00000000-0000-4000-8000-000000000000",
                "compute.datumapis.com/workload-deployment-uid": of.uid,
                "compute.datumapis.com/workload-deployment-name": of.name,
                "compute.datumapis.com/workload-name": "web",
                "compute.datumapis.com/placement-name": "demo",
                "compute.datumapis.com/city-code": CITY,
                "compute.datumapis.com/instance-index": ordinal.to_string(),
            },
            "annotations": { "federation.datumapis.com/cell-source": format!("cell-dfw/{}", of.uid) },
            "ownerReferences": [owner_reference(of, true)],
        },
        "spec": objects::deployment(CITY, 1)["spec"]["template"]["spec"],
    })
}

/// A hub namespace and the project namespace that it is for.
#[derive(Debug, Clone)]
pub struct HubNamespace {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// The project namespace.
    pub of: String,
    /// The label that names the plane.
    pub plane_label: String,
}

/// A WD that owns Instances.
#[derive(Debug, Clone)]
pub struct Owner {
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
}

/// The reference of an Instance to its WD.
pub fn owner_reference(of: &Owner, controller: bool) -> Value {
    let mut reference = json!({
        "apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadDeployment", "name": of.name, "uid": of.uid,
    });
    if controller {
        reference["controller"] = json!(true);
        reference["blockOwnerDeletion"] = json!(true);
    }
    reference
}

/// The status of an Instance that runs. [`runs`] distinguishes it from the schema's defaults.
pub fn running(address: &str) -> Value {
    let conditions = ["Programmed", "Available", "Ready", "QuotaGranted"].map(condition);
    json!({
        "conditions": conditions,
        "networkInterfaces": [{ "name": "eth0", "assignments": { "networkIP": address } }],
    })
}

/// Whether a status is one of [`running`].
pub fn runs(status: &Value) -> bool {
    objects::is_true(status, "Programmed")
}

/// The status of a hub WD of the first generation that a cell reports on.
pub fn reported(replicas: usize) -> Value {
    json!({
        "observedGeneration": 1,
        "replicas": replicas, "currentReplicas": replicas, "updatedReplicas": replicas,
        "desiredReplicas": replicas, "readyReplicas": replicas,
        "conditions": [condition("Available"), condition("ReplicasReady")],
    })
}

fn condition(kind: &str) -> Value {
    // The API's time stamps have whole seconds.
    let now = Timestamp::from_second(Timestamp::now().as_second()).unwrap_or(Timestamp::UNIX_EPOCH);
    json!({ "type": kind, "status": "True", "reason": "Benchmark", "message": "", "lastTransitionTime": now.to_string() })
}

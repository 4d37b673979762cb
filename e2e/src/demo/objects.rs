//! The objects of the demonstration.

use std::fmt;

use kube::ResourceExt;
use kube::api::DynamicObject;
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::Error;

/// The namespace, in both projects: the same name in two projects is two deployments.
pub const NAMESPACE: &str = "default";
/// The name of the `WorkloadDeployment`, in both projects.
pub const NAME: &str = "web";
/// How many Instances it asks for.
pub const REPLICAS: u32 = 2;

/// The kinds that the demonstration and the benchmarks look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `Namespace`.
    Namespace,
    /// `PropagationPolicy`.
    Policy,
    /// `WorkloadDeployment`.
    Deployment,
    /// `Instance`.
    Instance,
    /// `LocationBinding`.
    LocationBinding,
}

impl Kind {
    /// How an API server names it.
    pub fn resource(self) -> ApiResource {
        let (group, version, kind) = match self {
            Self::Namespace => ("", "v1", "Namespace"),
            Self::Policy => ("policy.karmada.io", "v1alpha1", "PropagationPolicy"),
            Self::Deployment => ("compute.datumapis.com", "v1alpha", "WorkloadDeployment"),
            Self::Instance => ("compute.datumapis.com", "v1alpha", "Instance"),
            Self::LocationBinding => ("networking.datumapis.com", "v1alpha", "LocationBinding"),
        };
        ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Namespace => "Namespaces",
            Self::Policy => "PropagationPolicies",
            Self::Deployment => "WorkloadDeployments",
            Self::Instance => "Instances",
            Self::LocationBinding => "LocationBindings",
        })
    }
}

/// A container, so many times in one city, as a user would ask for it.
pub fn deployment(city: &str, replicas: u32) -> Value {
    json!({
        "apiVersion": "compute.datumapis.com/v1alpha",
        "kind": "WorkloadDeployment",
        "metadata": { "namespace": NAMESPACE, "name": NAME },
        "spec": {
            "cityCode": city,
            "placementName": "demo",
            "workloadRef": { "name": NAME, "uid": "00000000-0000-4000-8000-000000000000" },
            "scaleSettings": { "minReplicas": replicas },
            "template": { "spec": {
                "runtime": {
                    "resources": { "instanceType": "datumcloud/d1-standard-2" },
                    "sandbox": { "containers": [{ "name": "app", "image": "docker.io/library/nginx:1.29" }] },
                },
                "networkInterfaces": [{ "network": { "name": "default" } }],
            } },
        },
    })
}

/// An object from literal JSON of ours.
pub fn object(manifest: Value) -> Result<DynamicObject, Error> {
    serde_json::from_value(manifest)
        .map_err(|error| Error::Manifest { path: "(built in)".into(), problem: error.to_string() })
}

/// Whether a condition of that type stands at `True`.
pub fn is_true(status: &Value, kind: &str) -> bool {
    let conditions = status["conditions"].as_array();
    conditions.is_some_and(|all| all.iter().any(|c| c["type"] == kind && c["status"] == "True"))
}

/// Whether the status of a `WorkloadDeployment` says that all of its Instances are ready.
pub fn all_ready(deployment: &DynamicObject) -> bool {
    let status = &deployment.data["status"];
    status["readyReplicas"] == REPLICAS && is_true(status, "Available")
}

/// Whether one of the object's owners has that UID.
pub fn owned_by(object: &DynamicObject, uid: &str) -> bool {
    object.owner_references().iter().any(|owner| owner.uid == uid)
}

//! The objects of the demonstration.

use std::fmt;

use kube::ResourceExt;
use kube::api::DynamicObject;
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::Error;

/// The project namespace.
pub const NAMESPACE: &str = "default";
/// The name of the Workload.
pub const NAME: &str = "web";
/// The name of its placement.
pub const PLACEMENT: &str = "us";
/// How many Instances it asks for in each city.
pub const REPLICAS: u32 = 2;
/// The image of its template.
pub const IMAGE: &str = "docker.io/library/nginx:1.29";
/// An image that the simulated provider cannot pull: its registry does not exist.
pub const MISTYPED: &str = "registry.invalid/web:1";
/// The image that follows it.
pub const CORRECTED: &str = "docker.io/library/nginx:1.30";
/// The name of the `ConfigMap` that its containers have settings from.
pub const SETTINGS: &str = "web-settings";
/// The name of the Secret that they have a token from.
pub const TOKEN: &str = "web-token";

/// The kinds that the demonstration and the benchmarks look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `Namespace`.
    Namespace,
    /// `PropagationPolicy`.
    Policy,
    /// `ConfigMap`.
    ConfigMap,
    /// `Secret`.
    Secret,
    /// `Workload`.
    Workload,
    /// `WorkloadDeployment`.
    Deployment,
    /// `Instance`.
    Instance,
    /// `LocationBinding`.
    LocationBinding,
    /// `WorkloadRollout`.
    WorkloadRollout,
}

impl Kind {
    /// How an API server names it.
    pub fn resource(self) -> ApiResource {
        let (group, version, kind) = match self {
            Self::Namespace => ("", "v1", "Namespace"),
            Self::Policy => ("policy.karmada.io", "v1alpha1", "PropagationPolicy"),
            Self::ConfigMap => ("", "v1", "ConfigMap"),
            Self::Secret => ("", "v1", "Secret"),
            Self::Workload => ("compute.datumapis.com", "v1alpha", "Workload"),
            Self::Deployment => ("compute.datumapis.com", "v1alpha", "WorkloadDeployment"),
            Self::Instance => ("compute.datumapis.com", "v1alpha", "Instance"),
            Self::LocationBinding => ("networking.datumapis.com", "v1alpha", "LocationBinding"),
            Self::WorkloadRollout => ("compute.datumapis.com", "v1alpha", "WorkloadRollout"),
        };
        ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Namespace => "Namespaces",
            Self::Policy => "PropagationPolicies",
            Self::ConfigMap => "ConfigMaps",
            Self::Secret => "Secrets",
            Self::Workload => "Workloads",
            Self::Deployment => "WorkloadDeployments",
            Self::Instance => "Instances",
            Self::LocationBinding => "LocationBindings",
            Self::WorkloadRollout => "WorkloadRollouts",
        })
    }
}

/// Returns a WD with `replicas` containers in one city, as a user would write it.
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
                    "sandbox": { "containers": [{ "name": "app", "image": IMAGE }] },
                },
                "networkInterfaces": [{ "network": { "name": "default" } }],
            } },
        },
    })
}

/// A Workload of such containers in these cities.
pub fn workload(cities: &[&str], replicas: u32) -> Value {
    json!({
        "apiVersion": "compute.datumapis.com/v1alpha",
        "kind": "Workload",
        "metadata": { "namespace": NAMESPACE, "name": NAME },
        "spec": {
            "placements": [{ "name": PLACEMENT, "cityCodes": cities, "scaleSettings": { "minReplicas": replicas } }],
            "template": deployment("", replicas)["spec"]["template"],
        },
    })
}

/// Returns the Workload with variables from a `ConfigMap` and a Secret, preceded by these two.
pub fn workload_with_data(cities: &[&str], replicas: u32) -> [(Kind, Value); 3] {
    let settings = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "namespace": NAMESPACE, "name": SETTINGS },
        "data": { "GREETING": "hello" },
    });
    let token = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "namespace": NAMESPACE, "name": TOKEN },
        "stringData": { "token": "of-the-demonstration" },
    });
    let mut workload = workload(cities, replicas);
    let container = &mut workload["spec"]["template"]["spec"]["runtime"]["sandbox"]["containers"][0];
    container["envFrom"] = json!([{ "configMapRef": { "name": SETTINGS } }]);
    container["env"] =
        json!([{ "name": "TOKEN", "valueFrom": { "secretKeyRef": { "name": TOKEN, "key": "token" } } }]);
    [(Kind::ConfigMap, settings), (Kind::Secret, token), (Kind::Workload, workload)]
}

/// Returns the change that gives the template of that Workload another image.
pub fn image_change(image: &str) -> Value {
    let [.., (_, mut workload)] = workload_with_data(&[], REPLICAS);
    let containers = &mut workload["spec"]["template"]["spec"]["runtime"]["sandbox"]["containers"];
    containers[0]["image"] = json!(image);
    json!({ "spec": { "template": workload["spec"]["template"] } })
}

/// The name of the `WorkloadDeployment` of a Workload of that name in a city.
pub fn deployment_name(workload: &str, city: &str) -> String {
    format!("{workload}-{PLACEMENT}-{}", city.to_lowercase())
}

/// An object from literal JSON of ours.
pub fn object(manifest: Value) -> Result<DynamicObject, Error> {
    serde_json::from_value(manifest)
        .map_err(|error| Error::Manifest { path: "(built in)".into(), problem: error.to_string() })
}

/// The condition of that type, if the status has it.
pub fn condition<'a>(status: &'a Value, kind: &str) -> Option<&'a Value> {
    status["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
}

/// Whether a condition of that type stands at `True`.
pub fn is_true(status: &Value, kind: &str) -> bool {
    condition(status, kind).is_some_and(|condition| condition["status"] == "True")
}

/// The image of an Instance, or of the template of a Workload or `WorkloadDeployment`.
pub fn image(object: &DynamicObject) -> Option<&str> {
    let spec = &object.data["spec"];
    let spec = spec.get("template").map_or(spec, |template| &template["spec"]);
    spec["runtime"]["sandbox"]["containers"][0]["image"].as_str()
}

/// Whether the status of a Workload or `WorkloadDeployment` says that it is available, with `replicas` ready
/// Instances.
pub fn are_ready(object: &DynamicObject, replicas: u32) -> bool {
    let status = &object.data["status"];
    status["readyReplicas"] == replicas && is_true(status, "Available")
}

/// Whether the status of a Workload or `WorkloadDeployment` is about what its spec asks for now, and says
/// that all of its `replicas` Instances are ready with that.
pub fn are_updated(object: &DynamicObject, replicas: u32) -> bool {
    let status = &object.data["status"];
    object.metadata.generation.is_some_and(|newest| status["observedGeneration"] == newest)
        && status["updatedReplicas"] == replicas
        && are_ready(object, replicas)
}

/// Whether an object has this finalizer.
pub fn has_finalizer(object: &DynamicObject, finalizer: &str) -> bool {
    object.finalizers().iter().any(|f| f == finalizer)
}

/// Whether one of the object's owners has that UID.
pub fn owned_by(object: &DynamicObject, uid: &str) -> bool {
    object.owner_references().iter().any(|owner| owner.uid == uid)
}

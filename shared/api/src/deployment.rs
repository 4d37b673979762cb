//! WorkloadDeployment: one placement of a workload in one city.
//!
//! Decides U1.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::condition_schema::{conditions, pending};
use super::{InstanceTemplateSpec, LocationReference, ScaleSettings};

/// A deployment as it is wanted.
#[derive(Clone, Debug, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::duplicated_attributes, reason = "the lint sees the columns as one attribute")]
#[kube(
    group = "compute.datumapis.com",
    version = "v1alpha",
    kind = "WorkloadDeployment",
    namespaced,
    schema = "disabled",
    status = "WorkloadDeploymentStatus",
    derive = "PartialEq",
    doc = "One placement of a Workload in one city: a number of instances of one template.",
    annotation("discovery.miloapis.com/parent-contexts", "Project"),
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(name = "City", type_ = "string", json_path = ".spec.cityCode"),
    printcolumn(name = "Ready", type_ = "integer", json_path = ".status.readyReplicas"),
    printcolumn(name = "Up-to-date", type_ = "integer", json_path = ".status.updatedReplicas"),
    printcolumn(
        name = "Available",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Available\")].status"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Available\")].reason"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Available\")].message",
        priority = 1
    ),
    printcolumn(
        name = "Generation Seen",
        type_ = "integer",
        json_path = ".status.observedGeneration",
        priority = 1
    ),
    printcolumn(
        name = "Hub Namespace",
        type_ = "string",
        json_path = ".metadata.annotations.compute\\.datumapis\\.com/federation-namespace",
        priority = 1
    ),
    printcolumn(name = "Replicas", type_ = "integer", json_path = ".status.replicas", priority = 1),
    printcolumn(name = "Desired", type_ = "integer", json_path = ".status.desiredReplicas", priority = 1),
    printcolumn(name = "Location", type_ = "string", json_path = ".status.location.name", priority = 1)
)]
pub struct WorkloadDeploymentSpec {
    /// The code of the city that the instances run in.
    pub city_code: String,
    /// How an instance's interfaces reach the network, as the class of its runtime says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_attachment: Option<NetworkAttachment>,
    /// The name of the placement in the workload.
    pub placement_name: String,
    /// The number of instances wanted now, which the scale subresource and autoscaling write;
    /// `scaleSettings.minReplicas` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub replicas: Option<i32>,
    /// The bounds of the number of instances.
    pub scale_settings: ScaleSettings,
    /// What the instances are made from.
    pub template: InstanceTemplateSpec,
    /// The workload that this is a placement of.
    pub workload_ref: WorkloadReference,
}

/// How an instance's interfaces reach the network.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum NetworkAttachment {
    /// Through a network namespace on the machine that the instance runs on.
    Netns,
    /// Through the hypervisor.
    Hypervisor,
    /// Through the hypervisor, which declares the interfaces itself.
    HypervisorDeclared,
}

/// A workload by name and UID.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkloadReference {
    /// The name of the workload, in the deployment's namespace.
    pub name: String,
    /// The UID of the workload.
    pub uid: String,
}

/// A deployment as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadDeploymentStatus {
    /// Conditions: `Available`, `ReplicasReady`, `Federated`, where the template refers to other objects
    /// `ReferencedDataReady`, and where the metrics scale it `ScalingActive`; `TerminationOverdue` where an
    /// instance takes longer to go than it may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "conditions")]
    pub conditions: Option<Vec<Condition>>,
    /// The number of instances of the newest template that are programmed.
    pub current_replicas: i32,
    /// The number of instances wanted.
    pub desired_replicas: i32,
    /// The location that the deployment was placed in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<LocationReference>,
    /// The `metadata.generation` that this status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The number of instances that are ready.
    pub ready_replicas: i32,
    /// The number of instances.
    pub replicas: i32,
    /// The label selector that finds the instances, for the scale subresource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// The number of instances that do not run because their user stopped them; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_replicas: Option<i32>,
    /// Whether the deployment is suspended: its instances kept, but not running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspended: Option<bool>,
    /// The number of instances that have taken the newest template on, ready or not. While a rollout has
    /// added instances by `maxSurge`, those do not count, and others only once they are ready.
    pub updated_replicas: i32,
}

/// What a WorkloadDeployment has as its status before anything reports one: nothing is known yet (U1).
pub fn unreported() -> Value {
    json!({
        "conditions": [pending("Available"), pending("ReplicasReady"), pending("Federated")],
        "replicas": 0,
        "currentReplicas": 0,
        "updatedReplicas": 0,
        "desiredReplicas": 0,
        "readyReplicas": 0,
    })
}

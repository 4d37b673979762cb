//! Workload: what a user writes.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::condition_schema::conditions;
use super::{InstanceTemplateSpec, ScaleSettings};

/// A workload as it is wanted.
#[derive(Clone, Debug, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[allow(clippy::duplicated_attributes, reason = "the lint sees the columns as one attribute")]
#[kube(
    group = "compute.datumapis.com",
    version = "v1alpha",
    kind = "Workload",
    namespaced,
    schema = "disabled",
    status = "WorkloadStatus",
    derive = "PartialEq",
    doc = "Instances of one template, placed in one or more cities.",
    annotation("discovery.miloapis.com/parent-contexts", "Project"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
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
    printcolumn(name = "Deployments", type_ = "string", json_path = ".status.deployments"),
    printcolumn(name = "Replicas", type_ = "string", json_path = ".status.replicas"),
    printcolumn(name = "Ready", type_ = "string", json_path = ".status.readyReplicas"),
    printcolumn(name = "Desired", type_ = "string", json_path = ".status.desiredReplicas"),
    printcolumn(name = "Up-to-date", type_ = "string", json_path = ".status.updatedReplicas")
)]
pub struct WorkloadSpec {
    /// Where instances run and how many there are, at least one entry. Every city of every placement becomes
    /// a WorkloadDeployment.
    #[schemars(length(min = 1))]
    pub placements: Vec<WorkloadPlacement>,
    /// Whether all instances are suspended: kept, but not running. A deployment that is suspended by itself
    /// stays so when this does not say so any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// What the instances are made from.
    pub template: InstanceTemplateSpec,
}

/// The most placements of a Workload.
pub const MOST_PLACEMENTS: usize = 50;
/// The most cities of a placement.
pub const MOST_CITIES: usize = 100;

/// A set of cities that share scale settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadPlacement {
    /// The codes of the cities. Each has its own instances.
    pub city_codes: Vec<String>,
    /// The name of the placement, unique in the workload.
    pub name: String,
    /// The number of instances in each city.
    pub scale_settings: ScaleSettings,
}

/// A workload as it is: the sum of its deployments.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadStatus {
    /// Conditions: `Available`, and `Progressing` while a new template is rolled out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "conditions")]
    pub conditions: Option<Vec<Condition>>,
    /// The number of instances of the newest template that are programmed.
    pub current_replicas: i32,
    /// The number of deployments.
    pub deployments: i32,
    /// The number of instances wanted.
    pub desired_replicas: i32,
    /// Reserved for a gateway in front of the instances: nothing writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("type" = "object", "x-kubernetes-preserve-unknown-fields" = true))]
    pub gateway: Option<Value>,
    /// The revision that cities keep until it is their turn to get the newest one; absent where none is held
    /// back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_revision: Option<i64>,
    /// The `metadata.generation` that this status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The placements, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placements: Option<Vec<WorkloadPlacementStatus>>,
    /// The number of instances that are ready.
    pub ready_replicas: i32,
    /// The number of instances.
    pub replicas: i32,
    /// The number of instances that have taken the newest template on, ready or not.
    pub updated_replicas: i32,
}

/// One placement as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadPlacementStatus {
    /// Conditions: `Available`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "conditions")]
    pub conditions: Option<Vec<Condition>>,
    /// The number of instances of the newest template that are programmed.
    pub current_replicas: i32,
    /// The number of instances wanted.
    pub desired_replicas: i32,
    /// The name of the placement.
    pub name: String,
    /// The number of instances that are ready.
    pub ready_replicas: i32,
    /// The number of instances.
    pub replicas: i32,
    /// The number of instances that have taken the newest template on, ready or not.
    pub updated_replicas: i32,
}

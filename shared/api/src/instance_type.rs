//! `InstanceType`: how much CPU and memory an instance has, by a name that templates refer to.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use super::Quantity;
use super::condition_schema::conditions;

/// A type of instances as it is offered.
#[derive(Clone, Debug, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::duplicated_attributes, reason = "the lint sees the columns as one attribute")]
#[kube(
    group = "compute.datumapis.com",
    version = "v1alpha",
    kind = "InstanceType",
    schema = "disabled",
    status = "InstanceTypeStatus",
    derive = "PartialEq",
    doc = "How much CPU and memory an instance has, by a name that templates refer to.",
    printcolumn(name = "Phase", type_ = "string", json_path = ".spec.lifecycle.phase"),
    printcolumn(name = "CPU", type_ = "string", json_path = ".spec.resources.cpu"),
    printcolumn(name = "Memory", type_ = "string", json_path = ".spec.resources.memory"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct InstanceTypeSpec {
    /// What the type is for, in a few sentences.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub description: Option<String>,
    /// The name that users are shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub display_name: Option<String>,
    /// Whether new instances may have the type.
    pub lifecycle: InstanceTypeLifecycle,
    /// How much an instance of the type has.
    pub resources: InstanceTypeResources,
}

/// Whether new instances may have a type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstanceTypeLifecycle {
    /// `Active`; `Deprecated`, which users are warned of; `Disabled`, which no template can be given any
    /// more. A phase is followed by the next one, and never by an earlier one.
    pub phase: InstanceTypePhase,
    /// The type to use in place of one that is not Active.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub replacement_instance_type: Option<String>,
}

/// The phases of a type, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum InstanceTypePhase {
    /// Templates may have it.
    Active,
    /// Templates may have it, and users are warned.
    Deprecated,
    /// No template can be given it; those that have it keep it.
    Disabled,
}

/// How much an instance of a type has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InstanceTypeResources {
    /// CPU in cores, such as `2` or `500m`.
    pub cpu: Quantity,
    /// Memory in bytes, such as `4Gi`.
    pub memory: Quantity,
}

/// A type as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstanceTypeStatus {
    /// Conditions: `Ready`. fedhub writes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "by_type")]
    pub conditions: Option<Vec<Condition>>,
    /// When the type became Deprecated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub deprecated_at: Option<String>,
}

/// Conditions that server-side apply merges by their types.
fn by_type(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = conditions(generator);
    schema.insert("x-kubernetes-list-type".to_owned(), "map".into());
    schema.insert("x-kubernetes-list-map-keys".to_owned(), vec!["type"].into());
    schema
}

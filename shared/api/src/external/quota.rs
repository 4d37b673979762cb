//! The quota service's API group, `quota.miloapis.com/v1alpha1`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::unset;
use crate::condition_schema::conditions;
use crate::reason::Reason;

/// A claim as it is wanted.
#[derive(Clone, Debug, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::duplicated_attributes, reason = "the lint sees the columns as one attribute")]
#[kube(
    group = "quota.miloapis.com",
    version = "v1alpha1",
    kind = "ResourceClaim",
    namespaced,
    schema = "disabled",
    status = "ResourceClaimStatus",
    derive = "PartialEq",
    doc = "Asks for a share of a consumer's quota, all of it or nothing.",
    selectable = ".spec.consumerRef.kind",
    selectable = ".spec.consumerRef.name",
    selectable = ".spec.resourceRef.apiGroup",
    selectable = ".spec.resourceRef.kind",
    selectable = ".spec.resourceRef.name",
    selectable = ".spec.resourceRef.namespace",
    printcolumn(
        name = "Granted",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Granted\")].status"
    ),
    printcolumn(
        name = "Resource",
        type_ = "string",
        json_path = ".spec.requests[0].resourceType",
        priority = 1
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct ResourceClaimSpec {
    /// Whose quota it is.
    pub consumer_ref: UnversionedReference,
    /// What is asked for: each type once.
    #[schemars(length(min = 1, max = 20))]
    pub requests: Vec<ResourceRequest>,
    /// What the quota is for.
    pub resource_ref: UnversionedReference,
}

/// An object, in whatever version of its group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnversionedReference {
    /// The API group of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_group: Option<String>,
    /// The kind of the object.
    pub kind: String,
    /// The name of the object.
    pub name: String,
    /// The namespace of the object, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// An amount of one type of resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceRequest {
    /// How much, in the type's base unit.
    #[schemars(range(min = 0))]
    pub amount: i64,
    /// The type, such as `compute.datumapis.com/instances`.
    pub resource_type: String,
}

/// A claim as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceClaimStatus {
    /// The answer to each request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["resourceType"]))]
    pub allocations: Option<Vec<Allocation>>,
    /// Conditions: `Granted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "granted")]
    pub conditions: Option<Vec<Condition>>,
    /// The `metadata.generation` that this status is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// The answer to one request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Allocation {
    /// How much was allocated: all that was asked for, or nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocated_amount: Option<i64>,
    /// The bucket that it was taken from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocating_bucket: Option<String>,
    /// When the answer last changed.
    #[schemars(extend("format" = "date-time"))]
    pub last_transition_time: String,
    /// Why, for a human reader.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Why, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The type that was asked for.
    pub resource_type: String,
    /// The answer.
    pub status: AllocationStatus,
}

/// Whether a request was granted.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum AllocationStatus {
    /// It was.
    Granted,
    /// It was not.
    Denied,
    /// That is not known yet.
    Pending,
}

/// Conditions, of which `Granted` has one of four reasons.
fn granted(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = conditions(generator);
    let rule = "self.all(c, c.type != 'Granted' || \
                c.reason in ['QuotaAvailable', 'QuotaExceeded', 'ValidationFailed', 'PendingEvaluation'])";
    let validations = json!([{"rule": rule, "message": "Granted has a reason that it cannot have"}]);
    schema.insert("x-kubernetes-validations".to_owned(), validations);
    schema
}

/// The status of a claim that nothing has looked at: not granted.
pub(crate) fn unevaluated() -> Value {
    json!({"conditions": [unset("Granted", "False", Reason::PendingEvaluation, "Awaiting capacity evaluation")]})
}

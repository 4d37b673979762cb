//! The network service's API group, `networking.datumapis.com/v1alpha`.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::CustomResource;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::pending;
use crate::condition_schema::conditions;
use crate::{IpFamily, LocationReference, NetworkReference};

/// A binding as it is wanted.
#[derive(Clone, Debug, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[allow(clippy::duplicated_attributes, reason = "the lint sees the columns as one attribute")]
#[kube(
    group = "networking.datumapis.com",
    version = "v1alpha",
    kind = "NetworkBinding",
    namespaced,
    schema = "disabled",
    status = "NetworkBindingStatus",
    derive = "PartialEq",
    doc = "Asks that a network be there in a location.",
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason"
    )
)]
pub struct NetworkBindingSpec {
    /// What needs the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consumer: Option<Consumer>,
    /// The location that the network is needed in.
    #[schemars(extend("x-kubernetes-validations" = [{
        "rule": "self == oldSelf",
        "message": "spec.location is immutable",
    }]))]
    pub location: LocationReference,
    /// The network.
    #[schemars(extend("x-kubernetes-validations" = [{
        "rule": "self == oldSelf",
        "message": "spec.network is immutable",
    }]))]
    pub network: NetworkReference,
}

/// The object that a network is needed by.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Consumer {
    /// The API group of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_group: Option<String>,
    /// The kind of the object.
    pub kind: String,
    /// The name of the object.
    pub name: String,
}

/// A binding as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkBindingStatus {
    /// Conditions: `Ready`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "conditions")]
    pub conditions: Option<Vec<Condition>>,
    /// The network in the location.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_context_ref: Option<NetworkContextRef>,
}

/// A network context by namespace and name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkContextRef {
    /// The name of the context.
    pub name: String,
    /// The namespace of the context.
    pub namespace: String,
}

/// A context as it is wanted.
#[derive(Clone, Debug, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[allow(clippy::duplicated_attributes, reason = "the lint sees the columns as one attribute")]
#[kube(
    group = "networking.datumapis.com",
    version = "v1alpha",
    kind = "NetworkContext",
    namespaced,
    schema = "disabled",
    status = "NetworkContextStatus",
    derive = "PartialEq",
    doc = "One network in one location.",
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct NetworkContextSpec {
    /// The address families that the network has there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2))]
    pub ip_families: Option<Vec<IpFamily>>,
    /// The location.
    pub location: LocationReference,
    /// The network, in the context's namespace.
    pub network: LocalNetworkReference,
}

/// A network by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LocalNetworkReference {
    /// The name of the network.
    pub name: String,
}

/// A context as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkContextStatus {
    /// Conditions: `Ready`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "conditions")]
    pub conditions: Option<Vec<Condition>>,
}

/// A subnet claim as it is wanted.
#[derive(Clone, Debug, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::duplicated_attributes, reason = "the lint sees the columns as one attribute")]
#[kube(
    group = "networking.datumapis.com",
    version = "v1alpha",
    kind = "SubnetClaim",
    namespaced,
    schema = "disabled",
    status = "SubnetClaimStatus",
    derive = "PartialEq",
    doc = "Asks for a subnet of a network in a location.",
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason"
    )
)]
pub struct SubnetClaimSpec {
    /// The address family of the subnet.
    pub ip_family: IpFamily,
    /// The location of the subnet.
    pub location: LocationReference,
    /// The network in that location.
    pub network_context: LocalNetworkContextReference,
    /// The length of the subnet's prefix, if it matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix_length: Option<i32>,
    /// The first address of the subnet, if it matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_address: Option<String>,
    /// The class of the subnet: `private`.
    pub subnet_class: String,
}

/// A network context by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LocalNetworkContextReference {
    /// The name of the context, in the claim's namespace.
    pub name: String,
}

/// A subnet claim as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubnetClaimStatus {
    /// Conditions: `Allocated`, `Programmed` and `Ready`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "conditions")]
    pub conditions: Option<Vec<Condition>>,
    /// The length of the subnet's prefix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix_length: Option<i32>,
    /// The first address of the subnet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_address: Option<String>,
    /// The subnet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subnet_ref: Option<SubnetReference>,
}

/// A subnet by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubnetReference {
    /// The name of the subnet, in the claim's namespace.
    pub name: String,
}

/// A subnet as it is wanted.
#[derive(Clone, Debug, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::duplicated_attributes, reason = "the lint sees the columns as one attribute")]
#[kube(
    group = "networking.datumapis.com",
    version = "v1alpha",
    kind = "Subnet",
    namespaced,
    schema = "disabled",
    status = "SubnetStatus",
    derive = "PartialEq",
    doc = "A subnet of a network in a location.",
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason"
    )
)]
pub struct SubnetSpec {
    /// The address family of the subnet.
    pub ip_family: IpFamily,
    /// The location of the subnet.
    pub location: LocationReference,
    /// The network in that location.
    pub network_context: LocalNetworkContextReference,
    /// The length of the subnet's prefix.
    pub prefix_length: i32,
    /// The first address of the subnet.
    pub start_address: String,
    /// The class of the subnet: `private`.
    pub subnet_class: String,
}

/// A subnet as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SubnetStatus {
    /// Conditions: `Allocated`, `Programmed` and `Ready`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "conditions")]
    pub conditions: Option<Vec<Condition>>,
    /// The length of the subnet's prefix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix_length: Option<i32>,
    /// The first address of the subnet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_address: Option<String>,
}

/// A location that is offered here.
#[derive(Clone, Debug, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::duplicated_attributes, reason = "the lint sees the columns as one attribute")]
#[kube(
    group = "networking.datumapis.com",
    version = "v1alpha",
    kind = "LocationBinding",
    schema = "disabled",
    status = "LocationBindingStatus",
    derive = "PartialEq",
    doc = "A location that workloads can be placed in. On a cell: the location that the cell is in.",
    printcolumn(name = "Location", type_ = "string", json_path = ".spec.locationRef.name"),
    printcolumn(name = "Class", type_ = "string", json_path = ".spec.locationClassName"),
    printcolumn(
        name = "Available",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Available\")].status"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
pub struct LocationBindingSpec {
    /// What people call the location.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// The class of the location, such as `datum-managed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location_class_name: Option<String>,
    /// The location.
    pub location_ref: LocationReference,
    /// Where the location is, by keys such as `topology.datum.net/city-code`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topology: Option<BTreeMap<String, String>>,
}

/// A location binding as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LocationBindingStatus {
    /// Conditions: `Available`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "conditions_by_type")]
    pub conditions: Option<Vec<Condition>>,
}

/// Conditions that are merged by type, one by one.
fn conditions_by_type(generator: &mut SchemaGenerator) -> Schema {
    let mut schema = conditions(generator);
    schema.insert("x-kubernetes-list-type".to_owned(), json!("map"));
    schema.insert("x-kubernetes-list-map-keys".to_owned(), json!(["type"]));
    schema
}

/// The status of a binding or a context that nothing has looked at.
pub(crate) fn ready_pending() -> Value {
    pending(&["Ready"])
}

/// The status of a subnet, or of a claim of one, that nothing has looked at.
pub(crate) fn subnet_pending() -> Value {
    pending(&["Allocated", "Programmed", "Ready"])
}

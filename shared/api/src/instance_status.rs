//! The status of an Instance.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::condition_schema::{conditions, pending, unreported as unreported_condition};
use super::reason::Reason;
use super::{InstanceProviderStatus, IpFamily, LocationReference};

/// An instance as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstanceStatus {
    /// Conditions: `Programmed`, `Available`, `Ready`, `QuotaGranted` and, where the instance refers to other
    /// objects, `ReferencedDataReady`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "conditions")]
    pub conditions: Option<Vec<Condition>>,
    /// What the managing controller has seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<InstanceControllerStatus>,
    /// The location that the instance is in, as far as it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<LocationReference>,
    /// The networks that the interfaces are attached to in that location, as far as they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["interface"]))]
    pub network_contexts: Option<Vec<InstanceNetworkContext>>,
    /// The network interfaces, in the order of the specification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_interfaces: Option<Vec<NetworkInterfaceStatus>>,
    /// The server that stands for the instance, at its provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<InstanceProviderStatus>,
    /// Whether the instance is suspended: kept, but not running.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspended: Option<bool>,
}

/// What an Instance has as its status before anything reports one: nothing is known yet.
pub(super) fn unreported() -> Value {
    json!({"conditions": [
        pending("Programmed"),
        pending("Available"),
        pending("Ready"),
        unreported_condition("QuotaGranted", Reason::PendingEvaluation, "Waiting for quota evaluation"),
    ]})
}

/// What the managing controller has seen of an instance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstanceControllerStatus {
    /// The hash of the template that the running instance was made from.
    pub observed_template_hash: String,
}

/// The network context that an interface is attached to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InstanceNetworkContext {
    /// The name of the interface in the specification.
    pub interface: String,
    /// The name of the context.
    pub name: String,
    /// The namespace of the context, in the cell.
    pub namespace: String,
}

/// One network interface as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkInterfaceStatus {
    /// Addresses on the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub addresses: Option<Vec<InterfaceAddress>>,
    /// The two addresses that most readers look for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignments: Option<InterfaceAddressAssignments>,
    /// Conditions of the claim for the interface: `Allocated`, `Prepared` and `Programmed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "conditions")]
    pub conditions: Option<Vec<Condition>>,
    /// Addresses by which the interface is reached from outside its network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_addresses: Option<Vec<InterfaceExternalAddress>>,
    /// The hardware address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub mac_address: Option<String>,
    /// The name of the interface in the specification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The object that stands for the interface on the network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_interface_ref: Option<NetworkInterfaceReference>,
}

/// A network interface object by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkInterfaceReference {
    /// The name of the object, in the instance's namespace.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// One address on the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InterfaceAddress {
    /// The address with the length of its prefix, such as `10.0.0.5/24`.
    #[schemars(length(min = 1, max = 45))]
    pub address: String,
    /// The class that the address was requested by.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub class: Option<String>,
    /// The family of the address.
    pub family: IpFamily,
    /// The gateway that traffic leaves by.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 45))]
    pub gateway: Option<String>,
    /// Whether traffic leaves from this address unless it asks for another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primary: Option<bool>,
}

/// One address by which an interface is reached from outside its network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InterfaceExternalAddress {
    /// The address, without a prefix.
    #[schemars(length(min = 1, max = 45))]
    pub address: String,
    /// The class that the address was requested by.
    #[schemars(length(min = 1, max = 63))]
    pub class: String,
    /// The family of the address.
    pub family: IpFamily,
}

/// The two addresses that most readers look for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InterfaceAddressAssignments {
    /// The address by which the interface is reached from outside.
    #[serde(rename = "externalIP", skip_serializing_if = "Option::is_none")]
    pub external_ip: Option<String>,
    /// The address on the network.
    #[serde(rename = "networkIP", skip_serializing_if = "Option::is_none")]
    pub network_ip: Option<String>,
}

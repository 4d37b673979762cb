//! Instance, and the specification that templates share with it.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Disruption, InstanceStatus, LocationReference, NetworkInterface, Quantity, SandboxRuntime,
    TemplateMetadata, VirtualMachineRuntime, Volume,
};

/// An instance as it is wanted.
#[derive(Clone, Debug, PartialEq, CustomResource, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(clippy::duplicated_attributes, reason = "the lint sees the columns as one attribute")]
#[kube(
    group = "compute.datumapis.com",
    version = "v1alpha",
    kind = "Instance",
    namespaced,
    schema = "disabled",
    status = "InstanceStatus",
    derive = "PartialEq",
    doc = "One running copy of a workload in one location.",
    annotation("discovery.miloapis.com/parent-contexts", "Project"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason"
    ),
    printcolumn(
        name = "City",
        type_ = "string",
        json_path = ".metadata.labels.compute\\.datumapis\\.com/city-code"
    ),
    printcolumn(name = "Location", type_ = "string", json_path = ".spec.location.name"),
    printcolumn(
        name = "Network IP",
        type_ = "string",
        json_path = ".status.networkInterfaces[0].assignments.networkIP"
    ),
    printcolumn(
        name = "External IP",
        type_ = "string",
        json_path = ".status.networkInterfaces[0].assignments.externalIP"
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].message",
        priority = 1
    ),
    printcolumn(
        name = "Quota",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"QuotaGranted\")].reason",
        priority = 1
    )
)]
pub struct InstanceSpec {
    /// What the controller that manages the instance keeps in it. Not for users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<InstanceController>,
    /// Whether a change may destroy what the instance has stored on itself: `Allow` or `Deny`. Without it, a
    /// change may that replaces an instance without disks of its own, and no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disruption: Option<Disruption>,
    /// The location that the instance runs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<LocationReference>,
    /// The network interfaces: one.
    #[schemars(
        length(min = 1, max = 1),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub network_interfaces: Vec<NetworkInterface>,
    /// What runs, and on what.
    pub runtime: InstanceRuntime,
    /// Volumes, which the runtime attaches by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub volumes: Option<Vec<Volume>>,
}

/// What instances are made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InstanceTemplateSpec {
    /// Metadata of the instances.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// The instances as they are wanted.
    pub spec: InstanceSpec,
}

/// What runs in an instance, and on what: a sandbox or a virtual machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstanceRuntime {
    /// The name of the class of runtime that isolates the instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub class: Option<String>,
    /// The resources of the instance.
    pub resources: RuntimeResources,
    /// Containers in a sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxRuntime>,
    /// A virtual machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_machine: Option<VirtualMachineRuntime>,
}

/// The resources of an instance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeResources {
    /// The type of the instance, which says how much CPU and memory it has.
    pub instance_type: String,
    /// Resources in place of those of the type, where the type allows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<BTreeMap<String, Quantity>>,
}

/// What the managing controller keeps in an instance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstanceController {
    /// What has to be satisfied before the instance is started. A gate is removed when it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub scheduling_gates: Option<Vec<SchedulingGate>>,
    /// The hash of the template that the instance was made from.
    pub template_hash: String,
}

/// One thing that an instance waits for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SchedulingGate {
    /// The name of the gate: `Network`, `Quota` or `ReferencedData`.
    pub name: String,
}

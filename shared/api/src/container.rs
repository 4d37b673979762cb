//! What runs in an instance: the containers of a sandbox, or a virtual machine.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EnvFromSource, EnvVar, Quantity};

/// Containers in a sandbox of their own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SandboxRuntime {
    /// The containers, at least one.
    #[schemars(
        length(min = 1),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub containers: Vec<Container>,
    /// Secrets in the workload's namespace with the credentials that pull the images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image_pull_secrets: Option<Vec<LocalSecretReference>>,
}

/// A Secret by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LocalSecretReference {
    /// The name of the Secret.
    pub name: String,
}

/// One container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Container {
    /// Arguments of the command, in place of the image's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<Vec<String>>,
    /// The command, in place of the image's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// Environment variables.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub env: Option<Vec<EnvVar>>,
    /// Sources whose keys all become variables. A variable in `env` wins over one from here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env_from: Option<Vec<EnvFromSource>>,
    /// The image, with its registry.
    pub image: String,
    /// The name, unique in the instance.
    pub name: String,
    /// Ports that the container listens on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub ports: Option<Vec<NamedPort>>,
    /// What the container needs and may use at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<ContainerResources>,
    /// What the container may do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_context: Option<SecurityContext>,
    /// Volumes of the instance that the container sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume_attachments: Option<Vec<VolumeAttachment>>,
}

/// What a container needs and may use at most.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContainerResources {
    /// The most that it may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<BTreeMap<String, Quantity>>,
    /// What it needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<BTreeMap<String, Quantity>>,
}

/// A port with a name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NamedPort {
    /// The name, by which network policies and routes know the port.
    pub name: String,
    /// The number.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,
    /// The protocol; TCP if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
}

/// What a container may do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecurityContext {
    /// Whether a process may gain more privileges than its parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_privilege_escalation: Option<bool>,
    /// Linux capabilities, against the set that the runtime gives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<Capabilities>,
    /// The filter of system calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seccomp_profile: Option<SeccompProfile>,
}

/// Linux capabilities to add and to drop.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Capabilities {
    /// Capabilities to add.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub add: Option<Vec<String>>,
    /// Capabilities to drop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drop: Option<Vec<String>>,
}

/// A filter of system calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SeccompProfile {
    /// Which filter.
    #[serde(rename = "type")]
    pub type_: SeccompProfileType,
}

/// The filters of system calls to choose from.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize, JsonSchema)]
pub enum SeccompProfileType {
    /// The filter that the runtime ships.
    RuntimeDefault,
    /// No filter.
    Unconfined,
}

/// A virtual machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VirtualMachineRuntime {
    /// Ports that the machine listens on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub ports: Option<Vec<NamedPort>>,
    /// Volumes of the instance that the machine sees. The first is the one it boots from.
    #[schemars(length(min = 1))]
    pub volume_attachments: Vec<VolumeAttachment>,
}

/// One volume of the instance, seen by a container or a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VolumeAttachment {
    /// Where its files appear. Without a path a volume is attached as a device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mount_path: Option<String>,
    /// The name of the volume in the instance.
    pub name: String,
}

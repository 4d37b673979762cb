//! Volumes of an instance.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Quantity, TemplateMetadata};

/// One volume: a name and one source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Volume {
    /// Files from the keys of a `ConfigMap` in the workload's namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map: Option<ConfigMapVolume>,
    /// A disk that is made for the instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<Disk>,
    /// The name, by which containers and machines attach the volume.
    pub name: String,
    /// Files from the keys of a Secret in the workload's namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretVolume>,
}

/// Files from the keys of a `ConfigMap`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct ConfigMapVolume {
    /// The mode of the files, 0 to 0777 (511 in decimal); 0644 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_mode: Option<i32>,
    /// The keys to show and their paths; all keys under their own names if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub items: Option<Vec<KeyToPath>>,
    /// The name of the `ConfigMap`.
    #[serde(default)]
    pub name: String,
    /// Whether the `ConfigMap` or its keys may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// Files from the keys of a Secret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretVolume {
    /// The mode of the files, 0 to 0777 (511 in decimal); 0644 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_mode: Option<i32>,
    /// The keys to show and their paths; all keys under their own names if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub items: Option<Vec<KeyToPath>>,
    /// Whether the Secret or its keys may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
    /// The name of the Secret.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_name: Option<String>,
}

/// The path of one key's file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeyToPath {
    /// The key.
    pub key: String,
    /// The mode of this file, in place of `defaultMode`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<i32>,
    /// The path of the file, relative and without `..`.
    pub path: String,
}

/// A disk that is made for the instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Disk {
    /// The name of the device that the disk appears as in a machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_name: Option<String>,
    /// What the disk is made from.
    pub template: DiskTemplate,
}

/// What disks are made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiskTemplate {
    /// Metadata of the disks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// The disk as it is wanted.
    pub spec: DiskSpec,
}

/// A disk as it is wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiskSpec {
    /// What is on the disk at first; nothing if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub populator: Option<DiskPopulator>,
    /// How large the disk is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources: Option<DiskResources>,
    /// The type of the disk.
    #[serde(rename = "type", default = "pd_standard")]
    pub type_: String,
}

fn pd_standard() -> String {
    "pd-standard".to_owned()
}

/// How large a disk is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiskResources {
    /// The size, under the key `storage`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<BTreeMap<String, Quantity>>,
}

/// What is on a disk at first: one of these.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiskPopulator {
    /// An empty file system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<DiskFilesystem>,
    /// An image, such as that of an operating system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<DiskImage>,
}

/// An empty file system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiskFilesystem {
    /// The kind of file system.
    #[serde(rename = "type")]
    pub type_: FilesystemType,
}

/// The kinds of file systems to choose from.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FilesystemType {
    /// The fourth extended file system of Linux.
    Ext4,
}

/// A disk image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiskImage {
    /// The name of the image.
    pub name: String,
}

//! Environment variables of a container: the shapes of core/v1.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Quantity;

/// One environment variable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvVar {
    /// The name of the variable.
    pub name: String,
    /// The value. References of the form $(NAME) to variables before this one are expanded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Where the value comes from, in place of `value`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_from: Option<EnvVarSource>,
}

/// Where the value of a variable comes from: one of these.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvVarSource {
    /// A key of a `ConfigMap` in the workload's namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<ConfigMapKeySelector>,
    /// A field of the instance itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_ref: Option<ObjectFieldSelector>,
    /// A key of a file of variables in a volume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_key_ref: Option<FileKeySelector>,
    /// A resource limit or request of a container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_field_ref: Option<ResourceFieldSelector>,
    /// A key of a Secret in the workload's namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<SecretKeySelector>,
}

/// A key of a `ConfigMap`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct ConfigMapKeySelector {
    /// The key to select.
    pub key: String,
    /// The name of the `ConfigMap`.
    #[serde(default)]
    pub name: String,
    /// Whether the `ConfigMap` or its key may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// A key of a Secret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct SecretKeySelector {
    /// The key to select.
    pub key: String,
    /// The name of the Secret.
    #[serde(default)]
    pub name: String,
    /// Whether the Secret or its key may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

/// A field of the object that the container belongs to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct ObjectFieldSelector {
    /// The version of the schema that `fieldPath` is written in; `v1` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// The path of the field.
    pub field_path: String,
}

/// A key of a file that holds variables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct FileKeySelector {
    /// The key in the file: the name of a variable there.
    pub key: String,
    /// Whether the file or its key may be missing.
    #[serde(default)]
    pub optional: bool,
    /// The path of the file in the volume, relative and without `..`.
    pub path: String,
    /// The name of the volume that holds the file.
    pub volume_name: String,
}

/// A resource of a container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct ResourceFieldSelector {
    /// The container; the one that the variable is in, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container_name: Option<String>,
    /// The unit of the value; 1 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub divisor: Option<Quantity>,
    /// The resource to select, such as `limits.cpu`.
    pub resource: String,
}

/// All keys of one `ConfigMap` or Secret as variables.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvFromSource {
    /// A `ConfigMap` in the workload's namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<ObjectReference>,
    /// Put before every key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// A Secret in the workload's namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<ObjectReference>,
}

/// A `ConfigMap` or Secret by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectReference {
    /// The name of the object.
    pub name: String,
    /// Whether the object may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
}

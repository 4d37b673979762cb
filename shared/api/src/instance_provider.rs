//! What an Instance keeps of the server that stands for it (V2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The server that stands for an instance, at its provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InstanceProviderStatus {
    /// The ID of the quota that was taken for the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub allocation_id: Option<String>,
    /// When the quota was last asked for, unless that was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub allocation_requested_at: Option<String>,
    /// How the server is: `Healthy`, `Degraded`, `Error` or `Unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub health: Option<String>,
    /// The name of the provider.
    #[schemars(length(max = 63))]
    pub name: String,
    /// The network, as the provider knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub network: Option<String>,
    /// What the server does: `Pending`, `Building`, `Running`, `Stopping`, `Stopped`, `Rebuilding`, `Error`
    /// or `Unknown`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub power_state: Option<String>,
    /// The project, as the provider knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub project: Option<String>,
    /// The region, by its name in the provider's configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub region: Option<String>,
    /// The last restart that was asked for and passed on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub restarted_at: Option<String>,
    /// The ID of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub server_id: Option<String>,
    /// When the server was last asked for, unless that was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub server_requested_at: Option<String>,
}

/// Whether a change may destroy what an instance has stored on itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Disruption {
    /// It may.
    Allow,
    /// It may not: the instance stays as it is, and says so.
    Deny,
}

//! Where an instance runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A location by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LocationReference {
    /// The name of the location.
    pub name: String,
    /// The namespace of the location, where locations have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

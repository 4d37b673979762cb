//! How many instances a placement has, and what moves that number.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Quantity;

/// The most instances of a WorkloadDeployment.
pub const MOST_REPLICAS: u32 = 1000;

/// The bounds of the number of instances in one location, and how they are managed within them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("required" = ["instanceManagementPolicy", "minReplicas"]))]
pub struct ScaleSettings {
    /// In which order instances are created, replaced and removed. `OrderedReady` is the one policy there is:
    /// by ordinal, one after the other, each Ready before the next.
    #[serde(default = "ordered_ready")]
    pub instance_management_policy: String,
    /// The largest number of instances that the metrics may scale to. It goes together with `metrics`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub max_replicas: Option<i32>,
    /// What is measured to choose a number between `minReplicas` and `maxReplicas`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Vec<Metric>>,
    /// The number of instances there always are.
    #[schemars(range(min = 0))]
    pub min_replicas: i32,
}

fn ordered_ready() -> String {
    "OrderedReady".to_owned()
}

/// One measure that scaling follows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metric {
    /// A resource that every instance uses, such as CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<ResourceMetric>,
}

/// A resource whose use is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceMetric {
    /// The name of the resource, such as `cpu`.
    pub name: String,
    /// The use that scaling aims at.
    pub target: MetricTarget,
}

/// The value that scaling aims at: one of the three.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricTarget {
    /// The use of an instance, averaged over all of them, as a percentage of what an instance requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average_utilization: Option<i32>,
    /// The use of an instance, averaged over all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average_value: Option<Quantity>,
    /// The use of all instances together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Quantity>,
}

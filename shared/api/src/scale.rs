//! How many instances a placement has, and what moves that number.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{IntOrPercent, Quantity};

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
    /// How many instances a new template replaces at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rolling_update: Option<RollingUpdate>,
}

/// How many instances a new template replaces at once in one location. Numbers are of instances, percentages
/// of the number that is wanted. Both cannot be 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RollingUpdate {
    /// How many instances may be there beyond the number that is wanted. They come with the new template
    /// before instances on the old one go, and go when all others are replaced. A percentage is rounded up. 0
    /// if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_surge: Option<IntOrPercent>,
    /// How many instances may be missing of the number that is wanted. A percentage is rounded down, to 1
    /// where nothing else would be left to replace any. 1 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_unavailable: Option<IntOrPercent>,
}

impl RollingUpdate {
    /// How many instances of `desired` may be missing, and how many may be there beyond them. Values out of
    /// range count as absent. Where both would be 0, one may be missing, or nothing could be replaced (C2).
    pub fn resolve(&self, desired: u32) -> (u32, u32) {
        let surge = self.max_surge.as_ref().and_then(|it| it.rounded_up(desired)).unwrap_or(0);
        let unavailable = self.max_unavailable.as_ref().and_then(|it| it.rounded_down(desired)).unwrap_or(1);
        if surge == 0 { (unavailable.max(1), 0) } else { (unavailable, surge) }
    }
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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn c2_a_rollout_can_always_replace_one() {
        for (settings, desired, expected) in [
            (json!({}), 3, (1, 0)),
            (json!({"maxUnavailable": 2}), 3, (2, 0)),
            (json!({"maxSurge": 2}), 3, (1, 2)),
            (json!({"maxUnavailable": 0, "maxSurge": 1}), 3, (0, 1)),
            (json!({"maxUnavailable": 0, "maxSurge": 0}), 3, (1, 0)),
            (json!({"maxUnavailable": 0}), 3, (1, 0)),
            (json!({"maxUnavailable": "25%"}), 3, (1, 0)),
            (json!({"maxUnavailable": "25%", "maxSurge": "25%"}), 10, (2, 3)),
            (json!({"maxUnavailable": "25%", "maxSurge": "25%"}), 1, (0, 1)),
            (json!({"maxUnavailable": "100%", "maxSurge": "100%"}), 4, (4, 4)),
            (json!({"maxUnavailable": "many", "maxSurge": -1}), 4, (1, 0)),
        ] {
            let rolling: RollingUpdate = serde_json::from_value::<RollingUpdate>(settings.clone()).unwrap();
            assert_eq!(rolling.resolve(desired), expected, "{settings} of {desired}");
        }
        let absent = serde_json::to_value(RollingUpdate::default()).unwrap();
        assert_eq!(absent, Value::Object(serde_json::Map::default()), "what is absent is not written");
    }
}

//! The `scaleSettings` of a WD.

use fedhub_api::MOST_REPLICAS;
use fedhub_api::reason::Reason;
use fedhub_core::message::Quoted;
use fedhub_core::object::{Object, ObjectView};
use fedhub_core::quantity::thousandths;
use serde_json::{Value, json};

use crate::domain::status::blocker::ConditionUpdate;

/// The `scaleSettings` of a WD.
#[derive(Clone, Debug, PartialEq)]
pub enum AutoscalingSettings {
    /// The number that the project says.
    Fixed,
    /// None, for as long as the project says 0, as its number or its least: an autoscaler measures what runs,
    /// and could not begin again.
    Stopped,
    /// A number between two, by what is measured.
    Scaled {
        /// The least number of Instances, at least 1.
        min: u32,
        /// The greatest, not below the least.
        max: u32,
        /// What is measured, one at least.
        metrics: Vec<AutoscalingMetric>,
    },
    /// Autoscaling that cannot be done: all faults, in words for the user.
    Invalid(String),
}

/// A metric that an autoscaler follows.
#[derive(Clone, Debug, PartialEq)]
pub struct AutoscalingMetric {
    /// What is measured.
    pub resource: Resource,
    /// What it is to be.
    pub target: AutoscalingTarget,
}

/// A resource of an Instance that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// CPU.
    Cpu,
    /// Memory.
    Memory,
}

/// The use that scaling aims at, averaged over the Instances.
#[derive(Clone, Debug, PartialEq)]
pub enum AutoscalingTarget {
    /// A percentage of what an Instance requests, at least 1.
    Utilization(i64),
    /// As it was written, and in thousandths, more than none.
    AverageValue(Value, i64),
}

impl AutoscalingSettings {
    /// Reads the settings of a WD.
    pub fn from_deployment(deployment: &Object) -> Self {
        let settings = &deployment.spec()["scaleSettings"];
        let Some((min, max)) = bounds(settings) else { return Self::Fixed };
        if is_stopped(deployment) {
            return Self::Stopped;
        }
        let mut faults = Vec::new();
        if min == 0 {
            faults.push(
                "minReplicas must be 1 or more: without instances there is nothing to measure".to_owned(),
            );
        }
        if max > MOST_REPLICAS {
            faults.push(format!("maxReplicas is {max}, it must be {MOST_REPLICAS} or less"));
        }
        if max < min || max == 0 {
            faults.push(format!("maxReplicas is {max}, it must be 1 or more and not below minReplicas"));
        }
        let mut metrics = Vec::new();
        for (at, metric) in settings["metrics"].as_array().into_iter().flatten().enumerate() {
            match AutoscalingMetric::from_metric(metric) {
                Ok(metric) => metrics.push(metric),
                Err(fault) => faults.push(format!("metrics[{at}]: {fault}")),
            }
        }
        if faults.is_empty() { Self::Scaled { min, max, metrics } } else { Self::Invalid(faults.join("; ")) }
    }
}

impl AutoscalingMetric {
    fn from_metric(metric: &Value) -> Result<Self, String> {
        let kinds = given(metric);
        if kinds != ["resource"] {
            return Err("it must be a metric of kind resource, and of no other kind".to_owned());
        }
        let metric = &metric["resource"];
        let resource = match metric["name"].as_str().unwrap_or_default() {
            "cpu" => Resource::Cpu,
            "memory" => Resource::Memory,
            other => return Err(format!("{} is not measured, only cpu and memory are", Quoted(other))),
        };
        let target = &metric["target"];
        let target = match given(target)[..] {
            ["averageUtilization"] => {
                let percent = target["averageUtilization"].as_i64().filter(|percent| *percent >= 1);
                AutoscalingTarget::Utilization(percent.ok_or("averageUtilization must be 1 or more")?)
            }
            ["averageValue"] => {
                let value = &target["averageValue"];
                let counted = thousandths(value).ok().filter(|counted| *counted > 0);
                let counted = counted.ok_or("averageValue must be a quantity greater than 0")?;
                AutoscalingTarget::AverageValue(value.clone(), counted)
            }
            // The value would be the total of all Instances, which the resource metrics API does not report.
            ["value"] => return Err("the target value is not supported, use averageValue".to_owned()),
            _ => return Err("exactly one target is required: averageUtilization or averageValue".to_owned()),
        };
        Ok(Self { resource, target })
    }

    /// The metric as an autoscaler of `autoscaling/v2` has it.
    pub(super) fn spec(&self) -> Value {
        let target = match &self.target {
            AutoscalingTarget::Utilization(percent) => {
                json!({"type": "Utilization", "averageUtilization": percent})
            }
            AutoscalingTarget::AverageValue(value, _) => {
                json!({"type": "AverageValue", "averageValue": value})
            }
        };
        json!({"type": "Resource", "resource": {"name": self.resource.name(), "target": target}})
    }

    /// Whether this is what a server made of that metric's [`Self::spec`]: it writes quantities its own way.
    pub(super) fn stands(&self, spec: &Value) -> bool {
        let (resource, target) = (&spec["resource"], &spec["resource"]["target"]);
        let same = match &self.target {
            AutoscalingTarget::Utilization(percent) => {
                target["type"] == "Utilization" && target["averageUtilization"] == *percent
            }
            AutoscalingTarget::AverageValue(_, counted) => {
                target["type"] == "AverageValue" && thousandths(&target["averageValue"]) == Ok(*counted)
            }
        };
        spec["type"] == "Resource" && resource["name"] == self.resource.name() && same
    }
}

impl Resource {
    /// Its name in Kubernetes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
        }
    }
}

/// How many Instances a WD wants: `spec.replicas`, else `spec.scaleSettings.minReplicas`, else none; where it
/// scales, within its bounds, the lower one before the upper one where they contradict each other, or none at
/// all (C13). Never more than [`MOST_REPLICAS`], whether or not admission was there to say so.
pub fn desired(deployment: &Object) -> u32 {
    asked_for(deployment).min(MOST_REPLICAS)
}

/// Returns the condition of a WD that asks for more Instances than any may have.
pub fn excess(deployment: &Object) -> Option<ConditionUpdate> {
    let asked_for = asked_for(deployment);
    (asked_for > MOST_REPLICAS).then(|| {
        let message =
            format!("{asked_for} instances are asked for: no more than {MOST_REPLICAS} are made in one city");
        ConditionUpdate::no(Reason::InvalidScaleSettings, message)
    })
}

/// Whether a WD that would scale is to have no Instance.
fn is_stopped(deployment: &Object) -> bool {
    let spec = deployment.spec();
    [&spec["replicas"], &spec["scaleSettings"]["minReplicas"]].into_iter().any(|said| number(said) == Some(0))
}

fn asked_for(deployment: &Object) -> u32 {
    let spec = deployment.spec();
    let said = number(&spec["replicas"]).or_else(|| number(&spec["scaleSettings"]["minReplicas"]));
    let said = said.unwrap_or(0);
    match bounds(&spec["scaleSettings"]) {
        Some(_) if is_stopped(deployment) => 0,
        Some((min, max)) => said.min(max).max(min),
        None => said,
    }
}

/// Minimum and maximum of settings that ask to scale.
fn bounds(settings: &Value) -> Option<(u32, u32)> {
    let max = number(&settings["maxReplicas"])?;
    settings["metrics"].as_array().filter(|metrics| !metrics.is_empty())?;
    Some((number(&settings["minReplicas"]).unwrap_or(0), max))
}

/// A number of replicas; none below 0.
pub(super) fn number(value: &Value) -> Option<u32> {
    value.as_i64().map(|n| u32::try_from(n.max(0)).unwrap_or(u32::MAX))
}

/// The fields of an object that say something.
fn given(object: &Value) -> Vec<&str> {
    let fields = object.as_object().into_iter().flatten();
    fields.filter(|(_, value)| !value.is_null()).map(|(name, _)| name.as_str()).collect()
}

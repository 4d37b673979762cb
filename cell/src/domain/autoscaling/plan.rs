//! The decision about a WD's autoscaler, given the one that exists.
//!
//! Decides C13.

use std::collections::BTreeMap;

use fedhub_api::conditions::{find, said};
use fedhub_api::reason::{AnyReason, Reason};
use fedhub_core::message::Quoted;
use fedhub_core::names::{SERVICE_NAME, WORKLOAD_DEPLOYMENT_NAME};
use fedhub_core::object::{Kind, Object, ObjectView, bare, set_field};
use serde_json::{Value, json};

use super::settings::{AutoscalingMetric, AutoscalingSettings, desired, number};
use crate::domain::instances::owner_reference;
use crate::domain::status::blocker::ConditionUpdate;

/// The decision about the autoscaler of a WD, and the condition to report.
#[derive(Clone, Debug, PartialEq)]
pub struct AutoscalerPlan {
    /// The value that `spec.replicas` of the WD needs before its autoscaler can begin.
    pub replicas: Option<u32>,
    /// The step to take.
    pub step: AutoscalerStep,
    /// The condition `ScalingActive`; none for a WD that does not scale.
    pub words: Option<ConditionUpdate>,
}

/// A step towards the autoscaler that a WD asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum AutoscalerStep {
    /// Nothing.
    Rest,
    /// Create the autoscaler.
    Create(Box<Object>),
    /// The one that stands, which is ours, is merged with this.
    Patch(Value),
    /// The one that stands, which is ours, is deleted.
    Delete,
}

/// Decides. `standing` is the autoscaler of the WD's name, whatever its controller.
pub fn plan(deployment: &Object, standing: Option<&Object>) -> AutoscalerPlan {
    let ours = standing.filter(|autoscaler| {
        let mut owners = autoscaler.metadata.owner_references.iter().flatten();
        owners.any(|o| o.controller == Some(true) && !o.uid.is_empty() && o.uid == deployment.uid())
    });
    let settings = if deployment.is_terminating() {
        AutoscalingSettings::Fixed
    } else {
        AutoscalingSettings::from_deployment(deployment)
    };
    let none = || match ours {
        Some(autoscaler) if !autoscaler.is_terminating() => AutoscalerStep::Delete,
        _ => AutoscalerStep::Rest,
    };
    let (min, max, metrics) = match settings {
        AutoscalingSettings::Fixed => return AutoscalerPlan { replicas: None, step: none(), words: None },
        AutoscalingSettings::Stopped => {
            let message = "No instances are wanted: replicas or minReplicas is 0, and nothing is measured";
            let words = Some(ConditionUpdate::no(Reason::ScalingDisabled, message));
            return AutoscalerPlan { replicas: None, step: none(), words };
        }
        AutoscalingSettings::Invalid(faults) => {
            let words = Some(ConditionUpdate::no(Reason::InvalidScaleSettings, faults));
            return AutoscalerPlan { replicas: None, step: none(), words };
        }
        AutoscalingSettings::Scaled { min, max, metrics } => (min, max, metrics),
    };
    let replicas = number(&deployment.spec()["replicas"]).is_none().then(|| desired(deployment));
    let spec = spec(deployment, min, max, &metrics);
    match (standing, ours) {
        (None, _) => AutoscalerPlan {
            replicas,
            step: AutoscalerStep::Create(Box::new(new(deployment, spec))),
            words: Some(pending()),
        },
        (Some(_), Some(autoscaler)) if autoscaler.is_terminating() => {
            AutoscalerPlan { replicas, step: AutoscalerStep::Rest, words: Some(pending()) }
        }
        (Some(_), Some(autoscaler)) => {
            let stands = stands(autoscaler, deployment, &spec, &metrics);
            let patch = || json!({"metadata": {"labels": labels(deployment)}, "spec": spec});
            let step = if stands { AutoscalerStep::Rest } else { AutoscalerStep::Patch(patch()) };
            AutoscalerPlan { replicas, step, words: Some(reported(autoscaler, min, max)) }
        }
        (Some(foreign), None) => {
            AutoscalerPlan { replicas: None, step: AutoscalerStep::Rest, words: Some(taken(foreign)) }
        }
    }
}

/// The fields of an autoscaler's spec that are ours; others, such as `behavior`, are left to operators (I9).
fn spec(deployment: &Object, min: u32, max: u32, metrics: &[AutoscalingMetric]) -> Value {
    let kind = Kind::WorkloadDeployment.resource();
    json!({
        "scaleTargetRef": {"apiVersion": kind.api_version, "kind": kind.kind, "name": deployment.name()},
        "minReplicas": min,
        "maxReplicas": max,
        "metrics": metrics.iter().map(AutoscalingMetric::spec).collect::<Vec<_>>(),
    })
}

fn labels(deployment: &Object) -> BTreeMap<String, String> {
    let labels = [(WORKLOAD_DEPLOYMENT_NAME, deployment.name()), SERVICE_NAME];
    labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
}

fn new(deployment: &Object, spec: Value) -> Object {
    let mut object = bare(Kind::HorizontalPodAutoscaler, deployment.namespace(), deployment.name());
    object.metadata.labels = Some(labels(deployment));
    object.metadata.owner_references = Some(vec![owner_reference(deployment.name(), deployment.uid())]);
    set_field(&mut object, "spec", spec);
    object
}

/// Whether an autoscaler is what the server made of that spec (I7).
fn stands(autoscaler: &Object, deployment: &Object, spec: &Value, metrics: &[AutoscalingMetric]) -> bool {
    let standing = autoscaler.spec();
    let measured = standing["metrics"].as_array().map_or(&[][..], Vec::as_slice);
    ["scaleTargetRef", "minReplicas", "maxReplicas"].iter().all(|field| standing[field] == spec[field])
        && measured.len() == metrics.len()
        && metrics.iter().zip(measured).all(|(metric, standing)| metric.stands(standing))
        && labels(deployment).iter().all(|(key, value)| autoscaler.label(key) == Some(value))
}

/// The condition that an autoscaler's own status leads to, first of all that it cannot scale. Messages that
/// vary from look to look are replaced by constant ones: each status of a WD travels to the project.
fn reported(autoscaler: &Object, min: u32, max: u32) -> ConditionUpdate {
    let status = autoscaler.status();
    let unable = find(status, "AbleToScale").filter(|condition| condition["status"] == "False");
    let Some(condition) = unable.or_else(|| find(status, "ScalingActive")) else { return pending() };
    match said(condition) {
        // It names the metric that counts just now.
        ("True", reason, _) => ConditionUpdate::yes(
            AnyReason::parse(reason),
            format!("The number of instances is kept between {min} and {max}"),
        ),
        // It names all of them, in any order.
        (status, reason, _) if reason == Reason::AmbiguousSelector => ConditionUpdate::new(
            status,
            Reason::AmbiguousSelector,
            "Other autoscalers in the cell select these instances",
        ),
        (status, reason, message) => ConditionUpdate::new(status, AnyReason::parse(reason), message),
    }
}

fn pending() -> ConditionUpdate {
    ConditionUpdate::new("Unknown", Reason::Pending, "The autoscaler has not reported yet")
}

fn taken(foreign: &Object) -> ConditionUpdate {
    let message =
        format!("HorizontalPodAutoscaler {} in the cell belongs to another owner", Quoted(foreign.name()));
    ConditionUpdate::no(Reason::AutoscalerNameTaken, message)
}

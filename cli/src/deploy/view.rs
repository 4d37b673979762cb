//! The output of a deployment.

use fedhub_api::facts::workload::is_paused;
use fedhub_core::message::excerpt;
use fedhub_core::object::{Object, ObjectView, set_field};
use fedhub_terminal::plain;
use serde_json::{Value, json};

use super::cities::named;
use super::plan::DeployPlan;

/// Lists what is going to be done, line by line. What is written in a file is no line of its own.
pub fn plan(plan: &DeployPlan) -> Vec<String> {
    lines(plan).iter().map(|line| plain(line).into_owned()).collect()
}

fn lines(plan: &DeployPlan) -> Vec<String> {
    let name = plan.object.name();
    if plan.is_noop() {
        return vec![format!("{name}: nothing changes")];
    }
    if plan.before.is_none() {
        let mut lines = vec![format!("{name} is new:")];
        lines.extend(images(plan.object.spec()).map(|image| format!("  image {}", excerpt(image))));
        let placements = plan.object.spec()["placements"].as_array().into_iter().flatten();
        lines.extend(placements.map(|placement| format!("  {}", placed(placement))));
        return lines;
    }
    let mut lines = vec![format!("{name} changes:")];
    lines.extend(plan.changes.iter().map(|change| format!("  {}", change.line())));
    if plan.replaces {
        let said = if is_paused(&plan.object) {
            "Its rollout is paused: its instances are replaced once that is resumed."
        } else {
            "Its instances are replaced, one after the other in each city."
        };
        lines.push(said.to_owned());
    }
    lines.extend(leaves(plan));
    lines
}

/// Warns about the cities whose instances are removed.
pub fn leaves(plan: &DeployPlan) -> Option<String> {
    let cities: Vec<_> =
        plan.leaves.iter().map(|(placement, city)| format!("{city} (placement {placement})")).collect();
    (!cities.is_empty()).then(|| {
        format!("{} leaves {}: its instances there are deleted.", plan.object.name(), cities.join(", "))
    })
}

fn images(spec: &Value) -> impl Iterator<Item = &str> {
    let containers = spec.pointer("/template/spec/runtime/sandbox/containers");
    containers.and_then(Value::as_array).into_iter().flatten().filter_map(|it| it["image"].as_str())
}

/// A placement in words, such as `DFW, ORD: 2 to 5 instances in each city`.
fn placed(placement: &Value) -> String {
    let cities: Vec<_> = named(placement).collect();
    let settings = &placement["scaleSettings"];
    let least = settings["minReplicas"].as_i64().unwrap_or_default();
    let (number, is_one) = match settings["maxReplicas"].as_i64() {
        Some(most) => (format!("{least} to {most}"), false),
        None => (least.to_string(), least == 1),
    };
    let what = if is_one { "instance" } else { "instances" };
    let each = if cities.len() > 1 { " in each city" } else { "" };
    format!("{}: {number} {what}{each}", cities.join(", "))
}

/// An object as it is printed, so that `deploy -f` takes it.
pub fn printed(object: &Object) -> Value {
    let mut object = object.clone();
    object.metadata.managed_fields = None;
    set_field(&mut object, "status", Value::Null);
    json!(object)
}

/// Several objects are a list.
pub fn together(mut objects: Vec<Value>) -> Value {
    match objects.len() {
        1 => objects.remove(0),
        _ => json!({"apiVersion": "v1", "kind": "List", "items": objects}),
    }
}

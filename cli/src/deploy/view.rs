//! The output of a deployment.

use fedhub_api::disruption::{consents, disks};
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
    let Some(before) = &plan.before else {
        let mut lines = vec![format!("{name} is new:")];
        lines.extend(images(plan.object.spec()).map(|image| format!("  image {}", excerpt(image))));
        let placements = plan.object.spec()["placements"].as_array().into_iter().flatten();
        lines.extend(placements.map(|placement| format!("  {}", placed(placement))));
        return lines;
    };
    let mut lines = vec![format!("{name} changes:")];
    lines.extend(plan.changes.iter().map(|change| format!("  {}", change.line())));
    lines.extend(replaced(plan, before));
    lines.extend(leaves(plan));
    lines
}

/// What becomes of the instances that run, and of what is on their disks (V5).
fn replaced(plan: &DeployPlan, before: &Object) -> Option<String> {
    let stands = &before.spec()["template"]["spec"];
    let wanted = &plan.object.spec()["template"]["spec"];
    let disks: Vec<_> = disks(stands).collect();
    let disks = disks.join(", ");
    if !plan.replaces {
        let opens = wanted["disruption"] == "Allow" && !consents(stands, stands);
        return opens.then(|| "Its instances that keep an earlier template for now are replaced.".to_owned());
    }
    if !consents(wanted, stands) {
        let lost =
            if disks.is_empty() { "replace them".to_owned() } else { format!("destroy their disks {disks}") };
        return Some(format!(
            "Its instances keep the earlier template: the new one would {lost}. To let it, set \
             spec.template.spec.disruption to Allow."
        ));
    }
    let lost =
        if disks.is_empty() { String::new() } else { format!(" What is on their disks is lost: {disks}.") };
    let when = if is_paused(&plan.object) {
        "Its rollout is paused: its instances are replaced once that is resumed."
    } else {
        "Its instances are replaced, one after the other in each city."
    };
    Some(format!("{when}{lost}"))
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

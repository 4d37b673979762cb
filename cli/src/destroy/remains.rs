//! What is left of a workload that is being deleted: pure.

use fedhub_api::conditions::{find, said};
use fedhub_core::names::INSTANCE_CITY;
use fedhub_terminal::table::counted;
use kube::ResourceExt;
use kube::core::DynamicObject;

/// A line for each city that still has something, with what holds it up where that is known. `instances` is `None` where
/// they could not be read.
pub fn remaining(deployments: &[DynamicObject], instances: Option<&[DynamicObject]>) -> Option<String> {
    let lines: Vec<String> = deployments.iter().map(|deployment| line(deployment, instances)).collect();
    Some(lines.join("\n")).filter(|lines| !lines.is_empty())
}

fn line(deployment: &DynamicObject, instances: Option<&[DynamicObject]>) -> String {
    let city = deployment.data["spec"]["cityCode"].as_str().unwrap_or("?");
    let here = |instance: &&DynamicObject| instance.labels().get(INSTANCE_CITY).is_some_and(|it| it == city);
    let left = instances.map_or_else(
        || "its instances are not known".to_owned(),
        |all| format!("{} left", counted(all.iter().filter(here).count(), "instance")),
    );
    let federated = find(&deployment.data["status"], "Federated").filter(|it| it["status"] != "True");
    let why = federated.map(|it| said(it).2.trim()).filter(|message| !message.is_empty());
    format!("  {city}: {left}{}", why.map_or_else(String::new, |why| format!("; {why}")))
}

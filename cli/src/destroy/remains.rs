//! The remains of a workload that is being deleted. Pure.

use fedhub_api::conditions::{find, said};
use fedhub_core::names::INSTANCE_CITY;
use fedhub_core::object::{Object, ObjectView};
use fedhub_terminal::table::counted;

/// A line for each city that still has something, with what holds it up where that is known. `instances` is
/// `None` where they could not be read.
pub fn remaining(deployments: &[Object], instances: Option<&[Object]>) -> Option<String> {
    let lines: Vec<String> = deployments.iter().map(|deployment| line(deployment, instances)).collect();
    Some(lines.join("\n")).filter(|lines| !lines.is_empty())
}

fn line(deployment: &Object, instances: Option<&[Object]>) -> String {
    let city = deployment.spec()["cityCode"].as_str().unwrap_or("?");
    let left = instances.map_or_else(
        || "its instances are not known".to_owned(),
        |all| {
            format!(
                "{} left",
                counted(
                    all.iter().filter(|instance| instance.label(INSTANCE_CITY) == Some(city)).count(),
                    "instance"
                )
            )
        },
    );
    let federated = find(deployment.status(), "Federated").filter(|it| it["status"] != "True");
    let why = federated.map(|it| said(it).2.trim()).filter(|message| !message.is_empty());
    format!("  {city}: {left}{}", why.map_or_else(String::new, |why| format!("; {why}")))
}

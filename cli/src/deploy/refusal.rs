//! A server's refusal of a Workload in the user's words: by the flag that says the field, or by the file and
//! the field.

use fedhub_terminal::plain;
use kube::core::Status;
use serde_json::Value;

use super::container::HTTP;
use super::plan::Wanted;

/// Returns one sentence for each cause of a refusal; `None` if the server names no causes.
pub fn sentences(status: &Status, wanted: Wanted<'_>, spec: &Value) -> Option<Vec<String>> {
    let causes = status.details.as_ref().map(|details| &details.causes[..]).unwrap_or_default();
    let said = causes.iter().map(|cause| {
        let field = &*cause.field;
        let message = worded(&cause.message);
        match wanted {
            _ if field.is_empty() || field == "<others>" || field == "<nil>" => message,
            Wanted::Document(document) => format!("{}: {field}: {message}", document.source),
            Wanted::Flags(..) => match flag(field, spec) {
                Some(flag) => format!("{flag}: {message}"),
                None => format!("{field}: {message}"),
            },
        }
    });
    let said: Vec<_> = said.map(|sentence| plain(&sentence).into_owned()).collect();
    (!said.is_empty()).then_some(said)
}

/// The problem's words begin a sentence on a server; here they stand inside of one.
fn worded(message: &str) -> String {
    let begins = [
        "Invalid value",
        "Required value",
        "Duplicate value",
        "Unsupported value",
        "Not found",
        "Forbidden",
        "Too long",
        "Too many",
    ];
    match begins.iter().find(|begin| message.starts_with(**begin)) {
        Some(_) => {
            message.chars().take(1).flat_map(char::to_lowercase).chain(message.chars().skip(1)).collect()
        }
        None => message.to_owned(),
    }
}

/// The flag by which a field of a Workload is said.
pub fn flag(field: &str, spec: &Value) -> Option<String> {
    const TEMPLATE: &str = "spec.template.spec.";
    const CONTAINER: &str = "runtime.sandbox.containers";
    if field == "metadata.name" {
        return Some("WORKLOAD".to_owned());
    }
    if field.starts_with("metadata.labels") {
        return Some("--label".to_owned());
    }
    if let Some(rest) = within(field, "spec.placements") {
        return Some(of_placement(rest).to_owned());
    }
    let rest = field.strip_prefix(TEMPLATE)?;
    if rest.starts_with("runtime.resources.instanceType") {
        return Some("--instance-type".to_owned());
    }
    if within(rest, "networkInterfaces").is_some_and(|rest| rest.starts_with("network.")) {
        return Some("--network".to_owned());
    }
    if rest.starts_with("volumes") {
        let volume = &spec["template"]["spec"]["volumes"][index(rest)?];
        return Some(if volume["secret"].is_object() { "--secret" } else { "--configmap" }.to_owned());
    }
    let containers = spec.pointer("/template/spec/runtime/sandbox/containers")?;
    of_container(within(rest, CONTAINER)?, &containers[index(rest)?], spec)
}

fn of_placement(field: &str) -> &'static str {
    match field {
        "name" => "--placement",
        field if field.ends_with("minReplicas") => "--min",
        field if field.ends_with("maxReplicas") => "--max",
        field if field.ends_with("maxUnavailable") => "--max-unavailable",
        field if field.ends_with("maxSurge") => "--max-surge",
        field if field.contains("metrics") => "--cpu-percent or --memory-percent",
        _ => "--city",
    }
}

fn of_container(field: &str, container: &Value, spec: &Value) -> Option<String> {
    let flag = match field.split(['.', '[']).next()? {
        "image" => "--image".to_owned(),
        "env" => match container["env"][index(field)?]["name"].as_str() {
            Some(name) => format!("--env {name}"),
            None => "--env".to_owned(),
        },
        "envFrom" if container["envFrom"][index(field)?]["secretRef"].is_object() => {
            "--env-from-secret".to_owned()
        }
        "envFrom" => "--env-from-configmap".to_owned(),
        "ports" if container["ports"][index(field)?]["name"] == HTTP => "--http-port".to_owned(),
        "volumeAttachments" => {
            let name = container["volumeAttachments"][index(field)?]["name"].as_str().unwrap_or_default();
            let volumes = spec["template"]["spec"]["volumes"].as_array()?;
            let of = volumes.iter().find(|volume| volume["name"] == name)?;
            if of["secret"].is_object() { "--secret" } else { "--configmap" }.to_owned()
        }
        _ => return None,
    };
    Some(flag)
}

/// Returns the path within an item of a list: `min` for `list[0].min`; empty for the list itself.
fn within<'a>(field: &'a str, list: &str) -> Option<&'a str> {
    let rest = field.strip_prefix(list)?;
    Some(rest.split_once("].").map_or("", |(_, rest)| rest))
}

/// The number of the first item that a path goes through.
fn index(field: &str) -> Option<usize> {
    field.split_once('[')?.1.split_once(']')?.0.parse().ok()
}

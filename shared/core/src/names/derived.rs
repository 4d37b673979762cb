//! Names of objects that follow from what the objects are for.

use super::syntax::{LABEL_VALUE_MAX, is_dns_label, is_object_name};
use crate::hash;

/// What the name of the `ConfigMap` with a Workload's revisions begins with; the Workload's name follows.
const REVISION_HISTORY: &str = "compute.datumapis.com-revision-history.";

/// The hub namespace of a project namespace, by that namespace's UID.
pub fn hub_namespace(project_namespace_uid: &str) -> String {
    format!("ns-{project_namespace_uid}")
}

/// The UID of the project namespace that a hub namespace is named by; `None` where it is not named so.
pub fn project_namespace_uid(hub_namespace: &str) -> Option<&str> {
    hub_namespace.strip_prefix("ns-").filter(|uid| !uid.is_empty())
}

/// Whether a text, such as a tenant can write, can be the name of a hub namespace, so that a request may name
/// it.
pub fn is_hub_namespace(name: &str) -> bool {
    project_namespace_uid(name).is_some() && is_dns_label(name)
}

/// The name of the `ResourceBinding` that Karmada makes for an object.
pub fn binding_name(kind: &str, name: &str) -> String {
    format!("{name}-{kind}").to_lowercase()
}

/// The name of the PropagationPolicy of a city: `city-<code in lower case>` where that is a valid name which
/// no other code's policy has (`taken`), else with a suffix from the code's hash.
pub fn policy_name(city: &str, taken: impl Fn(&str) -> bool) -> String {
    let plain = format!("city-{}", city.to_ascii_lowercase());
    if is_object_name(&plain) && !taken(&plain) {
        return plain;
    }
    let tame: String =
        city.to_ascii_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    format!("city-{tame}-{:08x}", hash::text(city) & 0xffff_ffff)
}

/// The name of the WD of a Workload's placement in a city: `<workload>-<placement>-<city in lower case>`
/// where that is a valid name of at most 63 characters, else cut and with a suffix from the hash of the three
/// (W1).
pub fn deployment_name(workload: &str, placement: &str, city: &str) -> String {
    const SUFFIX: usize = 10;
    let city = city.to_lowercase();
    let plain = format!("{workload}-{placement}-{city}");
    if plain.len() <= LABEL_VALUE_MAX && is_object_name(&plain) {
        return plain;
    }
    let tame: String =
        plain.to_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let head = tame[..tame.len().min(LABEL_VALUE_MAX - SUFFIX - 1)].trim_matches('-');
    let hash = hash::text(&format!("{workload}/{placement}/{city}")) & 0xff_ffff_ffff;
    format!("{}-{hash:010x}", if head.is_empty() { "workload" } else { head })
}

/// The name of the `ConfigMap` with the revisions of a Workload; `None` where its name is too long for one
/// (W10).
pub fn revision_history(workload: &str) -> Option<String> {
    Some(format!("{REVISION_HISTORY}{workload}")).filter(|name| is_object_name(name))
}

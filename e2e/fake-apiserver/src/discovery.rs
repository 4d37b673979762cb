//! The discovery paths, which list what is served.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::resource::Resource;

/// The answer to a path that is no resource's; nothing if there is no such path.
pub(crate) fn answer<R: AsRef<Resource>>(path: &str, resources: &[R]) -> Option<Value> {
    let segments: Vec<&str> = path.split('/').filter(|s| !s.is_empty()).collect();
    let resources = || resources.iter().map(AsRef::as_ref);
    match segments.as_slice() {
        ["healthz" | "livez" | "readyz"] => Some(json!("ok")),
        ["version"] => Some(json!({
            "major": "1", "minor": "36", "gitVersion": "v1.36.0-fake", "gitCommit": "", "gitTreeState": "clean",
            "buildDate": "2026-01-01T00:00:00Z", "goVersion": "", "compiler": "", "platform": "fake",
        })),
        ["api"] => {
            Some(json!({ "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [] }))
        }
        ["apis"] => {
            let mut groups: BTreeMap<&str, &str> = BTreeMap::new();
            groups.extend(
                resources().filter(|r| !r.group.is_empty()).map(|r| (r.group.as_str(), r.version.as_str())),
            );
            let groups: Vec<Value> =
                groups.iter().map(|(group, version)| group_entry(group, version)).collect();
            Some(json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups }))
        }
        ["apis", group] => {
            let resource = resources().find(|r| r.group == *group)?;
            let mut entry = group_entry(group, &resource.version);
            entry["kind"] = json!("APIGroup");
            entry["apiVersion"] = json!("v1");
            Some(entry)
        }
        ["api", version] => resource_list("", version, resources()),
        ["apis", group, version] => resource_list(group, version, resources()),
        _ => None,
    }
}

fn group_entry(group: &str, version: &str) -> Value {
    let version = json!({ "groupVersion": format!("{group}/{version}"), "version": version });
    json!({ "name": group, "versions": [version], "preferredVersion": version })
}

fn resource_list<'a>(
    group: &str,
    version: &str,
    resources: impl Iterator<Item = &'a Resource>,
) -> Option<Value> {
    let mut entries = Vec::new();
    let mut group_version = String::new();
    for resource in resources.filter(|r| r.group == group && r.version == version) {
        group_version = resource.api_version();
        let entry = |name: String, verbs: Value| {
            json!({
                "name": name, "singularName": resource.kind.to_lowercase(), "namespaced": resource.namespaced,
                "kind": resource.kind, "verbs": verbs,
            })
        };
        let verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
        entries.push(entry(resource.plural.clone(), json!(verbs)));
        if resource.status {
            entries.push(entry(format!("{}/status", resource.plural), json!(["get", "patch", "update"])));
        }
    }
    let found = !entries.is_empty();
    let list = json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": entries });
    found.then_some(list)
}

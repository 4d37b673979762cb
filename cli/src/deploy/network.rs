//! The networks that a Workload joins: one that is not there holds its instances up for ever.

use std::collections::BTreeSet;

use fedhub_core::message::Quoted;
use fedhub_core::names::is_dns_label;
use fedhub_core::object::{Object, ObjectView};
use kube::api::{Api, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use crate::model::MANAGER;
use crate::problem::Problem;
use crate::session::Session;
use crate::url::optional::{Found, find};

/// The names of the networks of a Workload, but what cannot be the name of one: the server refuses that.
pub fn names(workload: &Object) -> BTreeSet<String> {
    let interfaces = workload.spec().pointer("/template/spec/networkInterfaces").and_then(Value::as_array);
    let names = interfaces.into_iter().flatten().filter_map(|it| it["network"]["name"].as_str());
    names.filter(|name| is_dns_label(name)).map(str::to_owned).collect()
}

/// Returns the networks that do not exist, if the project serves networks. Networks that cannot be read count
/// as existing: the server has the last word.
pub async fn missing(session: &Session, names: BTreeSet<String>) -> Vec<String> {
    let mut missing = Vec::new();
    for name in names {
        if let Ok(Found::Absent) = find(&api(session), &name).await {
            missing.push(name);
        }
    }
    missing
}

/// Creates a network whose addresses the network service chooses.
pub async fn create(session: &Session, name: &str) -> Result<(), Problem> {
    let mut network = Object::new(name, &resource());
    network.data = json!({"spec": {"ipam": {"mode": "Auto"}}});
    let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
    match api(session).create(&params, &network).await {
        Ok(_) => Ok(()),
        // Another writer was faster.
        Err(kube::Error::Api(status)) if status.reason == "AlreadyExists" => Ok(()),
        Err(error) => Err(Problem::from_error(error, &format!("create network {}", Quoted(name)))),
    }
}

fn resource() -> ApiResource {
    let kind = GroupVersionKind::gvk("networking.datumapis.com", "v1alpha", "Network");
    ApiResource::from_gvk_with_plural(&kind, "networks")
}

fn api(session: &Session) -> Api<Object> {
    Api::namespaced_with(session.client.clone(), &session.namespace, &resource())
}

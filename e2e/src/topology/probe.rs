//! The one proof that the planes are usable: an object goes from the hub into a cell, and away again.

use std::time::Duration;

use futures::future::try_join_all;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::json;

use super::manifests;
use super::planes::{Cells, HUB};
use super::wait::{NotYet, until};
use crate::Error;

/// A namespace that is everywhere, for emptying one of our own would take ten seconds.
const NAMESPACE: &str = "default";

/// Sends a `ConfigMap` through Karmada into each cell, and waits until it is gone again.
pub async fn propagate(hub: &Client, cells_clients: &[(&str, Client)]) -> Result<(), Error> {
    let probes = Cells::Four.iter().filter_map(|(plane, city)| {
        let (_, client) = cells_clients.iter().find(|(name, _)| *name == plane.name)?;
        Some(probe(hub, client, plane.name, city))
    });
    try_join_all(probes).await?;
    Ok(())
}

async fn probe(hub: &Client, cell: &Client, cell_name: &str, city: &str) -> Result<(), Error> {
    let name = format!("fedhub-probe-{cell_name}");
    let metadata = json!({ "namespace": NAMESPACE, "name": name });
    let policy = manifests::object(json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy", "metadata": metadata,
        "spec": {
            "resourceSelectors": [{ "apiVersion": "v1", "kind": "ConfigMap", "name": name }],
            "placement": { "clusterAffinity": { "labelSelector": {
                "matchLabels": { "topology.datum.net/city-code": city },
            } } },
        },
    }))?;
    let object = manifests::object(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata }))?;
    // Right after the webhook's start the API server may not have connected to it yet.
    until(format!("the hub to take a policy for {cell_name}"), Duration::from_secs(30), || async {
        manifests::apply(hub, HUB, &policy).await?;
        manifests::apply(hub, HUB, &object).await?;
        Ok(())
    })
    .await?;

    let in_cell: Api<ConfigMap> = Api::namespaced(cell.clone(), NAMESPACE);
    until(format!("a probe to reach {cell_name}"), Duration::from_mins(1), || async {
        let found = in_cell.get_opt(&name).await.map_err(NotYet::again)?;
        found.map(|_| ()).ok_or_else(|| NotYet::again("not there"))
    })
    .await?;

    let on_hub: Api<ConfigMap> = Api::namespaced(hub.clone(), NAMESPACE);
    let kind = GroupVersionKind::gvk("policy.karmada.io", "v1alpha1", "PropagationPolicy");
    let policies: Api<DynamicObject> =
        Api::namespaced_with(hub.clone(), NAMESPACE, &ApiResource::from_gvk(&kind));
    let params = DeleteParams::default();
    on_hub.delete(&name, &params).await.map_err(Error::api(format!("delete {name} on {HUB}")))?;
    until(format!("a probe to leave {cell_name}"), Duration::from_mins(1), || async {
        match in_cell.get_opt(&name).await.map_err(NotYet::again)? {
            None => Ok(()),
            Some(_) => Err(NotYet::again("still there")),
        }
    })
    .await?;
    policies
        .delete(&name, &params)
        .await
        .map_err(Error::api(format!("delete the policy {name} on {HUB}")))?;
    Ok(())
}

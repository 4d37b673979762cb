//! Karmada on the hub's API server: its namespaces, CRDs, aggregated API, webhooks, and the cells.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::try_join_all;
use http::Request;
use k8s_openapi::ByteString;
use kube::api::{DynamicObject, ListParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::commands::{AGGREGATED, WEBHOOK, api_server_process};
use super::planes::{Cells, HUB, Plane};
use super::wait::{NotYet, until};
use super::{crds, manifests};
use crate::Error;
use crate::tools::Built;

/// Karmada's own namespace: the aggregated API's service.
const SYSTEM: &str = "karmada-system";
/// Where the cells' credentials are kept.
const CLUSTERS: &str = "karmada-cluster";
const CRDS: &str = "charts/karmada/_crds";
const API_SERVICE: &str = "artifacts/deploy/karmada-aggregated-apiserver-apiservice.yaml";
const WEBHOOKS: &str = "artifacts/deploy/webhook-configuration.yaml";

/// What installing Karmada needs.
pub struct Hub<'a> {
    /// An administrator of the hub.
    pub client: &'a Client,
    /// Karmada's programs and manifests.
    pub karmada: &'a Built,
    /// The cells that are its members.
    pub cells: Cells,
    /// Where everything listens.
    pub ports: &'a BTreeMap<String, u16>,
    /// The CA of all servers, in PEM.
    pub ca: &'a str,
    /// Karmada's token in the cells.
    pub cell_token: &'a str,
}

impl Hub<'_> {
    /// Namespaces, the aggregated API's registration, and the CRDs. The servers behind them need not run yet.
    pub async fn install(&self) -> Result<(), Error> {
        for name in [SYSTEM, CLUSTERS] {
            self.apply(json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }))
                .await?;
        }
        let ca_bundle = self.ca_bundle();
        let webhook = self.url(WEBHOOK);
        let registration = async {
            for mut object in
                manifests::read(&self.karmada.manifest(API_SERVICE), &[("{{caBundle}}", &ca_bundle)])?
            {
                self.point_at_local_process(&mut object);
                manifests::apply(self.client, HUB, &object).await?;
            }
            Ok(())
        };
        let directory = self.karmada.manifest(CRDS);
        let definitions = crds::install_karmada(self.client, HUB, &directory, &webhook, &ca_bundle);
        tokio::try_join!(registration, definitions)?;
        Ok(())
    }

    /// The aggregator resolves a service of type `ExternalName` to that name and the registration's port.
    fn point_at_local_process(&self, object: &mut DynamicObject) {
        match object.types.as_ref().map(|types| types.kind.as_str()) {
            Some("Service") => object.data["spec"]["externalName"] = json!("127.0.0.1"),
            Some("APIService") => {
                object.data["spec"]["service"]["port"] = json!(self.ports.get(AGGREGATED));
            }
            _ => {}
        }
    }

    /// Waits until the hub serves `cluster.karmada.io`.
    pub async fn cluster_api_served(&self) -> Result<(), Error> {
        let url = "/apis/cluster.karmada.io/v1alpha1/clusters";
        until("the hub to serve clusters.cluster.karmada.io", Duration::from_mins(1), || async {
            let request = Request::get(url).body(Vec::new()).map_err(NotYet::again)?;
            let list: Value = self.client.request(request).await.map_err(NotYet::again)?;
            // For an instant after its start the answer may lack this, and a watch from it would fail.
            match list["metadata"]["resourceVersion"].as_str() {
                Some(version) if !version.is_empty() => Ok(()),
                _ => Err(NotYet::again("a list without a resourceVersion")),
            }
        })
        .await
    }

    /// Registers Karmada's webhooks. The webhook has to run: from here on writes wait for it.
    pub async fn register_webhooks(&self) -> Result<(), Error> {
        let url = self.url(WEBHOOK);
        let ca_bundle = self.ca_bundle();
        let replace =
            [("https://karmada-webhook.karmada-system.svc:443", url.as_str()), ("{{caBundle}}", &ca_bundle)];
        let configurations = manifests::read(&self.karmada.manifest(WEBHOOKS), &replace)?;
        manifests::apply_all(self.client, HUB, &configurations).await
    }

    /// Registers every cell as a Cluster that Karmada pushes to.
    pub async fn register_cells(&self) -> Result<(), Error> {
        try_join_all(self.cells.iter().map(|(plane, city)| self.register_cell(plane, city))).await?;
        Ok(())
    }

    async fn register_cell(&self, plane: &Plane, city: &str) -> Result<(), Error> {
        let secret = json!({ "namespace": CLUSTERS, "name": plane.name });
        self.apply(json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": secret,
            "data": {
                "token": ByteString(self.cell_token.into()),
                "caBundle": ByteString(self.ca.into()),
            },
        }))
        .await?;
        self.apply(json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
            "metadata": { "name": plane.name, "labels": { "topology.datum.net/city-code": city } },
            "spec": {
                "syncMode": "Push",
                "apiEndpoint": self.url(&api_server_process(plane.name)),
                "secretRef": secret,
                "impersonatorSecretRef": secret,
            },
        }))
        .await
    }

    /// Waits until every cell that is `up` is Ready and, where it should be, known to serve deployments: the
    /// scheduler passes over a cell that it does not know to serve a kind.
    pub async fn cells_ready(&self, compute: bool, up: impl Fn(&Plane) -> bool) -> Result<(), Error> {
        let kind = GroupVersionKind::gvk("cluster.karmada.io", "v1alpha1", "Cluster");
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &ApiResource::from_gvk(&kind));
        until("every cell to be Ready in Karmada", Duration::from_mins(1), || async {
            let list = api.list(&ListParams::default()).await.map_err(NotYet::again)?;
            for (cell, _) in self.cells.iter().filter(|(cell, _)| up(cell)) {
                let cluster = list.items.iter().find(|cluster| cluster.name_any() == cell.name);
                let Some(cluster) = cluster else {
                    return Err(NotYet::again(format!("{} is not there", cell.name)));
                };
                if !is_ready(&cluster.data["status"]) {
                    return Err(NotYet::again(format!("{} is not Ready", cell.name)));
                }
                if compute && !serves_deployments(&cluster.data["status"]) {
                    return Err(NotYet::again(format!("{} does not serve WorkloadDeployments", cell.name)));
                }
            }
            Ok(())
        })
        .await
    }

    async fn apply(&self, manifest: Value) -> Result<(), Error> {
        manifests::apply(self.client, HUB, &manifests::object(manifest)?).await?;
        Ok(())
    }

    fn url(&self, process: &str) -> String {
        format!("https://127.0.0.1:{}", self.ports.get(process).copied().unwrap_or_default())
    }

    fn ca_bundle(&self) -> String {
        json!(ByteString(self.ca.into())).as_str().unwrap_or_default().to_owned()
    }
}

fn is_ready(status: &Value) -> bool {
    status["conditions"].as_array().is_some_and(|conditions| {
        conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
    })
}

fn serves_deployments(status: &Value) -> bool {
    status["apiEnablements"].as_array().is_some_and(|groups| {
        groups.iter().any(|group| {
            group["groupVersion"] == "compute.datumapis.com/v1alpha"
                && group["resources"].as_array().is_some_and(|resources| {
                    resources.iter().any(|resource| resource["kind"] == "WorkloadDeployment")
                })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_counts_only_with_the_kind_that_is_scheduled() {
        let status = |kind: &str| {
            json!({
                "conditions": [{ "type": "Ready", "status": "True" }],
                "apiEnablements": [{
                    "groupVersion": "compute.datumapis.com/v1alpha",
                    "resources": [{ "kind": kind }],
                }],
            })
        };
        assert!(is_ready(&status("x")) && !serves_deployments(&status("Instance")));
        assert!(serves_deployments(&status("WorkloadDeployment")));
        assert!(!is_ready(&json!({ "conditions": [{ "type": "Ready", "status": "False" }] })));
        assert!(!is_ready(&Value::Null));
    }
}

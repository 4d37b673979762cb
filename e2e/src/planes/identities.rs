//! fedhub's own identities: service accounts with the rights that `deploy/` gives them, on every plane it works on. The
//! cell role has others than the management role.

use std::{path::PathBuf, time::Duration};

use futures::future::try_join_all;
use k8s_openapi::api::{
    authentication::v1::{TokenRequest, TokenRequestSpec},
    core::v1::ServiceAccount,
};
use kube::{Api, Client, api::PostParams};
use serde_json::json;

use super::{
    kubeconfig::{self, Credential},
    layout::Layout,
    manifests,
    topology::{HUB, MANAGEMENT, projects},
    wait::{NotYet, until},
};
use crate::Error;

/// The namespace of fedhub, on every plane of the management role.
pub const NAMESPACE: &str = "fedhub-system";
/// The namespace of the cell role, on every plane.
pub const CELLS_NAMESPACE: &str = "fedhub-cells";
/// As long as anybody keeps throw-away planes.
const TOKEN_SECONDS: i64 = 24 * 60 * 60;

/// Whose identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// The management role's.
    Fedhub,
    /// The cell role's.
    Cell,
}

impl Holder {
    /// Namespace and name of the service account.
    fn account(self) -> (&'static str, &'static str) {
        match self {
            Self::Fedhub => (NAMESPACE, "fedhub"),
            Self::Cell => (CELLS_NAMESPACE, "fedhub-cell"),
        }
    }

    /// What the API servers call it.
    pub fn user(self) -> String {
        let (namespace, name) = self.account();
        format!("system:serviceaccount:{namespace}:{name}")
    }

    fn kubeconfig(self, layout: &Layout, plane: &str) -> PathBuf {
        match self {
            Self::Fedhub => layout.fedhub_kubeconfig(plane),
            Self::Cell => layout.cell_role_kubeconfig(plane),
        }
    }
}

/// Gets a token on a plane and writes the kubeconfig with it. The service account has to be there.
pub async fn issue(
    holder: Holder,
    client: &Client,
    layout: &Layout,
    plane: &str,
    server: &str,
    ca: &str,
) -> Result<(), Error> {
    let (namespace, account) = holder.account();
    let api: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            expiration_seconds: Some(TOKEN_SECONDS),
            ..TokenRequestSpec::default()
        }),
        ..TokenRequest::default()
    };
    let params = PostParams::default();
    let token = until(format!("a token of {account} on {plane}"), Duration::from_secs(30), || async {
        let answer = api.create_token_request(account, &params, &request).await;
        let status = answer.map_err(NotYet::again)?.status;
        status.and_then(|status| status.token).ok_or_else(|| NotYet::again("an answer without a token"))
    })
    .await?;
    kubeconfig::write(&holder.kubeconfig(layout, plane), plane, server, ca, Credential::Token(&token))?;
    Ok(())
}

/// Tells fedhub, through Secrets on the management plane, of the project planes and of the hub, and cells of the project
/// planes: with credentials for claims only.
pub async fn publish(management: &Client, layout: &Layout) -> Result<(), Error> {
    let mut secrets =
        vec![(Holder::Fedhub, HUB, json!({ "namespace": NAMESPACE, "name": "fedhub-hub-kubeconfig" }))];
    for plane in projects() {
        for holder in [Holder::Fedhub, Holder::Cell] {
            let metadata = json!({
                "namespace": holder.account().0,
                "name": format!("plane-{}", plane.name),
                "labels": { "federation.datumapis.com/plane": "project" },
                "annotations": { "federation.datumapis.com/plane-name": plane.name },
            });
            secrets.push((holder, plane.name, metadata));
        }
    }
    try_join_all(secrets.into_iter().map(|(holder, plane, metadata)| async move {
        let path = holder.kubeconfig(layout, plane);
        let kubeconfig = std::fs::read_to_string(&path).map_err(Error::file("read", path))?;
        let secret = manifests::object(json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": metadata,
            "stringData": { "kubeconfig": kubeconfig },
        }))?;
        manifests::apply(management, MANAGEMENT, &secret).await
    }))
    .await?;
    Ok(())
}

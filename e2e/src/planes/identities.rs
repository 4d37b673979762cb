//! fedhub's own identities: a service account with the rights that `deploy/` gives it, on every plane it works on.

use std::time::Duration;

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

/// The namespace of fedhub, on every plane.
pub const NAMESPACE: &str = "fedhub-system";
/// Its service account there.
const SERVICE_ACCOUNT: &str = "fedhub";
/// As long as anybody keeps throw-away planes.
const TOKEN_SECONDS: i64 = 24 * 60 * 60;

/// Gets fedhub a token on a plane and writes its kubeconfig. The service account has to be there.
pub async fn issue(
    client: &Client,
    layout: &Layout,
    plane: &str,
    server: &str,
    ca: &str,
) -> Result<(), Error> {
    let api: Api<ServiceAccount> = Api::namespaced(client.clone(), NAMESPACE);
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            expiration_seconds: Some(TOKEN_SECONDS),
            ..TokenRequestSpec::default()
        }),
        ..TokenRequest::default()
    };
    let params = PostParams::default();
    let token = until(format!("a token of fedhub on {plane}"), Duration::from_secs(30), || async {
        let answer = api.create_token_request(SERVICE_ACCOUNT, &params, &request).await;
        let status = answer.map_err(NotYet::again)?.status;
        status.and_then(|status| status.token).ok_or_else(|| NotYet::again("an answer without a token"))
    })
    .await?;
    kubeconfig::write(&layout.fedhub_kubeconfig(plane), plane, server, ca, Credential::Token(&token))?;
    Ok(())
}

/// Tells fedhub, through Secrets on the management plane, of the project planes and of the hub.
pub async fn publish(management: &Client, layout: &Layout) -> Result<(), Error> {
    let planes = projects().map(|plane| {
        let metadata = json!({
            "namespace": NAMESPACE,
            "name": format!("plane-{}", plane.name),
            "labels": { "federation.datumapis.com/plane": "project" },
            "annotations": { "federation.datumapis.com/plane-name": plane.name },
        });
        (plane.name, metadata)
    });
    let hub = (HUB, json!({ "namespace": NAMESPACE, "name": "fedhub-hub-kubeconfig" }));
    try_join_all(planes.chain([hub]).map(|(plane, metadata)| async move {
        let path = layout.fedhub_kubeconfig(plane);
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

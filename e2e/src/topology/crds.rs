//! Custom resource definitions: made, and awaited until they are served.

use std::path::Path;
use std::time::Duration;

use futures::future::try_join_all;
use http::Request;
use http::header::CONTENT_TYPE;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use kube::{Api, Client, Resource};
use serde::Deserialize;
use serde_json::{Value, json};

use super::manifests;
use super::wait::{NotYet, until};
use crate::Error;

/// Applies compute CRDs to a plane and waits until they are served.
pub async fn install(client: &Client, plane: &str, definitions: &[DynamicObject]) -> Result<(), Error> {
    try_join_all(definitions.iter().map(|definition| manifests::apply(client, plane, definition))).await?;
    established(client, plane).await
}

/// The parts of Karmada's kustomization that matter here.
#[derive(Deserialize)]
struct Kustomization {
    resources: Vec<String>,
    patches: Vec<KustomizationPatch>,
}

#[derive(Deserialize)]
struct KustomizationPatch {
    path: String,
}

/// Installs Karmada's CRDs on the hub, with conversion by the webhook at `webhook`.
///
/// The files go to the server as they are: they are its own format, and reading half a megabyte of YAML here
/// first would take longer than all the rest.
pub async fn install_karmada(
    client: &Client,
    plane: &str,
    directory: &Path,
    webhook: &str,
    ca_bundle: &str,
) -> Result<(), Error> {
    let path = directory.join("kustomization.yaml");
    let text = std::fs::read_to_string(&path).map_err(Error::file("read", &path))?;
    let kustomization: Kustomization = serde_saphyr::from_str(&text)
        .map_err(|error| Error::Manifest { path: path.clone(), problem: error.to_string() })?;

    let files = kustomization.resources.iter().map(|resource| directory.join(resource));
    try_join_all(files.map(|file| async move { create(client, plane, &file).await })).await?;

    // Karmada templates these for a service inside the cluster; here the webhook is a local process.
    let replace = [("https://{{name}}.{{namespace}}.svc:443", webhook), ("{{caBundle}}", ca_bundle)];
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    for patch in &kustomization.patches {
        for change in manifests::read(&directory.join(&patch.path), &replace)? {
            let name = change.metadata.name.clone().unwrap_or_default();
            let conversion = json!({ "spec": { "conversion": change.data["spec"]["conversion"] } });
            api.patch(&name, &PatchParams::default(), &Patch::Merge(conversion))
                .await
                .map_err(Error::api(format!("set the conversion of {name} on {plane}")))?;
        }
    }
    established(client, plane).await
}

async fn create(client: &Client, plane: &str, file: &Path) -> Result<(), Error> {
    let body = std::fs::read(file).map_err(Error::file("read", file))?;
    let url = CustomResourceDefinition::url_path(&(), None);
    let request = Request::post(url)
        .header(CONTENT_TYPE, "application/yaml")
        .body(body)
        .map_err(|error| Error::Manifest { path: file.to_path_buf(), problem: error.to_string() })?;
    match client.request::<Value>(request).await {
        // Already there: the hub is being refilled.
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        answer => answer.map(|_| ()).map_err(Error::api(format!("create {} on {plane}", file.display()))),
    }
}

/// Waits until every CRD of a plane is served.
async fn established(client: &Client, plane: &str) -> Result<(), Error> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    until(format!("the CRDs of {plane} to be established"), Duration::from_mins(1), || async {
        let all = api.list(&ListParams::default()).await.map_err(NotYet::again)?;
        match all.items.iter().find(|definition| !is_established(definition)) {
            None => Ok(()),
            Some(waiting) => Err(NotYet::again(waiting.metadata.name.as_deref().unwrap_or_default())),
        }
    })
    .await
}

fn is_established(definition: &CustomResourceDefinition) -> bool {
    let conditions = definition.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.is_some_and(|all| {
        all.iter().any(|condition| condition.type_ == "Established" && condition.status == "True")
    })
}

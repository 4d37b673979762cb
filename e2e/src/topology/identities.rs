//! fedhub's own identities: service accounts with the rights that `deploy/` gives them, on every plane it
//! works on. The cell role has others than the management role, and on the hub each cell has its own.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use futures::future::try_join_all;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::kubeconfig::{self, Credential};
use super::layout::Layout;
use super::manifests;
use super::planes::{Cells, HUB, Kind, MANAGEMENT, Plane, projects};
use super::wait::{NotYet, until};
use crate::Error;

/// The namespace of fedhub, on every plane of the management role.
pub const NAMESPACE: &str = "fedhub-system";
/// The namespace of the cell role, on every plane.
pub const CELLS_NAMESPACE: &str = "fedhub-cells";
/// Names of the Secrets with kubeconfigs that Deployments mount.
pub const HUB_SECRET: &str = "fedhub-hub-kubeconfig";
const QUOTA_SECRET: &str = "fedhub-quota-kubeconfig";
const WEBHOOK_SECRET: &str = "fedhub-webhook-tls";
const PROVIDER_SECRET: &str = "fedhub-provider";
pub const DISCOVERY_SECRET: &str = "fedhub-discovery-kubeconfig";
/// The `ConfigMap` by which the hub's policies know the cells.
const KNOWN_CELLS: &str = "fedhub-cells";
/// Longer than throw-away planes live.
const TOKEN_SECONDS: i64 = 24 * 60 * 60;

/// Whose identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// The management role's.
    Fedhub,
    /// The cell role's, on every plane but the hub.
    Cell,
    /// That of the cell of this name, on the hub.
    CellOnHub(&'static str),
}

impl Holder {
    /// All that there can be.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::with(Cells::Four)
    }

    /// Those of an instance with these cells.
    fn with(cells: Cells) -> impl Iterator<Item = Self> {
        [Self::Fedhub, Self::Cell].into_iter().chain(cells.iter().map(|(cell, _)| Self::CellOnHub(cell.name)))
    }

    /// Those with an identity on that plane, in an instance with these cells.
    pub fn on(plane: &Plane, cells: Cells) -> impl Iterator<Item = Self> {
        let kind = plane.kind;
        Self::with(cells).filter(move |holder| match (holder, kind) {
            (Self::Fedhub, Kind::Cell { .. }) | (Self::Cell, Kind::Hub) => false,
            (Self::CellOnHub(_), kind) => kind == Kind::Hub,
            _ => true,
        })
    }

    /// Namespace and name of the service account.
    fn account(self) -> (&'static str, &'static str) {
        match self {
            Self::Fedhub => (NAMESPACE, "fedhub"),
            Self::Cell => (CELLS_NAMESPACE, "fedhub-cell"),
            Self::CellOnHub(cell) => (CELLS_NAMESPACE, cell),
        }
    }

    /// What the API servers call it.
    pub fn user(self) -> String {
        let (namespace, name) = self.account();
        format!("system:serviceaccount:{namespace}:{name}")
    }

    /// The group of the service accounts of its namespace.
    pub fn group(self) -> String {
        format!("system:serviceaccounts:{}", self.account().0)
    }

    /// The role with that service account.
    fn find(namespace: &str, name: &str) -> Option<Self> {
        [Self::Fedhub, Self::Cell].into_iter().find(|holder| holder.account() == (namespace, name))
    }

    fn kubeconfig(self, layout: &Layout, plane: &str) -> PathBuf {
        match self {
            Self::Fedhub => layout.fedhub_kubeconfig(plane),
            Self::Cell => layout.cell_role_kubeconfig(plane),
            Self::CellOnHub(cell) => layout.cell_role_kubeconfig(&format!("{plane}-{cell}")),
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

/// The kubeconfig of a service account on a plane, if it is one of fedhub's.
pub fn of_account(layout: &Layout, namespace: &str, name: &str, plane: &str) -> Option<PathBuf> {
    Holder::find(namespace, name).map(|holder| holder.kubeconfig(layout, plane))
}

/// The file with what a Secret on a plane holds under `key`, of those that Deployments of `deploy/` mount: a
/// kubeconfig, or what a suite has put there.
pub fn mounted(layout: &Layout, namespace: &str, secret: &str, key: &str, plane: &Plane) -> Option<PathBuf> {
    let holder = [Holder::Fedhub, Holder::Cell].into_iter().find(|holder| holder.account().0 == namespace)?;
    match (secret, holder) {
        (HUB_SECRET, Holder::Cell) => Some(Holder::CellOnHub(plane.name).kubeconfig(layout, HUB)),
        (HUB_SECRET, _) => Some(holder.kubeconfig(layout, HUB)),
        (QUOTA_SECRET, _) => Some(holder.kubeconfig(layout, MANAGEMENT)),
        (DISCOVERY_SECRET, _) => Some(layout.gateway()),
        (WEBHOOK_SECRET, Holder::Fedhub) => Some(layout.scratch("webhooks").join(key)),
        (PROVIDER_SECRET, Holder::Cell) => Some(layout.scratch("provider").join(plane.name).join(key)),
        _ => None,
    }
}

/// Gives each cell its service account on the hub, and the entry by which the hub's policies know it: what
/// `fedhub cells admit` does.
pub async fn introduce_cells(hub: &Client, layout: &Layout, cells: Cells) -> Result<(), Error> {
    let mut entries = serde_json::Map::new();
    for (cell, city) in cells.iter() {
        let (namespace, name) = Holder::CellOnHub(cell.name).account();
        let account = manifests::object(json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "namespace": namespace, "name": name },
        }))?;
        manifests::apply(hub, HUB, &account).await?;
        let uid = cell_uid(layout, cell).await?;
        entries.insert(name.to_owned(), json!(format!("{city}/{uid}")));
    }
    let api: Api<ConfigMap> = Api::namespaced(hub.clone(), CELLS_NAMESPACE);
    let patch = Patch::Merge(json!({ "data": entries }));
    api.patch(KNOWN_CELLS, &PatchParams::default(), &patch)
        .await
        .map_err(Error::api(format!("patch ConfigMap {KNOWN_CELLS} on {HUB}")))?;
    Ok(())
}

/// The UID of a cell's namespace `kube-system`. It is written down, for a cell may be down when the hub is
/// rebuilt.
async fn cell_uid(layout: &Layout, cell: &Plane) -> Result<String, Error> {
    let file = layout.cell_role_kubeconfig(cell.name).with_extension("uid");
    if let Ok(uid) = fs::read_to_string(&file) {
        return Ok(uid);
    }
    let api: Api<Namespace> = Api::all(kubeconfig::client(&layout.kubeconfig(cell.name)).await?);
    let uid = until(format!("the UID of {}", cell.name), Duration::from_secs(30), || async {
        let namespace = api.get("kube-system").await.map_err(NotYet::again)?;
        namespace.uid().ok_or_else(|| NotYet::again("a namespace without a UID"))
    })
    .await?;
    fs::write(&file, &uid).map_err(Error::file("write", &file))?;
    Ok(uid)
}

/// Publishes to fedhub, as Secrets on the management plane, the project planes and the hub; and to cells the
/// project planes, with credentials for claims only.
pub async fn publish(management: &Client, layout: &Layout) -> Result<(), Error> {
    let mut secrets = vec![(Holder::Fedhub, HUB, json!({ "namespace": NAMESPACE, "name": HUB_SECRET }))];
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
    apply_secrets(management, MANAGEMENT, layout, secrets).await
}

/// Publishes to the fedhub of a cell its name, its city and its kubeconfigs.
pub async fn publish_in_cell(cell: &Client, layout: &Layout, plane: &Plane, city: &str) -> Result<(), Error> {
    let secret = |name: &str| json!({ "namespace": CELLS_NAMESPACE, "name": name });
    let secrets = vec![
        (Holder::CellOnHub(plane.name), HUB, secret(HUB_SECRET)),
        (Holder::Cell, MANAGEMENT, secret(QUOTA_SECRET)),
    ];
    apply_secrets(cell, plane.name, layout, secrets).await?;
    let who = manifests::object(json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "namespace": CELLS_NAMESPACE, "name": "fedhub-cell" },
        "data": { "name": plane.name, "city": city },
    }))?;
    manifests::apply(cell, plane.name, &who).await.map(drop)
}

/// Applies Secrets, each with the kubeconfig of a role for a plane.
async fn apply_secrets(
    client: &Client,
    on: &str,
    layout: &Layout,
    secrets: Vec<(Holder, &str, Value)>,
) -> Result<(), Error> {
    try_join_all(secrets.into_iter().map(|(holder, plane, metadata)| async move {
        let path = holder.kubeconfig(layout, plane);
        let kubeconfig = std::fs::read_to_string(&path).map_err(Error::file("read", path))?;
        let secret = manifests::object(json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": metadata,
            "stringData": { "kubeconfig": kubeconfig },
        }))?;
        manifests::apply(client, on, &secret).await
    }))
    .await?;
    Ok(())
}

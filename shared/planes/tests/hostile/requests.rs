//! Requests of every kind that fedhub sends.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use fedhub_cache::MemoryBudget;
use fedhub_core::errors::{ApiError, chain};
use fedhub_core::object::{Kind, Object, bare};
use fedhub_planes::listwatch::limits::ListLimits;
use fedhub_planes::listwatch::pages::{BoundedClient, Part};
use fedhub_planes::listwatch::{Config, listwatch};
use fedhub_planes::transport::Connection;
use fedhub_planes::{Pass, Plane};
use futures::{StreamExt, pin_mut};
use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use k8s_openapi::api::core::v1::{self, ConfigMap, Namespace};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchParams};
use kube::runtime::watcher::Event;
use kube::{Api, Client};
use serde_json::json;

/// How many objects a list may have here.
pub const OBJECTS: usize = 100;
/// How many events of a watch are taken.
const EVENTS: usize = 5;

/// A plane, as requests of all kinds need it.
#[derive(Clone)]
pub struct Asked {
    pub plane: Arc<Plane>,
    pub connection: Connection,
    pub budget: MemoryBudget,
}

/// A request, or a list of several, and what it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::VariantArray)]
pub enum Asking {
    Identity,
    Namespace,
    Discovery,
    Version,
    LiveObject,
    LiveNamespace,
    Confidential,
    Metadata,
    MetadataOfAll,
    Pages,
    ListAndWatch,
    ListOfKube,
    WatchOfKube,
    Create,
    CreateOfKube,
    Review,
    Replace,
    Patch,
    Delete,
}

fn words<T, E: Into<ApiError>>(read: Result<T, E>) -> Result<(), String> {
    read.map(drop).map_err(|error| chain(&error.into()))
}

impl Asking {
    /// Sends it, and waits for its end.
    pub async fn send(self, asked: &Asked) -> Result<(), String> {
        let Asked { plane, connection, budget } = asked;
        let client = plane.client();
        let pass = Pass::unbound();
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "n");
        let wd = || bare(Kind::WorkloadDeployment, "n", "wd");
        match self {
            Self::Identity => words(namespaces.get_metadata_opt("kube-system").await),
            Self::Namespace => words(namespaces.get("kube-system").await),
            Self::Discovery => words(client.list_api_group_resources("compute.datumapis.com/v1alpha").await),
            Self::Version => words(client.apiserver_version().await),
            Self::LiveObject => plane
                .get_live(&pass, Kind::WorkloadDeployment, "n", "wd")
                .await
                .map(drop)
                .map_err(|e| chain(&e)),
            Self::LiveNamespace => {
                plane.get_live(&pass, Kind::Namespace, "", "n").await.map(drop).map_err(|e| chain(&e))
            }
            Self::Confidential => {
                plane.read_confidential(&pass, Kind::Secret, "n", "s").await.map(drop).map_err(|e| chain(&e))
            }
            Self::Metadata => {
                plane.read_metadata(&pass, Kind::Secret, "n", "s").await.map(drop).map_err(|e| chain(&e))
            }
            Self::MetadataOfAll => {
                let listed = plane.list_metadata(&pass, Kind::ConfigMap, None, None, OBJECTS, |_| true).await;
                listed.map(drop).map_err(|e| chain(&e))
            }
            Self::Pages => words(pages(client, asked).await),
            Self::ListAndWatch => list_and_watch(connection.clone(), plane, budget).await,
            Self::ListOfKube => words(maps.list(&ListParams::default().limit(500)).await),
            Self::WatchOfKube => watch(client).await,
            Self::Create => plane
                .create(&pass, Kind::WorkloadDeployment, &wd(), "m")
                .await
                .map(drop)
                .map_err(|e| chain(&e)),
            Self::CreateOfKube => {
                let events: Api<v1::Event> = Api::namespaced(client, "n");
                words(events.create(&PostParams::default(), &v1::Event::default()).await)
            }
            Self::Review => {
                let reviews: Api<SelfSubjectAccessReview> = Api::all(client);
                words(reviews.create(&PostParams::default(), &SelfSubjectAccessReview::default()).await)
            }
            Self::Replace => words(maps.replace("a", &PostParams::default(), &ConfigMap::default()).await),
            Self::Patch => {
                let patch = Patch::Merge(json!({"data": {"a": "b"}}));
                words(maps.patch("a", &PatchParams::default(), &patch).await)
            }
            Self::Delete => words(maps.delete("a", &DeleteParams::default()).await),
        }
    }
}

async fn pages(client: Client, asked: &Asked) -> Result<(), ApiError> {
    let source = BoundedClient { client, plane: asked.plane.id.clone(), budget: asked.budget.clone() };
    let limits = ListLimits { objects: OBJECTS, bytes: 8 << 20 };
    let mut pages = source.pages(Kind::Instance.resource(), "", Part::Whole, limits);
    let mut kept: Vec<Object> = Vec::new();
    let mut keep = |object: Object| {
        kept.push(object);
        ControlFlow::Continue(())
    };
    while pages.next(&mut keep).await?.is_continue() {}
    Ok(())
}

/// Until something fails, or the watch has brought some events.
async fn list_and_watch(connection: Connection, plane: &Plane, budget: &MemoryBudget) -> Result<(), String> {
    let config = Config {
        plane: plane.id.clone(),
        kind: Kind::Instance,
        selector: None,
        timeout: 1,
        objects: OBJECTS,
        asks: true,
    };
    let newest = AtomicU64::new(0);
    let stream = listwatch(connection, config, budget.clone(), &newest);
    pin_mut!(stream);
    let mut left = usize::MAX;
    while left > 0 {
        match stream.next().await {
            Some(Ok(Event::InitDone)) => left = EVENTS,
            Some(Ok(_)) => left -= 1,
            Some(Err(error)) => return Err(chain(&error)),
            None => return Err("ended".to_owned()),
        }
    }
    Ok(())
}

async fn watch(client: Client) -> Result<(), String> {
    let maps: Api<ConfigMap> = Api::all(client);
    let events = maps.watch(&WatchParams::default(), "7").await.map_err(|error| chain(&error))?;
    pin_mut!(events);
    match events.next().await {
        Some(event) => words(event),
        None => Ok(()),
    }
}

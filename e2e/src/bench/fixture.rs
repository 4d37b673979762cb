//! WDs that stand, federated by fedhub, and Instances of them.

use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{DeleteParams, ListParams};
use kube::{Client, ResourceExt};

use super::environment::{Environment, PROJECT, Space};
use super::loader;
use super::objects::{HubNamespace, Kind, Owner, api, api_all, runs};
use super::watch::Arrivals;
use crate::Error;

/// WDs on both planes.
pub struct Fixture {
    /// The project namespaces.
    pub spaces: Vec<Space>,
    /// Every hub WD with its hub namespace.
    pub on_hub: Vec<(HubNamespace, Owner)>,
    /// Every project WD with its namespace.
    pub on_project: Vec<(String, Owner)>,
}

impl Fixture {
    /// Lets a fedhub federate `count` WDs and ends it.
    pub async fn build(
        environment: &Environment,
        prefix: &str,
        namespaces: usize,
        count: usize,
    ) -> Result<Self, Error> {
        let spaces = loader::spaces(&environment.project, prefix, namespaces).await?;
        let mut fedhub = environment.fedhub().await?;
        let mut seen = Arrivals::of(&environment.hub, Kind::Deployment, prefix, |_| true).await?;
        tokio::try_join!(loader::deployments(&environment.project, &spaces, prefix, count), seen.all(count))?;
        fedhub.settled().await?;
        fedhub.stop().await?;
        environment.progress.step(format!("{count} WDs exist on both planes"));
        Self::find(environment, prefix, spaces).await
    }

    /// The WDs that stand in these namespaces.
    pub async fn find(environment: &Environment, prefix: &str, spaces: Vec<Space>) -> Result<Self, Error> {
        let mut homes = Vec::new();
        for space in &spaces {
            let found = api_all(&environment.hub, Kind::Namespace).get_metadata(&space.hub_name()).await;
            let found = found.map_err(Error::api(format!("get the hub namespace of {}", space.name)))?;
            homes.push(HubNamespace {
                name: space.hub_name(),
                uid: found.uid().unwrap_or_default(),
                of: space.name.clone(),
                plane_label: format!("cluster-{PROJECT}"),
            });
        }
        let home = |at: &str| homes.iter().find(|home| home.name == at).cloned();
        let on_hub = owners(&environment.hub, prefix).await?;
        let on_hub = on_hub.into_iter().filter_map(|(at, wd)| Some((home(&at)?, wd))).collect();
        let on_project = owners(&environment.project, prefix).await?;
        Ok(Self { spaces, on_hub, on_project })
    }

    /// Lets a fedhub project `each` Instances of every WD and ends it.
    pub async fn populate(&self, environment: &Environment, each: usize) -> Result<(), Error> {
        let mut fedhub = environment.fedhub().await?;
        let count = each * self.on_hub.len();
        let mut seen =
            Arrivals::of(&environment.project, Kind::Instance, "", |seen| runs(&seen.status)).await?;
        tokio::try_join!(loader::instances(&environment.hub, &self.on_hub, each), seen.all(count))?;
        fedhub.settled().await?;
        fedhub.stop().await?;
        environment.progress.step(format!("{count} Instances exist on both planes"));
        Ok(())
    }

    /// The hub namespaces.
    pub fn homes(&self) -> Vec<HubNamespace> {
        let mut homes: Vec<_> = self.on_hub.iter().map(|(home, _)| home.clone()).collect();
        homes.sort_by(|a, b| a.name.cmp(&b.name));
        homes.dedup_by(|a, b| a.name == b.name);
        homes
    }

    /// Removes all Instances from both planes. No fedhub may run.
    pub async fn vacate(&self, environment: &Environment) -> Result<(), Error> {
        let places = self.spaces.iter().flat_map(|space| {
            [(&environment.hub, space.hub_name()), (&environment.project, space.name.clone())]
        });
        let deletes = places.map(|(client, at)| async move {
            let (one, all) = (DeleteParams::background(), ListParams::default());
            let deleted = api(client, Kind::Instance, &at).delete_collection(&one, &all).await;
            deleted.map(drop).map_err(Error::api(format!("delete all Instances in {at}")))
        });
        stream::iter(deletes).buffer_unordered(8).try_collect::<()>().await?;
        environment.gone(&environment.hub, Kind::Instance).await?;
        environment.gone(&environment.project, Kind::Instance).await
    }
}

/// The WDs of a plane whose names begin so, with their namespaces.
async fn owners(client: &Client, prefix: &str) -> Result<Vec<(String, Owner)>, Error> {
    let list = api_all(client, Kind::Deployment).list_metadata(&ListParams::default()).await;
    let list = list.map_err(Error::api("list WorkloadDeployments".to_owned()))?;
    let ours = list.items.into_iter().filter(|wd| wd.name_any().starts_with(prefix));
    Ok(ours
        .map(|wd| {
            let owner = Owner { name: wd.name_any(), uid: wd.uid().unwrap_or_default() };
            (wd.namespace().unwrap_or_default(), owner)
        })
        .collect())
}

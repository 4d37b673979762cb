//! WDs that stand, federated by fedhub, and Instances of them.

use std::time::Instant;

use futures::{StreamExt, TryFutureExt, TryStreamExt, stream};
use kube::api::ListParams;
use kube::{Client, ResourceExt};

use super::environment::{Environment, PROJECT, Space, delete_all};
use super::loader;
use super::objects::{CITIES, HubNamespace, Kind, Owner, api_all, runs};
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
        federated(environment, &spaces, prefix, count).await?;
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
        self.projected(environment, each).await?;
        fedhub.settled().await?;
        fedhub.stop().await?;
        environment.progress.step(format!("{count} Instances exist on both planes"));
        Ok(())
    }

    /// Makes `each` Instances of every WD on the hub. Ends when the project's watch shows the status of the
    /// last.
    pub async fn projected(&self, environment: &Environment, each: usize) -> Result<Took, Error> {
        let seen =
            Arrivals::watch(&environment.project, Kind::Instance, "", |seen| runs(&seen.status)).await?;
        let made = loader::instances(&environment.hub, &self.on_hub, each);
        Took::measure(made, seen, each * self.on_hub.len()).await
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
        let deletes = places.map(|(client, at)| delete_all(client, Kind::Instance, at));
        stream::iter(deletes).buffer_unordered(8).try_collect::<()>().await?;
        environment.gone(&environment.hub, Kind::Instance).await?;
        environment.gone(&environment.project, Kind::Instance).await
    }
}

/// How long it took from the first create, in seconds.
pub struct Took {
    /// The time until the last object was created.
    pub created: f64,
    /// The time until the last object arrived.
    pub arrived: f64,
}

impl Took {
    async fn measure(
        create: impl Future<Output = Result<(), Error>>,
        mut seen: Arrivals,
        count: usize,
    ) -> Result<Self, Error> {
        let began = Instant::now();
        let (created, ended) =
            tokio::try_join!(create.map_ok(|()| began.elapsed().as_secs_f64()), seen.all(count))?;
        Ok(Self { created, arrived: ended.duration_since(began).as_secs_f64() })
    }
}

/// Makes WDs until the hub's watch shows the last one.
pub async fn federated(
    environment: &Environment,
    spaces: &[Space],
    prefix: &str,
    count: usize,
) -> Result<Took, Error> {
    let seen = Arrivals::watch(&environment.hub, Kind::Deployment, prefix, |_| true).await?;
    Took::measure(loader::deployments(&environment.project, spaces, prefix, count), seen, count).await
}

/// Makes Workloads in two cities until the hub's watch shows both WDs of the last one.
pub async fn placed(
    environment: &Environment,
    spaces: &[Space],
    prefix: &str,
    count: usize,
) -> Result<Took, Error> {
    let seen = Arrivals::watch(&environment.hub, Kind::Deployment, prefix, |_| true).await?;
    let made = loader::workloads(&environment.project, spaces, prefix, count);
    Took::measure(made, seen, CITIES.len() * count).await
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

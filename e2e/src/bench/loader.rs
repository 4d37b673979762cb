//! Makes objects as fast as a plane takes them, or at a pace.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use kube::api::{DynamicObject, PostParams};
use kube::{Client, ResourceExt};
use serde_json::Value;

use super::environment::Space;
use super::objects::{self, CITIES, HubNamespace, Kind, Owner, api, api_all, deployment, namespace};
use crate::Error;
use crate::demo::objects::object;

/// Creates under way at once: more of them do not make a plane of this size faster.
const HANDS: usize = 32;

/// Makes project namespaces `<prefix>-0`, `<prefix>-1` and so on.
pub async fn spaces(client: &Client, prefix: &str, count: usize) -> Result<Vec<Space>, Error> {
    let made = (0..count).map(|index| async move {
        let name = format!("{prefix}-{index}");
        let made = create(client, Kind::Namespace, None, namespace(&name)).await?;
        Ok::<_, Error>(Space { uid: made.uid().unwrap_or_default(), name })
    });
    stream::iter(made).buffered(8).try_collect().await
}

/// Makes `count` WDs named `<prefix>-0` and so on, in turn over the namespaces.
pub async fn deployments(client: &Client, spaces: &[Space], prefix: &str, count: usize) -> Result<(), Error> {
    deployments_with(client, spaces, prefix, count, |_, wd| wd).await
}

/// Creates `count` WDs named `<prefix>-0` and so on, in turn over the namespaces. `each` gets the number of a
/// WD and its default object, and returns the object to create.
pub async fn deployments_with(
    client: &Client,
    spaces: &[Space],
    prefix: &str,
    count: usize,
    each: impl Fn(usize, Value) -> Value,
) -> Result<(), Error> {
    in_turn(client, Kind::Deployment, spaces, count, |index, space| {
        each(index, deployment(&space.name, &format!("{prefix}-{index}")))
    })
    .await
}

/// Makes `count` Workloads in two cities, named `<prefix>-0` and so on, in turn over the namespaces.
pub async fn workloads(client: &Client, spaces: &[Space], prefix: &str, count: usize) -> Result<(), Error> {
    in_turn(client, Kind::Workload, spaces, count, |index, space| {
        objects::workload(&space.name, &format!("{prefix}-{index}"), &CITIES)
    })
    .await
}

/// Creates `count` objects of a kind, in turn over the namespaces. `each` gets the number of an object.
pub async fn in_turn(
    client: &Client,
    kind: Kind,
    spaces: &[Space],
    count: usize,
    each: impl Fn(usize, &Space) -> Value,
) -> Result<(), Error> {
    let creates = (0..count)
        .zip(spaces.iter().cycle())
        .map(|(index, space)| create(client, kind, Some(&space.name), each(index, space)));
    stream::iter(creates).map(Ok).try_buffer_unordered(HANDS).try_for_each(|_| async { Ok(()) }).await
}

/// Makes such WDs at a steady pace, however long each create takes.
pub async fn deployments_at(
    client: &Client,
    spaces: &[Space],
    prefix: &str,
    count: usize,
    every: Duration,
) -> Result<(), Error> {
    let mut pace = tokio::time::interval(every);
    let mut under_way = tokio::task::JoinSet::new();
    for (index, space) in (0..count).zip(spaces.iter().cycle()) {
        pace.tick().await;
        let wd = deployment(&space.name, &format!("{prefix}-{index}"));
        let client = client.clone();
        let space = space.name.clone();
        under_way.spawn(async move { create(&client, Kind::Deployment, Some(&space), wd).await });
        while let Some(done) = under_way.try_join_next() {
            done??;
        }
    }
    while let Some(done) = under_way.join_next().await {
        done??;
    }
    Ok(())
}

/// Makes one object.
pub async fn create(
    client: &Client,
    kind: Kind,
    namespace: Option<&str>,
    manifest: Value,
) -> Result<DynamicObject, Error> {
    let api = match namespace {
        Some(namespace) => api(client, kind, namespace),
        None => api_all(client, kind),
    };
    let object = object(manifest)?;
    let action = format!("create {} of {kind}", object.name_any());
    api.create(&PostParams::default(), &object).await.map_err(Error::api(action))
}

/// Makes `each` Instances of every owner on the hub and reports on each that it runs, as cells do. Each comes
/// after others of other owners.
pub async fn instances(hub: &Client, owned: &[(HubNamespace, Owner)], each: usize) -> Result<(), Error> {
    let all = (0..each).flat_map(|ordinal| owned.iter().map(move |(home, owner)| (home, owner, ordinal)));
    let made = all.map(|(home, owner, ordinal)| async move {
        let manifest = objects::instance(home, owner, ordinal);
        let mut made = create(hub, Kind::Instance, Some(&home.name), manifest).await?;
        made.data["status"] = objects::running("10.0.0.5");
        let api = api(hub, Kind::Instance, &home.name);
        let name = made.name_any();
        let stored = api.replace_status(&name, &PostParams::default(), &made).await;
        stored.map(drop).map_err(Error::api(format!("report on {name}")))
    });
    stream::iter(made).buffer_unordered(HANDS).try_collect().await
}

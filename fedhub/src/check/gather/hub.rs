//! Reads of the hub beside those of every plane.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use fedhub_core::names::CITY_CODE;
use fedhub_core::object::{Kind, Object, ObjectView};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;
use tokio::task::JoinSet;

use super::super::carried::{KARMADA, interpreter, policies};
use super::super::facts::HubFacts;
use super::plane::{get as get_path, names};
use crate::cells::entries::CELLS;
use crate::common::CELL_NAMESPACE;
use crate::operator::connect::{Connection, Plane};
use crate::operator::read::Read;
use crate::operator::requests::{Part, Query, each, get, list};

/// What is on the hub; before an installation only what Karmada has. All of it is asked for at once: a hub
/// that hangs takes one time-out.
pub async fn gather(hub: &Connection, pre: bool) -> anyhow::Result<HubFacts> {
    let mut facts = HubFacts { interpreter: interpreter()?, ..HubFacts::default() };
    let Some(plane) = hub.found() else { return Ok(facts) };
    let clusters = list(hub, Kind::Cluster.resource(), "", "");
    if pre {
        (facts.karmada, facts.clusters) = tokio::join!(karmada(plane), clusters);
        return Ok(facts);
    }
    let kind = ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk("config.karmada.io", "v1alpha1", "ResourceInterpreterCustomization"),
        "resourceinterpretercustomizations",
    );
    let ours = policies()?;
    (facts.karmada, facts.clusters, facts.cities, facts.interpreters, facts.policies, facts.cells) = tokio::join!(
        karmada(plane),
        clusters,
        cities(hub),
        list(hub, &kind, "", ""),
        installed(hub, ours),
        get(hub, Kind::ConfigMap.resource(), CELL_NAMESPACE, CELLS),
    );
    Ok(facts)
}

/// What the hub serves of Karmada's versions, by version.
async fn karmada(plane: &Plane) -> Vec<(String, Read<Vec<String>>)> {
    let versions: BTreeSet<&str> = KARMADA.iter().map(|(version, _)| *version).collect();
    let mut asked = JoinSet::new();
    for version in versions {
        let plane = plane.clone();
        asked.spawn(async move {
            let served = get_path(&plane, &format!("/apis/{version}")).await;
            (version.to_owned(), served.map(|(list, _)| names(&list["resources"], "name")))
        });
    }
    let mut served = asked.join_all().await;
    served.sort_by(|(a, _), (b, _)| a.cmp(b));
    served
}

/// Objects of ours, and what the hub has under their names.
async fn installed(hub: &Connection, all: Vec<Value>) -> Vec<(Value, Read<Object>)> {
    let mut asked = JoinSet::new();
    for (at, ours) in all.into_iter().enumerate() {
        let hub = hub.clone();
        asked.spawn(async move {
            let of = |field: &str| ours[field].as_str().unwrap_or_default();
            let (group, version) = of("apiVersion").split_once('/').unwrap_or_default();
            let kind = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, of("kind")));
            let name = ours["metadata"]["name"].as_str().unwrap_or_default();
            let theirs = get(&hub, &kind, "", name).await;
            (at, ours, theirs)
        });
    }
    let mut read = asked.join_all().await;
    read.sort_by_key(|(at, ..)| *at);
    read.into_iter().map(|(_, ours, theirs)| (ours, theirs)).collect()
}

/// The cities of the hub's WDs.
async fn cities(hub: &Connection) -> Read<BTreeMap<String, usize>> {
    let kind = Kind::WorkloadDeployment.resource();
    let all = Query { kind, namespace: "", labels: CITY_CODE, fields: "" };
    let mut cities = BTreeMap::new();
    let read = each(hub, all, Part::Metadata, |wd| {
        *cities.entry(wd.label(CITY_CODE).unwrap_or_default().to_owned()).or_default() += 1;
        ControlFlow::Continue(())
    });
    read.await.map(|()| cities)
}

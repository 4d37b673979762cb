//! The bare client: what fedhub is measured against.
//!
//! It is a plain client of kube's for each plane (HTTP/1.1, a connection for each request under way), with
//! fedhub's own identity. It watches the plane where the objects are made and answers each with the same
//! writes as fedhub, as many objects at once as fedhub works on at once for one plane. It keeps nothing,
//! compares nothing and checks nothing, and the hub namespaces that fedhub makes are made for it before the
//! clock runs.

mod workload;

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{Stream, TryStreamExt};
use kube::api::{DynamicObject, Patch, PatchParams, PostParams, WatchEvent};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};

use super::environment::{Environment, PROJECT, Space};
use super::loader;
use super::objects::{self, FEDERATION_NAMESPACE, FINALIZER, HubNamespace, Kind, Owner, api};
use super::watch::events;
use crate::Error;
use crate::demo::objects::object;
use crate::topology::planes::HUB;

pub use self::workload::NECESSARY as NECESSARY_FOR_A_WORKLOAD;

/// How many objects of one plane fedhub works on at once: the default of its `--workers-per-plane`.
pub const CONCURRENCY: usize = 16;

/// A bare client at work. It ends when this is dropped.
pub struct Bare {
    task: JoinHandle<Result<(), Error>>,
    times: Arc<std::sync::Mutex<Vec<Duration>>>,
}

impl Bare {
    /// Federates WDs of `spaces` from now on: finalizer and annotation, then the hub WD. Makes the hub
    /// namespaces.
    pub async fn federator(environment: &Environment, spaces: &[Space]) -> Result<Self, Error> {
        for space in spaces {
            let mut namespace = objects::namespace(&space.hub_name());
            namespace["metadata"]["labels"] = json!({
                "meta.datumapis.com/upstream-cluster-name": format!("cluster-{PROJECT}"),
                "meta.datumapis.com/upstream-namespace": space.name,
            });
            loader::create(&environment.hub, Kind::Namespace, None, namespace).await?;
        }
        let project = environment.as_fedhub(PROJECT).await?;
        let hub = environment.as_fedhub(HUB).await?;
        let uids: std::collections::HashMap<_, _> =
            spaces.iter().map(|space| (space.name.clone(), space.hub_name())).collect();
        let events = events::<DynamicObject>(&project, Kind::Deployment).await?;
        let wanted = events.try_filter_map(move |event| {
            let wd = match event {
                WatchEvent::Added(wd) => {
                    wd.namespace().and_then(|at| uids.get(&at).cloned()).map(|at| (wd, at))
                }
                _ => None,
            };
            async move { Ok(wd) }
        });
        Ok(Self::start(wanted, move |(wd, at)| federate(project.clone(), hub.clone(), wd, at)))
    }

    /// Makes the WDs of Workloads of `spaces` from now on: history, finalizer and annotations, a WD for each
    /// city, status.
    pub async fn workloads(environment: &Environment, spaces: &[Space]) -> Result<Self, Error> {
        let project = environment.as_fedhub(PROJECT).await?;
        let known: std::collections::HashSet<_> = spaces.iter().map(|space| space.name.clone()).collect();
        let events = events::<DynamicObject>(&project, Kind::Workload).await?;
        let wanted = events.try_filter_map(move |event| {
            let workload = match event {
                WatchEvent::Added(workload) => Some(workload),
                _ => None,
            };
            let workload = workload.filter(|it| it.namespace().is_some_and(|at| known.contains(&at)));
            async move { Ok(workload) }
        });
        Ok(Self::start(wanted, move |workload| workload::place(project.clone(), workload)))
    }

    /// Projects hub Instances that have a status from now on: the projection, then its status. `owners` are
    /// the project's WDs.
    pub async fn projector(
        environment: &Environment,
        homes: Vec<HubNamespace>,
        owners: std::collections::HashMap<String, Owner>,
    ) -> Result<Self, Error> {
        let project = environment.as_fedhub(PROJECT).await?;
        let hub = environment.as_fedhub(HUB).await?;
        let events = events::<DynamicObject>(&hub, Kind::Instance).await?;
        let wanted = events.try_filter_map(move |event| {
            let found = match event {
                WatchEvent::Added(instance) | WatchEvent::Modified(instance)
                    if objects::runs(&instance.data["status"]) =>
                {
                    let home = homes.iter().find(|home| Some(&home.name) == instance.namespace().as_ref());
                    let label = "compute.datumapis.com/workload-deployment-name";
                    let owner = instance.labels().get(label).and_then(|name| owners.get(name));
                    home.cloned().zip(owner.cloned()).map(|(home, owner)| (instance, home, owner))
                }
                _ => None,
            };
            async move { Ok(found) }
        });
        Ok(Self::start(wanted, move |(instance, home, owner)| {
            project_one(project.clone(), instance, home, owner)
        }))
    }

    fn start<T, F, Fut>(wanted: impl Stream<Item = Result<T, Error>> + Send + 'static, work: F) -> Self
    where
        T: Send + 'static,
        F: Fn(T) -> Fut + Send + 'static,
        Fut: Future<Output = Result<(), Error>> + Send + 'static,
    {
        let times: Arc<std::sync::Mutex<Vec<Duration>>> = Arc::default();
        let done = times.clone();
        let task = tokio::spawn(async move {
            futures::pin_mut!(wanted);
            let hands = Arc::new(Semaphore::new(CONCURRENCY));
            let mut under_way = JoinSet::new();
            while let Some(one) = wanted.try_next().await? {
                let came = Instant::now();
                let hands = hands.clone();
                let done = done.clone();
                let answer = work(one);
                under_way.spawn(async move {
                    let _hand = hands.acquire_owned().await;
                    answer.await?;
                    done.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(came.elapsed());
                    Ok::<_, Error>(())
                });
                while let Some(ended) = under_way.try_join_next() {
                    ended??;
                }
            }
            Ok(())
        });
        Self { task, times }
    }

    /// How long each took, from its event to its last answer.
    pub fn times(&self) -> Vec<Duration> {
        self.times.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Ends it; an error if a write of its failed.
    pub async fn end(mut self) -> Result<(), Error> {
        if self.task.is_finished() {
            return (&mut self.task).await?;
        }
        Ok(())
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn federate(project: Client, hub: Client, wd: DynamicObject, at: String) -> Result<(), Error> {
    let space = wd.namespace().unwrap_or_default();
    let name = wd.name_any();
    let mark = json!({ "metadata": {
        "resourceVersion": wd.resource_version(),
        "finalizers": [FINALIZER],
        "annotations": { FEDERATION_NAMESPACE: at },
    } });
    let marked = api(&project, Kind::Deployment, &space)
        .patch(&name, &PatchParams::default(), &Patch::Merge(mark))
        .await
        .map_err(Error::api(format!("mark {name}")))?;
    let federated = object(json!({
        "apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadDeployment",
        "metadata": {
            "namespace": at, "name": name,
            "labels": {
                "meta.datumapis.com/upstream-namespace": space,
                "topology.datum.net/city-code": marked.data["spec"]["cityCode"],
                "resourcetemplate.karmada.io/deletion-protected": "Always",
            },
            "annotations": {
                "federation.datumapis.com/source": format!("{PROJECT}/{space}/{name}"),
                "federation.datumapis.com/source-uid": marked.uid(),
                "federation.datumapis.com/source-generation": marked.metadata.generation.unwrap_or(1).to_string(),
            },
        },
        "spec": marked.data["spec"],
    }))?;
    let made = api(&hub, Kind::Deployment, &at).create(&PostParams::default(), &federated).await;
    made.map(drop).map_err(Error::api(format!("federate {name}")))
}

async fn project_one(
    project: Client,
    instance: DynamicObject,
    home: HubNamespace,
    owner: Owner,
) -> Result<(), Error> {
    let name = instance.name_any();
    let api = api(&project, Kind::Instance, &home.of);
    let mark = format!("{}/{}/{}", home.name, home.uid, instance.uid().unwrap_or_default());
    let mut labels = json!(instance.labels());
    labels["compute.datumapis.com/workload-deployment-uid"] = json!(owner.uid);
    let projection = object(json!({
        "apiVersion": "compute.datumapis.com/v1alpha", "kind": "Instance",
        "metadata": {
            "namespace": home.of, "name": name, "labels": labels,
            "annotations": { "federation.datumapis.com/projected-from": mark },
            "ownerReferences": [objects::owner_reference(&owner, false)],
        },
        "spec": instance.data["spec"],
    }))?;
    let made = api.create(&PostParams::default(), &projection).await;
    let mut made = made.map_err(Error::api(format!("project {name}")))?;
    let status: &Value = &instance.data["status"];
    made.data["status"] = status.clone();
    let result = api.replace_status(&name, &PostParams::default(), &made).await;
    result.map(drop).map_err(Error::api(format!("report {name}")))
}

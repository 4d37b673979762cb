//! What is remembered of identities: `ConfigMap`s of the process's own namespace on the management plane, each with a
//! share of the planes. All replicas watch them; the leader adds to them, many planes with one write.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, pin_mut};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::core::ObjectMeta;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Identities;
use crate::hash;
use crate::names::{IDENTITIES, PlaneName};
use crate::planes::Planes;
use crate::{errors, lease::Fence};

/// How long what is new may wait for more to be stored with it.
const GATHER: Duration = Duration::from_secs(5);
/// How long a watch lasts before the server ends it, in seconds: as those of the planes.
const WATCH_SECONDS: u32 = 240;
/// The field manager of the `ConfigMap`s.
const MANAGER: &str = "fedhub-identities";

/// The `ConfigMap` that remembers a plane: one of sixteen, so that ten thousand planes stay far below the limit on an
/// object's size.
pub(super) fn shard(plane: &PlaneName) -> String {
    format!("fedhub-plane-identities-{:x}", hash::text(plane.as_str()) & 0xf)
}

/// The `ConfigMap`s as they were told of last, by name.
type Shards = BTreeMap<String, ConfigMap>;

impl Identities {
    /// Keeps what is known in step with what is stored, until `stop`. Writes pass `fence`.
    pub async fn run(
        self: Arc<Self>,
        management: Client,
        planes: Arc<Planes>,
        fence: Fence,
        stop: CancellationToken,
    ) {
        let api: Api<ConfigMap> = Api::namespaced(management, &self.namespace);
        tokio::select! { biased; () = stop.cancelled() => (), () = self.keep(&api, &planes, &fence) => () }
    }

    async fn keep(&self, api: &Api<ConfigMap>, planes: &Arc<Planes>, fence: &Fence) {
        let config = watcher::Config::default()
            .labels(&format!("{}={}", IDENTITIES.0, IDENTITIES.1))
            .timeout(WATCH_SECONDS);
        let stream = watcher(api.clone(), config).default_backoff();
        pin_mut!(stream);
        let (mut shards, mut listed) = (Shards::new(), Shards::new());
        let (mut due, mut troubled) = (None, false);
        loop {
            let write = async move {
                match due {
                    Some(due) => tokio::time::sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                event = stream.next() => match event {
                    Some(Ok(event)) => {
                        if !told(&mut shards, &mut listed, event) { continue }
                        planes.judge_anew(&self.known().learn(read(&shards)));
                        let _before = self.loaded.send_replace(Ok(()));
                        due = self.due(due);
                    }
                    Some(Err(error)) => {
                        let cause = errors::chain(&error);
                        tracing::warn!(cause, "the identities of planes cannot be watched on the management plane");
                        self.loaded.send_if_modified(|loaded| {
                            let unread = loaded.is_err();
                            if unread { *loaded = Err(cause); }
                            unread
                        });
                    }
                    None => tokio::time::sleep(GATHER).await,
                },
                () = self.news.notified() => due = self.due(due),
                () = write => {
                    due = None;
                    match self.write(api, fence, &mut shards).await {
                        Ok(()) => troubled = false,
                        Err(error) if troubled => tracing::debug!(cause = errors::chain(&error), "the identities of planes cannot be stored"),
                        Err(error) => {
                            troubled = true;
                            tracing::warn!(cause = errors::chain(&error), "the identities of planes cannot be stored; this is tried again");
                        }
                    }
                    planes.judge_anew(&self.known().learn(read(&shards)));
                    due = self.due(due);
                }
            }
        }
    }

    /// When the next write is due, if there is anything to write.
    fn due(&self, due: Option<Instant>) -> Option<Instant> {
        if self.loaded.borrow().is_err() || self.known().unwritten().is_empty() {
            return None;
        }
        due.or_else(|| Some(Instant::now() + GATHER))
    }

    /// Stores what is new, if this process leads. What somebody else wrote meanwhile is not overwritten: the watch brings
    /// it, and the rest is written the next time.
    async fn write(
        &self,
        api: &Api<ConfigMap>,
        fence: &Fence,
        shards: &mut Shards,
    ) -> Result<(), kube::Error> {
        if !fence.holds() {
            return Ok(());
        }
        let mut new: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        for (plane, uid) in self.known().unwritten() {
            new.entry(shard(&plane)).or_default().insert(plane.to_string(), uid);
        }
        let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        for (name, entries) in new {
            let stored = shards.get(&name).cloned();
            let mut map = stored.clone().unwrap_or_else(|| empty(&name));
            map.data.get_or_insert_default().extend(entries);
            let written = match stored {
                Some(_) => fence.guard(api.replace(&name, &params, &map)).await,
                None => fence.guard(api.create(&params, &map)).await,
            };
            match written {
                Ok(Ok(written)) => {
                    shards.insert(name, written);
                }
                Ok(Err(kube::Error::Api(status))) if status.code == 409 => {}
                Ok(Err(error)) => return Err(error),
                Err(_) => return Ok(()),
            }
        }
        Ok(())
    }
}

fn empty(name: &str) -> ConfigMap {
    let labels = BTreeMap::from([(IDENTITIES.0.to_owned(), IDENTITIES.1.to_owned())]);
    ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), labels: Some(labels), ..ObjectMeta::default() },
        ..ConfigMap::default()
    }
}

/// Takes an event; says whether the whole is known now and something may have changed.
fn told(shards: &mut Shards, listed: &mut Shards, event: Event<ConfigMap>) -> bool {
    match event {
        Event::Init => listed.clear(),
        Event::InitApply(map) => {
            listed.insert(map.name_any(), map);
        }
        Event::InitDone => {
            *shards = std::mem::take(listed);
            return true;
        }
        Event::Apply(map) => {
            // The answer to our own write may have been faster than the watch.
            if shards.get(&map.name_any()).is_some_and(|known| older(&map, known)) {
                return false;
            }
            shards.insert(map.name_any(), map);
            return true;
        }
        Event::Delete(map) => {
            shards.remove(&map.name_any());
            return true;
        }
    }
    false
}

fn older(candidate: &ConfigMap, known: &ConfigMap) -> bool {
    let version =
        |map: &ConfigMap| map.metadata.resource_version.as_ref().and_then(|v| v.parse::<u64>().ok());
    matches!((version(candidate), version(known)), (Some(a), Some(b)) if a < b)
}

/// What the entries say. A key that no plane can have, and an empty value, say nothing.
fn read(shards: &Shards) -> BTreeMap<PlaneName, String> {
    let entries = shards.values().flat_map(|map| map.data.iter().flatten());
    let known = entries.filter(|(_, uid)| !uid.is_empty());
    known.filter_map(|(name, uid)| Some((PlaneName::new(name).ok()?, uid.clone()))).collect()
}

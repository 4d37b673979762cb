//! The store of identities: `ConfigMap`s of the process's own namespace on the management plane, each with a
//! share of the planes. All replicas watch them; the leader adds to them, many planes with one write. One
//! that cannot be stored keeps no other from that, and is named in `fedhub_identities_unstored`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use fedhub_core::errors;
use fedhub_core::fence::Fence;
use fedhub_core::names::{IDENTITIES, PlaneName};
use futures::{StreamExt, pin_mut};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::decision::shard;
use super::entry::IdentityEntry;
use super::hub::{self, empty};
use super::identities::Identities;
use super::pruning::{Pruning, Sighting, gone_since};
use crate::Planes;
use crate::listwatch::resume::resumed;
use crate::registry::restores::history::Remembered;

/// How long what is new may wait for more to be stored with it.
const GATHER: Duration = Duration::from_secs(5);
/// How long the highest resourceVersion of the hub may wait, so that a hub that changes all the time costs no
/// more writes.
const HUB_EVERY: Duration = Duration::from_mins(1);
/// How long a watch lasts before the server ends it, in seconds: as those of the planes.
const WATCH_SECONDS: u32 = 240;
/// The field manager of the `ConfigMap`s.
const MANAGER: &str = "fedhub-identities";

/// The `ConfigMap`s as last observed, by name.
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
        let stream =
            resumed(|| watcher(api.clone(), config.clone()), api.clone().into_client().into(), planes.seed());
        pin_mut!(stream);
        let mut shards = Shards::new();
        let mut listed = Shards::new();
        let mut due = None;
        let mut failing = Failing::default();
        let mut hub_stored = None;
        loop {
            tokio::select! {
                biased;
                event = stream.next() => match event {
                    Some(Ok(event)) => {
                        let Some(event) = self.current(api, &shards, event).await else { continue };
                        if !received(&mut shards, &mut listed, event) { continue }
                        self.learn(planes, &shards);
                        let _before = self.loaded.send_replace(Ok(()));
                        due = self.due(planes, due, hub_stored, Duration::ZERO);
                        if due.is_none() {
                            // Another process has stored it.
                            failing.none(planes);
                        }
                    }
                    Some(Err(error)) => self.unreadable(errors::chain(&error)),
                    None => tokio::time::sleep(GATHER).await,
                },
                () = self.closing.cancelled() => {
                    if self.loaded.borrow().is_ok() {
                        self.write(api, planes, fence, &mut shards, &mut None, &mut failing).await;
                    }
                    self.closed.cancel();
                    return;
                }
                () = self.news.notified() => due = self.due(planes, due, hub_stored, Duration::ZERO),
                () = crate::registry::due::due(due) => {
                    self.write(api, planes, fence, &mut shards, &mut hub_stored, &mut failing).await;
                    self.learn(planes, &shards);
                    due = self.due(planes, None, hub_stored, GATHER);
                }
            }
        }
    }

    /// The event, if it says anything new. One with a version that is not newer than what is known is either
    /// older than the answer to our own write, or the plane was put back to an earlier state (I13): what the
    /// plane says now counts.
    async fn current(
        &self,
        api: &Api<ConfigMap>,
        shards: &Shards,
        event: Event<ConfigMap>,
    ) -> Option<Event<ConfigMap>> {
        let Event::Apply(map) = event else { return Some(event) };
        let name = map.name_any();
        let Some(known) = shards.get(&name).filter(|known| !is_newer(&map, known)) else {
            return Some(Event::Apply(map));
        };
        if map.data == known.data {
            return None;
        }
        match api.get_opt(&name).await {
            Ok(Some(now)) => Some(Event::Apply(now)),
            Ok(None) => Some(Event::Delete(map)),
            Err(error) => {
                self.unreadable(errors::chain(&error));
                None
            }
        }
    }

    /// Warns that the identities cannot be watched, which until the first list keeps planes from being
    /// recognised.
    fn unreadable(&self, error: String) {
        tracing::warn!(error, "failed to watch plane identities on the management plane");
        self.loaded.send_if_modified(|loaded| {
            let unread = loaded.is_err();
            if unread {
                *loaded = Err(error);
            }
            unread
        });
    }

    fn learn(&self, planes: &Arc<Planes>, shards: &Shards) {
        let stored = read(shards);
        *self.gone_since.lock() = gone_since(entries(shards));
        let (moot, lost, withdrawn) = {
            let mut known = self.known();
            let lost = known.loses(&stored);
            let withdrawn = known.withdraws(&stored);
            (known.learn(stored), lost, withdrawn)
        };
        planes.recheck_identities(&moot);
        if lost {
            self.lost.send_replace(());
        }
        planes.judge_services(&withdrawn);
        planes.learn_history(shards.get(hub::NAME).map(hub::read));
    }

    /// When the next write is due, if there is anything to write; what is pressing after `pause`.
    fn due(
        &self,
        planes: &Planes,
        due: Option<Instant>,
        hub_stored: Option<Instant>,
        pause: Duration,
    ) -> Option<Instant> {
        if self.loaded.borrow().is_err() {
            return None;
        }
        let (now, soon) = (Instant::now(), Instant::now() + GATHER);
        let is_new = self.known().unwritten().next().is_some() || self.sighting.lock().is_some();
        let identities = is_new.then_some(soon);
        let hub = planes
            .history()
            .unwritten()
            .map(|it| if it.1 { now + pause } else { soon.max(hub_due(it, hub_stored).unwrap_or(soon)) });
        let next = identities.into_iter().chain(hub).min()?;
        Some(due.map_or(next, |due| due.min(next)))
    }

    /// Stores what is new, if this process leads. What others wrote meanwhile is not overwritten: the watch
    /// brings it, and the rest is written the next time.
    async fn write(
        &self,
        api: &Api<ConfigMap>,
        planes: &Planes,
        fence: &Fence,
        shards: &mut Shards,
        hub_stored: &mut Option<Instant>,
        failing: &mut Failing,
    ) {
        let sighting = self.sighting.lock().take();
        if !fence.holds(None) {
            return failing.none(planes);
        }
        let mut maps = self.news(shards);
        if let Some(sighting) = sighting {
            self.prune(&sighting, planes.clock().now(), shards, &mut maps);
        }
        let hub = planes.history().unwritten();
        if let Some(it) = hub.filter(|it| hub_due(*it, *hub_stored).is_none_or(|due| due <= Instant::now())) {
            maps.insert(hub::NAME.to_owned(), hub::written(shards.get(hub::NAME), it.0));
            *hub_stored = Some(Instant::now());
        }
        failing.retain(planes, |name| maps.contains_key(name) || (name == hub::NAME && hub.is_some()));
        let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        for (name, map) in maps {
            let written = match map.metadata.resource_version {
                Some(_) => fence.guard(None, api.replace(&name, &params, &map)).await,
                None => fence.guard(None, api.create(&params, &map)).await,
            };
            match written {
                Ok(Ok(written)) => {
                    failing.stored(planes, &name);
                    shards.insert(name, written);
                }
                Ok(Err(error)) => {
                    failing.failed(planes, &name, &error);
                    // Another has written it, or the plane was put back to an earlier state, of which the
                    // watch may say nothing for long (I13).
                    if is_conflict(&error)
                        && let Ok(Some(now)) = api.get_opt(&name).await
                        && now.labels().get(IDENTITIES.0).is_some_and(|value| value == IDENTITIES.1)
                    {
                        shards.insert(name, now);
                    }
                }
                Err(_) => return failing.none(planes),
            }
        }
    }

    /// The `ConfigMap`s with what is new in them.
    fn news(&self, shards: &Shards) -> Shards {
        let mut maps = Shards::new();
        for (plane, entry) in self.known().unwritten() {
            let name = shard(plane);
            let map = maps
                .entry(name.clone())
                .or_insert_with(|| shards.get(&name).cloned().unwrap_or_else(|| empty(&name)));
            map.data.get_or_insert_default().insert(plane.to_string(), entry.written());
        }
        maps
    }

    /// Removes the entries of Projects that are long gone from `maps`, or else from `shards`.
    fn prune(&self, sighting: &Sighting, now: Timestamp, shards: &Shards, maps: &mut Shards) {
        let known = self.known();
        let mut pruning = Pruning::new(sighting, now);
        for (name, stored) in shards.iter().filter(|(name, _)| *name != hub::NAME) {
            let mut map = maps.get(name).unwrap_or(stored).clone();
            let Some(data) = &mut map.data else { continue };
            for plane in pruning.apply(data, |plane| known.is_claimed(plane)) {
                tracing::info!(plane = %plane, "forgetting the identity of a plane whose Project is long gone");
            }
            if map.data != stored.data {
                maps.insert(name.clone(), map);
            }
        }
    }
}

/// When what is new of the hub may be written: `None` for at once.
fn hub_due((_, pressing): (Remembered, bool), stored: Option<Instant>) -> Option<Instant> {
    stored.map(|stored| stored + HUB_EVERY).filter(|_| !pressing)
}

/// The `ConfigMap`s that could not be stored, by name.
#[derive(Default)]
struct Failing(BTreeSet<String>);

impl Failing {
    fn stored(&mut self, planes: &Planes, name: &str) {
        self.retain(planes, |failing| failing != name);
    }

    /// Logs a write that failed, at debug level if the one before it failed too. A conflict is another
    /// writer's, and ends once that is read: one that goes on shows in the metric.
    fn failed(&mut self, planes: &Planes, name: &str, error: &kube::Error) {
        let is_news = self.0.insert(name.to_owned());
        planes.metrics().identities_unstored.with_label_values(&[name]).set(1);
        if is_conflict(error) {
            return;
        }
        let error = errors::chain(error);
        if is_news {
            tracing::warn!(name, error, "failed to store plane identities");
        } else {
            tracing::debug!(name, error, "failed to store plane identities");
        }
    }

    /// Ends the failure: nothing is left to be stored, or not by this process.
    fn none(&mut self, planes: &Planes) {
        self.retain(planes, |_| false);
    }

    fn retain(&mut self, planes: &Planes, is_failing: impl Fn(&str) -> bool) {
        for ended in self.0.extract_if(.., |name| !is_failing(name)) {
            // It may not be there: a metric that is missing is what is wanted.
            let _missing = planes.metrics().identities_unstored.remove_label_values(&[&ended]);
        }
    }
}

/// Applies an event, and returns whether all shards are known now and one may have changed.
fn received(shards: &mut Shards, listed: &mut Shards, event: Event<ConfigMap>) -> bool {
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

fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 409)
}

/// Whether `candidate` may be newer than `known`: where a version is no number, that is not known.
fn is_newer(candidate: &ConfigMap, known: &ConfigMap) -> bool {
    let version =
        |map: &ConfigMap| map.metadata.resource_version.as_ref().and_then(|v| v.parse::<u64>().ok());
    !matches!((version(candidate), version(known)), (Some(a), Some(b)) if a <= b)
}

/// Returns the entries of the planes' `ConfigMap`s.
fn entries(shards: &Shards) -> impl Iterator<Item = (&String, &String)> {
    let shards = shards.iter().filter(|(name, _)| *name != hub::NAME);
    shards.flat_map(|(_, map)| map.data.iter().flatten())
}

/// Parses the entries. A key that no plane can have, and an empty value, are ignored.
fn read(shards: &Shards) -> BTreeMap<PlaneName, IdentityEntry> {
    entries(shards)
        .filter_map(|(name, stored)| Some((PlaneName::new(name).ok()?, IdentityEntry::read(stored)?)))
        .collect()
}

//! One Workload as watches show it, each of which resumes by itself.

use std::collections::BTreeMap;

use fedhub_core::object::{Kind, Object, ObjectView};
use futures::future::ready;
use futures::stream::{BoxStream, SelectAll};
use futures::{StreamExt, stream};
use jiff::Timestamp;
use kube::Client;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};

use super::judge::{Judgement, judge_with};
use crate::model::{Index, api, selector};
use crate::session::transport::watch_config;

/// The kinds that every project has.
const KINDS: [Kind; 3] = [Kind::Workload, Kind::WorkloadDeployment, Kind::Instance];

/// An event of a watch, or its error.
pub type News = (Kind, Result<Event<Object>, watcher::Error>);

/// Watches a Workload and what belongs to it. A watch that fails is begun again with a list, after a growing
/// pause.
pub fn news(client: &Client, namespace: &str, workload: &str) -> SelectAll<BoxStream<'static, News>> {
    let of = |kind: Kind| {
        let config = match kind {
            Kind::Workload => watch_config().fields(&format!("metadata.name={workload}")),
            _ => watch_config().labels(&selector(workload)),
        };
        let events = watch(api(client.clone(), namespace, kind), config).default_backoff();
        events.map(move |event| (kind, event)).boxed()
    };
    // A project need not have this kind, nor may everybody read it: nothing is known of it then. What is
    // wrong with the connection, the other watches report.
    let named = watch_config().fields(&format!("metadata.name={workload}"));
    let rollouts = watch(api(client.clone(), namespace, Kind::WorkloadRollout), named).default_backoff();
    let rollouts = rollouts
        .take_while(|event| ready(!is_refused(event)))
        .filter(|event| ready(event.is_ok()))
        .map(|event| (Kind::WorkloadRollout, event))
        .boxed();
    stream::select_all(KINDS.map(of).into_iter().chain([rollouts]))
}

/// Whether the server does not have a kind, or does not let it be read.
fn is_refused(event: &Result<Event<Object>, watcher::Error>) -> bool {
    let code = match event {
        Err(
            watcher::Error::InitialListFailed(kube::Error::Api(status))
            | watcher::Error::WatchStartFailed(kube::Error::Api(status))
            | watcher::Error::WatchFailed(kube::Error::Api(status))
            | watcher::Error::WatchError(status),
        ) => status.code,
        Ok(_) | Err(_) => return false,
    };
    matches!(code, 403..=405)
}

/// The objects that the watches have brought.
#[derive(Debug, Default)]
pub struct Seen {
    caches: BTreeMap<Kind, Cache>,
}

/// The objects of one kind by name.
#[derive(Debug, Default)]
struct Cache {
    objects: BTreeMap<String, Object>,
    /// A list that is being read; what stood before stands until it is whole.
    listing: Option<BTreeMap<String, Object>>,
    listed: bool,
}

impl Seen {
    /// Creates what watches would have brought from lists, and from the Workload's WorkloadRollout.
    pub fn listed(lists: [Vec<Object>; 3], rollout: Option<Object>) -> Self {
        let mut seen = Self::default();
        if let Some(rollout) = rollout {
            seen.apply(Kind::WorkloadRollout, Event::Apply(rollout));
        }
        for (kind, objects) in KINDS.into_iter().zip(lists) {
            let objects = objects.into_iter().map(|object| (object.name().to_owned(), object));
            let cache = Cache { objects: objects.collect(), listing: None, listed: true };
            seen.caches.insert(kind, cache);
        }
        seen
    }

    /// Applies an event of a kind.
    pub fn apply(&mut self, kind: Kind, event: Event<Object>) {
        let cache = self.caches.entry(kind).or_default();
        let named = |object: Object| (object.name().to_owned(), object);
        match event {
            Event::Init => cache.listing = Some(BTreeMap::new()),
            Event::InitApply(object) => cache.listing.get_or_insert_default().extend([named(object)]),
            Event::InitDone => {
                cache.objects = cache.listing.take().unwrap_or_default();
                cache.listed = true;
            }
            Event::Apply(object) => cache.objects.extend([named(object)]),
            Event::Delete(object) => drop(cache.objects.remove(object.name())),
        }
    }

    /// Whether a kind was listed once.
    pub fn is_listed(&self, kind: Kind) -> bool {
        self.caches.get(&kind).is_some_and(|cache| cache.listed)
    }

    /// Whether each kind that every project has was listed once.
    pub fn is_whole(&self) -> bool {
        KINDS.into_iter().all(|kind| self.is_listed(kind))
    }

    /// The Workload of that name.
    pub fn workload(&self, name: &str) -> Option<&Object> {
        self.caches.get(&Kind::Workload)?.objects.get(name)
    }

    /// How far the Workload of that name is; `None` where there is none, or not all is known.
    pub fn judge(&self, name: &str) -> Option<Judgement> {
        let workload = self.workload(name).filter(|_| self.is_whole())?;
        let objects =
            |kind: Kind| self.caches.get(&kind).into_iter().flat_map(|cache| cache.objects.values());
        let index = Index::new(objects(Kind::WorkloadDeployment), objects(Kind::Instance));
        let rollout = self.caches.get(&Kind::WorkloadRollout).and_then(|cache| cache.objects.get(name));
        Some(judge_with(&index.workload(workload), rollout, Timestamp::now()))
    }
}

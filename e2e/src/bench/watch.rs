//! What the benchmark sees by its own watch: the same for every lap, whoever makes the objects.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use futures::{StreamExt, TryStreamExt};
use http::Request;
use kube::{
    Client,
    api::{ListParams, WatchEvent},
};
use serde::Deserialize;
use serde_json::Value;
use tokio::{sync::watch, task::JoinHandle};

use super::objects::{Kind, api_all};
use crate::Error;

/// How long nothing may happen before the lap is given up.
const STILL: Duration = Duration::from_mins(2);

/// The few fields of an object that are looked at.
#[derive(Debug, Clone, Deserialize)]
pub struct Seen {
    /// Its metadata.
    pub metadata: Metadata,
    /// Its status.
    #[serde(default)]
    pub status: Value,
}

/// The few fields of its metadata.
#[derive(Debug, Clone, Deserialize)]
pub struct Metadata {
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// How often its spec changed.
    #[serde(default)]
    pub generation: i64,
}

/// When which object was first seen as it should be. The watch ends when this is dropped.
pub struct Sight {
    seen: watch::Receiver<HashMap<String, Instant>>,
    task: JoinHandle<Result<(), Error>>,
}

impl Sight {
    /// Watches from now on, in all namespaces, for objects whose names begin so and for which `is_done` holds.
    pub async fn of(
        client: &Client,
        kind: Kind,
        prefix: &str,
        is_done: fn(&Seen) -> bool,
    ) -> Result<Self, Error> {
        let events = events::<Seen>(client, kind).await?;
        let (sender, seen) = watch::channel(HashMap::new());
        let prefix = prefix.to_owned();
        let task = tokio::spawn(async move {
            futures::pin_mut!(events);
            while let Some(event) = events.try_next().await? {
                let (WatchEvent::Added(object) | WatchEvent::Modified(object)) = event else { continue };
                if object.metadata.name.starts_with(&prefix) && is_done(&object) {
                    let at = Instant::now();
                    sender.send_if_modified(|seen| {
                        let known = seen.len();
                        seen.entry(object.metadata.name).or_insert(at);
                        seen.len() > known
                    });
                }
            }
            Err(Error::Benchmark("a watch ended".to_owned()))
        });
        Ok(Self { seen, task })
    }

    /// Waits until so many were seen; the time at which the last one was.
    pub async fn all(&mut self, count: usize) -> Result<Instant, Error> {
        loop {
            {
                let seen = self.seen.borrow_and_update();
                if seen.len() >= count {
                    return Ok(seen.values().max().copied().unwrap_or_else(Instant::now));
                }
            }
            match tokio::time::timeout(STILL, self.seen.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => {
                    return match (&mut self.task).await {
                        Ok(Err(error)) => Err(error),
                        _ => Err(Error::Benchmark("a watch ended".to_owned())),
                    };
                }
                Err(_) => {
                    let seen = self.seen.borrow().len();
                    let words = format!("{seen} of {count} were seen, and then no more for {STILL:?}");
                    return Err(Error::Benchmark(words));
                }
            }
        }
    }

    /// How many were seen.
    pub fn count(&self) -> usize {
        self.seen.borrow().len()
    }

    /// When each was first seen.
    pub fn times(&self) -> HashMap<String, Instant> {
        self.seen.borrow().clone()
    }
}

impl Drop for Sight {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The events of a kind from now on, in all namespaces. A benchmark is over before the server ends such a watch.
pub async fn events<T>(
    client: &Client,
    kind: Kind,
) -> Result<impl futures::Stream<Item = Result<WatchEvent<T>, Error>> + use<T>, Error>
where
    T: Clone + serde::de::DeserializeOwned + 'static,
{
    let failed = move |error| Error::api(format!("watch {kind}"))(error);
    let now = api_all(client, kind).list_metadata(&ListParams::default().limit(1)).await.map_err(failed)?;
    let version = now.metadata.resource_version.unwrap_or_default();
    let uri = format!(
        "{}?watch=true&resourceVersion={version}&timeoutSeconds=7200&allowWatchBookmarks=false",
        url(kind)
    );
    let request = Request::get(uri)
        .body(Vec::new())
        .map_err(|error| Error::Benchmark(format!("watch {kind}: {error}")))?;
    let events = client.request_events::<T>(request).await.map_err(failed)?;
    Ok(events.map(move |event: Result<WatchEvent<T>, kube::Error>| event.map_err(failed)))
}

fn url(kind: Kind) -> String {
    let resource = kind.resource();
    let group =
        if resource.group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", resource.group) };
    format!("{group}/{}/{}", resource.version, resource.plural)
}

//! The benchmark's own watch: the same for every lap, whichever client creates the objects.

use std::collections::HashMap;
use std::pin::Pin;
use std::time::{Duration, Instant};

use futures::{Stream, StreamExt, TryStreamExt, stream};
use http::Request;
use kube::Client;
use kube::api::{DynamicObject, ListParams, WatchEvent};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::watch as channel;
use tokio::task::JoinHandle;

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
    /// The version of the object.
    #[serde(default, rename = "resourceVersion")]
    pub resource_version: Option<String>,
    /// Its finalizers.
    #[serde(default)]
    pub finalizers: Vec<String>,
}

/// When which object was first seen as it should be. The watch ends when this is dropped.
pub struct Arrivals {
    seen: channel::Receiver<HashMap<String, Instant>>,
    task: JoinHandle<Result<(), Error>>,
}

impl Arrivals {
    /// Watches from now on, in all namespaces, for objects whose names begin so and for which `is_done`
    /// holds.
    pub async fn watch(
        client: &Client,
        kind: Kind,
        prefix: &str,
        is_done: fn(&Seen) -> bool,
    ) -> Result<Self, Error> {
        let events = events::<Seen>(client, kind).await?;
        let (sender, seen) = channel::channel(HashMap::new());
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

    /// Waits until `count` were seen. Returns when the last one was.
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

    /// How long each took to be seen that was made at these times, in milliseconds.
    pub fn since<'a>(&self, made: impl IntoIterator<Item = (&'a String, &'a Instant)>) -> Vec<f64> {
        let seen = self.seen.borrow();
        made.into_iter()
            .filter_map(|(name, made)| {
                Some(seen.get(name)?.saturating_duration_since(*made).as_secs_f64() * 1e3)
            })
            .collect()
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

impl Drop for Arrivals {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// An object whose version a watch can go on from.
pub trait Versioned {
    /// Its resourceVersion.
    fn version(&self) -> Option<&str>;
}

impl Versioned for Seen {
    fn version(&self) -> Option<&str> {
        self.metadata.resource_version.as_deref()
    }
}

impl Versioned for DynamicObject {
    fn version(&self) -> Option<&str> {
        self.metadata.resource_version.as_deref()
    }
}

type Events<T> = Pin<Box<dyn Stream<Item = Result<WatchEvent<T>, kube::Error>> + Send>>;

/// The events of a kind from now on, in all namespaces. A server ends watches that it considers slow, here
/// because the machine is busy: then the next watch resumes where that one ended.
pub async fn events<T>(
    client: &Client,
    kind: Kind,
) -> Result<impl Stream<Item = Result<WatchEvent<T>, Error>> + use<T>, Error>
where
    T: Versioned + Clone + DeserializeOwned + Send + 'static,
{
    let one = ListParams::default().limit(1);
    let now = api_all(client, kind).list_metadata(&one).await;
    let now = now.map_err(Error::api(format!("list {kind}")))?;
    let version = now.metadata.resource_version.unwrap_or_default();
    let first = watch::<T>(client, kind, &version).await?;
    let state = (client.clone(), version, first);
    Ok(stream::try_unfold(state, move |(client, mut version, mut events)| async move {
        loop {
            match events.next().await {
                Some(Ok(event)) => {
                    if let WatchEvent::Added(object)
                    | WatchEvent::Modified(object)
                    | WatchEvent::Deleted(object) = &event
                    {
                        object.version().unwrap_or_default().clone_into(&mut version);
                    }
                    return Ok(Some((event, (client, version, events))));
                }
                Some(Err(error @ kube::Error::Api(_))) => {
                    return Err(Error::api(format!("watch {kind}"))(error));
                }
                Some(Err(_)) | None => events = watch(&client, kind, &version).await?,
            }
        }
    }))
}

async fn watch<T>(client: &Client, kind: Kind, version: &str) -> Result<Events<T>, Error>
where
    T: Clone + DeserializeOwned + Send + 'static,
{
    let resource = kind.resource();
    let group =
        if resource.group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", resource.group) };
    let at = resource.version;
    let plural = resource.plural;
    let uri = format!("{group}/{at}/{plural}?watch=true&resourceVersion={version}&timeoutSeconds=7200");
    let request = Request::get(uri).body(Vec::new());
    let request = request.map_err(|error| Error::Benchmark(format!("watch {kind}: {error}")))?;
    let events = client.request_events::<T>(request).await.map_err(Error::api(format!("watch {kind}")))?;
    Ok(Box::pin(events.map(|event: Result<WatchEvent<T>, kube::Error>| event)))
}

//! What is seen on the planes, by watches, with the time at which it was seen.

use std::time::{Duration, Instant};

use futures::{StreamExt, pin_mut};
use kube::{
    Api, Client,
    api::DynamicObject,
    runtime::{
        WatchStreamExt,
        watcher::{self, Event},
    },
};
use tokio::{sync::watch, task::JoinSet};

use super::objects::Kind;

/// One object as one plane showed it at one moment.
#[derive(Debug)]
pub struct Sighting {
    /// When the event came.
    pub at: Instant,
    /// Where.
    pub plane: &'static str,
    /// What it is.
    pub kind: Kind,
    /// The object as it was then.
    pub object: DynamicObject,
}

#[derive(Debug, Default)]
struct Log {
    sightings: Vec<Sighting>,
    /// Watches whose first list is complete.
    synced: usize,
    /// What a watch last complained of.
    trouble: Option<String>,
}

/// All watches of the demonstration and what they have seen so far. They end when this is dropped.
pub struct Sight {
    log: watch::Sender<Log>,
    tasks: JoinSet<()>,
}

impl Sight {
    /// Sees nothing yet.
    pub fn new() -> Self {
        Self { log: watch::Sender::default(), tasks: JoinSet::new() }
    }

    /// Watches all objects of a kind on a plane from now on.
    pub fn watch(&mut self, plane: &'static str, client: &Client, kind: Kind) {
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &kind.resource());
        let log = self.log.clone();
        self.tasks.spawn(async move {
            // Ended by the server before the client takes the silence for a fault, and begun where it ended.
            let config = watcher::Config::default().timeout(20);
            let stream = watcher::watcher(api, config).default_backoff();
            pin_mut!(stream);
            while let Some(event) = stream.next().await {
                let at = Instant::now();
                match event {
                    Ok(Event::Apply(object) | Event::InitApply(object)) => {
                        log.send_modify(|log| log.sightings.push(Sighting { at, plane, kind, object }));
                    }
                    Ok(Event::InitDone) => log.send_modify(|log| log.synced += 1),
                    Ok(Event::Init | Event::Delete(_)) => {}
                    Err(error) => {
                        let words = format!("watch of {kind} on {plane}: {error}");
                        log.send_modify(|log| log.trouble = Some(words));
                    }
                }
            }
        });
    }

    /// Waits until every watch has its first list. Says whether that came true in time.
    pub async fn synced(&self, limit: Duration) -> bool {
        let (all, mut log) = (self.tasks.len(), self.log.subscribe());
        let synced = log.wait_for(|log| log.synced >= all);
        matches!(tokio::time::timeout(limit, synced).await, Ok(Ok(_)))
    }

    /// The first sighting that `find` makes something of, once there is one.
    pub async fn first<T>(
        &self,
        limit: Duration,
        find: impl Fn(&Sighting) -> Option<T>,
    ) -> Option<(Instant, T)> {
        let mut found = None;
        let mut log = self.log.subscribe();
        let seen = log.wait_for(|log| {
            found = log.sightings.iter().find_map(|seen| find(seen).map(|value| (seen.at, value)));
            found.is_some()
        });
        // Whether it ended in time is told by what was found.
        let _ = tokio::time::timeout(limit, seen).await.is_ok();
        found
    }

    /// What a watch last complained of, if any did.
    pub fn trouble(&self) -> Option<String> {
        self.log.borrow().trouble.clone()
    }
}

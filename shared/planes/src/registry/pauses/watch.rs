//! Follows the planes that operators paused, and requeues everything when that changes.

use std::sync::Arc;
use std::time::Duration;

use fedhub_core::errors;
use fedhub_core::object::PlaneId;
use futures::{StreamExt, pin_mut};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use crate::registry::Planes;
use crate::registry::pauses::Pauses;
use crate::registry::pauses::stored::NAME;

/// How long a watch lasts before the server ends it, in seconds: as those of the planes.
const WATCH_SECONDS: u32 = 240;
/// How long a read may take, and how long the next one waits after one that failed.
const PATIENCE: Duration = Duration::from_secs(10);
const AGAIN: Duration = Duration::from_secs(1);
/// How often the pauses are read at least: a watch that hangs, or that goes on from a version which a
/// restored plane has yet to reach, is not to keep an operator from pausing.
const REREAD: Duration = Duration::from_secs(30);

impl Planes {
    /// The pauses that are honoured here.
    pub fn pauses(&self) -> &Arc<Pauses> {
        &self.pauses
    }

    /// Follows the `ConfigMap` until `stop`.
    pub async fn follow_pauses(self: Arc<Self>, stop: CancellationToken) {
        let Some(api) = self.pauses.stored.clone() else { return };
        let mut reread = interval_at(Instant::now() + REREAD, REREAD);
        reread.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let config =
            watcher::Config::default().fields(&format!("metadata.name={NAME}")).timeout(WATCH_SECONDS);
        let stream = watcher(api.clone(), config).default_backoff();
        pin_mut!(stream);
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                event = stream.next() => match event {
                    Some(Ok(Event::Init | Event::InitApply(_))) => continue,
                    Some(Ok(Event::InitDone | Event::Apply(_) | Event::Delete(_))) => {}
                    Some(Err(error)) => {
                        self.pauses.unreadable(&errors::chain(&error));
                        continue;
                    }
                    None => return,
                },
                _ = reread.tick() => {}
            }
            // That a read fails, the watch says as well.
            if let Err(error) = self.read_pauses_once(&api).await {
                tracing::debug!(error, "failed to read paused planes");
                reread.reset_after(AGAIN);
            }
        }
    }

    async fn read_pauses_once(&self, api: &Api<ConfigMap>) -> Result<(), String> {
        let _alone = self.pauses.reading.lock().await;
        match tokio::time::timeout(PATIENCE, api.get_opt(NAME)).await {
            Ok(Ok(map)) => {
                self.learn_pauses(map.as_ref());
                Ok(())
            }
            Ok(Err(error)) => Err(errors::chain(&error)),
            Err(_) => Err(format!("no answer within {PATIENCE:?}")),
        }
    }

    /// Whether that is a project plane that is paused.
    pub fn is_paused(&self, plane: &PlaneId) -> bool {
        matches!(plane, PlaneId::Project(name) if self.pauses.is_paused(name))
    }

    /// Reads the pauses past every watch: the beginning of a term, before its first write. Ends when they
    /// were read.
    pub async fn read_pauses(&self) {
        let Some(api) = &self.pauses.stored else { return };
        while let Err(error) = self.read_pauses_once(api).await {
            self.pauses.unreadable(&error);
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Learns which planes are paused, and requeues everything the first time and whenever that changes.
    fn learn_pauses(&self, map: Option<&ConfigMap>) {
        let Some(before) = self.pauses.learn(map) else { return };
        for plane in self.projects() {
            let PlaneId::Project(name) = &plane.id else { continue };
            if before.was_paused(name) != self.pauses.is_paused(name) {
                // From now on, not from when somebody asks.
                plane.state_since();
                tracing::info!(plane = %name, now = plane.health().state(), "plane paused or resumed by an operator");
            }
        }
        self.resync();
    }
}

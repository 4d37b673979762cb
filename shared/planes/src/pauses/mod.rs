//! Planes that operators paused (`fedhub pause`): for them fedhub writes nothing, neither there nor on the hub.
//!
//! One `ConfigMap` of the process's own namespace on the management plane says which, for every discovery. All replicas
//! watch it. Until it was read nothing is in sync, so that nothing is written; a leader reads it once more before the
//! first write of its term. While it cannot be read, what was last known stands.
//!
//! Decides I12.

pub mod stored;

use std::sync::Arc;
use std::time::Duration;

use fedhub_core::errors::{self, Paused, Suspended};
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Kind, Object, ObjectView, PlaneId};
use futures::{StreamExt, pin_mut};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use parking_lot::RwLock;
use tokio_util::sync::CancellationToken;

use self::stored::{NAME, PausedPlanes};
use crate::{Plane, Planes, ProjectNamespace, WriteState};

/// How long a watch lasts before the server ends it, in seconds: as those of the planes.
const WATCH_SECONDS: u32 = 240;
/// How long a read may take, and how long the next one waits after one that failed.
const PATIENCE: Duration = Duration::from_secs(10);
const AGAIN: Duration = Duration::from_secs(1);

/// What is known of the pauses.
#[derive(Default)]
struct Known {
    version: u64,
    /// `None` until they were read.
    paused: Option<Arc<PausedPlanes>>,
}

/// The pauses that a process honours.
pub struct Pauses {
    known: RwLock<Known>,
    /// Where they are stored; `None` where no operator can pause anything.
    stored: Option<Api<ConfigMap>>,
}

impl Pauses {
    /// Nothing is ever paused: the role of a cell, and tests.
    pub fn never() -> Arc<Self> {
        let known = RwLock::new(Known { version: 0, paused: Some(Arc::default()) });
        Arc::new(Self { known, stored: None })
    }

    /// The pauses in `namespace` of the management plane, which [`Self::run`] has to read first.
    pub fn stored(management: Client, namespace: &str) -> Arc<Self> {
        let api = Api::namespaced(management, namespace);
        Arc::new(Self { known: RwLock::default(), stored: Some(api) })
    }

    /// Whether it is known what is paused.
    pub fn known(&self) -> bool {
        self.known.read().paused.is_some()
    }

    /// Whether that plane is paused; as long as that is not known, it is.
    pub fn is_paused(&self, plane: &PlaneName) -> bool {
        self.known.read().paused.as_ref().is_none_or(|paused| paused.pause(plane.as_str()).is_some())
    }

    /// Whether any plane is paused; as long as that is not known, one may be.
    pub fn any(&self) -> bool {
        self.known.read().paused.as_ref().is_none_or(|paused| !paused.is_empty())
    }

    /// Takes what was read, and returns what was known before if that is news. What an older event brings is not.
    fn learn(&self, map: Option<&ConfigMap>) -> Option<Option<Arc<PausedPlanes>>> {
        let version = map.and_then(|map| map.metadata.resource_version.as_ref()?.parse().ok());
        let mut known = self.known.write();
        if version.is_some_and(|version: u64| version < known.version) {
            return None;
        }
        known.version = version.unwrap_or(known.version);
        let now = PausedPlanes::read(map);
        if known.paused.as_deref() == Some(&now) {
            return None;
        }
        Some(known.paused.replace(Arc::new(now)))
    }

    /// Follows the `ConfigMap` until `stop`.
    pub async fn run(self: Arc<Self>, planes: Arc<Planes>, stop: CancellationToken) {
        let Some(api) = self.stored.clone() else { return };
        let config =
            watcher::Config::default().fields(&format!("metadata.name={NAME}")).timeout(WATCH_SECONDS);
        let stream = watcher(api, config).default_backoff();
        pin_mut!(stream);
        let mut listed = None;
        loop {
            let event = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                event = stream.next() => event,
            };
            match event {
                Some(Ok(Event::Init)) => listed = None,
                Some(Ok(Event::InitApply(map))) => listed = Some(map),
                Some(Ok(Event::InitDone)) => planes.learn_pauses(&self, listed.take().as_ref()),
                Some(Ok(Event::Apply(map))) => planes.learn_pauses(&self, Some(&map)),
                Some(Ok(Event::Delete(_))) => planes.learn_pauses(&self, None),
                Some(Err(error)) => self.unreadable(&errors::chain(&error)),
                None => return,
            }
        }
    }

    fn unreadable(&self, error: &str) {
        if self.known() {
            tracing::warn!(error, "failed to watch paused planes, keeping what is known");
        } else {
            tracing::warn!(error, "failed to read paused planes, writing nothing until they are known");
        }
    }
}

impl Planes {
    /// The pauses that are honoured here.
    pub fn pauses(&self) -> &Arc<Pauses> {
        &self.pauses
    }

    /// Whether that is a project plane that is paused.
    pub fn is_paused(&self, plane: &PlaneId) -> bool {
        matches!(plane, PlaneId::Project(name) if self.pauses.is_paused(name))
    }

    /// Reads the pauses past every watch: the beginning of a term, before its first write. Ends when they were read.
    pub async fn read_pauses(&self) {
        let Some(api) = &self.pauses.stored else { return };
        loop {
            let error = match tokio::time::timeout(PATIENCE, api.get_opt(NAME)).await {
                Ok(Ok(map)) => return self.learn_pauses(&self.pauses, map.as_ref()),
                Ok(Err(error)) => errors::chain(&error),
                Err(_) => format!("no answer within {PATIENCE:?}"),
            };
            self.pauses.unreadable(&error);
            tokio::time::sleep(AGAIN).await;
        }
    }

    /// Has everything reconciled again once it is known what is paused, and whenever that changes.
    fn learn_pauses(&self, pauses: &Pauses, map: Option<&ConfigMap>) {
        let Some(before) = pauses.learn(map) else { return };
        let was = |plane: &PlaneName| before.as_ref().is_some_and(|it| it.pause(plane.as_str()).is_some());
        for plane in self.projects() {
            let PlaneId::Project(name) = &plane.id else { continue };
            if was(name) != pauses.is_paused(name) {
                plane.state_since();
                tracing::info!(plane = %name, now = plane.health().state(), "plane paused or resumed by an operator");
            }
        }
        self.resync();
    }
}

impl Plane {
    /// Why a write of `of` is not sent, whoever wants it. A project that is suspended takes only what lets go of objects
    /// that are being deleted. For a plane that is paused nothing is written, there and on the hub (I12).
    pub(crate) fn refused(&self, kind: Kind, of: &Object) -> Option<kube::Error> {
        let paused = || kube::Error::Service(Box::new(Paused));
        match (&self.id, self.write_state()) {
            (PlaneId::Hub, _) => self.is_of_paused(kind, of).then(paused),
            (_, WriteState::Paused) => Some(paused()),
            (_, WriteState::Suspended) if !of.is_terminating() => {
                Some(kube::Error::Service(Box::new(Suspended)))
            }
            (_, WriteState::Active | WriteState::Suspended) => None,
        }
    }

    /// Whether an object of the hub belongs to a plane that is paused, as the labels of its hub namespace say (I6). While
    /// any plane is paused, nothing is written whose plane is not known.
    fn is_of_paused(&self, kind: Kind, of: &Object) -> bool {
        if !self.pauses.any() {
            return false;
        }
        let name = if kind == Kind::Namespace { of.name() } else { of.namespace() };
        let stands = self.store(Kind::Namespace).object("", name);
        let sent = (kind == Kind::Namespace).then_some(of);
        let mut owners =
            stands.as_deref().into_iter().chain(sent).filter_map(ProjectNamespace::of).peekable();
        owners.peek().is_none() || owners.any(|owner| self.pauses.is_paused(&owner.plane))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(version: u64, entries: &[(&str, &str)]) -> ConfigMap {
        let data = entries.iter().map(|(key, entry)| ((*key).to_owned(), (*entry).to_owned())).collect();
        let mut map = ConfigMap { data: Some(data), ..ConfigMap::default() };
        map.metadata.resource_version = Some(version.to_string());
        map
    }

    fn name(plane: &str) -> PlaneName {
        PlaneName::new(plane).unwrap()
    }

    #[test]
    fn i12_what_is_not_known_is_paused_and_an_older_event_is_no_news() {
        let pauses = Pauses { known: RwLock::default(), stored: None };
        assert!(!pauses.known() && pauses.any() && pauses.is_paused(&name("a")));
        assert_eq!(pauses.learn(Some(&map(7, &[("a", "")]))), Some(None));
        assert!(pauses.is_paused(&name("a")) && !pauses.is_paused(&name("b")));
        assert_eq!(pauses.learn(Some(&map(6, &[]))), None, "older");
        assert!(pauses.is_paused(&name("a")));
        assert_eq!(pauses.learn(Some(&map(8, &[("a", "")]))), None, "the same");
        assert!(pauses.learn(None).is_some(), "deleted by hand: nothing is paused");
        assert!(!pauses.any());
    }
}

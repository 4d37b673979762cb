//! Planes that operators paused (`fedhub pause`): for them fedhub writes nothing, neither there nor on the
//! hub.
//!
//! One `ConfigMap` of the process's own namespace on the management plane says which, for every discovery.
//! All replicas read it whenever their watch tells of a change, and now and then: what the plane says now
//! counts, whatever its version, for a plane that was put back to an earlier state has lower ones (I13).
//! Until it was read nothing is in sync, so that nothing is written; a leader reads it once more before the
//! first write of its term. While it cannot be read, what was last known stands.

pub mod stored;
mod watch;

use std::sync::Arc;

use fedhub_core::names::PlaneName;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use parking_lot::RwLock;

use self::stored::PausedPlanes;

/// The pauses that were known before; `None` if they were not.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Before(Option<Arc<PausedPlanes>>);

impl Before {
    /// Whether that plane was known to be paused.
    pub fn was_paused(&self, plane: &PlaneName) -> bool {
        self.0.as_ref().is_some_and(|it| it.pause(plane.as_str()).is_some())
    }
}

/// The pauses that a process honours.
pub struct Pauses {
    /// `None` until they were read.
    paused: RwLock<Option<Arc<PausedPlanes>>>,
    /// Held while they are read: the last answer is the newest.
    pub(crate) reading: tokio::sync::Mutex<()>,
    /// The stored pauses; `None` if no operator can pause anything.
    pub(crate) stored: Option<Api<ConfigMap>>,
}

impl Pauses {
    /// Creates pauses that never pause anything: for the cell role, and tests.
    pub fn never() -> Arc<Self> {
        Arc::new(Self {
            paused: RwLock::new(Some(Arc::default())),
            reading: tokio::sync::Mutex::default(),
            stored: None,
        })
    }

    /// The pauses in `namespace` of the management plane, which [`crate::Planes::follow_pauses`] has to read
    /// first.
    pub fn stored(management: Client, namespace: &str) -> Arc<Self> {
        Arc::new(Self {
            paused: RwLock::default(),
            reading: tokio::sync::Mutex::default(),
            stored: Some(Api::namespaced(management, namespace)),
        })
    }

    /// Whether it is known what is paused.
    pub fn known(&self) -> bool {
        self.paused.read().is_some()
    }

    /// Whether that plane is paused; as long as that is not known, it is.
    pub fn is_paused(&self, plane: &PlaneName) -> bool {
        self.paused.read().as_ref().is_none_or(|paused| paused.pause(plane.as_str()).is_some())
    }

    /// Whether any plane is paused; as long as that is not known, one may be.
    pub fn any(&self) -> bool {
        self.paused.read().as_ref().is_none_or(|paused| !paused.is_empty())
    }

    /// Takes over what was read, and returns what was known before if that has changed.
    pub(crate) fn learn(&self, map: Option<&ConfigMap>) -> Option<Before> {
        let now = PausedPlanes::read(map);
        let mut paused = self.paused.write();
        if paused.as_deref() == Some(&now) {
            return None;
        }
        Some(Before(paused.replace(Arc::new(now))))
    }

    /// Notes that the pauses cannot be read for now.
    pub(crate) fn unreadable(&self, error: &str) {
        if self.known() {
            tracing::warn!(error, "failed to watch paused planes, keeping what is known");
        } else {
            tracing::warn!(error, "failed to read paused planes, writing nothing until they are known");
        }
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
    fn i12_what_is_not_known_is_paused_and_the_last_answer_counts_whatever_its_version() {
        let reading = tokio::sync::Mutex::default();
        let pauses = Pauses { paused: RwLock::default(), reading, stored: None };
        assert!(!pauses.known() && pauses.any() && pauses.is_paused(&name("a")));
        assert_eq!(pauses.learn(Some(&map(7, &[("a", "")]))), Some(Before(None)));
        assert!(pauses.is_paused(&name("a")) && !pauses.is_paused(&name("b")));
        assert_eq!(pauses.learn(Some(&map(8, &[("a", "")]))), None, "the same");
        assert!(pauses.learn(Some(&map(3, &[("b", "")]))).is_some(), "the plane was restored");
        assert!(pauses.is_paused(&name("b")) && !pauses.is_paused(&name("a")));
        assert!(pauses.learn(None).is_some(), "deleted by hand: nothing is paused");
        assert!(!pauses.any());
    }
}

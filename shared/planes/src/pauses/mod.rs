//! Planes that operators paused (`fedhub pause`): for them fedhub writes nothing, neither there nor on the hub.
//!
//! One `ConfigMap` of the process's own namespace on the management plane says which, for every discovery. All replicas
//! watch it. Until it was read nothing is in sync, so that nothing is written; a leader reads it once more before the
//! first write of its term. While it cannot be read, what was last known stands.

pub mod stored;

use std::sync::Arc;

use fedhub_core::names::PlaneName;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use parking_lot::RwLock;

use self::stored::PausedPlanes;

/// What is known of the pauses.
#[derive(Default)]
struct Known {
    version: u64,
    /// `None` until they were read.
    paused: Option<Arc<PausedPlanes>>,
}

/// What was known before; nothing, where it was not known what is paused.
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
    known: RwLock<Known>,
    /// Where they are stored; `None` where no operator can pause anything.
    pub(crate) stored: Option<Api<ConfigMap>>,
}

impl Pauses {
    /// Nothing is ever paused: the role of a cell, and tests.
    pub fn never() -> Arc<Self> {
        let known = RwLock::new(Known { version: 0, paused: Some(Arc::default()) });
        Arc::new(Self { known, stored: None })
    }

    /// The pauses in `namespace` of the management plane, which [`crate::Planes::follow_pauses`] has to read first.
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
    pub(crate) fn learn(&self, map: Option<&ConfigMap>) -> Option<Before> {
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
        Some(Before(known.paused.replace(Arc::new(now))))
    }

    /// They cannot be read for now.
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
    fn i12_what_is_not_known_is_paused_and_an_older_event_is_no_news() {
        let pauses = Pauses { known: RwLock::default(), stored: None };
        assert!(!pauses.known() && pauses.any() && pauses.is_paused(&name("a")));
        assert_eq!(pauses.learn(Some(&map(7, &[("a", "")]))), Some(Before(None)));
        assert!(pauses.is_paused(&name("a")) && !pauses.is_paused(&name("b")));
        assert_eq!(pauses.learn(Some(&map(6, &[]))), None, "older");
        assert!(pauses.is_paused(&name("a")));
        assert_eq!(pauses.learn(Some(&map(8, &[("a", "")]))), None, "the same");
        assert!(pauses.learn(None).is_some(), "deleted by hand: nothing is paused");
        assert!(!pauses.any());
    }
}

//! Planes on their way out: the watches of their own WDs say when they are free to go.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::engine::{Change, Listener};
use crate::names::PlaneName;
use crate::object::{Kind, PlaneId};
use crate::planes::Plane;

/// The planes that wait for their last WD, and which of them have news.
#[derive(Default)]
pub struct Leaving {
    news: Mutex<BTreeMap<PlaneName, bool>>,
    bell: Notify,
}

impl Leaving {
    fn news(&self) -> MutexGuard<'_, BTreeMap<PlaneName, bool>> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on, news of this plane is kept. To be called before its store is looked at, so that nothing is missed.
    pub fn add(&self, plane: &PlaneName) {
        self.news().entry(plane.clone()).or_insert(false);
    }

    /// Nobody waits for news of this plane any more. Says whether somebody did.
    pub fn remove(&self, plane: &PlaneName) -> bool {
        self.news().remove(plane).is_some()
    }

    /// Waits for news and takes it: the planes to judge again.
    pub async fn woken(&self) -> Vec<PlaneName> {
        loop {
            self.bell.notified().await;
            let mut news = self.news();
            let woken: Vec<_> = news.iter().filter(|(_, new)| **new).map(|(name, _)| name.clone()).collect();
            news.values_mut().for_each(|new| *new = false);
            if !woken.is_empty() {
                return woken;
            }
        }
    }

    fn wake(&self, plane: &Plane) {
        let PlaneId::Project(name) = &plane.id else { return };
        if let Some(new) = self.news().get_mut(name) {
            *new = true;
            self.bell.notify_one();
        }
    }
}

impl Listener for Leaving {
    fn changed(&self, plane: &Plane, kind: Kind, change: &Change) {
        let waits = |change: &Change| match change {
            Change::Applied { new, .. } => new.digest.deployment().is_some_and(|d| d.held),
            Change::Deleted { .. } => false,
        };
        if kind == Kind::WorkloadDeployment && !waits(change) {
            self.wake(plane);
        }
    }

    fn synced(&self, plane: &Plane, kind: Kind) {
        if kind == Kind::WorkloadDeployment {
            self.wake(plane);
        }
    }

    fn left(&self, _: &Plane) {}
}

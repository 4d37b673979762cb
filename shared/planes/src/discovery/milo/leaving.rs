//! Planes on their way out: the watches of their own WDs say when they are free to go.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use fedhub_api::facts::Change;
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Kind, PlaneId};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::Listener;
use crate::Plane;
use crate::registry::plane::marks;

/// The planes that wait for their last WD, and which of them have news.
#[derive(Default)]
pub struct Leaving {
    news: Mutex<BTreeMap<PlaneName, bool>>,
    /// The hub came into sync, or a term has begun.
    hub: AtomicBool,
    bell: Notify,
}

/// What there is news of.
#[derive(Debug, Default)]
pub struct News {
    /// The planes to decide on again.
    pub planes: Vec<PlaneName>,
    /// The hub came into sync, or a term has begun.
    pub hub: bool,
}

impl Leaving {
    fn news(&self) -> MutexGuard<'_, BTreeMap<PlaneName, bool>> {
        self.news.lock()
    }

    /// Keeps news of this plane from now on. Call it before its store is searched, so that nothing is missed.
    pub fn add(&self, plane: &PlaneName) {
        self.news().entry(plane.clone()).or_insert(false);
    }

    /// Stops to wait for news of this plane, and returns whether it was waited for.
    pub fn remove(&self, plane: &PlaneName) -> bool {
        self.news().remove(plane).is_some()
    }

    /// Waits for news and takes it.
    pub async fn woken(&self) -> News {
        loop {
            self.bell.notified().await;
            let hub = self.hub.swap(false, Ordering::AcqRel);
            let mut news = self.news();
            let planes: Vec<_> = news.iter().filter(|(_, new)| **new).map(|(name, _)| name.clone()).collect();
            news.values_mut().for_each(|new| *new = false);
            if hub || !planes.is_empty() {
                return News { planes, hub };
            }
        }
    }

    /// Notifies of news of this plane, if it is waited for.
    pub fn wake(&self, plane: &Plane) {
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
            Change::Applied { new, .. } => marks::holds(&new.digest),
            Change::Deleted { .. } => false,
        };
        if marks::is_marked(kind) && !waits(change) {
            self.wake(plane);
        }
    }

    fn synced(&self, plane: &Plane, kind: Kind) {
        if plane.id == PlaneId::Hub && plane.synced() {
            self.hub.store(true, Ordering::Release);
            self.bell.notify_one();
        }
        if marks::is_marked(kind) {
            self.wake(plane);
        }
    }

    fn left(&self, _: &Plane) {}

    fn unserved(&self, plane: &Plane) {
        self.wake(plane);
    }
}

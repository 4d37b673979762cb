//! One pass at a time sets up what the WDs of a project namespace share: its UID as read, its hub namespace,
//! and a policy for each city. Passes that come meanwhile wait for it in place of making the same requests.

use std::sync::{Arc, Weak};

use dashmap::DashMap;
use fedhub_planes::ProjectNamespace;
use tokio::sync::{Mutex, OwnedMutexGuard};

type Locks = Arc<DashMap<ProjectNamespace, Weak<Mutex<()>>>>;

/// A lock for each project namespace that is being set up.
#[derive(Default)]
pub(crate) struct SetupLocks(Locks);

impl SetupLocks {
    /// Waits until no other pass sets up this namespace.
    pub(crate) async fn acquire(&self, at: &ProjectNamespace) -> SetupGuard {
        let guard = self.lock_of(at).lock_owned().await;
        SetupGuard { guard: Some(guard), locks: self.0.clone(), at: at.clone() }
    }

    /// How many namespaces are being set up.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    fn lock_of(&self, at: &ProjectNamespace) -> Arc<Mutex<()>> {
        let mut known = self.0.entry(at.clone()).or_default();
        if let Some(lock) = known.upgrade() {
            return lock;
        }
        let lock = Arc::default();
        *known = Arc::downgrade(&lock);
        lock
    }
}

/// Held by the pass that sets a namespace up; the last that goes takes the lock with it.
pub(crate) struct SetupGuard {
    guard: Option<OwnedMutexGuard<()>>,
    locks: Locks,
    at: ProjectNamespace,
}

impl Drop for SetupGuard {
    fn drop(&mut self) {
        self.guard = None;
        self.locks.remove_if(&self.at, |_, lock| lock.strong_count() == 0);
    }
}

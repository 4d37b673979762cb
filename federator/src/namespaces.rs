//! What is known of project namespaces: their UIDs, as they were read, and which are being set up.
//!
//! One pass at a time sets up what the WDs of a project namespace share: its UID as read, its hub namespace,
//! and a policy for each city. Passes that come meanwhile wait for it in place of making the same requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use dashmap::DashMap;
use fedhub_core::names::PlaneName;
use fedhub_planes::ProjectNamespace;
use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard};

/// The UID of a project namespace, as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NamespaceUid {
    pub uid: String,
    /// The epoch of the store of WDs when the namespace was read. After another list of WDs, also by another
    /// client of the plane, the UID does not count: the WDs that held the namespace may have gone unseen, and
    /// the namespace with them.
    pub epoch: u32,
}

/// UIDs of project namespaces, for as long as a WD stands in them (F2). Those of a plane are side by side:
/// there are thousands of planes, and each comes into sync by itself.
#[derive(Debug, Default)]
pub(crate) struct NamespaceUids(Mutex<BTreeMap<ProjectNamespace, NamespaceUid>>);

impl NamespaceUids {
    /// Returns the UID of a namespace as it was read.
    pub fn get(&self, at: &ProjectNamespace) -> Option<NamespaceUid> {
        self.0.lock().get(at).cloned()
    }

    /// Remembers that of a namespace.
    pub fn insert(&self, at: ProjectNamespace, uid: NamespaceUid) {
        self.0.lock().insert(at, uid);
    }

    /// Forgets that of a namespace.
    pub fn remove(&self, at: &ProjectNamespace) {
        self.0.lock().remove(at);
    }

    /// Forgets those of a plane but of these namespaces.
    pub fn retain(&self, plane: &PlaneName, keep: impl Fn(&str) -> bool) {
        let first = ProjectNamespace { plane: plane.clone(), namespace: String::new() };
        let of_plane = |all: &BTreeMap<ProjectNamespace, NamespaceUid>| -> Vec<_> {
            all.range(first..).map(|(at, _)| at).take_while(|at| at.plane == *plane).cloned().collect()
        };
        // What `keep` looks at has locks of its own.
        let known = of_plane(&self.0.lock());
        known.iter().filter(|at| !keep(&at.namespace)).for_each(|at| self.remove(at));
    }

    /// A namespace whose UID is so.
    pub fn find(&self, is_so: impl Fn(&str) -> bool) -> Option<ProjectNamespace> {
        self.0.lock().iter().find(|(_, known)| is_so(&known.uid)).map(|(at, _)| at.clone())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.lock().len()
    }
}

type Locks = Arc<DashMap<ProjectNamespace, Weak<AsyncMutex<()>>>>;

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

    fn lock_of(&self, at: &ProjectNamespace) -> Arc<AsyncMutex<()>> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(plane: &str, namespace: &str) -> ProjectNamespace {
        ProjectNamespace { plane: PlaneName::new(plane).unwrap(), namespace: namespace.to_owned() }
    }

    #[test]
    fn f2_of_one_plane_only_those_are_forgotten_that_do_not_stand() {
        let known = NamespaceUids::default();
        let all = [at("a", "shop"), at("b", "shop"), at("b", "store"), at("ba", "shop")];
        for (epoch, at) in (0..).zip(&all) {
            known.insert(at.clone(), NamespaceUid { uid: format!("{}/{}", at.plane, at.namespace), epoch });
        }
        known.retain(&all[1].plane, |namespace| namespace == "store");
        let left: Vec<_> = all.iter().filter(|at| known.get(at).is_some()).collect();
        assert_eq!(left, [&all[0], &all[2], &all[3]]);
        assert_eq!(known.find(|uid| uid == "ba/shop").as_ref(), Some(&all[3]));
        known.retain(&all[2].plane, |_| false);
        assert_eq!(known.len(), 2);
    }
}

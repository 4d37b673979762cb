//! Writes that may place our finalizer on a project plane and whose end is not known yet: while there is one, the plane
//! is not disengaged, for only this process can remove the finalizer (section 2, I3).

use std::sync::Arc;

use fedhub_api::facts::{Deployment, DigestExt, Store};
use fedhub_cache::digest::{Uid, Version};
use fedhub_core::errors::PlaneDisengaged;
use fedhub_core::names::{FEDERATOR_FINALIZER, REFERENCED_DATA_FINALIZER, WORKLOAD_FINALIZER};
use fedhub_core::object::{Kind, Object, ObjectView};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

/// Whether WDs of a plane hold our finalizer, as far as this process can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Its WDs were never listed, so that it is not known.
    Unknown,
    /// A write that may place it is in flight, or ended in no answer.
    Marking,
    /// Some do.
    Yes,
    /// None does.
    No,
}

/// The marks of one plane, shared by all clients that it had since it was engaged.
#[derive(Debug, Default)]
pub struct Marks {
    inner: Mutex<Inner>,
    ended: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    /// The plane is disengaged: nothing is marked there any more.
    closed: bool,
    count: u64,
    open: Vec<Open>,
}

#[derive(Debug)]
struct Open {
    id: u64,
    namespace: String,
    name: String,
    uid: Uid,
    /// The precondition: where the WD has a newer version, the write has landed or never will.
    version: Version,
    in_flight: bool,
}

/// A write that may place our finalizer and is under way. Dropped, it has ended in no answer.
pub(super) struct Mark {
    marks: Arc<Marks>,
    id: u64,
}

impl Marks {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    /// Begins a write of `finalizers` to `of`, if the plane is not disengaged. `None` where it cannot place ours.
    pub(super) fn begin(
        self: &Arc<Self>,
        kind: Kind,
        of: &Object,
        finalizers: &[&str],
    ) -> Result<Option<Mark>, PlaneDisengaged> {
        if kind == Kind::Workload && finalizers.contains(&WORKLOAD_FINALIZER) && self.lock().closed {
            return Err(PlaneDisengaged);
        }
        let ours = [FEDERATOR_FINALIZER, REFERENCED_DATA_FINALIZER];
        if kind != Kind::WorkloadDeployment || !ours.iter().any(|ours| finalizers.contains(ours)) {
            return Ok(None);
        }
        let mut inner = self.lock();
        if inner.closed {
            return Err(PlaneDisengaged);
        }
        inner.count += 1;
        let id = inner.count;
        inner.open.push(Open {
            id,
            namespace: of.namespace().to_owned(),
            name: of.name().to_owned(),
            uid: Uid::new(of.uid()),
            version: Version::new(of.version()),
            in_flight: true,
        });
        Ok(Some(Mark { marks: self.clone(), id }))
    }

    /// Whether WDs hold our finalizer, by what their store and the writes under way tell.
    pub fn held(&self, wds: &Store) -> Held {
        self.lock().held(wds)
    }

    /// Closes the plane to marks, if none is under way and no WD holds our finalizer. Returns whether it is closed.
    pub fn close(&self, wds: &Store) -> bool {
        let mut inner = self.lock();
        inner.closed = inner.closed || inner.held(wds) == Held::No;
        inner.closed
    }

    /// Whether a write is in flight.
    pub fn in_flight(&self) -> bool {
        self.lock().open.iter().any(|open| open.in_flight)
    }

    /// Waits until none is.
    pub async fn idle(&self) {
        loop {
            let ended = self.ended.notified();
            tokio::pin!(ended);
            ended.as_mut().enable();
            if !self.in_flight() {
                return;
            }
            ended.await;
        }
    }
}

impl Inner {
    fn held(&mut self, wds: &Store) -> Held {
        if !wds.synced() {
            return Held::Unknown;
        }
        let stands = |open: &Open| {
            wds.digest(&open.namespace, &open.name).is_some_and(|wd| {
                wd.uid == open.uid && (wd.version == open.version || wd.version.older_than(&open.version))
            })
        };
        self.open.retain(|open| open.in_flight || stands(open));
        if wds.any(None, |wd| wd.digest.deployment().is_some_and(Deployment::is_held)) {
            Held::Yes
        } else if self.open.is_empty() {
            Held::No
        } else {
            Held::Marking
        }
    }
}

impl Mark {
    /// The server has answered, and what it answered is in the store.
    pub(super) fn answered(self) {
        self.marks.lock().open.retain(|open| open.id != self.id);
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        if let Some(open) = self.marks.lock().open.iter_mut().find(|open| open.id == self.id) {
            open.in_flight = false;
        }
        self.marks.ended.notify_waiters();
    }
}

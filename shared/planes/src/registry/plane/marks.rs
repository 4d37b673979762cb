//! Writes that may place our finalizer on a project plane and whose end is not known yet: while there is one,
//! the plane is not disengaged, for only this process can remove the finalizer (section 2, I3).

use std::sync::Arc;

use fedhub_api::facts::{Deployment, Digest, DigestExt, Store};
use fedhub_cache::digest::{Uid, Version};
use fedhub_core::errors::NotSent;
use fedhub_core::names::{FEDERATOR_FINALIZER, REFERENCED_DATA_FINALIZER, WORKLOAD_FINALIZER};
use fedhub_core::object::{Kind, Object, ObjectView};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

/// Whether WDs or Workloads of a plane hold a finalizer of ours, as far as this process can tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinalizersHeld {
    /// The objects were never listed, so that it is not known.
    Unknown,
    /// A write that may place it is in flight, or ended in no answer.
    Marking,
    /// Some objects hold it.
    Yes,
    /// No object holds it.
    No,
}

/// The finalizers of ours that objects of a kind have on a project plane. A Workload outlives its WDs by the
/// time that its own takes (W2).
fn finalizers_on(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::WorkloadDeployment => &[FEDERATOR_FINALIZER, REFERENCED_DATA_FINALIZER],
        Kind::Workload => &[WORKLOAD_FINALIZER],
        _ => &[],
    }
}

/// Whether objects of a kind may hold a finalizer of ours on a project plane.
pub(crate) fn is_marked(kind: Kind) -> bool {
    !finalizers_on(kind).is_empty()
}

/// Whether an object holds one.
pub(crate) fn holds(digest: &Digest) -> bool {
    digest.deployment().is_some_and(Deployment::is_held) || digest.workload().is_some_and(|facts| facts.held)
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
    kind: Kind,
    namespace: String,
    name: String,
    uid: Uid,
    /// The precondition: where the object has a newer version, the write has landed or never will.
    version: Version,
    in_flight: bool,
}

/// A write that may place our finalizer and is under way. Dropped, it has ended in no answer.
pub(crate) struct PendingMark {
    marks: Arc<Marks>,
    id: u64,
}

impl Marks {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    /// Begins a write of `finalizers` to `of`, if the plane is not disengaged. `None` where it cannot place
    /// ours.
    pub(crate) fn begin(
        self: &Arc<Self>,
        kind: Kind,
        of: &Object,
        finalizers: &[&str],
    ) -> Result<Option<PendingMark>, NotSent> {
        if !finalizers_on(kind).iter().any(|ours| finalizers.contains(ours)) {
            return Ok(None);
        }
        let mut inner = self.lock();
        if inner.closed {
            return Err(NotSent::PlaneDisengaged);
        }
        inner.count += 1;
        let id = inner.count;
        inner.open.push(Open {
            id,
            kind,
            namespace: of.namespace().to_owned(),
            name: of.name().to_owned(),
            uid: Uid::new(of.uid()),
            version: Version::new(of.version()),
            in_flight: true,
        });
        Ok(Some(PendingMark { marks: self.clone(), id }))
    }

    /// Whether objects hold our finalizer, by what the stores of their kinds and the writes under way tell.
    pub fn held(&self, stores: &[(Kind, &Store)]) -> FinalizersHeld {
        self.lock().held(stores)
    }

    /// Closes the plane to marks, if none is under way and nothing holds our finalizer. Returns whether it is
    /// closed.
    pub fn close(&self, stores: &[(Kind, &Store)]) -> bool {
        let mut inner = self.lock();
        inner.closed = inner.closed || inner.held(stores) == FinalizersHeld::No;
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
    fn held(&mut self, stores: &[(Kind, &Store)]) -> FinalizersHeld {
        if !stores.iter().all(|(_, store)| store.synced()) {
            return FinalizersHeld::Unknown;
        }
        let stands = |open: &Open| {
            let store = stores.iter().find(|(kind, _)| *kind == open.kind).map(|(_, store)| store);
            store.and_then(|store| store.digest(&open.namespace, &open.name)).is_some_and(|it| {
                it.uid == open.uid && (it.version == open.version || it.version.older_than(&open.version))
            })
        };
        self.open.retain(|open| open.in_flight || stands(open));
        if stores.iter().any(|(_, store)| store.any(None, |it| holds(it.digest))) {
            FinalizersHeld::Yes
        } else if self.open.is_empty() {
            FinalizersHeld::No
        } else {
            FinalizersHeld::Marking
        }
    }
}

impl PendingMark {
    /// The server has answered, and what it answered is in the store.
    pub(crate) fn answered(self) {
        self.marks.lock().open.retain(|open| open.id != self.id);
    }
}

impl Drop for PendingMark {
    fn drop(&mut self) {
        if let Some(open) = self.marks.lock().open.iter_mut().find(|open| open.id == self.id) {
            open.in_flight = false;
        }
        self.marks.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use fedhub_cache::MemoryBudget;
    use fedhub_core::names::PlaneName;
    use fedhub_core::object::{PlaneId, bare};

    use super::*;

    fn store(kind: Kind) -> Store {
        let plane = PlaneId::Project(PlaneName::new("p").unwrap());
        let store = Store::new(plane, kind, MemoryBudget::unlimited());
        store.list_begins();
        store.list_ends();
        store
    }

    fn object(kind: Kind, version: &str, finalizer: Option<&str>) -> Object {
        let mut object = bare(kind, "n", "one");
        object.metadata.uid = Some("u".to_owned());
        object.metadata.resource_version = Some(version.to_owned());
        object.metadata.finalizers = finalizer.map(|finalizer| vec![finalizer.to_owned()]);
        object
    }

    #[test]
    fn i3_a_plane_is_not_closed_while_a_mark_of_either_kind_is_under_way_or_stands() {
        for (kind, finalizer) in
            [(Kind::WorkloadDeployment, FEDERATOR_FINALIZER), (Kind::Workload, WORKLOAD_FINALIZER)]
        {
            let both = [Kind::WorkloadDeployment, Kind::Workload].map(|kind| (kind, store(kind)));
            let stores = both.each_ref().map(|(kind, store)| (*kind, store));
            let of_kind = &both.iter().find(|it| it.0 == kind).unwrap().1;
            let unmarked = object(kind, "1", None);
            of_kind.applied(unmarked.clone());
            let marks = Arc::new(Marks::default());
            let begin = || marks.begin(kind, &unmarked, &[finalizer]);
            let answered = begin().unwrap().unwrap();
            assert_eq!(
                (marks.held(&stores), marks.close(&stores)),
                (FinalizersHeld::Marking, false),
                "{kind:?}"
            );
            answered.answered();
            assert_eq!(marks.held(&stores), FinalizersHeld::No, "{kind:?}: it was refused");
            drop(begin().unwrap().unwrap());
            assert_eq!(
                (marks.held(&stores), marks.close(&stores)),
                (FinalizersHeld::Marking, false),
                "{kind:?}"
            );
            of_kind.applied(object(kind, "2", Some(finalizer)));
            assert_eq!(
                (marks.held(&stores), marks.close(&stores)),
                (FinalizersHeld::Yes, false),
                "{kind:?}: it landed"
            );
            of_kind.applied(object(kind, "3", None));
            assert!(marks.close(&stores), "{kind:?}");
            assert!(begin().is_err(), "{kind:?}: it is closed");
        }
    }

    #[test]
    fn i3_what_was_never_listed_may_hold_our_finalizer() {
        let wds = store(Kind::WorkloadDeployment);
        let plane = PlaneId::Project(PlaneName::new("p").unwrap());
        let workloads = Store::new(plane, Kind::Workload, MemoryBudget::unlimited());
        let marks = Marks::default();
        assert_eq!(marks.held(&[(Kind::WorkloadDeployment, &wds)]), FinalizersHeld::No);
        let both = [(Kind::WorkloadDeployment, &wds), (Kind::Workload, &workloads)];
        assert_eq!((marks.held(&both), marks.close(&both)), (FinalizersHeld::Unknown, false));
    }
}

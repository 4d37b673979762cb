//! Updates of a store by lists, watches and the answers to our requests.

use std::sync::atomic::{AtomicU32, Ordering};

use fedhub_core::object::{Object, ObjectRef, ObjectView};

use super::Store;
use super::stored::{Retention, known};
use crate::change::{Change, Known};
use crate::digest::Uid;
use crate::facts::ObjectFacts;

/// The number of the next list of any store.
static LISTS: AtomicU32 = AtomicU32::new(1);

impl<F: ObjectFacts> Store<F> {
    /// A list begins: what it does not name is deleted, by inference.
    pub fn list_begins(&self) {
        self.lock().epoch = LISTS.fetch_add(1, Ordering::Relaxed);
    }

    /// The list names this object. A list begins a new epoch: its objects are taken even where they are older
    /// than what was known (a restored backup), unless we wrote since the list began. Listed objects are not
    /// kept: most of them are in sync.
    pub fn listed(&self, object: Object) -> Option<Change<F>> {
        let digest = self.digest_of(&object);
        let mut objects = self.lock();
        let epoch = objects.epoch;
        if let Some(known) = objects.find_mut(object.namespace(), object.name()) {
            if known.epoch == epoch && digest.version.older_than(&known.digest.version) {
                known.unlisted = false;
                return None;
            }
            let same = known.digest.version == digest.version && known.digest.content == digest.content;
            if same && !known.own {
                known.epoch = epoch;
                return None;
            }
        }
        let namespace = object.namespace().into();
        let name = object.name().into();
        let object: Option<ObjectRef> = self.whole.then(|| object.into());
        let retention = object.clone().map(Retention::Always);
        Some(objects.put(Known { namespace, name, digest, object }, retention, false))
    }

    /// The list names an object that cannot be read: its entry stays.
    pub fn keep(&self, namespace: &str, name: &str) {
        let mut objects = self.lock();
        let epoch = objects.epoch;
        if let Some(known) = objects.find_mut(namespace, name) {
            (known.epoch, known.unlisted) = (epoch, false);
        }
    }

    /// The list is complete: what it did not name is gone, by inference, except what we created since it
    /// began. Our write to an object that stood before may have been its last, and the watch begins after its
    /// end.
    pub fn list_ends(&self) -> Vec<Change<F>> {
        let mut objects = self.lock();
        objects.synced = true;
        let epoch = objects.epoch;
        let missing: Vec<Known<F>> = objects
            .spaces
            .iter()
            .flat_map(|(space, names)| names.iter().map(move |(name, s)| (space, name, s)))
            .filter(|(.., s)| s.epoch != epoch || s.unlisted)
            .map(|(space, name, s)| known(space, name, s))
            .collect();
        for last in &missing {
            objects.remove(&last.namespace, &last.name);
        }
        objects.compact();
        missing.into_iter().map(|last| Change::Deleted { last, inferred: true }).collect()
    }

    /// The watch reports an object.
    pub fn applied(&self, object: Object) -> Option<Change<F>> {
        let digest = self.digest_of(&object);
        let mut objects = self.lock();
        if let Some(known) = objects.find(object.namespace(), object.name()) {
            let same = known.digest.version == digest.version;
            if digest.version.older_than(&known.digest.version) || (same && !known.own) {
                return None;
            }
        } else {
            // It exists: its deletion was only that it left what the watch selects.
            objects.recently_deleted.retain(|uid| *uid != digest.uid);
        }
        let namespace = object.namespace().into();
        let name = object.name().into();
        let object = object.into();
        let retention = self.place(&object);
        Some(objects.put(Known { namespace, name, digest, object: Some(object) }, retention, false))
    }

    /// The watch reports a deletion.
    pub fn deleted(&self, object: Object) -> Option<Change<F>> {
        let digest = self.digest_of(&object);
        let namespace = object.namespace().into();
        let name = object.name().into();
        self.gone(Known { namespace, name, digest, object: Some(object.into()) })
    }

    /// The watch reports the deletion of an object that cannot be read: the known one is removed.
    pub fn deleted_unread(&self, namespace: &str, name: &str) -> Option<Change<F>> {
        let object = self.object(namespace, name);
        self.gone(Known { object, ..self.get(namespace, name)? })
    }

    fn gone(&self, last: Known<F>) -> Option<Change<F>> {
        let mut objects = self.lock();
        objects.note_deleted(last.digest.uid.clone());
        // Another object of that name may be stored already: our own write was faster than the watch.
        if objects.find(&last.namespace, &last.name).is_some_and(|s| s.digest.uid != last.digest.uid) {
            return None;
        }
        objects.remove(&last.namespace, &last.name);
        Some(Change::Deleted { last, inferred: false })
    }

    /// The server's answer to our write: known at once; listeners are notified when the watch brings it.
    pub fn own(&self, object: &ObjectRef) {
        // The answer to the write that took the last finalizer off: the server names the version that it
        // replaced.
        let last = object.is_terminating() && object.metadata.finalizers.as_ref().is_none_or(Vec::is_empty);
        self.answered(object, last);
    }

    /// The server's answer to our read: known and kept, where it is not older than what is known.
    pub fn read(&self, object: &ObjectRef) {
        self.answered(object, true);
    }

    /// The server's answer to our deletion: the object of that UID is gone. Listeners are notified when the
    /// watch brings it.
    pub fn own_deleted(&self, namespace: &str, name: &str, uid: &str) {
        let mut objects = self.lock();
        if objects.find(namespace, name).is_some_and(|s| s.digest.uid.is(uid)) {
            objects.note_deleted(Uid::new(uid));
            objects.remove(namespace, name);
        }
    }

    fn answered(&self, object: &ObjectRef, same_version_too: bool) {
        let digest = self.digest_of(object);
        let mut objects = self.lock();
        if objects.recently_deleted.contains(&digest.uid) {
            return;
        }
        let mut own = true;
        if let Some(known) = objects.find(object.namespace(), object.name())
            && known.digest.uid == digest.uid
        {
            let same = known.digest.version == digest.version;
            let newer = known.digest.version.older_than(&digest.version);
            let news = newer || (same && same_version_too);
            if !news {
                return;
            }
            own = known.own || known.digest != digest;
        }
        let namespace = object.namespace().into();
        let name = object.name().into();
        let retention = self.place(object);
        objects.put(Known { namespace, name, digest, object: Some(object.clone()) }, retention, own);
    }

    fn place(&self, object: &ObjectRef) -> Option<Retention> {
        if self.whole {
            return Some(Retention::Always(object.clone()));
        }
        self.budget.keep(object).map(Retention::While)
    }
}

//! What is known of the objects of one kind on one plane.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::object::{Object, ObjectView, Shared};

/// What a watch told.
#[derive(Clone, Debug)]
pub enum Change {
    /// The object is there, new or changed.
    Applied {
        /// What was known of it before, if anything.
        old: Option<Shared>,
        /// What it is now.
        new: Shared,
    },
    /// The object is gone.
    Deleted {
        /// The last that was known of it.
        last: Shared,
        /// Whether its absence was inferred from a list after a gap, not seen on the watch (I4).
        gap: bool,
    },
}

impl Change {
    /// The object, as it is or as it was last.
    pub fn object(&self) -> &Shared {
        match self {
            Self::Applied { new, .. } => new,
            Self::Deleted { last, .. } => last,
        }
    }
}

struct Stored {
    object: Shared,
    epoch: u64,
    /// Our own write, whose watch event has not come yet.
    own: bool,
}

#[derive(Default)]
struct Inner {
    /// Counts lists: entries of an older epoch were not in the newest list.
    epoch: u64,
    synced: bool,
    objects: BTreeMap<(String, String), Stored>,
    /// UIDs that the watch reported deleted, newest last: the late answer to a write must not raise the dead.
    buried: VecDeque<String>,
}

/// How many deleted UIDs are remembered. An answer to a write is later than the watch by requests in flight only.
const GRAVES: usize = 1024;

/// Objects of one kind on one plane, ordered by namespace and name.
#[derive(Default)]
pub struct Store {
    inner: Mutex<Inner>,
}

fn key(object: &Object) -> (String, String) {
    (object.space().to_owned(), object.called().to_owned())
}

/// resourceVersions of one server may be compared as numbers; where one is no number, the newcomer wins.
fn older(candidate: &Object, known: &Object) -> bool {
    match (candidate.version().parse::<u64>(), known.version().parse::<u64>()) {
        (Ok(a), Ok(b)) => a < b,
        _ => false,
    }
}

impl Store {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The object of that name.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Shared> {
        let key = (namespace.to_owned(), name.to_owned());
        self.lock().objects.get(&key).map(|s| s.object.clone())
    }

    /// All objects of a namespace, by name.
    pub fn in_namespace(&self, namespace: &str) -> Vec<Shared> {
        let from = (namespace.to_owned(), String::new());
        self.lock()
            .objects
            .range((Bound::Included(from), Bound::Unbounded))
            .take_while(|((space, _), _)| space == namespace)
            .map(|(_, s)| s.object.clone())
            .collect()
    }

    /// All objects.
    pub fn all(&self) -> Vec<Shared> {
        self.lock().objects.values().map(|s| s.object.clone()).collect()
    }

    /// Whether any object is like that.
    pub fn any(&self, is_so: impl Fn(&Object) -> bool) -> bool {
        self.lock().objects.values().any(|s| is_so(&s.object))
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.lock().objects.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether a list was completed, so that absence means something.
    pub fn synced(&self) -> bool {
        self.lock().synced
    }

    /// A list begins: what it does not name will be absent, by inference.
    pub fn list_begins(&self) {
        self.lock().epoch += 1;
    }

    /// The list names this object. A list is the server's word of a new epoch: it is taken even where it is older
    /// than what was known (a restored backup), unless we wrote since the list began.
    pub fn listed(&self, object: Shared) -> Option<Change> {
        let mut inner = self.lock();
        let epoch = inner.epoch;
        if let Some(known) = inner.objects.get_mut(&key(&object)) {
            if known.epoch == epoch && older(&object, &known.object) {
                return None;
            }
            // The whole object and not its version: when a plane's schema changes, the same version shows fields that
            // it did not show before (I1).
            if known.object == object && !known.own {
                known.epoch = epoch;
                return None;
            }
        }
        Some(put(&mut inner, object))
    }

    /// The list names an object that cannot be read: what was known of it stands.
    pub fn keep(&self, namespace: &str, name: &str) {
        let mut inner = self.lock();
        let epoch = inner.epoch;
        if let Some(known) = inner.objects.get_mut(&(namespace.to_owned(), name.to_owned())) {
            known.epoch = epoch;
        }
    }

    /// The list is complete: what it did not name is gone, by inference.
    pub fn list_ends(&self) -> Vec<Change> {
        let mut inner = self.lock();
        inner.synced = true;
        let epoch = inner.epoch;
        let missing: Vec<_> =
            inner.objects.iter().filter(|(_, s)| s.epoch != epoch).map(|(k, _)| k.clone()).collect();
        missing
            .into_iter()
            .filter_map(|k| inner.objects.remove(&k))
            .map(|s| Change::Deleted { last: s.object, gap: true })
            .collect()
    }

    /// The watch says that the object is there.
    pub fn applied(&self, object: Shared) -> Option<Change> {
        let mut inner = self.lock();
        if let Some(known) = inner.objects.get(&key(&object)) {
            let same = known.object.version() == object.version();
            if older(&object, &known.object) || (same && !known.own) {
                return None;
            }
        }
        Some(put(&mut inner, object))
    }

    /// The watch says that the object is gone.
    pub fn deleted(&self, object: Shared) -> Option<Change> {
        let mut inner = self.lock();
        if inner.buried.len() == GRAVES {
            inner.buried.pop_front();
        }
        inner.buried.push_back(object.uid().to_owned());
        let key = key(&object);
        // Another object of that name may stand there already: our own write was faster than the watch.
        if inner.objects.get(&key).is_some_and(|s| s.object.uid() != object.uid()) {
            return None;
        }
        inner.objects.remove(&key);
        Some(Change::Deleted { last: object, gap: false })
    }

    /// The server's answer to a write of ours: known at once, told when the watch brings it.
    pub fn own(&self, object: Shared) {
        let mut inner = self.lock();
        if inner.buried.iter().any(|uid| uid == object.uid()) {
            return;
        }
        let key = key(&object);
        // The answer to the write that took the last finalizer off: the server names the version that it replaced.
        let last = object.deleting() && object.metadata.finalizers.as_ref().is_none_or(Vec::is_empty);
        let news = |known: &Object| older(known, &object) || (last && known.version() == object.version());
        if inner.objects.get(&key).is_some_and(|k| k.object.uid() == object.uid() && !news(&k.object)) {
            return;
        }
        let epoch = inner.epoch;
        inner.objects.insert(key, Stored { object, epoch, own: true });
    }
}

fn put(inner: &mut Inner, object: Shared) -> Change {
    let epoch = inner.epoch;
    let old = inner.objects.insert(key(&object), Stored { object: object.clone(), epoch, own: false });
    Change::Applied { old: old.map(|s| s.object), new: object }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::object::{Kind, bare};

    fn object(name: &str, uid: &str, version: u64) -> Shared {
        let mut o = bare(Kind::Instance, "ns", name);
        o.metadata.uid = Some(uid.to_owned());
        o.metadata.resource_version = Some(version.to_string());
        Arc::new(o)
    }

    fn filled(objects: &[Shared]) -> Store {
        let store = Store::default();
        store.list_begins();
        for o in objects {
            store.listed(o.clone());
        }
        store.list_ends();
        store
    }

    #[test]
    fn i4_absence_after_a_relist_is_told_as_inferred_and_a_seen_delete_as_seen() {
        let store = filled(&[object("a", "1", 1), object("b", "2", 2)]);
        store.list_begins();
        assert!(store.listed(object("a", "1", 1)).is_none(), "nothing changed");
        let gone = store.list_ends();
        assert!(matches!(&gone[..], [Change::Deleted { last, gap: true }] if last.called() == "b"));
        let seen = store.deleted(object("a", "1", 3));
        assert!(matches!(seen, Some(Change::Deleted { gap: false, .. })));
        assert!(store.is_empty());
    }

    #[test]
    fn i1_a_list_that_shows_more_of_the_same_version_is_news() {
        let store = filled(&[object("a", "1", 1)]);
        store.list_begins();
        let mut more = object("a", "1", 1).as_ref().clone();
        crate::object::set_field(&mut more, "status", serde_json::json!({"future": true}));
        assert!(store.listed(Arc::new(more)).is_some(), "a field that the schema hid until now");
    }

    #[test]
    fn a_list_of_an_older_world_is_believed() {
        let store = filled(&[object("a", "1", 50)]);
        store.list_begins();
        assert!(store.listed(object("a", "1", 10)).is_some());
        assert_eq!(store.get("ns", "a").unwrap().version(), "10");
    }

    #[test]
    fn a_write_during_a_list_is_not_undone_by_it() {
        let store = filled(&[object("a", "1", 5)]);
        store.list_begins();
        store.own(object("a", "1", 9));
        assert!(store.listed(object("a", "1", 5)).is_none());
        store.list_ends();
        assert_eq!(store.get("ns", "a").unwrap().version(), "9");
    }

    #[test]
    fn own_writes_are_known_at_once_and_told_once() {
        let store = filled(&[]);
        store.own(object("a", "1", 7));
        assert!(store.get("ns", "a").is_some());
        assert!(store.applied(object("a", "1", 6)).is_none(), "older than our own write");
        assert!(store.applied(object("a", "1", 7)).is_some(), "the event of our own write");
        assert!(store.applied(object("a", "1", 7)).is_none(), "told already");
    }

    #[test]
    fn the_answer_to_the_last_finalizers_removal_is_known_although_its_version_is_not_new() {
        let store = filled(&[]);
        let held = |finalizers: &[&str]| {
            let mut held = Object::clone(&object("a", "1", 7));
            held.metadata.deletion_timestamp =
                Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(jiff::Timestamp::UNIX_EPOCH));
            held.metadata.finalizers = Some(finalizers.iter().map(ToString::to_string).collect());
            Arc::new(held)
        };
        store.applied(held(&["ours"]));
        store.own(held(&["theirs"]));
        assert!(store.get("ns", "a").unwrap().has_finalizer("ours"), "told already");
        store.own(held(&[]));
        assert!(!store.get("ns", "a").unwrap().has_finalizer("ours"));
        assert!(store.deleted(object("a", "1", 8)).is_some());
        assert!(store.is_empty());
    }

    #[test]
    fn a_late_answer_does_not_raise_the_dead() {
        let store = filled(&[]);
        store.applied(object("a", "1", 7));
        store.deleted(object("a", "1", 8));
        store.own(object("a", "1", 7));
        assert!(store.is_empty());
        store.own(object("a", "2", 9));
        assert!(store.deleted(object("a", "1", 8)).is_none(), "the new one stands");
        assert_eq!(store.get("ns", "a").unwrap().uid(), "2");
    }
}

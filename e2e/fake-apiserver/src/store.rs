//! The objects and their history: one revision counter, as etcd has it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;

use serde_json::{Value, json};

use crate::meta;
use crate::object::Stored;

/// Where an object is: the index of its resource, its namespace (empty if it has none) and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub resource: usize,
    pub namespace: String,
    pub name: String,
}

/// A write: the object before and after it.
#[derive(Clone)]
pub(crate) struct Change {
    pub revision: u64,
    pub key: Key,
    pub before: Option<Stored>,
    pub after: Option<Stored>,
}

/// All that a backup holds.
#[derive(Clone)]
pub(crate) struct Store {
    pub objects: BTreeMap<Key, Stored>,
    pub revision: u64,
    /// The oldest revision that a new watch or an exact list may ask for.
    pub floor: u64,
    history: VecDeque<Change>,
    history_limit: usize,
    /// The revision of the youngest change that fell off the end of the history.
    forgotten: u64,
    uids: BTreeMap<String, Key>,
    dependents: BTreeMap<String, BTreeSet<Key>>,
}

impl Store {
    pub(crate) fn new(first_revision: u64, history_limit: usize) -> Self {
        Self {
            objects: BTreeMap::new(),
            revision: first_revision,
            floor: first_revision,
            history: VecDeque::new(),
            history_limit,
            forgotten: first_revision,
            uids: BTreeMap::new(),
            dependents: BTreeMap::new(),
        }
    }

    /// Stores the object, or removes it, under the next revision. `before` is what stands under that key now.
    pub(crate) fn commit(
        &mut self,
        key: &Key,
        before: Option<&Value>,
        after: Option<Value>,
    ) -> Option<Stored> {
        self.revision += 1;
        if let Some(before) = before {
            self.unindex(key, before);
        }
        let after = after.map(|mut object| {
            meta::set(&mut object, "resourceVersion", json!(self.revision.to_string()));
            self.index(key, &object);
            Stored::new(&object)
        });
        let before = match &after {
            Some(object) => self.objects.insert(key.clone(), object.clone()),
            None => self.objects.remove(key),
        };
        let change = Change { revision: self.revision, key: key.clone(), before, after: after.clone() };
        self.history.push_back(change);
        while self.history.len() > self.history_limit {
            if let Some(old) = self.history.pop_front() {
                self.forgotten = old.revision;
            }
        }
        after
    }

    /// Goes on from a later revision, with no history.
    pub(crate) fn bump_to(&mut self, revision: u64) {
        self.history.clear();
        self.revision = revision;
        self.floor = revision;
        self.forgotten = revision;
    }

    fn index(&mut self, key: &Key, object: &Value) {
        self.uids.insert(meta::text(object, "uid").to_owned(), key.clone());
        for owner in owner_uids(object) {
            self.dependents.entry(owner.to_owned()).or_default().insert(key.clone());
        }
    }

    fn unindex(&mut self, key: &Key, object: &Value) {
        self.uids.remove(meta::text(object, "uid"));
        for owner in owner_uids(object) {
            if let Some(keys) = self.dependents.get_mut(owner) {
                keys.remove(key);
                if keys.is_empty() {
                    self.dependents.remove(owner);
                }
            }
        }
    }

    pub(crate) fn value(&self, key: &Key) -> Option<Value> {
        self.objects.get(key).map(Stored::value)
    }

    pub(crate) fn by_uid(&self, uid: &str) -> Option<&Key> {
        self.uids.get(uid)
    }

    pub(crate) fn dependents(&self, uid: &str) -> Vec<Key> {
        self.dependents.get(uid).map(|keys| keys.iter().cloned().collect()).unwrap_or_default()
    }

    /// All objects that name owners.
    pub(crate) fn owned(&self) -> BTreeSet<Key> {
        self.dependents.values().flatten().cloned().collect()
    }

    /// The objects of one resource, in one namespace or in all, in the order of their keys.
    pub(crate) fn scan(
        &self,
        resource: usize,
        namespace: Option<&str>,
    ) -> impl Iterator<Item = (&Key, &Stored)> {
        scan(&self.objects, resource, namespace)
    }

    /// The changes after a revision, oldest first; none at all if some of them are forgotten.
    pub(crate) fn since(&self, revision: u64) -> Option<impl DoubleEndedIterator<Item = &Change>> {
        if revision < self.forgotten {
            return None;
        }
        let start = self.history.partition_point(|change| change.revision <= revision);
        Some(self.history.range(start..))
    }

    /// Whether history still reaches back to a revision.
    pub(crate) fn reaches(&self, revision: u64) -> bool {
        revision >= self.floor.max(self.forgotten)
    }

    /// The oldest revision that can still be asked for.
    pub(crate) fn oldest(&self) -> u64 {
        self.floor.max(self.forgotten)
    }

    /// The objects as they were at a revision, from one key on; nothing if history does not reach back to it.
    /// What has not changed since is read from what stands now.
    pub(crate) fn at(&self, revision: u64, from: Bound<Key>) -> Option<impl Iterator<Item = (Key, Stored)>> {
        let mut then: BTreeMap<&Key, &Option<Stored>> = BTreeMap::new();
        for change in self.since(revision).filter(|_| self.reaches(revision))?.rev() {
            then.insert(&change.key, &change.before);
        }
        let changed = then.clone();
        let mut now = self
            .objects
            .range((from.clone(), Bound::Unbounded))
            .filter(move |(key, _)| !changed.contains_key(key))
            .peekable();
        let after = move |key: &Key| match &from {
            Bound::Included(from) => key >= from,
            Bound::Excluded(from) => key > from,
            Bound::Unbounded => true,
        };
        let mut then = then
            .into_iter()
            .filter_map(move |(key, object)| {
                object.as_ref().filter(|_| after(key)).map(|object| (key, object))
            })
            .peekable();
        Some(std::iter::from_fn(move || {
            let earlier = match (now.peek(), then.peek()) {
                (Some((a, _)), Some((b, _))) => a < b,
                (now, _) => now.is_some(),
            };
            let next = if earlier { now.next() } else { then.next() };
            next.map(|(key, object)| (key.clone(), object.clone()))
        }))
    }
}

fn owner_uids(object: &Value) -> impl Iterator<Item = &str> {
    let owners = meta::get(object, "ownerReferences").as_array().map(Vec::as_slice).unwrap_or_default();
    owners.iter().filter_map(|owner| owner["uid"].as_str())
}

fn scan<'a>(
    objects: &'a BTreeMap<Key, Stored>,
    resource: usize,
    namespace: Option<&str>,
) -> impl Iterator<Item = (&'a Key, &'a Stored)> {
    let first = Key { resource, namespace: namespace.unwrap_or_default().to_owned(), name: String::new() };
    let only = namespace.map(ToOwned::to_owned);
    objects.range(first..).take_while(move |(key, _)| {
        key.resource == resource && only.as_ref().is_none_or(|ns| *ns == key.namespace)
    })
}

//! The entries of a store.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use fedhub_core::hash::KeyedHasher;

use super::stored::{Notified, Retained, Retention, Stored, known};
use crate::change::{Change, Known};
use crate::digest::Uid;
use crate::facts::ObjectFacts;
use crate::normalization::Normalizations;

/// Entries by name; each in a box of its own, for a tree's nodes are not always full.
pub(super) type Names<F> = BTreeMap<Box<str>, Box<Stored<F>>>;

/// Namespace and index value of an object as one number, with its name.
pub(super) type Indexed = (u64, Box<str>);

pub(super) struct Objects<F> {
    /// Whether all objects are kept.
    pub(super) whole: bool,
    /// The number of the newest list, 0 before the first: entries of another epoch were not in it.
    pub(super) epoch: u32,
    pub(super) synced: bool,
    pub(super) spaces: BTreeMap<Box<str>, Names<F>>,
    /// The names of objects that have an index value.
    pub(super) index: BTreeSet<Indexed>,
    /// How many entries there are.
    count: usize,
    /// Bytes that entries, names and index take, about: kept in step, for a scrape asks thousands of stores.
    bytes: usize,
    /// UIDs that the watch reported deleted, newest last: the late answer to a write must not bring them
    /// back.
    pub(super) recently_deleted: VecDeque<Uid>,
}

/// How many deleted UIDs are remembered. An answer to a write is later than the watch by requests in flight
/// only.
const MAX_TOMBSTONES: usize = 1024;

impl<F: ObjectFacts> Objects<F> {
    pub(super) fn new(whole: bool) -> Self {
        let spaces = BTreeMap::new();
        let index = BTreeSet::new();
        let recently_deleted = VecDeque::new();
        Self { whole, epoch: 0, synced: false, spaces, index, count: 0, bytes: 0, recently_deleted }
    }

    /// How many objects there are.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Bytes that digests, names and index take, about; objects that are kept are not counted.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The objects of a namespace with that index value, in the order of their names.
    pub(super) fn indexed(&self, namespace: &str, value: u64) -> impl Iterator<Item = (&str, &Stored<F>)> {
        let slot = slot(namespace, value);
        let names = self.index.range((slot, Box::default())..).take_while(move |(at, _)| *at == slot);
        let names = names.filter_map(move |(_, name)| {
            let (name, stored) = self.spaces.get(namespace)?.get_key_value(name)?;
            Some((&**name, &**stored))
        });
        // Two namespaces and values may have one number.
        names.filter(move |(_, stored)| stored.digest.facts.index_value() == Some(value))
    }

    /// Moves an object in the index from one value to another.
    fn reindex(&mut self, namespace: &str, name: &str, from: Option<u64>, to: Option<u64>) {
        if from == to {
            return;
        }
        let bytes = size_of::<Indexed>() + name.len();
        if let Some(from) = from
            && self.index.remove(&(slot(namespace, from), name.into()))
        {
            self.bytes -= bytes;
        }
        if let Some(to) = to
            && self.index.insert((slot(namespace, to), name.into()))
        {
            self.bytes += bytes;
        }
    }

    pub(super) fn find(&self, namespace: &str, name: &str) -> Option<&Stored<F>> {
        self.spaces.get(namespace)?.get(name).map(Box::as_ref)
    }

    pub(super) fn find_mut(&mut self, namespace: &str, name: &str) -> Option<&mut Stored<F>> {
        self.spaces.get_mut(namespace)?.get_mut(name).map(Box::as_mut)
    }

    /// Changes an entry, if there is one, in a way that may change how much it takes.
    pub(super) fn change<T>(
        &mut self,
        namespace: &str,
        name: &str,
        change: impl FnOnce(&mut Stored<F>) -> T,
    ) -> Option<T> {
        let stored = self.spaces.get_mut(namespace)?.get_mut(name)?;
        let before = stored.heap();
        let changed = change(stored);
        self.bytes = self.bytes + stored.heap() - before;
        Some(changed)
    }

    pub(super) fn put(&mut self, new: Known<F>, object: Option<Retention>, own: bool) -> Change<F> {
        let mut kept = Retained { object, notified: None };
        let digest = new.digest.clone();
        let epoch = self.epoch;
        let whole = self.whole;
        let before = self.find(&new.namespace, &new.name).map(|s| s.digest.facts.index_value());
        self.reindex(&new.namespace, &new.name, before.flatten(), digest.facts.index_value());
        if before.is_some() {
            let old = self.change(&new.namespace, &new.name, |stored| {
                // A change is relative to what listeners were notified of, whatever we wrote meanwhile: our
                // own write must not hide the change that its event brings to others.
                let old = if stored.own {
                    let notified = stored.kept.take().and_then(|kept| kept.notified);
                    notified.map(|notified| Known {
                        namespace: new.namespace.clone(),
                        name: new.name.clone(),
                        digest: notified.digest,
                        object: notified.object,
                    })
                } else {
                    Some(known(&new.namespace, &new.name, stored))
                };
                kept.notified = old.as_ref().filter(|_| own).map(|old| {
                    let object = old.object.clone().filter(|_| whole);
                    Notified { digest: old.digest.clone(), object }
                });
                let same = stored.digest.uid == digest.uid;
                if !same {
                    (stored.normalizations, stored.synced_under) = (Normalizations::default(), 0);
                }
                stored.unlisted = own && same && (stored.unlisted || stored.epoch != epoch);
                (stored.digest, stored.epoch, stored.own) = (digest, epoch, own);
                stored.kept = kept.or_none();
                old
            });
            return Change::Applied { old: old.flatten(), new };
        }
        let stored = Stored {
            digest,
            kept: kept.or_none(),
            normalizations: Normalizations::default(),
            synced_under: 0,
            epoch,
            own,
            unlisted: false,
        };
        self.count += 1;
        self.bytes += entry_bytes(&new.name, &stored);
        if !self.spaces.contains_key(&new.namespace) {
            self.bytes += new.namespace.len();
        }
        self.spaces.entry(new.namespace.clone()).or_default().insert(new.name.clone(), Box::new(stored));
        Change::Applied { old: None, new }
    }

    pub(super) fn note_deleted(&mut self, uid: Uid) {
        if self.recently_deleted.len() == MAX_TOMBSTONES {
            self.recently_deleted.pop_front();
        }
        self.recently_deleted.push_back(uid);
    }

    /// Rebuilds the trees: one that grew in order, as by a list, has nodes that are half empty.
    pub(super) fn compact(&mut self) {
        for names in self.spaces.values_mut() {
            *names = std::mem::take(names).into_iter().collect();
        }
    }

    pub(super) fn remove(&mut self, namespace: &str, name: &str) {
        let Some(names) = self.spaces.get_mut(namespace) else { return };
        let Some(removed) = names.remove(name) else { return };
        if names.is_empty() {
            self.spaces.remove(namespace);
            self.bytes -= namespace.len();
        }
        self.count -= 1;
        self.bytes -= entry_bytes(name, &removed);
        self.reindex(namespace, name, removed.digest.facts.index_value(), None);
    }
}

fn entry_bytes<F: ObjectFacts>(name: &str, stored: &Stored<F>) -> usize {
    size_of::<(Box<str>, Box<Stored<F>>)>() + size_of::<Stored<F>>() + name.len() + stored.heap()
}

fn slot(namespace: &str, value: u64) -> u64 {
    KeyedHasher::default().text(namespace).number(value).end()
}

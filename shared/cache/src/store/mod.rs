//! The cache of the objects of one kind on one plane.
//!
//! It holds a digest of every object, and the object itself only while something about it is to be done, and
//! only as long as there is [`MemoryBudget`]. Whoever needs an object that is not kept reads it from its
//! server.

mod objects;
mod stored;
mod updates;

use fedhub_core::object::{Kind, Object, ObjectRef, PlaneId};

use self::objects::{Names, Objects};
use self::stored::{Stored, kept, known, view};
use crate::budget::MemoryBudget;
use crate::change::{Known, View};
use crate::digest::{Digest, Version};
use crate::facts::ObjectFacts;
use crate::normalization::{ObjectPart, ServerNormalization};
use parking_lot::{Mutex, MutexGuard};

/// Objects of one kind on one plane, ordered by namespace and name.
pub struct Store<F> {
    plane: PlaneId,
    kind: Kind,
    /// Whether all objects are kept.
    whole: bool,
    budget: MemoryBudget,
    objects: Mutex<Objects<F>>,
}

impl<F: ObjectFacts> Store<F> {
    /// The size of an entry in bytes, without its name and what lies beside it in memory. It depends on the
    /// facts, so the crate that defines those asserts it.
    pub const ENTRY_BYTES: usize = size_of::<Stored<F>>();

    /// An empty store. Kinds whose objects are few there are kept whole, the others as long as `budget` has a
    /// place.
    pub fn new(plane: PlaneId, kind: Kind, budget: MemoryBudget) -> Self {
        let whole = F::kept_whole(&plane, kind);
        let objects = Mutex::new(Objects::new(whole));
        Self { plane, kind, whole, budget, objects }
    }

    fn lock(&self) -> MutexGuard<'_, Objects<F>> {
        self.objects.lock()
    }

    fn digest_of(&self, object: &Object) -> Digest<F> {
        Digest::new(&self.plane, self.kind, object)
    }

    // === Reading ===

    /// Returns the object of that name as it is known.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Known<F>> {
        let objects = self.lock();
        let stored = objects.find(namespace, name)?;
        Some(known(namespace, name, stored))
    }

    /// Forgets all objects, as if none had ever been listed: they are watched no more.
    pub fn clear(&self) {
        *self.lock() = Objects::new(self.whole);
    }

    /// The digest of the object of that name.
    pub fn digest(&self, namespace: &str, name: &str) -> Option<Digest<F>> {
        self.lock().find(namespace, name).map(|s| s.digest.clone())
    }

    /// The object of that name, where it is kept.
    pub fn object(&self, namespace: &str, name: &str) -> Option<ObjectRef> {
        let kept = kept(self.lock().find(namespace, name)?);
        kept?.object()
    }

    /// Maps the objects of a namespace, or all, with `pick`, in their order.
    pub fn select<T>(
        &self,
        namespace: Option<&str>,
        mut pick: impl FnMut(View<'_, F>) -> Option<T>,
    ) -> Vec<T> {
        let objects = self.lock();
        let mut picked = Vec::new();
        let mut all = |namespace: &str, names: &Names<F>| {
            picked.extend(names.iter().filter_map(|(name, s)| pick(view(namespace, name, s))));
        };
        match namespace {
            Some(namespace) => objects.spaces.get(namespace).into_iter().for_each(|n| all(namespace, n)),
            None => objects.spaces.iter().for_each(|(namespace, names)| all(namespace, names)),
        }
        picked
    }

    /// Maps the objects of a namespace that have that [`index_value`](ObjectFacts::index_value), in their
    /// order, without a look at the others.
    pub fn by_index<T>(
        &self,
        namespace: &str,
        value: u64,
        pick: impl Fn(View<'_, F>) -> Option<T>,
    ) -> Vec<T> {
        let objects = self.lock();
        objects.indexed(namespace, value).filter_map(|(name, s)| pick(view(namespace, name, s))).collect()
    }

    /// The objects of a namespace, or all, that are kept: for kinds of which all are.
    pub fn objects(&self, namespace: Option<&str>) -> Vec<ObjectRef> {
        self.select(namespace, |view| view.object.cloned())
    }

    /// Whether any object of a namespace, or any at all, is like that.
    pub fn any(&self, namespace: Option<&str>, is_so: impl Fn(View<'_, F>) -> bool) -> bool {
        let objects = self.lock();
        let any =
            |namespace: &str, names: &Names<F>| names.iter().any(|(name, s)| is_so(view(namespace, name, s)));
        match namespace {
            Some(namespace) => objects.spaces.get(namespace).is_some_and(|names| any(namespace, names)),
            None => objects.spaces.iter().any(|(namespace, names)| any(namespace, names)),
        }
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that digests and names take, about; objects that are kept are not counted.
    pub fn bytes(&self) -> usize {
        self.lock().bytes()
    }

    /// The number of the newest list, from its beginning, which no other list of this process has: objects of
    /// an earlier one may have gone in between, unseen, and another store says nothing of them.
    pub fn epoch(&self) -> u32 {
        self.lock().epoch
    }

    /// Whether the newest list named the object, or an event or answer since that list began.
    pub fn confirmed(&self, namespace: &str, name: &str) -> bool {
        let objects = self.lock();
        objects.find(namespace, name).is_some_and(|stored| stored.epoch == objects.epoch)
    }

    /// Whether a list was completed, so that absence means something.
    pub fn synced(&self) -> bool {
        self.lock().synced
    }

    // === Reconciled objects ===

    /// Marks that version of the object as in sync, and drops it. `fingerprint` is a hash of the inputs of
    /// that decision, or zero where it is not to be remembered, see [`Self::synced_under`].
    pub fn mark_synced(&self, namespace: &str, name: &str, version: &Version, fingerprint: u64) {
        self.note_synced(namespace, name, version, fingerprint, self.whole);
    }

    /// [`Self::mark_synced`], for an object that is about to be written from again: it stays in memory until
    /// newer ones need the room.
    pub fn mark_synced_for_now(&self, namespace: &str, name: &str, version: &Version, fingerprint: u64) {
        self.note_synced(namespace, name, version, fingerprint, true);
    }

    fn note_synced(&self, namespace: &str, name: &str, version: &Version, fingerprint: u64, keep: bool) {
        let mut objects = self.lock();
        let Some(stored) = objects.find_mut(namespace, name).filter(|s| s.digest.version == *version) else {
            return;
        };
        stored.synced_under = fingerprint;
        if !keep {
            stored.drop_object();
        }
    }

    /// Drops an object that will not be reconciled as it is now (I8).
    pub fn release(&self, namespace: &str, name: &str) {
        if !self.whole
            && let Some(stored) = self.lock().find_mut(namespace, name)
        {
            stored.drop_object();
        }
    }

    /// The fingerprint of the inputs under which the object was found in sync, zero where there is none.
    pub fn synced_under(&self, namespace: &str, name: &str) -> u64 {
        self.lock().find(namespace, name).map_or(0, |s| s.synced_under)
    }

    /// What the server made of the last write of that part, if it is remembered.
    pub fn normalization(
        &self,
        namespace: &str,
        name: &str,
        part: ObjectPart,
    ) -> Option<ServerNormalization> {
        self.lock().find(namespace, name)?.normalizations.get(part)
    }

    /// Remembers what the server made of a write of that part; returns whether that is new.
    pub fn note_normalization(
        &self,
        namespace: &str,
        name: &str,
        part: ObjectPart,
        echo: ServerNormalization,
    ) -> bool {
        self.lock().change(namespace, name, |s| s.normalizations.learn(part, echo)).unwrap_or(true)
    }
}

//! What is known of the objects of one kind on one plane.
//!
//! Of every object its digest; the object itself only while something about it waits to be done, and only as long as
//! there is [`MemoryBudget`]. Whoever needs an object that is not kept reads it from its server.

mod news;
mod objects;
mod stored;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fedhub_core::object::{Kind, Object, ObjectRef, PlaneId};

use self::objects::{Names, Objects};
use self::stored::{Stored, known, object_of, view};
use crate::budget::MemoryBudget;
use crate::change::{Known, View};
use crate::digest::{Digest, Version};
use crate::normalization::{Part, ServerNormalization};

/// Objects of one kind on one plane, ordered by namespace and name.
pub struct Store {
    plane: PlaneId,
    kind: Kind,
    /// Whether objects are kept, in order or not.
    whole: bool,
    budget: MemoryBudget,
    objects: Mutex<Objects>,
}

impl Store {
    /// An empty store. Kinds whose objects are few there are kept whole, the others as long as `budget` has a place.
    pub fn new(plane: PlaneId, kind: Kind, budget: MemoryBudget) -> Self {
        let whole = kind.kept_whole(&plane);
        let objects = Mutex::new(Objects { whole, ..Objects::default() });
        Self { plane, kind, whole, budget, objects }
    }

    fn lock(&self) -> MutexGuard<'_, Objects> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn digest_of(&self, object: &Object) -> Digest {
        Digest::of(&self.plane, self.kind, object)
    }

    // === Reading ===

    /// What is known of the object of that name.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Known> {
        let objects = self.lock();
        let stored = objects.find(namespace, name)?;
        Some(known(namespace, name, stored))
    }

    /// What is always known of the object of that name.
    pub fn digest(&self, namespace: &str, name: &str) -> Option<Digest> {
        self.lock().find(namespace, name).map(|s| s.digest.clone())
    }

    /// The object of that name, where it is kept.
    pub fn object(&self, namespace: &str, name: &str) -> Option<ObjectRef> {
        let objects = self.lock();
        object_of(objects.find(namespace, name)?)
    }

    /// What `pick` makes of the objects of a namespace, or of all, in their order.
    pub fn select<T>(&self, namespace: Option<&str>, mut pick: impl FnMut(View<'_>) -> Option<T>) -> Vec<T> {
        let objects = self.lock();
        let mut picked = Vec::new();
        let mut all = |namespace: &str, names: &Names| {
            picked.extend(names.iter().filter_map(|(name, s)| pick(view(namespace, name, s))));
        };
        match namespace {
            Some(namespace) => objects.spaces.get(namespace).into_iter().for_each(|n| all(namespace, n)),
            None => objects.spaces.iter().for_each(|(namespace, names)| all(namespace, names)),
        }
        picked
    }

    /// The objects of a namespace, or all, that are kept: for kinds of which all are.
    pub fn objects(&self, namespace: Option<&str>) -> Vec<ObjectRef> {
        self.select(namespace, |view| view.object.cloned())
    }

    /// Whether any object of a namespace, or any at all, is like that.
    pub fn any(&self, namespace: Option<&str>, is_so: impl Fn(View<'_>) -> bool) -> bool {
        let objects = self.lock();
        let any =
            |namespace: &str, names: &Names| names.iter().any(|(name, s)| is_so(view(namespace, name, s)));
        match namespace {
            Some(namespace) => objects.spaces.get(namespace).is_some_and(|names| any(namespace, names)),
            None => objects.spaces.iter().any(|(namespace, names)| any(namespace, names)),
        }
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.lock().spaces.values().map(BTreeMap::len).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes that digests and names take, about; objects that are kept are not counted.
    pub fn bytes(&self) -> usize {
        const EACH: usize = size_of::<Stored>() + size_of::<(Box<str>, Box<Stored>)>();
        let objects = self.lock();
        let names = |names: &Names| -> usize {
            names.iter().map(|(name, s)| EACH + name.len() + s.digest.heap() + s.heard.heap()).sum()
        };
        objects.spaces.iter().map(|(space, of)| space.len() + names(of)).sum()
    }

    /// Counts lists, from their beginning: what was concluded from the objects of an earlier one may have ended in
    /// between, unseen.
    pub fn epoch(&self) -> u32 {
        self.lock().epoch
    }

    /// Whether the object was named by the newest list, or heard of since that began.
    pub fn confirmed(&self, namespace: &str, name: &str) -> bool {
        let objects = self.lock();
        objects.find(namespace, name).is_some_and(|stored| stored.epoch == objects.epoch)
    }

    /// Whether a list was completed, so that absence means something.
    pub fn synced(&self) -> bool {
        self.lock().synced
    }

    // === What was done about an object ===

    /// Everything about that version of the object is in order: it is not kept any more. `circumstances` is a hash of
    /// all that this was judged by, or zero where its digest alone tells; see [`Self::judged`].
    pub fn mark_synced(&self, namespace: &str, name: &str, version: &Version, circumstances: u64) {
        let mut objects = self.lock();
        let Some(stored) = objects.find_mut(namespace, name).filter(|s| s.digest.version == *version) else {
            return;
        };
        stored.judged = circumstances;
        if !self.whole {
            stored.let_go();
        }
    }

    /// Nobody will do anything about the object as it is now: it is not kept any more (I8).
    pub fn release(&self, namespace: &str, name: &str) {
        if !self.whole
            && let Some(stored) = self.lock().find_mut(namespace, name)
        {
            stored.let_go();
        }
    }

    /// The circumstances under which this object was found in order, zero where there were none.
    pub fn synced_under(&self, namespace: &str, name: &str) -> u64 {
        self.lock().find(namespace, name).map_or(0, |s| s.judged)
    }

    /// What the server made of the last write of that part, as far as it is remembered.
    pub fn normalization(&self, namespace: &str, name: &str, part: Part) -> Option<ServerNormalization> {
        self.lock().find(namespace, name)?.heard.get(part)
    }

    /// Remembers what the server made of a write of that part; says whether it is another than before.
    pub fn note_normalization(
        &self,
        namespace: &str,
        name: &str,
        part: Part,
        echo: ServerNormalization,
    ) -> bool {
        self.lock().find_mut(namespace, name).is_none_or(|s| s.heard.learn(part, echo))
    }
}

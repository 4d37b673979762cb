//! What is known of the objects of one kind on one plane.
//!
//! Of every object its digest; the object itself only while something about it waits to be done, and only as long as
//! there is [`Room`]. Whoever needs an object that is not kept reads it from its server.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use fedhub_core::object::{Kind, Object, ObjectView, PlaneId, Shared};

use super::change::{Change, Known, View};
use super::echo::{Echo, Heard, Part};
use super::room::{Place, Room};
use crate::digest::{Digest, Uid, Version};

struct Stored {
    digest: Digest,
    /// In a box: few have anything of it.
    kept: Option<Box<Kept>>,
    heard: Heard,
    /// Under which circumstances the object was found in order, see [`Store::rest`].
    judged: u64,
    epoch: u32,
    /// Our own write, whose watch event has not come yet.
    own: bool,
    /// It was known before the newest list began, and only the answer to a request of ours has told of it since.
    unnamed: bool,
}

/// What listeners know of an object that we have written since.
struct Told {
    digest: Digest,
    /// For kinds of which all objects are kept.
    object: Option<Shared>,
}

/// How an object is kept.
enum Keeping {
    /// For as long as it is known.
    Always(Shared),
    /// Until it is in order, or newer ones need its room.
    While(Place),
}

/// What is kept of few objects.
#[derive(Default)]
struct Kept {
    object: Option<Keeping>,
    /// What was told last, where that was before our own writes.
    told: Option<Told>,
}

impl Stored {
    fn let_go(&mut self) {
        let told = self.kept.take().and_then(|kept| kept.told);
        self.kept = Kept { told, ..Kept::default() }.or_nothing();
    }
}

impl Kept {
    fn or_nothing(self) -> Option<Box<Self>> {
        (self.object.is_some() || self.told.is_some()).then(|| Box::new(self))
    }
}

/// By name; each in a box of its own, for a tree's nodes are not always full.
type Names = BTreeMap<Box<str>, Box<Stored>>;

#[derive(Default)]
struct Inner {
    /// Whether objects are kept, in order or not.
    whole: bool,
    /// Counts lists: entries of an older epoch were not in the newest list.
    epoch: u32,
    synced: bool,
    spaces: BTreeMap<Box<str>, Names>,
    /// UIDs that the watch reported deleted, newest last: the late answer to a write must not raise the dead.
    buried: VecDeque<Uid>,
}

/// How many deleted UIDs are remembered. An answer to a write is later than the watch by requests in flight only.
const GRAVES: usize = 1024;

/// Objects of one kind on one plane, ordered by namespace and name.
pub struct Store {
    plane: PlaneId,
    kind: Kind,
    /// Whether objects are kept, in order or not.
    whole: bool,
    room: Room,
    inner: Mutex<Inner>,
}

impl Store {
    /// An empty store. Kinds whose objects are few there are kept whole, the others as long as `room` has a place.
    pub fn new(plane: PlaneId, kind: Kind, room: Room) -> Self {
        let whole = kind.kept_whole(&plane);
        let inner = Mutex::new(Inner { whole, ..Inner::default() });
        Self { plane, kind, whole, room, inner }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn digest_of(&self, object: &Object) -> Digest {
        Digest::of(&self.plane, self.kind, object)
    }

    // === Reading ===

    /// What is known of the object of that name.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Known> {
        let inner = self.lock();
        let stored = inner.find(namespace, name)?;
        Some(known(namespace, name, stored))
    }

    /// What is always known of the object of that name.
    pub fn digest(&self, namespace: &str, name: &str) -> Option<Digest> {
        self.lock().find(namespace, name).map(|s| s.digest.clone())
    }

    /// The object of that name, where it is kept.
    pub fn object(&self, namespace: &str, name: &str) -> Option<Shared> {
        let inner = self.lock();
        object_of(inner.find(namespace, name)?)
    }

    /// What `pick` makes of the objects of a namespace, or of all, in their order.
    pub fn select<T>(&self, namespace: Option<&str>, mut pick: impl FnMut(View<'_>) -> Option<T>) -> Vec<T> {
        let inner = self.lock();
        let mut picked = Vec::new();
        let mut all = |namespace: &str, names: &Names| {
            picked.extend(names.iter().filter_map(|(name, s)| pick(view(namespace, name, s))));
        };
        match namespace {
            Some(namespace) => inner.spaces.get(namespace).into_iter().for_each(|n| all(namespace, n)),
            None => inner.spaces.iter().for_each(|(namespace, names)| all(namespace, names)),
        }
        picked
    }

    /// The objects of a namespace, or all, that are kept: for kinds of which all are.
    pub fn objects(&self, namespace: Option<&str>) -> Vec<Shared> {
        self.select(namespace, |view| view.object.cloned())
    }

    /// Whether any object of a namespace, or any at all, is like that.
    pub fn any(&self, namespace: Option<&str>, is_so: impl Fn(View<'_>) -> bool) -> bool {
        let inner = self.lock();
        let any =
            |namespace: &str, names: &Names| names.iter().any(|(name, s)| is_so(view(namespace, name, s)));
        match namespace {
            Some(namespace) => inner.spaces.get(namespace).is_some_and(|names| any(namespace, names)),
            None => inner.spaces.iter().any(|(namespace, names)| any(namespace, names)),
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
        let inner = self.lock();
        let names = |names: &Names| -> usize {
            names.iter().map(|(name, s)| EACH + name.len() + s.digest.heap() + s.heard.heap()).sum()
        };
        inner.spaces.iter().map(|(space, of)| space.len() + names(of)).sum()
    }

    /// Counts lists, from their beginning: what was concluded from the objects of an earlier one may have ended in
    /// between, unseen.
    pub fn epoch(&self) -> u32 {
        self.lock().epoch
    }

    /// Whether the object was named by the newest list, or heard of since that began.
    pub fn confirmed(&self, namespace: &str, name: &str) -> bool {
        let inner = self.lock();
        inner.find(namespace, name).is_some_and(|stored| stored.epoch == inner.epoch)
    }

    /// Whether a list was completed, so that absence means something.
    pub fn synced(&self) -> bool {
        self.lock().synced
    }

    // === What was done about an object ===

    /// Everything about that version of the object is in order: it is not kept any more. `circumstances` is a hash of
    /// all that this was judged by, or zero where its digest alone tells; see [`Self::judged`].
    pub fn rest(&self, namespace: &str, name: &str, version: &Version, circumstances: u64) {
        let mut inner = self.lock();
        let Some(stored) = inner.find_mut(namespace, name).filter(|s| s.digest.version == *version) else {
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
    pub fn judged(&self, namespace: &str, name: &str) -> u64 {
        self.lock().find(namespace, name).map_or(0, |s| s.judged)
    }

    /// What the server made of the last write of that part, as far as it is remembered.
    pub fn echo(&self, namespace: &str, name: &str, part: Part) -> Option<Echo> {
        self.lock().find(namespace, name)?.heard.get(part)
    }

    /// Remembers what the server made of a write of that part; says whether it is another than before.
    pub fn hear(&self, namespace: &str, name: &str, part: Part, echo: Echo) -> bool {
        self.lock().find_mut(namespace, name).is_none_or(|s| s.heard.learn(part, echo))
    }

    // === What lists and watches say ===

    /// A list begins: what it does not name will be absent, by inference.
    pub fn list_begins(&self) {
        let mut inner = self.lock();
        inner.epoch = inner.epoch.wrapping_add(1);
    }

    /// The list names this object. A list is the server's word of a new epoch: it is taken even where it is older
    /// than what was known (a restored backup), unless we wrote since the list began. Listed objects are not kept:
    /// most of them are in order.
    pub fn listed(&self, object: Object) -> Option<Change> {
        let digest = self.digest_of(&object);
        let mut inner = self.lock();
        let epoch = inner.epoch;
        if let Some(known) = inner.find_mut(object.space(), object.called()) {
            if known.epoch == epoch && digest.version.older_than(&known.digest.version) {
                known.unnamed = false;
                return None;
            }
            let same = known.digest.version == digest.version && known.digest.content == digest.content;
            if same && !known.own {
                known.epoch = epoch;
                return None;
            }
        }
        let (namespace, name) = (object.space().into(), object.called().into());
        let object: Option<Shared> = self.whole.then(|| object.into());
        let keeping = object.clone().map(Keeping::Always);
        Some(inner.put(Known { namespace, name, digest, object }, keeping, false))
    }

    /// The list names an object that cannot be read: what was known of it stands.
    pub fn keep(&self, namespace: &str, name: &str) {
        let mut inner = self.lock();
        let epoch = inner.epoch;
        if let Some(known) = inner.find_mut(namespace, name) {
            (known.epoch, known.unnamed) = (epoch, false);
        }
    }

    /// The list is complete: what it did not name is gone, by inference; but for what we created since it began. Our
    /// write to an object that stood before may have been its last, and the watch begins after its end.
    pub fn list_ends(&self) -> Vec<Change> {
        let mut inner = self.lock();
        inner.synced = true;
        let epoch = inner.epoch;
        let missing: Vec<Known> = inner
            .spaces
            .iter()
            .flat_map(|(space, names)| names.iter().map(move |(name, s)| (space, name, s)))
            .filter(|(.., s)| s.epoch != epoch || s.unnamed)
            .map(|(space, name, s)| known(space, name, s))
            .collect();
        for last in &missing {
            inner.remove(&last.namespace, &last.name);
        }
        inner.compact();
        missing.into_iter().map(|last| Change::Deleted { last, gap: true }).collect()
    }

    /// The watch says that the object is there.
    pub fn applied(&self, object: Object) -> Option<Change> {
        let digest = self.digest_of(&object);
        let mut inner = self.lock();
        if let Some(known) = inner.find(object.space(), object.called()) {
            let same = known.digest.version == digest.version;
            if digest.version.older_than(&known.digest.version) || (same && !known.own) {
                return None;
            }
        } else {
            // It lives: what was told as deleted had only left what the watch selects.
            inner.buried.retain(|uid| *uid != digest.uid);
        }
        let (namespace, name) = (object.space().into(), object.called().into());
        let object = object.into();
        let keeping = self.place(&object);
        Some(inner.put(Known { namespace, name, digest, object: Some(object) }, keeping, false))
    }

    /// The watch says that the object is gone.
    pub fn deleted(&self, object: Object) -> Option<Change> {
        let digest = self.digest_of(&object);
        let (namespace, name) = (object.space().into(), object.called().into());
        self.gone(Known { namespace, name, digest, object: Some(object.into()) })
    }

    /// The watch says that an object is gone, in words that cannot be read: the one that was known.
    pub fn deleted_unread(&self, namespace: &str, name: &str) -> Option<Change> {
        self.gone(self.get(namespace, name)?)
    }

    fn gone(&self, last: Known) -> Option<Change> {
        let mut inner = self.lock();
        inner.bury(last.digest.uid.clone());
        // Another object of that name may stand there already: our own write was faster than the watch.
        if inner.find(&last.namespace, &last.name).is_some_and(|s| s.digest.uid != last.digest.uid) {
            return None;
        }
        inner.remove(&last.namespace, &last.name);
        Some(Change::Deleted { last, gap: false })
    }

    /// The server's answer to a write of ours: known at once, told when the watch brings it.
    pub fn own(&self, object: &Shared) {
        // The answer to the write that took the last finalizer off: the server names the version that it replaced.
        let last = object.deleting() && object.metadata.finalizers.as_ref().is_none_or(Vec::is_empty);
        self.answered(object, last);
    }

    /// The server's answer to a read of ours: known and kept, where it is not older than what is known.
    pub fn read(&self, object: &Shared) {
        self.answered(object, true);
    }

    /// The server's answer to a deletion of ours: the object of that UID is gone. Told when the watch brings it.
    pub fn own_deleted(&self, namespace: &str, name: &str, uid: &str) {
        let mut inner = self.lock();
        if inner.find(namespace, name).is_some_and(|s| s.digest.uid.is(uid)) {
            inner.bury(Uid::new(uid));
            inner.remove(namespace, name);
        }
    }

    fn answered(&self, object: &Shared, same_version_too: bool) {
        let digest = self.digest_of(object);
        let mut inner = self.lock();
        if inner.buried.contains(&digest.uid) {
            return;
        }
        let mut own = true;
        if let Some(known) = inner.find(object.space(), object.called())
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
        let (namespace, name) = (object.space().into(), object.called().into());
        let keeping = self.place(object);
        inner.put(Known { namespace, name, digest, object: Some(object.clone()) }, keeping, own);
    }

    fn place(&self, object: &Shared) -> Option<Keeping> {
        if self.whole {
            return Some(Keeping::Always(object.clone()));
        }
        self.room.keep(object).map(Keeping::While)
    }
}

impl Inner {
    fn find(&self, namespace: &str, name: &str) -> Option<&Stored> {
        self.spaces.get(namespace)?.get(name).map(Box::as_ref)
    }

    fn find_mut(&mut self, namespace: &str, name: &str) -> Option<&mut Stored> {
        self.spaces.get_mut(namespace)?.get_mut(name).map(Box::as_mut)
    }

    fn put(&mut self, new: Known, object: Option<Keeping>, own: bool) -> Change {
        let mut kept = Kept { object, told: None };
        let (digest, epoch, whole) = (new.digest.clone(), self.epoch, self.whole);
        if let Some(stored) = self.find_mut(&new.namespace, &new.name) {
            // What a change is told against is what was told before, whatever we wrote meanwhile: our own write must not
            // swallow the news that its event brings to others.
            let old = if stored.own {
                let told = stored.kept.take().and_then(|kept| kept.told);
                told.map(|told| Known {
                    namespace: new.namespace.clone(),
                    name: new.name.clone(),
                    digest: told.digest,
                    object: told.object,
                })
            } else {
                Some(known(&new.namespace, &new.name, stored))
            };
            kept.told = old.as_ref().filter(|_| own).map(|old| {
                let object = old.object.clone().filter(|_| whole);
                Told { digest: old.digest.clone(), object }
            });
            if stored.digest.uid != digest.uid {
                (stored.heard, stored.judged) = (Heard::default(), 0);
            }
            let same = stored.digest.uid == digest.uid;
            stored.unnamed = own && same && (stored.unnamed || stored.epoch != epoch);
            (stored.digest, stored.epoch, stored.own) = (digest, epoch, own);
            stored.kept = kept.or_nothing();
            return Change::Applied { old, new };
        }
        let stored = Stored {
            digest,
            kept: kept.or_nothing(),
            heard: Heard::default(),
            judged: 0,
            epoch,
            own,
            unnamed: false,
        };
        self.spaces.entry(new.namespace.clone()).or_default().insert(new.name.clone(), Box::new(stored));
        Change::Applied { old: None, new }
    }

    fn bury(&mut self, uid: Uid) {
        if self.buried.len() == GRAVES {
            self.buried.pop_front();
        }
        self.buried.push_back(uid);
    }

    /// Makes the trees anew: one that grew in order, as by a list, has nodes that are half empty.
    fn compact(&mut self) {
        for names in self.spaces.values_mut() {
            *names = std::mem::take(names).into_iter().collect();
        }
    }

    fn remove(&mut self, namespace: &str, name: &str) {
        let Some(names) = self.spaces.get_mut(namespace) else { return };
        names.remove(name);
        if names.is_empty() {
            self.spaces.remove(namespace);
        }
    }
}

fn view<'a>(namespace: &'a str, name: &'a str, stored: &'a Stored) -> View<'a> {
    let object = match stored.kept.as_ref().and_then(|kept| kept.object.as_ref()) {
        Some(Keeping::Always(object)) => Some(object),
        Some(Keeping::While(_)) | None => None,
    };
    View { namespace, name, digest: &stored.digest, object }
}

fn object_of(stored: &Stored) -> Option<Shared> {
    match stored.kept.as_ref()?.object.as_ref()? {
        Keeping::Always(object) => Some(object.clone()),
        Keeping::While(place) => place.object(),
    }
}

fn known(namespace: &str, name: &str, stored: &Stored) -> Known {
    let object = object_of(stored);
    Known { namespace: namespace.into(), name: name.into(), digest: stored.digest.clone(), object }
}

/// What there is most of fits into the allocator's class of 160 bytes: the next one is 192.
const _: () = assert!(size_of::<Stored>() <= 160);

//! What is known of one object.

use fedhub_core::object::ObjectRef;

use crate::budget::Permit;
use crate::change::{Known, View};
use crate::digest::Digest;
use crate::normalization::Normalizations;

pub(super) struct Stored {
    pub(super) digest: Digest,
    /// In a box: few have anything of it.
    pub(super) kept: Option<Box<Kept>>,
    pub(super) heard: Normalizations,
    /// Under which circumstances the object was found in order, see [`Store::rest`].
    pub(super) judged: u64,
    pub(super) epoch: u32,
    /// Our own write, whose watch event has not come yet.
    pub(super) own: bool,
    /// It was known before the newest list began, and only the answer to a request of ours has told of it since.
    pub(super) unnamed: bool,
}

/// What listeners know of an object that we have written since.
pub(super) struct Told {
    pub(super) digest: Digest,
    /// For kinds of which all objects are kept.
    pub(super) object: Option<ObjectRef>,
}

/// How an object is kept.
pub(super) enum Keeping {
    /// For as long as it is known.
    Always(ObjectRef),
    /// Until it is in order, or newer ones need its room.
    While(Permit),
}

/// What is kept of few objects.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) object: Option<Keeping>,
    /// What was told last, where that was before our own writes.
    pub(super) told: Option<Told>,
}

impl Stored {
    pub(super) fn let_go(&mut self) {
        let told = self.kept.take().and_then(|kept| kept.told);
        self.kept = Kept { told, ..Kept::default() }.or_nothing();
    }
}

impl Kept {
    pub(super) fn or_nothing(self) -> Option<Box<Self>> {
        (self.object.is_some() || self.told.is_some()).then(|| Box::new(self))
    }
}

pub(super) fn view<'a>(namespace: &'a str, name: &'a str, stored: &'a Stored) -> View<'a> {
    let object = match stored.kept.as_ref().and_then(|kept| kept.object.as_ref()) {
        Some(Keeping::Always(object)) => Some(object),
        Some(Keeping::While(_)) | None => None,
    };
    View { namespace, name, digest: &stored.digest, object }
}

pub(super) fn object_of(stored: &Stored) -> Option<ObjectRef> {
    match stored.kept.as_ref()?.object.as_ref()? {
        Keeping::Always(object) => Some(object.clone()),
        Keeping::While(place) => place.object(),
    }
}

pub(super) fn known(namespace: &str, name: &str, stored: &Stored) -> Known {
    let object = object_of(stored);
    Known { namespace: namespace.into(), name: name.into(), digest: stored.digest.clone(), object }
}

/// What there is most of fits into the allocator's class of 160 bytes: the next one is 192.
const _: () = assert!(size_of::<Stored>() <= 160);

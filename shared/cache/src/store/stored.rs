//! One entry of a store.

use fedhub_core::object::ObjectRef;

use crate::budget::Permit;
use crate::change::{Known, View};
use crate::digest::Digest;
use crate::facts::ObjectFacts;
use crate::normalization::Normalizations;
use crate::packed::Packed;

pub(super) struct Stored<F> {
    pub(super) digest: Digest<F>,
    /// Boxed, because few entries have any of it.
    pub(super) kept: Option<Box<Retained<F>>>,
    pub(super) normalizations: Normalizations,
    /// The fingerprint under which the object was found in sync, see [`super::Store::mark_synced`].
    pub(super) synced_under: u64,
    pub(super) epoch: u32,
    /// Our own write, whose watch event has not come yet.
    pub(super) own: bool,
    /// Whether the object was known before the newest list began, and only responses to our requests have
    /// named it since.
    pub(super) unlisted: bool,
}

/// The state that listeners were notified of, of an object that we have written since.
pub(super) struct Notified<F> {
    pub(super) digest: Digest<F>,
    /// The object, for kinds of which all objects are kept.
    pub(super) object: Option<ObjectRef>,
}

/// How long an object is kept.
pub(super) enum Retention {
    /// Kept as long as the object is known.
    Always(ObjectRef),
    /// Kept until the object is in sync, or newer ones need its memory.
    While(Permit),
}

/// The fields that few entries have.
pub(super) struct Retained<F> {
    pub(super) object: Option<Retention>,
    /// The object as listeners were last notified of it, if that was before our own writes.
    pub(super) notified: Option<Notified<F>>,
}

impl<F: ObjectFacts> Stored<F> {
    /// Bytes beyond its own size, about; an object that is kept is not counted.
    pub(super) fn heap(&self) -> usize {
        self.digest.heap() + self.normalizations.heap()
    }
}

impl<F> Stored<F> {
    pub(super) fn drop_object(&mut self) {
        let notified = self.kept.take().and_then(|kept| kept.notified);
        self.kept = Retained { object: None, notified }.or_none();
    }
}

impl<F> Retained<F> {
    pub(super) fn or_none(self) -> Option<Box<Self>> {
        (self.object.is_some() || self.notified.is_some()).then(|| Box::new(self))
    }
}

pub(super) fn view<'a, F>(namespace: &'a str, name: &'a str, stored: &'a Stored<F>) -> View<'a, F> {
    let object = match stored.kept.as_ref().and_then(|kept| kept.object.as_ref()) {
        Some(Retention::Always(object)) => Some(object),
        Some(Retention::While(_)) | None => None,
    };
    View { namespace, name, digest: &stored.digest, object }
}

/// An object as it is kept.
pub(super) enum Kept {
    Object(ObjectRef),
    Text(Packed),
}

impl Kept {
    /// The object. It takes time: not under the lock of a store.
    pub(super) fn object(self) -> Option<ObjectRef> {
        match self {
            Self::Object(object) => Some(object),
            Self::Text(text) => text.unpack(),
        }
    }
}

pub(super) fn kept<F>(stored: &Stored<F>) -> Option<Kept> {
    Some(match stored.kept.as_ref()?.object.as_ref()? {
        Retention::Always(object) => Kept::Object(object.clone()),
        Retention::While(permit) => Kept::Text(permit.object()?),
    })
}

pub(super) fn known<F: Clone>(namespace: &str, name: &str, stored: &Stored<F>) -> Known<F> {
    let View { digest, object, .. } = view(namespace, name, stored);
    Known { namespace: namespace.into(), name: name.into(), digest: digest.clone(), object: object.cloned() }
}

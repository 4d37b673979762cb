//! What is kept of an object that is in order: enough to see that it still is, and to notice when it is not.
//!
//! A digest is made once, when a watch or a list brings the object. Comparing an object with its counterpart
//! on another plane is then comparing hashes; the object itself is kept only while something about it waits
//! to be done (see [`crate::Store`]).

mod ids;
mod owners;

use fedhub_core::hash::KeyedHasher;
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView, PlaneId, bare};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

pub use ids::{Uid, Version};
pub use owners::owners;

use crate::budget;
use crate::facts::ObjectFacts;

/// The digest of an object, which the store keeps in place of the object.
#[derive(Clone, Debug, PartialEq)]
pub struct Digest<F> {
    /// Its UID.
    pub uid: Uid,
    /// Its resourceVersion.
    pub version: Version,
    /// Whether deletion was asked for.
    pub terminating: bool,
    /// The memory that the object takes, in KiB: see [`budget::weight`].
    pub weight: u16,
    /// Hash of everything but the resourceVersion: where a plane's schema changes, the same version shows
    /// fields that it did not show before (I1).
    pub content: u64,
    /// The facts that users of the store keep besides.
    pub facts: F,
}

impl<F: ObjectFacts> Digest<F> {
    /// Digests an object. Which of its fields matter depends on `kind` and `plane`.
    pub fn new(plane: &PlaneId, kind: Kind, object: &Object) -> Self {
        Self {
            uid: Uid::new(object.uid()),
            version: Version::new(object.version()),
            terminating: object.is_terminating(),
            weight: u16::try_from(budget::weight(object) >> 10).unwrap_or(u16::MAX),
            content: content(object),
            facts: F::new(plane, kind, object),
        }
    }

    /// Returns the part of the object that the digest tells: enough to name it in a request, with its
    /// preconditions.
    pub fn stub(&self, kind: Kind, namespace: &str, name: &str) -> ObjectRef {
        let mut stub = bare(kind, namespace, name);
        stub.metadata.uid = Some(self.uid.to_string());
        stub.metadata.resource_version = Some(self.version.to_string());
        stub.into()
    }

    /// Bytes that the object takes in memory, about.
    pub fn object_bytes(&self) -> usize {
        usize::from(self.weight) << 10
    }

    /// Bytes that it takes beside its own size.
    pub(crate) fn heap(&self) -> usize {
        let other = |uid: &Uid| if let Uid::Other(text) = uid { text.len() } else { 0 };
        self.facts.heap() + other(&self.uid)
    }
}

fn content(object: &Object) -> u64 {
    let ObjectMeta {
        labels,
        annotations,
        finalizers,
        owner_references,
        generation,
        deletion_timestamp,
        deletion_grace_period_seconds,
        uid,
        // Never changed by a server, or no news to anybody.
        creation_timestamp: _,
        generate_name: _,
        managed_fields: _,
        name: _,
        namespace: _,
        resource_version: _,
        self_link: _,
    } = &object.metadata;
    let mut sum = KeyedHasher::default().maybe(uid.as_deref());
    for pairs in [labels, annotations] {
        for (key, value) in pairs.iter().flatten() {
            sum = sum.text(key).text(value);
        }
        sum = sum.number(0);
    }
    for finalizer in finalizers.iter().flatten() {
        sum = sum.text(finalizer);
    }
    let time = deletion_timestamp.as_ref().map(|t| t.0.to_string());
    sum = owners(sum.number(0), owner_references.iter().flatten())
        .maybe(generation.map(|g| g.to_string()).as_deref())
        .maybe(time.as_deref())
        .maybe(deletion_grace_period_seconds.map(|s| s.to_string()).as_deref());
    sum.json(&object.data).end()
}

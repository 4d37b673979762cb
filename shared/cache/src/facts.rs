//! The facts that are kept of an object; the users of a store choose them.

use fedhub_core::object::{Kind, Object, PlaneId};

/// The facts that a store keeps of an object besides the fields of every [`Digest`](crate::Digest).
pub trait ObjectFacts: Clone + PartialEq {
    /// Whether objects of `kind` are so few on `plane` that they are kept whole, in order or not.
    fn kept_whole(plane: &PlaneId, kind: Kind) -> bool;

    /// Reads the facts from an object. Which of its fields matter depends on `kind` and `plane`.
    fn new(plane: &PlaneId, kind: Kind, object: &Object) -> Self;

    /// Bytes that they take beside their own size.
    fn heap(&self) -> usize;

    /// The value by which [`Store::by_index`](crate::Store::by_index) finds the object among those of its
    /// namespace, where it is to be found so.
    fn index_value(&self) -> Option<u64> {
        None
    }
}

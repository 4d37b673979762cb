//! An object as a store knows it, and the changes of which the store notifies listeners.

use fedhub_core::object::ObjectRef;

use crate::digest::Digest;

/// An object as the store knows it.
#[derive(Clone, Debug)]
pub struct Known<F> {
    /// Its namespace, empty where there is none.
    pub namespace: Box<str>,
    /// Its name.
    pub name: Box<str>,
    /// Its digest.
    pub digest: Digest<F>,
    /// The object itself, where all of its kind are kept, or where a watch has just brought it.
    pub object: Option<ObjectRef>,
}

/// A change that a list or watch brought.
#[derive(Clone, Debug)]
pub enum Change<F> {
    /// The object was created or changed.
    Applied {
        /// The object as it was known before; `None` if it is new.
        old: Option<Known<F>>,
        /// The object as it is now.
        new: Known<F>,
    },
    /// The object was deleted.
    Deleted {
        /// The last that was known of it.
        last: Known<F>,
        /// Whether its absence was inferred and not seen (I4): from a list after a gap, or from a watch of
        /// what carries a label, which an object leaves that loses it.
        inferred: bool,
    },
}

impl<F> Change<F> {
    /// The object, as it is or as it was last.
    pub fn known(&self) -> &Known<F> {
        match self {
            Self::Applied { new, .. } => new,
            Self::Deleted { last, .. } => last,
        }
    }

    /// Marks a deletion as inferred; leaves other changes as they are.
    #[must_use]
    pub fn inferred(self) -> Self {
        match self {
            Self::Deleted { last, inferred: _ } => Self::Deleted { last, inferred: true },
            applied @ Self::Applied { .. } => applied,
        }
    }

    /// The object as it was known before it changed; `None` if it was created or deleted.
    pub fn old(&self) -> Option<&Known<F>> {
        if let Self::Applied { old, .. } = self { old.as_ref() } else { None }
    }
}

/// A borrowed view of one object in its store.
pub struct View<'a, F> {
    /// Its namespace, empty where there is none.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its digest.
    pub digest: &'a Digest<F>,
    /// The object itself, where all of its kind are kept.
    pub object: Option<&'a ObjectRef>,
}

// Derived, they would ask the same of `F`.
impl<F> Clone for View<'_, F> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F> Copy for View<'_, F> {}

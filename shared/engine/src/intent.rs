//! The parts of a plan: intents, which the one applier performs ([`mod@crate::apply`]), and a verdict.

use std::collections::BTreeMap;

use fedhub_core::object::{Key, Kind, ObjectRef, PlaneId};
use fedhub_planes::{Precondition, StatusWrite, Write, WriteMode};

use crate::Outcome;

/// What a controller decides about one object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan<V> {
    /// What is done, in this order.
    pub intents: Vec<Intent>,
    /// Why the object is not in sync, and who has to act: the controller's own closed enum.
    pub verdict: V,
}

impl<V> Plan<V> {
    /// A plan of a single intent.
    pub fn new(intent: Intent, verdict: V) -> Self {
        Self { intents: vec![intent], verdict }
    }

    /// Whether whole objects are fetched for it.
    pub fn fetches(&self) -> bool {
        self.intents.iter().any(|intent| !intent.subjects().is_empty())
    }
}

/// What a reconcile does: one closed list for all controllers. What a single controller does is a variant
/// too.
#[derive(Clone, Debug, PartialEq)]
pub enum Intent {
    /// Fetch an object at the version that the plan is for, for the intents after it.
    Fetch(Subject),
    /// Fetch the objects of a draft, have the controller render it, and perform what that gives.
    Render(Draft),
    /// Create or replace an object.
    Put {
        /// Where.
        to: PlaneId,
        /// Its kind.
        kind: Kind,
        /// The object as it is to be.
        write: Write,
        /// The object that is deleted, to be created anew, where the server says that a field is immutable.
        recreate: Option<ObjectRef>,
    },
    /// Merge our finalizer and annotations into an object, before anything is done on its behalf (I2).
    Mark {
        /// The object.
        subject: Subject,
        /// The finalizer that it gets, if it lacks it.
        finalizer: Option<&'static str>,
        /// Annotations that it gets, or loses.
        annotations: Vec<(&'static str, Option<String>)>,
    },
    /// Take our finalizer off an object, as its work is proven done (I3).
    Release {
        /// The object.
        subject: Subject,
        /// The finalizer.
        finalizer: &'static str,
    },
    /// Replace a status.
    PutStatus {
        /// Where.
        to: PlaneId,
        /// The kind of the object.
        kind: Kind,
        /// The object, or as much of it as names it with its resourceVersion.
        of: ObjectRef,
        /// The status as it is to be.
        write: StatusWrite,
    },
    /// Delete an object.
    Delete {
        /// The object.
        subject: Subject,
        /// What must still hold of it.
        precondition: Precondition,
        /// Whether no watch has shown its source go, so that the rate of such deletions is limited (I4).
        inferred: bool,
    },
    /// Read an object from its plane, past every cache, and plan again.
    ReadLive(Key),
    /// The projector: read the hub namespace, the Instance and the WD of a projection, the last two only
    /// where the first can prove anything (I4). The federator: read the hub namespace and the WD in it (I3).
    ReadHub,
    /// The federator: read the hub's copies of the WD's Instances (F9).
    ReadCopies,
    /// The federator: delete Karmada's binding of the hub WD, so that its cells tear it down (F9).
    Unbind,
    /// The federator: delete the hub WD and, where it is gone by then, read the hub. It leaves the cache only
    /// where the hub is known not to have lost it (F9).
    DeleteHubWd(Subject),
    /// The projector: read the WD of an Instance, and the age of that Instance (P2).
    ConfirmOwner,
    /// The cell's write-back: fetch the copy, or read it live where the hub has another one than the cache.
    FetchCopy,
    /// End the reconcile.
    End(Outcome),
}

impl Intent {
    /// The objects that are fetched for it.
    pub(crate) fn subjects(&self) -> &[Subject] {
        match self {
            Self::Fetch(subject) | Self::Mark { subject, .. } | Self::Release { subject, .. } => {
                std::slice::from_ref(subject)
            }
            Self::Render(draft) => &draft.from,
            _ => &[],
        }
    }
}

/// An object that is written once the objects that it is made of have been fetched: plans decide on
/// digests.
#[derive(Clone, Debug, PartialEq)]
pub struct Draft {
    /// What is written of it.
    pub part: DraftPart,
    /// The objects that it takes, each at the version that the plan is for.
    pub from: Vec<Subject>,
    /// Whether a dry run comes first.
    pub mode: WriteMode,
}

/// What is written of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DraftPart {
    /// Its metadata and spec.
    Object,
    /// The federator: the metadata of a hub WD whose protection comes off, as it is about to be deleted, or
    /// is recalled from its cells since that time (F9).
    Unprotected {
        /// Since when it is recalled.
        recalled: Option<String>,
    },
    /// Its status.
    Status,
}

/// An object that a plan knows by its digest.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// The object.
    pub key: Key,
    /// Its UID and resourceVersion.
    pub stub: ObjectRef,
}

/// The objects that a draft is rendered from.
pub type Bodies = BTreeMap<Key, ObjectRef>;

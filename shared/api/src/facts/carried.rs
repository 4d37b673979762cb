//! Which revision of its Workload's template a WD carries, and which one it is to have (R2).

use fedhub_core::hash::KeyedHasher;
use fedhub_core::names::DEPLOYMENT_REVISION;
use fedhub_core::object::{Object, ObjectView};

use super::restarts::revision_mark;

/// The revision that a WD carries, by its annotation [`DEPLOYMENT_REVISION`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Carried {
    /// It has no mark that can be read.
    #[default]
    Unmarked,
    /// This one, and its template is that of the mark.
    Intact(u64),
    /// It is marked with this one, and has another template.
    Edited(u64),
}

impl Carried {
    pub(super) fn from_object(object: &Object) -> Self {
        let Some(revision) = marked_revision(object) else { return Self::Unmarked };
        let intact = revision_mark(revision, &object.spec()["template"]);
        if object.annotation(DEPLOYMENT_REVISION) == Some(&*intact) {
            Self::Intact(revision)
        } else {
            Self::Edited(revision)
        }
    }

    /// A number that differs for different values.
    pub fn number(self) -> u64 {
        let sum = KeyedHasher::default();
        match self {
            Self::Unmarked => 0,
            Self::Intact(revision) => sum.number(1).number(revision).end(),
            Self::Edited(revision) => sum.number(2).number(revision).end(),
        }
    }
}

/// The revision that a WD is marked with, whatever its template is.
pub fn marked_revision(object: &Object) -> Option<u64> {
    object.annotation(DEPLOYMENT_REVISION)?.split_once('/')?.0.parse().ok()
}

/// The template that a WD is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedTemplate {
    /// The Workload's own, with the number of its revision where that is recorded.
    Newest(Option<u64>),
    /// That of an earlier revision.
    Earlier(u64),
    /// The one that it has.
    Kept,
}

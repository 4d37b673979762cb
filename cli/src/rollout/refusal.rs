//! Why a revision cannot be shown or restored.

use fedhub_core::message::Quoted;

use super::revision::{Revision, Template};
use crate::problem::Problem;
use crate::session::Session;

/// Why nothing is undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing was recorded.
    NoHistory,
    /// The present template is not in the history, and would be lost.
    NotRecorded,
    /// The present revision is the first.
    NoneBefore,
    /// The revision does not exist; the numbers of those that do.
    NoSuchRevision(u64, Vec<u64>),
    /// Its template was too large to be kept.
    NotKept(u64),
    /// Its entry in the history was edited.
    Damaged(u64),
}

impl Refusal {
    /// Returns why the template of this revision cannot be restored.
    pub fn from_revision(revision: &Revision) -> Self {
        match revision.template {
            Template::NotKept => Self::NotKept(revision.number),
            Template::Damaged | Template::Kept(_) => Self::Damaged(revision.number),
        }
    }

    /// Describes the refusal to the user.
    pub fn problem(&self, session: &Session, name: &str) -> Problem {
        let history = session.command(&format!("rollout history {name}"));
        let look = format!("`{history}` lists the revisions that there are.");
        let quoted = Quoted(name);
        match self {
            Self::NoHistory => Problem::failed(format!("No revision of {quoted} is recorded yet."))
                .remedy("The platform records a revision a moment after each change."),
            Self::NotRecorded => {
                let sentence =
                    format!("The present template of {quoted} is not recorded yet, and would be lost.");
                Problem::failed(sentence).remedy("Run the command again in a moment.")
            }
            Self::NoneBefore => {
                Problem::failed(format!("There is no revision of {quoted} before the present one."))
                    .remedy(look)
            }
            Self::NoSuchRevision(number, there) => {
                let there: Vec<String> = there.iter().map(u64::to_string).collect();
                let sentence = format!("There is no revision {number} of {quoted}.");
                let there = format!("There are {}.", there.join(", "));
                Problem::usage(sentence).remedy(format!("{there} `{history}` says more."))
            }
            Self::NotKept(number) => {
                let sentence = format!("The template of revision {number} was too large to be kept.");
                Problem::failed(sentence).remedy("Choose another revision with --to-revision.")
            }
            Self::Damaged(number) => {
                let sentence =
                    format!("The record of revision {number} was edited: it is not what ran then.");
                Problem::failed(sentence).remedy("Choose another revision with --to-revision.")
            }
        }
    }
}

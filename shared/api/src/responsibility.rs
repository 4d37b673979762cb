//! Who has to act on what blocks an Instance or a `WorkloadDeployment` (C9): the one table of reasons is `table`.
//!
//! Every message of a condition that is not True ends with it, on every plane: the user's (image, quota, template), the
//! platform operator's (location, network service), or no one's (moving).
//!
//! Decides C9.

mod table;

use std::borrow::Cow;
use std::num::NonZeroU8;

use fedhub_core::message::MESSAGE_MAX;

pub use table::{
    CELL_MISCONFIGURED, DEADLINE_EXCEEDED, DELETION_REFUSED, INSTANCES_REFUSED, PROGRESS_DEADLINE_EXCEEDED,
    Responsible,
};

use table::{Entry, Source, TABLE};

/// The ending for a reason that this version does not know, such as a provider's own.
const UNKNOWN: &str = "Action required by the platform operator if this lasts";
const NOBODY: &str = "No action required";

fn find(reason: &str) -> Option<&'static Entry> {
    TABLE.iter().find(|entry| entry.reason == reason)
}

impl Entry {
    fn ending(&self) -> Cow<'static, str> {
        match self.responsible {
            Responsible::Nobody => Cow::Borrowed(NOBODY),
            Responsible::User => Cow::Owned(format!("Action required by the user: {}", self.remedy)),
            Responsible::Operator => {
                Cow::Owned(format!("Action required by the platform operator: {}", self.remedy))
            }
        }
    }
}

/// Every reason that this version knows.
pub fn reasons() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|entry| entry.reason)
}

/// Who can make that reason go away; `None` for one that this version does not know.
pub fn responsible(reason: &str) -> Option<Responsible> {
    find(reason).map(|entry| entry.responsible)
}

/// What to do to make that reason go away; empty where it passes by itself or is one that this version does not know.
pub fn remedy(reason: &str) -> &'static str {
    find(reason).map_or("", |entry| entry.remedy)
}

/// Whether a reason does not go away by waiting alone: its user or the platform operator has to act.
pub fn needs_action(reason: &str) -> bool {
    responsible(reason).is_some_and(|responsible| responsible != Responsible::Nobody)
}

/// Whether a condition of that reason, whose message says that nobody has to act, waits for something of which nothing else
/// is known.
pub fn waits(reason: &str, message: &str) -> bool {
    message.ends_with(NOBODY) && find(reason).is_some_and(|entry| entry.waits)
}

/// Whether the condition `Federated` of a deployment reports that reason (F10).
pub fn is_reported_by_federation(reason: &str) -> bool {
    find(reason).is_some_and(|entry| entry.source == Source::Federation)
}

/// The message of a condition with that reason, with who has to act at its end; unchanged where it ends so already. A
/// long message is cut, and its end is not.
pub fn attributed<'a>(reason: &str, message: &'a str) -> Cow<'a, str> {
    let said = TABLE.iter().map(Entry::ending).chain([Cow::Borrowed(UNKNOWN)]);
    let said = said.filter(|ending| message.ends_with(&**ending)).max_by_key(|ending| ending.len());
    if said.is_some() && message.len() <= MESSAGE_MAX {
        return Cow::Borrowed(message);
    }
    let ending = said.unwrap_or_else(|| find(reason).map_or(Cow::Borrowed(UNKNOWN), Entry::ending));
    let body = message.strip_suffix(&*ending).unwrap_or(message).trim_end_matches(['.', ' ']);
    if body.is_empty() {
        return ending;
    }
    let room = MESSAGE_MAX - ending.len() - ". ".len();
    let body = &body[..body.floor_char_boundary(room)];
    Cow::Owned(format!("{body}. {ending}"))
}

/// The message of a condition in its parts: what is wrong, who has to act, and what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribution<'a> {
    /// What is wrong, without the ending.
    pub what: &'a str,
    /// Who has to act; `None` for a reason that this version does not know.
    pub responsible: Option<Responsible>,
    /// What to do; empty where that is nothing, or not known.
    pub remedy: &'static str,
}

/// Takes a message apart that [`attributed`] may have put together. What the message itself ends with counts more than
/// `reason`: a deployment reports what its Instances say under a reason of its own.
pub fn separated<'a>(reason: &str, message: &'a str) -> Attribution<'a> {
    let bare = |ending: &str| message.strip_suffix(ending).map(|it| it.trim_end_matches(['.', ' ']));
    let said = TABLE.iter().filter(|entry| message.ends_with(&*entry.ending()));
    let said = said.max_by_key(|entry| entry.ending().len());
    if let Some(what) = bare(UNKNOWN) {
        return Attribution { what, responsible: None, remedy: "" };
    }
    let (entry, what) = match said {
        Some(entry) => (Some(entry), bare(&entry.ending()).unwrap_or(message)),
        None => (find(reason), message.trim_end_matches(['.', ' '])),
    };
    Attribution {
        what,
        responsible: entry.map(|entry| entry.responsible),
        remedy: entry.map_or("", |entry| entry.remedy),
    }
}

/// A reason of a cell that needs action, in one byte: enough to notice when it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause(NonZeroU8);

impl Cause {
    /// The cause of that reason; `None` where it needs no action, or the condition `Federated` reports it.
    pub fn of(reason: &str) -> Option<Self> {
        let at = TABLE.iter().position(|entry| entry.reason == reason)?;
        let told_here = TABLE[at].source == Source::Cell && needs_action(reason);
        told_here.then(|| u8::try_from(at + 1).ok().and_then(NonZeroU8::new).map(Self)).flatten()
    }

    /// The reason.
    pub fn reason(self) -> &'static str {
        TABLE.get(usize::from(self.0.get()) - 1).map_or("", |entry| entry.reason)
    }
}

#[cfg(test)]
mod tests;

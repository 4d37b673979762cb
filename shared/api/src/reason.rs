//! The closed list of reasons, and who has to act on each (C9); the table is `table`.
//!
//! Every message of a condition that is not True ends with who has to act, on every plane: the user (image, quota, template),
//! the platform operator (location, network service), or nobody (moving).
//!
//! Decides C9.

mod about;
mod table;

use std::borrow::Cow;
use std::fmt;

use fedhub_core::message::MESSAGE_MAX;
use strum::VariantArray;

pub use about::Responsible;
pub use table::Reason;

use about::{NOBODY, Source};

/// The ending for a reason that this version does not know, such as a provider's own.
const UNKNOWN: &str = "Action required by the platform operator if this lasts";

impl Reason {
    /// The reason of that text; `None` for one that this version does not know, such as a provider's own or a later version's.
    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    /// Every reason that this version knows.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::VARIANTS.iter().copied()
    }

    /// The text in the API.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Who can make it go away.
    pub fn responsible(self) -> Responsible {
        self.about().responsible
    }

    /// What to do to make it go away; empty where it passes by itself.
    pub fn remedy(self) -> &'static str {
        self.about().remedy
    }

    /// Whether it does not go away by waiting alone: its user or the platform operator has to act.
    pub fn needs_action(self) -> bool {
        self.responsible() != Responsible::Nobody
    }

    /// Whether it is a stage on the way to what is wanted, which something holds if it lasts.
    pub fn is_stage(self) -> bool {
        self.about().is_stage
    }

    /// Whether the condition `Federated` of a deployment reports it (F10).
    pub fn is_reported_by_federation(self) -> bool {
        self.about().source != Source::Cell
    }

    /// Whether the federator shows it on `Available`, in place of a cell's word (I10, I11).
    pub fn is_refusal(self) -> bool {
        self.about().source == Source::Refusal
    }

    /// Whether it is a cell's word on which somebody has to act, and which `Federated` does not report.
    pub fn is_problem_of_cell(self) -> bool {
        self.needs_action() && !self.is_reported_by_federation()
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Compares with the text of a condition.
impl PartialEq<Reason> for &str {
    fn eq(&self, reason: &Reason) -> bool {
        *self == reason.as_str()
    }
}

impl AsRef<str> for Reason {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl From<Reason> for String {
    fn from(reason: Reason) -> Self {
        reason.as_str().to_owned()
    }
}

/// Whether the user or the platform operator has to act on the reason of that text. A reason that this version does not know
/// may pass.
pub fn needs_action(text: &str) -> bool {
    Reason::parse(text).is_some_and(Reason::needs_action)
}

/// Whether a condition of that reason, whose message says that nobody has to act, is a stage of whose end nothing is known.
pub fn waits(reason: &str, message: &str) -> bool {
    message.ends_with(NOBODY) && Reason::parse(reason).is_some_and(Reason::is_stage)
}

fn endings() -> impl Iterator<Item = Cow<'static, str>> {
    Reason::VARIANTS.iter().map(|reason| reason.about().ending()).chain([Cow::Borrowed(UNKNOWN)])
}

/// The message of a condition with that reason, with who has to act at its end; unchanged where it ends so already. A
/// long message is cut, and its end is not.
pub fn attributed(reason: impl Into<Option<Reason>>, message: &str) -> Cow<'_, str> {
    let said = endings().filter(|ending| message.ends_with(&**ending)).max_by_key(|ending| ending.len());
    if said.is_some() && message.len() <= MESSAGE_MAX {
        return Cow::Borrowed(message);
    }
    let ending = said.unwrap_or_else(|| match reason.into() {
        Some(reason) => reason.about().ending(),
        None => Cow::Borrowed(UNKNOWN),
    });
    let body = message.strip_suffix(&*ending).unwrap_or(message).trim_end_matches(['.', ' ']);
    if body.is_empty() {
        return ending;
    }
    let room = MESSAGE_MAX - ending.len() - ". ".len();
    let body = &body[..body.floor_char_boundary(room)];
    Cow::Owned(format!("{body}. {ending}"))
}

/// The message of a condition in its parts: what is wrong, and what says who has to act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribution<'a> {
    /// What is wrong, without the ending.
    pub what: &'a str,
    /// The reason that says who has to act and what to do; `None` for one that this version does not know.
    pub reason: Option<Reason>,
}

/// Takes a message apart that [`attributed`] may have put together. What the message itself ends with counts more than
/// `reason`: a deployment reports what its Instances say under a reason of its own.
pub fn separated<'a>(reason: &str, message: &'a str) -> Attribution<'a> {
    let bare = |ending: &str| message.strip_suffix(ending).map(|it| it.trim_end_matches(['.', ' ']));
    if let Some(what) = bare(UNKNOWN) {
        return Attribution { what, reason: None };
    }
    let known = Reason::parse(reason);
    // Several reasons may have one ending: the condition's own goes first.
    let endings = known.iter().chain(Reason::VARIANTS).filter_map(|reason| {
        let what = bare(&reason.about().ending())?;
        Some(Attribution { what, reason: Some(*reason) })
    });
    endings
        .min_by_key(|apart| apart.what.len())
        .unwrap_or(Attribution { what: message.trim_end_matches(['.', ' ']), reason: known })
}

#[cfg(test)]
mod tests;

//! Who has to act, at the end of a message (C9).
//!
//! This is the one place that reads it back from a message. A deployment repeats what its Instances say under
//! a reason of its own, such as `InstancesProvisioning`, and a condition has no other field that says whose
//! job that is. Cells of every version write so; where the remedy is another version's, the words before it
//! still say who acts.

use std::borrow::Cow;

use super::about::{NOBODY, OPERATOR, USER};
use super::{Reason, Responsible};
use fedhub_core::message::MESSAGE_MAX;

/// The ending for a reason that this version does not know, such as a provider's own.
const UNKNOWN: &str = "Action required by the platform operator if this lasts";

fn unmet() -> impl Iterator<Item = Reason> {
    Reason::all().filter(|reason| reason.is_unmet())
}

fn endings() -> impl Iterator<Item = Cow<'static, str>> {
    Reason::all().map(|reason| reason.about().ending()).chain([Cow::Borrowed(UNKNOWN)])
}

/// The message of a condition with that reason, with who has to act at its end; unchanged where it ends so
/// already. A long message is cut, and its end is not.
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
    /// Who has to act; `None` where nobody knows.
    pub responsible: Option<Responsible>,
}

/// Splits a message that [`attributed`] may have composed. The ending of the message itself counts more than
/// `reason`: a deployment reports what its Instances say under a reason of its own.
pub fn separated<'a>(reason: &str, message: &'a str) -> Attribution<'a> {
    let bare = |ending: &str| message.strip_suffix(ending).map(|it| it.trim_end_matches(['.', ' ']));
    if let Some(what) = bare(UNKNOWN) {
        return Attribution { what, reason: None, responsible: None };
    }
    let known = Reason::parse(reason);
    // Several reasons may have one ending: the condition's own goes first.
    let endings = known.into_iter().chain(unmet()).filter_map(|reason| {
        let what = bare(&reason.about().ending())?;
        Some(Attribution { what, reason: Some(reason), responsible: Some(reason.responsible()) })
    });
    endings.min_by_key(|apart| apart.what.len()).unwrap_or_else(|| {
        let responsible = of_another_version(message).or(known.map(Reason::responsible));
        Attribution { what: message.trim_end_matches(['.', ' ']), reason: known, responsible }
    })
}

/// Who has to act by a message whose remedy this version does not have.
fn of_another_version(message: &str) -> Option<Responsible> {
    let last = [(USER, Responsible::User), (OPERATOR, Responsible::Operator)];
    last.into_iter()
        .filter_map(|(words, who)| Some((message.rfind(words)?, who)))
        .max_by_key(|it| it.0)
        .map(|it| it.1)
}

/// Whether a condition of that reason, whose message says that nobody has to act, is a stage of whose end
/// nothing is known.
pub fn waits(reason: &str, message: &str) -> bool {
    message.ends_with(NOBODY) && Reason::parse(reason).is_some_and(Reason::is_stage)
}

/// Whether a message says who has to act.
pub fn is_attributed(message: &str) -> bool {
    [USER, OPERATOR, UNKNOWN].iter().any(|words| message.contains(words)) || message.ends_with(NOBODY)
}

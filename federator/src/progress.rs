//! How far the newest generation of a WD has come, as the condition `Federated` shows it (U2).
//!
//! Where all goes well it costs no write of its own: [`crate::plan`] puts it into the status that comes back.
//! Where none has come after [`PATIENCE`], a pass of its own finds that due ([`outlook()`]); what keeps
//! passes from the hub for that long is written where they end (`dispatch`).
//!
//! Decides F10 and U2.

use std::fmt;
use std::time::Duration;

use fedhub_api::cells::{CellDown, Hold};
use fedhub_api::conditions::{explained, find, said};
use fedhub_api::facts::Deployment;
use fedhub_api::facts::deployment::{FEDERATED, federated};
use fedhub_api::reason::{Reason, attributed};
use fedhub_core::errors::{Category, Error, chain};
use fedhub_core::message::Quoted;
use fedhub_core::object::PlaneId;
use fedhub_planes::events::EventType;
use fedhub_planes::{ServiceState, WriteState};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::refusal::{Refusal, Remnant, refusal, remnant};
use crate::snapshot::Snapshot;

/// How long a status is waited for before the condition is written by itself.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// How long what is no trouble is not written while there is more to do on its plane than is done at once, by
/// the federator or before it: to write it takes as many requests as the work.
const PATIENCE_BEHIND: Duration = Duration::from_mins(1);

/// How far a generation has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The WD is not on the hub yet.
    Pending,
    /// The WD is not taken to the hub as it is.
    Refused(Refusal),
    /// The hub, or the project's plane, does not take it.
    Failed(Failure),
    /// The WD is on the hub; its cell has not observed it yet.
    AwaitingCell,
    /// The WD is on the hub, and held on its way to its cell.
    Held(Hold),
    /// Karmada does not reach its cell, or it is declared lost.
    CellUnreachable(CellDown),
    /// Its cell has seen it.
    Applied,
}

/// Why a WD is not on the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The hub does not answer, or not with sense.
    HubUnreachable,
    /// The hub asks for patience.
    Throttled,
    /// A request is forbidden, in words.
    Forbidden(String),
    /// A request is refused for what it holds, in words.
    Invalid(String),
    /// An object that is being deleted on the hub has to be gone first.
    Remains(Remnant),
}

impl Failure {
    /// Returns the failure to publish for the error that a pass ended with. `None` if there is none to
    /// publish, or if the project's own plane failed, on which nothing can be published then.
    pub fn from_error(error: &Error) -> Option<Self> {
        let Error::Request(request) = error else {
            return error.is_of(&PlaneId::Hub).then_some(Self::HubUnreachable);
        };
        let of_hub = request.plane == PlaneId::Hub;
        match request.category() {
            // Not engaged: not asked while it fails.
            Category::Transient | Category::NotEngaged if of_hub => Some(Self::HubUnreachable),
            Category::Throttled if of_hub => Some(Self::Throttled),
            Category::Forbidden => Some(Self::Forbidden(request.to_string())),
            Category::Invalid => Some(Self::Invalid(chain(request))),
            _ => None,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HubUnreachable => f.write_str("the federation hub cannot be reached, retrying"),
            Self::Throttled => f.write_str("the federation hub is overloaded, retrying"),
            Self::Forbidden(what) => {
                write!(f, "{what}: fedhub lacks the permission")
            }
            Self::Invalid(what) => f.write_str(what),
            Self::Remains(remnant) => write!(f, "waiting until {remnant} is gone, which is being deleted"),
        }
    }
}

impl Progress {
    /// Returns the progress of a WD that is not being deleted, given the refusal that applies to it.
    pub fn from_snapshot(seen: &Snapshot, refusal: Option<&Refusal>) -> Self {
        let reported = seen.hub.as_ref().and_then(|hub| hub.observed_generation());
        let applied = reported == Some(seen.project.generation);
        match refusal {
            Some(Refusal::CellUnreachable(.., down)) => Self::CellUnreachable(down.clone()),
            Some(Refusal::RefusedByCell(.., refusal)) => Self::Held(Hold::Refused(refusal.clone())),
            Some(refusal) if *refusal != Refusal::ServiceSuspended => Self::Refused(refusal.clone()),
            // What is suspended is federated all the same.
            _ => match remnant(seen).filter(|_| !applied) {
                Some(remnant) => Self::Failed(Failure::Remains(remnant)),
                None => Self::reached(seen, applied).held_by(seen.held.clone()),
            },
        }
    }

    /// Returns the progress of a WD that nothing keeps from the hub.
    fn reached(seen: &Snapshot, applied: bool) -> Self {
        match &seen.cell_down {
            Some(down) => Self::CellUnreachable(down.clone()),
            None if applied => Self::Applied,
            None if seen.hub.is_some() => Self::AwaitingCell,
            None => Self::Pending,
        }
    }

    /// Replaces the wait for the cell by what holds the WD on its way there, if anything does.
    #[must_use]
    pub fn held_by(self, hold: Option<Hold>) -> Self {
        match (self, hold) {
            (Self::AwaitingCell, Some(hold)) => Self::Held(hold),
            (progress, _) => progress,
        }
    }

    /// Whether its cell is still to take it.
    pub fn awaits_cell(&self) -> bool {
        matches!(self, Self::AwaitingCell | Self::Held(_))
    }

    /// Whether the condition that stands on a WD differs. None is needed where all went well without, and a
    /// refusal comes with the rest of the status.
    pub fn is_news(&self, project: &Deployment) -> bool {
        let stands = |progress: &Self| project.federated == progress.digest(project.generation);
        let is_unsaid = project.federated == 0 && *self == Self::Applied;
        let is_overdue = *self == Self::AwaitingCell && stands(&Self::Held(Hold::Unknown));
        !is_unsaid && !is_overdue && !matches!(self, Self::Refused(_)) && !stands(self)
    }

    /// Whether something stands in the way of the WD.
    pub fn is_trouble(&self) -> bool {
        !matches!(self, Self::Pending | Self::AwaitingCell | Self::Applied)
    }

    /// Status, reason and message.
    fn parts(&self) -> (&'static str, Reason, String) {
        match self {
            Self::Pending => {
                ("Unknown", Reason::Pending, attributed(None, "waiting to be federated").into_owned())
            }
            // On its way, and no failure.
            Self::Refused(moving @ Refusal::Moving(..)) => ("Unknown", moving.reason(), moving.to_string()),
            Self::Refused(refusal) => ("False", refusal.reason(), refusal.to_string()),
            Self::Failed(failure) => {
                let message = failure.to_string();
                match failure {
                    Failure::HubUnreachable => ("False", Reason::HubUnreachable, message),
                    Failure::Throttled => {
                        ("False", Reason::Throttled, attributed(None, &message).into_owned())
                    }
                    Failure::Forbidden(_) => ("False", Reason::Forbidden, message),
                    // C9: what the hub refuses is the user's to correct, which the reason does not show.
                    Failure::Invalid(_) => (
                        "False",
                        Reason::Pending,
                        attributed(Reason::ConfigurationError, &message).into_owned(),
                    ),
                    // It passes by itself, unless something holds it there.
                    Failure::Remains(_) => {
                        ("Unknown", Reason::Pending, attributed(None, &message).into_owned())
                    }
                }
            }
            Self::AwaitingCell => {
                ("Unknown", Reason::AwaitingCell, "federated, waiting for the cell to take it".to_owned())
            }
            Self::Held(hold @ Hold::Refused(_)) => ("False", Reason::RefusedByCell, hold.to_string()),
            Self::Held(hold @ Hold::Unknown) => ("Unknown", Reason::AwaitingCell, hold.to_string()),
            Self::CellUnreachable(down) => ("False", Reason::CellUnreachable, down.to_string()),
            // Another message would write the status of every WD once.
            Self::Applied => ("True", Reason::Applied, "the cell has taken it".to_owned()),
        }
    }

    /// The condition that shows this of `generation`, in the place of `old`.
    pub fn condition(&self, old: Option<&Value>, generation: i64, now: Timestamp) -> Value {
        // What was known of the wait before a restart stands until Karmada is asked again.
        let stands = |old: &&Value| {
            *self == Self::AwaitingCell
                && old["observedGeneration"] == generation
                && matches!(Reason::parse(said(old).1), Some(Reason::RefusedByCell | Reason::AwaitingCell))
        };
        if let Some(old) = old.filter(stands) {
            return old.clone();
        }
        let (status, reason, message) = self.parts();
        let mut condition = explained(old, FEDERATED, status, reason, &message, now);
        condition["observedGeneration"] = json!(generation);
        condition
    }

    /// Returns what a digest holds of a WD whose condition shows this progress of `generation`.
    pub fn digest(&self, generation: i64) -> u64 {
        federated(Some(&self.condition(None, generation, Timestamp::UNIX_EPOCH)))
    }
}

/// When a pass has to come back to a WD, although there may be no event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outlook {
    /// Nothing.
    #[default]
    Settled,
    /// Its condition does not show how far it has come, and is due in this time, if no status brings it
    /// before.
    Due(Duration),
    /// Its cell has not reported, and Karmada is asked now and then (F8).
    AwaitsReport,
}

/// Whether Karmada is to be asked why a cell does not report, when it is that WD's turn. What is news, too: a
/// refusal of before a restart stands until it is asked.
pub fn asks_karmada(seen: &Snapshot, outlook: Outlook) -> bool {
    matches!(outlook, Outlook::AwaitsReport | Outlook::Due(Duration::ZERO))
        && Progress::from_snapshot(seen, refusal(seen).as_ref()).awaits_cell()
}

/// Returns when a pass has to come back, given how long the generation has waited and whether its plane has
/// more to do.
pub fn outlook(
    seen: &Snapshot,
    waited: Duration,
    patience: Duration,
    is_behind: impl FnOnce() -> bool,
) -> Outlook {
    let is_followed = matches!(seen.service, ServiceState::Active | ServiceState::Suspended);
    if seen.project.terminating || seen.writes != WriteState::Active || !is_followed {
        return Outlook::Settled;
    }
    let progress = Progress::from_snapshot(seen, refusal(seen).as_ref());
    if !progress.is_news(&seen.project) {
        return if progress.awaits_cell() { Outlook::AwaitsReport } else { Outlook::Settled };
    }
    let left = patience.saturating_sub(waited);
    let longest = PATIENCE_BEHIND.saturating_sub(waited);
    let is_put_off = left.is_zero() && !longest.is_zero() && !progress.is_trouble() && is_behind();
    Outlook::Due(if is_put_off { longest.min(patience) } else { left })
}

/// A transition that is published as an Event (F10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// Good or bad.
    pub type_: EventType,
    /// Its reason.
    pub reason: Reason,
    /// The note, for users.
    pub note: String,
}

impl Transition {
    /// The transition of a WD that has come to the hub for the first time.
    pub fn federated(city: &str) -> Self {
        let note = format!("federated to city {city}");
        Self { type_: EventType::Normal, reason: Reason::Federated, note }
    }

    /// The transition of a WD whose new city's cell has reported on it.
    pub fn moved(from: &str, to: &str) -> Self {
        let note = format!("moved from city {} to city {}", Quoted(from), Quoted(to));
        Self { type_: EventType::Normal, reason: Reason::Moved, note }
    }
}

/// The transition from one status to the next, by the condition of both. A state is published once, however
/// often it is tried again, also across restarts.
pub fn transition(before: &Value, after: &Value, city: &str) -> Option<Transition> {
    let old = find(before, FEDERATED).map(said);
    let new = find(after, FEDERATED).map(said)?;
    let failed = |status: &str| status == "False";
    let is_on_hub = matches!(Reason::parse(new.1), Some(Reason::AwaitingCell | Reason::Applied));
    if is_on_hub && old.is_none_or(|(status, reason, _)| reason == Reason::Pending && !failed(status)) {
        return Some(Transition::federated(city));
    }
    let before = old.filter(|(status, ..)| failed(status));
    match (before, new) {
        (before, (status, reason, message)) if failed(status) => {
            let same = before.is_some_and(|(_, before, _)| before == reason);
            (!same).then(|| Transition {
                type_: EventType::Warning,
                reason: Reason::FederationFailed,
                note: format!("{}: {message}", category(reason)),
            })
        }
        (Some((_, before, _)), _) => Some(Transition {
            type_: EventType::Normal,
            reason: Reason::FederationRecovered,
            note: format!("no longer {before}"),
        }),
        (None, _) => None,
    }
}

/// The category of errors that a reason belongs to.
fn category(reason: &str) -> Category {
    match Reason::parse(reason) {
        Some(Reason::HubUnreachable | Reason::CellUnreachable) => Category::Transient,
        Some(Reason::Throttled) => Category::Throttled,
        Some(Reason::Forbidden | Reason::ServiceNotActive | Reason::RefusedByCell) => Category::Forbidden,
        Some(Reason::FederationConflict) => Category::TenantConflict,
        _ => Category::Invalid,
    }
}

#[cfg(test)]
mod tests {
    use fedhub_api::conditions::put;

    use super::*;

    fn status(progress: Option<&Progress>) -> Value {
        let mut status = json!({});
        if let Some(progress) = progress {
            put(&mut status, progress.condition(None, 3, Timestamp::UNIX_EPOCH));
        }
        status
    }

    #[test]
    fn f10_a_turn_is_told_once_and_a_generation_that_goes_well_is_none() {
        let failed = Progress::Failed(Failure::HubUnreachable);
        let throttled = Progress::Failed(Failure::Throttled);
        let refused = Progress::Refused(Refusal::InvalidName);
        for (before, after, expected) in [
            (None, Some(&Progress::AwaitingCell), Some("Federated")),
            (None, Some(&Progress::Applied), Some("Federated")),
            (Some(&Progress::Pending), Some(&Progress::Applied), Some("Federated")),
            (None, Some(&Progress::Pending), None),
            (Some(&Progress::Applied), Some(&Progress::AwaitingCell), None),
            (Some(&Progress::AwaitingCell), Some(&Progress::Applied), None),
            (None, Some(&failed), Some("FederationFailed")),
            (Some(&Progress::Applied), Some(&refused), Some("FederationFailed")),
            (Some(&failed), Some(&failed), None),
            (Some(&failed), Some(&throttled), Some("FederationFailed")),
            (Some(&failed), Some(&Progress::AwaitingCell), Some("FederationRecovered")),
            (Some(&refused), Some(&Progress::Applied), Some("FederationRecovered")),
            (Some(&failed), None, None),
        ] {
            let transition = transition(&status(before), &status(after), "DFW");
            assert_eq!(transition.map(|it| it.reason.as_str()), expected, "{before:?} {after:?}");
        }
        let failed = transition(&status(None), &status(Some(&failed)), "DFW").unwrap();
        assert!(failed.note.starts_with("transient: "), "{}", failed.note);
    }
}

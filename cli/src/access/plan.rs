//! The decisions that follow from the state of access. Pure.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::catalog::{Mode, Offer};
use super::state::{Access, State};

/// How long the platform usually takes at most for its first answer. A request that is older is not waited
/// for: a platform that has stopped answering is not to slow every command down.
pub const USUAL: SignedDuration = SignedDuration::from_mins(2);
/// How long a command waits for the first answer.
pub const FIRST_ANSWER: Duration = Duration::from_secs(30);

/// Whether a command of the project runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// The command runs.
    Pass,
    /// The command runs, and the user is warned that nothing else will.
    Warn,
    /// The platform is about to answer: wait for that.
    Await,
    /// No access was requested: the offer of the platform decides.
    Ask,
    /// The command does not run.
    Stop,
}

/// Decides whether a command of the project may run.
pub fn gate(access: &Access, now: Timestamp) -> Gate {
    match access.state {
        State::Active | State::CatalogUnavailable => Gate::Pass,
        State::Suspended => Gate::Warn,
        State::Processing if !is_overdue(access, now) => Gate::Await,
        State::NotRequested => Gate::Ask,
        State::Processing | State::PendingApproval | State::Denied | State::Revoked | State::Unavailable => {
            Gate::Stop
        }
    }
}

/// Whether the platform should have answered long ago.
pub fn is_overdue(access: &Access, now: Timestamp) -> bool {
    access.state == State::Processing
        && access.requested.is_some_and(|requested| now.duration_since(requested) > USUAL)
}

/// How access to compute is requested where it was not before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// Without a question: it is enabled there and then, and that is said.
    Given,
    /// The user has to confirm: the platform has to approve the request.
    Question,
    /// There is no terminal to ask on, or the command only reads.
    Missing,
    /// There is nothing to request.
    Impossible,
}

/// Decides that. `can_ask`: there is a terminal to ask on. `writes`: the command changes something.
pub fn consent(offer: &Offer, can_ask: bool, writes: bool) -> Consent {
    match (offer.mode, can_ask) {
        (Mode::Unavailable, _) => Consent::Impossible,
        _ if !writes => Consent::Missing,
        (Mode::SelfService, _) => Consent::Given,
        (Mode::Gated | Mode::Unknown, true) => Consent::Question,
        (Mode::Gated | Mode::Unknown, false) => Consent::Missing,
    }
}

/// The step that `access request` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Ask for it.
    Create,
    /// Take back what was refused, and ask anew.
    Renew,
    /// Access was requested already, or exists: report its state.
    Stands,
    /// Access cannot be requested in its present state.
    Refused,
}

/// Decides that. An existing request is progress, never an error.
pub fn request(access: &Access, renew: bool) -> Request {
    match access.state {
        State::NotRequested => Request::Create,
        State::Denied | State::Revoked if renew => Request::Renew,
        State::Denied | State::Revoked | State::Unavailable => Request::Refused,
        State::Processing
        | State::PendingApproval
        | State::Active
        | State::Suspended
        | State::CatalogUnavailable => Request::Stands,
    }
}

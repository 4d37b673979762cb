//! Events for changes of a status (U3): few and stable, one for each transition, never one per retry.
//!
//! A transition is the step from the status on a plane to the one that was just stored in its place. So the
//! object itself remembers what was reported: after a restart, a relist or a replay the status is unchanged,
//! nothing is written, and no Event is sent. Lost are the Event of a write whose response or process was
//! lost, and states that passed between two writes. Cell and project report the same transitions, by the
//! reasons of the conditions.
//!
//! Decides U3.

use kube::runtime::events::EventType;
use serde_json::Value;

use crate::conditions::{find, said};
use crate::reason::{AnyReason, Reason};

/// Condition of a deployment: an Instance of it takes longer to go than it may (C12).
pub const TERMINATION_OVERDUE: &str = "TerminationOverdue";

/// An Event to publish on an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// Normal, or Warning where user or operator have to act.
    pub type_: EventType,
    /// The reason of the condition that changed, such as `ImageUnavailable`.
    pub reason: AnyReason,
    /// The condition's message.
    pub note: String,
    /// Whether the transition is expected: published in the cell only, for in the project the conditions show
    /// it.
    pub routine: bool,
}

/// The part of a status that is kept to recognise the next transition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signal {
    state: State,
    cause: Option<Reason>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing was reported yet.
    #[default]
    Unknown,
    Unready,
    Ready,
    Suspended,
    Stopping,
    Stopped,
    Terminating,
}

/// The status, reason and message of a condition.
type Said<'a> = (&'a str, &'a str, &'a str);

impl Signal {
    /// Reads the signal from the status of an Instance.
    pub fn of_instance(status: &Value) -> Self {
        let ready = find(status, "Ready").map(said);
        Self {
            state: State::from_condition(ready),
            cause: instance_problem(status).and_then(|(_, reason, _)| cause(reason)),
        }
    }

    /// Whether the condition `Ready` is true.
    pub fn is_ready(&self) -> bool {
        self.state == State::Ready
    }

    /// Reads the signal from the status of a deployment.
    pub fn of_deployment(status: &Value) -> Self {
        let ready = find(status, "ReplicasReady").map(said);
        Self {
            state: State::from_condition(ready),
            cause: deployment_problem(status).and_then(|(_, reason, _)| cause(reason)),
        }
    }
}

impl State {
    fn from_condition(condition: Option<Said<'_>>) -> Self {
        let Some((status, reason, _)) = condition else { return Self::Unknown };
        match (status, Reason::parse(reason)) {
            // The condition `Federated` reports what concerns the service of a project (W9).
            ("Unknown", Some(Reason::Pending)) | (_, Some(Reason::ServiceNotActive)) => Self::Unknown,
            ("True", _) => Self::Ready,
            (_, Some(Reason::Suspended)) => Self::Suspended,
            (_, Some(Reason::Stopping)) => Self::Stopping,
            (_, Some(Reason::Stopped)) => Self::Stopped,
            (_, Some(Reason::Terminating)) => Self::Terminating,
            _ => Self::Unready,
        }
    }
}

/// The Event for the transition of an Instance to that status; `None` for a stage on the way, and for another
/// message of the same reason.
pub fn of_instance(old: Signal, new: &Value) -> Option<Transition> {
    let ready = find(new, "Ready").map(said)?;
    if let Some((problem, cause)) = instance_problem(new).and_then(with_cause) {
        return (old.cause != Some(cause)).then(|| warning(problem));
    }
    let now = State::from_condition(Some(ready));
    if matches!(now, State::Suspended | State::Stopped | State::Terminating) {
        return (old.state != now).then(|| routine(ready));
    }
    if let Some(cause) = old.cause {
        let quota = find(new, "QuotaGranted").map(said);
        let granted = quota.filter(|(status, ..)| cause.is_of_quota() && *status == "True");
        return (now != State::Unknown).then(|| ended(&cause.into(), granted.unwrap_or(ready)));
    }
    match (old.state, now) {
        (State::Suspended | State::Stopped, State::Ready | State::Unready) => Some(resumed(ready)),
        (State::Unknown | State::Unready, State::Ready) => Some(routine(ready)),
        // Its user consented to that, and is to know when it happens (V5).
        (State::Ready, State::Unready) if ready.1 == Reason::Rebuilding.as_str() => {
            Some(routine(ready).notable())
        }
        // It ran, and does not: the provider says why by a name of its own.
        (State::Ready, State::Unready) if !is_reported_by_federation(ready.1) => Some(warning(ready)),
        _ => None,
    }
}

/// The Events for the transition of a deployment from one status to the next.
pub fn of_deployment(old: &Value, new: &Value) -> Vec<Transition> {
    of_readiness(Signal::of_deployment(old), new).into_iter().chain(of_overdue(old, new)).collect()
}

fn of_readiness(old: Signal, new: &Value) -> Option<Transition> {
    let ready = find(new, "ReplicasReady").map(said)?;
    if let Some((problem, cause)) = deployment_problem(new).and_then(with_cause) {
        return (old.cause != Some(cause)).then(|| warning(problem));
    }
    let now = State::from_condition(Some(ready));
    match (old, now) {
        (_, State::Unknown) => None,
        (_, State::Suspended) => (old.state != now).then(|| routine(ready).notable()),
        (Signal { cause: Some(cause), .. }, _) => Some(ended(&cause.into(), ready)),
        (Signal { state: State::Suspended, .. }, _) => Some(resumed(ready).notable()),
        _ => None,
    }
}

/// The Event for an overdue termination, which is independent of readiness.
fn of_overdue(old: &Value, new: &Value) -> Option<Transition> {
    let overdue = |status| find(status, TERMINATION_OVERDUE).map(said).filter(|(is, ..)| *is == "True");
    match (overdue(old), overdue(new)) {
        (None, Some(overdue)) => Some(warning(overdue)),
        (Some(old), Some(new)) if old.1 != new.1 => Some(warning(new)),
        (Some(old), None) => {
            find(new, "ReplicasReady").map(said).map(|ready| ended(&AnyReason::parse(old.1), ready))
        }
        _ => None,
    }
}

/// The reason of that text where it is a cell's, and somebody has to act on it.
fn cause(text: &str) -> Option<Reason> {
    Reason::parse(text).filter(|reason| reason.is_problem_of_cell())
}

fn is_reported_by_federation(text: &str) -> bool {
    Reason::parse(text).is_some_and(Reason::is_reported_by_federation)
}

/// The condition with its cause that needs action; `None` where there is none.
fn with_cause(problem: Said<'_>) -> Option<(Said<'_>, Reason)> {
    cause(problem.1).map(|cause| (problem, cause))
}

/// Returns the refusal of an Instance's quota. That quota cannot be asked about an Instance that has passed
/// is no problem of the Instance.
fn refusal(status: &Value) -> Option<Said<'_>> {
    find(status, "QuotaGranted")
        .map(said)
        .filter(|(status, reason, _)| *status == "False" || *reason == Reason::QuotaNoBudget.as_str())
}

/// The condition of an Instance that needs action: `Ready`, or else its quota, which has reasons of its own
/// for a refusal.
fn instance_problem(status: &Value) -> Option<Said<'_>> {
    let ready = find(status, "Ready").map(said)?;
    if ready.0 == "True" {
        return None;
    }
    let quota = refusal(status);
    if ready.1 == Reason::PendingQuota.as_str() {
        return quota.filter(|quota| cause(quota.1).is_some()).or(Some(ready));
    }
    // While it goes, and while it is not to run, quota is not what it waits for.
    let state = State::from_condition(Some(ready));
    let waits = !matches!(state, State::Suspended | State::Stopped | State::Terminating);
    [Some(ready), quota.filter(|_| waits)].into_iter().flatten().find(|said| cause(said.1).is_some())
}

/// The condition of a deployment that needs action; a termination that hangs has [`TERMINATION_OVERDUE`]
/// beside it.
fn deployment_problem(status: &Value) -> Option<Said<'_>> {
    ["ReplicasReady", "Available"]
        .into_iter()
        .filter_map(|kind| find(status, kind).map(said).filter(|(status, ..)| *status != "True"))
        .find(|said| said.1 != Reason::TerminationDeadlineExceeded.as_str() && cause(said.1).is_some())
}

fn warning((_, reason, message): Said<'_>) -> Transition {
    Transition { type_: EventType::Warning, ..routine(("", reason, message)) }.notable()
}

/// The Event that a cause is gone, with the reason that stands now.
fn ended(cause: &AnyReason, (_, reason, message): Said<'_>) -> Transition {
    let note = format!("no longer {cause}. {message}");
    Transition { note, ..routine(("", reason, message)) }.notable()
}

fn resumed(ready: Said<'_>) -> Transition {
    Transition { reason: Reason::Resumed.into(), ..routine(ready) }
}

fn routine((_, reason, message): Said<'_>) -> Transition {
    let note = if message.is_empty() { reason } else { message };
    Transition {
        type_: EventType::Normal,
        reason: AnyReason::parse(reason),
        note: note.to_owned(),
        routine: true,
    }
}

impl Transition {
    fn notable(self) -> Self {
        Self { routine: false, ..self }
    }
}

#[cfg(test)]
mod tests;

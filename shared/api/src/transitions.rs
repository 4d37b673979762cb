//! Which Event a change of a status deserves (U3): few and stable, one for each turn of affairs, never one per retry.
//!
//! A turn is the step from the status that stands on a plane to the one that was just stored in its place. So what was
//! told is remembered by the object itself: a restart, a relist or a replay finds the status standing, writes nothing,
//! and tells nothing. Lost is the Event of a write whose answer, or whose process, was lost, and of what passed
//! between two writes. The same steps are told in the cell and in the project, by the reasons of the conditions.
//!
//! Decides U3.

use kube::runtime::events::EventType;
use serde_json::Value;

use crate::conditions::{find, said};
use crate::responsibility::{Cause, DEADLINE_EXCEEDED, told_by_federation};

/// Condition of a deployment: an Instance of it takes longer to go than it may (C12).
pub const TERMINATION_OVERDUE: &str = "TerminationOverdue";

/// Reason of `QuotaGranted`, while that is not known: the project may have no budget.
pub const NO_BUDGET: &str = "QuotaNoBudget";

/// An Event to be told about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transition {
    /// Normal, or Warning where somebody has to act.
    pub type_: EventType,
    /// The reason of the condition that turned, such as `ImageUnavailable`.
    pub reason: String,
    /// The condition's message.
    pub note: String,
    /// Whether all goes as it should: told in the cell, and not in the project, where the conditions say it.
    pub routine: bool,
}

/// What is kept of a status to tell the next turn by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signal {
    state: State,
    cause: Option<Cause>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nobody has said anything yet.
    #[default]
    Unknown,
    Unready,
    Ready,
    Suspended,
    Terminating,
}

/// A condition as it counts here: status, reason, message.
type Said<'a> = (&'a str, &'a str, &'a str);

impl Signal {
    /// Of the status of an Instance.
    pub fn of_instance(status: &Value) -> Self {
        let ready = find(status, "Ready").map(said);
        Self {
            state: State::of(ready),
            cause: instance_trouble(status).and_then(|(_, reason, _)| Cause::of(reason)),
        }
    }

    /// Of the status of a deployment.
    pub fn of_deployment(status: &Value) -> Self {
        let ready = find(status, "ReplicasReady").map(said);
        Self {
            state: State::of(ready),
            cause: deployment_trouble(status).and_then(|(_, reason, _)| Cause::of(reason)),
        }
    }
}

impl State {
    fn of(condition: Option<Said<'_>>) -> Self {
        match condition {
            None | Some(("Unknown", "Pending", _)) => Self::Unknown,
            Some(("True", ..)) => Self::Ready,
            Some((_, "Suspended", _)) => Self::Suspended,
            Some((_, "Terminating", _)) => Self::Terminating,
            Some(_) => Self::Unready,
        }
    }
}

/// What to tell of the step to that status of an Instance; `None` for a stage on the way, and for other words of the
/// same reason.
pub fn of_instance(old: Signal, new: &Value) -> Option<Transition> {
    let ready = find(new, "Ready").map(said)?;
    if let Some((trouble, cause)) = instance_trouble(new).and_then(with_cause) {
        return (old.cause != Some(cause)).then(|| warning(trouble));
    }
    let now = State::of(Some(ready));
    if matches!(now, State::Suspended | State::Terminating) {
        return (old.state != now).then(|| routine(ready));
    }
    if let Some(cause) = old.cause {
        let quota = find(new, "QuotaGranted").map(said);
        let granted = quota.filter(|(status, ..)| cause.reason().starts_with("Quota") && *status == "True");
        return (now != State::Unknown).then(|| ended(cause.reason(), granted.unwrap_or(ready)));
    }
    match (old.state, now) {
        (State::Suspended, State::Ready | State::Unready) => Some(resumed(ready)),
        (State::Unknown | State::Unready, State::Ready) => Some(routine(ready)),
        // It ran, and does not: the provider says why by a name of its own.
        (State::Ready, State::Unready) if !told_by_federation(ready.1) => Some(warning(ready)),
        _ => None,
    }
}

/// What to tell of the step from one status of a deployment to the next.
pub fn of_deployment(old: &Value, new: &Value) -> Vec<Transition> {
    of_readiness(Signal::of_deployment(old), new).into_iter().chain(of_overdue(old, new)).collect()
}

fn of_readiness(old: Signal, new: &Value) -> Option<Transition> {
    let ready = find(new, "ReplicasReady").map(said)?;
    if let Some((trouble, cause)) = deployment_trouble(new).and_then(with_cause) {
        return (old.cause != Some(cause)).then(|| warning(trouble));
    }
    let now = State::of(Some(ready));
    match (old, now) {
        (_, State::Unknown) => None,
        (_, State::Suspended) => (old.state != now).then(|| routine(ready).told()),
        (Signal { cause: Some(cause), .. }, _) => Some(ended(cause.reason(), ready)),
        (Signal { state: State::Suspended, .. }, _) => Some(resumed(ready).told()),
        _ => None,
    }
}

/// That an Instance of a deployment does not go stands beside all else that there is to say of it.
fn of_overdue(old: &Value, new: &Value) -> Option<Transition> {
    let overdue = |status| find(status, TERMINATION_OVERDUE).map(said).filter(|(is, ..)| *is == "True");
    match (overdue(old), overdue(new)) {
        (None, Some(overdue)) => Some(warning(overdue)),
        (Some(_), None) => find(new, "ReplicasReady").map(said).map(|ready| ended(DEADLINE_EXCEEDED, ready)),
        _ => None,
    }
}

/// With the cause that somebody has to act on; `None` where there is none.
fn with_cause(trouble: Said<'_>) -> Option<(Said<'_>, Cause)> {
    Cause::of(trouble.1).map(|cause| (trouble, cause))
}

/// What the quota service refuses an Instance; that it cannot be asked about one that has passed is no trouble of it.
fn refusal(status: &Value) -> Option<Said<'_>> {
    find(status, "QuotaGranted")
        .map(said)
        .filter(|(status, reason, _)| *status == "False" || *reason == NO_BUDGET)
}

/// What somebody has to act on: `Ready`, or else its quota, which tells a refusal by a name of its own.
fn instance_trouble(status: &Value) -> Option<Said<'_>> {
    let ready = find(status, "Ready").map(said)?;
    if ready.0 == "True" {
        return None;
    }
    let quota = refusal(status);
    if ready.1 == "PendingQuota" {
        return quota.filter(|quota| Cause::of(quota.1).is_some()).or(Some(ready));
    }
    // While it goes, and while it is suspended, quota is not what it waits for.
    let waits = !matches!(State::of(Some(ready)), State::Suspended | State::Terminating);
    [Some(ready), quota.filter(|_| waits)].into_iter().flatten().find(|said| Cause::of(said.1).is_some())
}

/// Likewise; but what does not go is told by [`TERMINATION_OVERDUE`], beside all else.
fn deployment_trouble(status: &Value) -> Option<Said<'_>> {
    let not = |kind| find(status, kind).map(said).filter(|(status, ..)| *status != "True");
    ["ReplicasReady", "Available"]
        .into_iter()
        .filter_map(not)
        .find(|said| said.1 != DEADLINE_EXCEEDED && Cause::of(said.1).is_some())
}

fn warning((_, reason, message): Said<'_>) -> Transition {
    Transition { type_: EventType::Warning, ..routine(("", reason, message)) }.told()
}

/// That trouble is over, by the reason that stands now.
fn ended(cause: &str, (_, reason, message): Said<'_>) -> Transition {
    let note = format!("no longer {cause}. {message}");
    Transition { note, ..routine(("", reason, message)) }.told()
}

fn resumed(ready: Said<'_>) -> Transition {
    Transition { reason: "Resumed".to_owned(), ..routine(ready) }
}

fn routine((_, reason, message): Said<'_>) -> Transition {
    let note = if message.is_empty() { reason } else { message };
    Transition { type_: EventType::Normal, reason: reason.to_owned(), note: note.to_owned(), routine: true }
}

impl Transition {
    fn told(self) -> Self {
        Self { routine: false, ..self }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
        json!({"type": kind, "status": status, "reason": reason, "message": message})
    }

    fn ready(status: &str, reason: &str) -> Value {
        json!({"conditions": [condition("Ready", status, reason, "words")]})
    }

    fn waiting(ready: &str, status: &str, quota: &str) -> Value {
        let conditions =
            [condition("Ready", "False", ready, "words"), condition("QuotaGranted", status, quota, "q")];
        json!({"conditions": conditions})
    }

    fn deployment(status: &str, reason: &str) -> Value {
        json!({"conditions": [condition("ReplicasReady", status, reason, "words")]})
    }

    fn overdue() -> Value {
        let mut status = deployment("True", "ReplicasAvailable");
        let condition = condition(TERMINATION_OVERDUE, "True", DEADLINE_EXCEEDED, "o");
        crate::conditions::put(&mut status, condition);
        status
    }

    /// Type, reason, and whether the project is told.
    fn told(turn: &Transition) -> (&'static str, &str, bool) {
        let type_ = if turn.type_ == EventType::Normal { "Normal" } else { "Warning" };
        (type_, &turn.reason, !turn.routine)
    }

    #[test]
    fn u3_an_event_for_each_turn_of_an_instance_and_none_for_a_stage() {
        let stage = || ready("False", "SchedulingGatesPresent");
        let yes = || ready("True", "Available");
        let broken = || ready("False", "ImageUnavailable");
        let granted = || waiting("PendingProgramming", "True", "QuotaAvailable");
        let denied = || waiting("PendingQuota", "False", "QuotaExceeded");
        let unreported = || ready("Unknown", "Pending");
        let table = [
            (json!(null), json!(null), None),
            (unreported(), unreported(), None),
            (unreported(), stage(), None),
            (unreported(), broken(), Some(("Warning", "ImageUnavailable", true))),
            (stage(), broken(), Some(("Warning", "ImageUnavailable", true))),
            (yes(), broken(), Some(("Warning", "ImageUnavailable", true))),
            (broken(), broken(), None),
            (broken(), ready("False", "InstanceCrashing"), Some(("Warning", "InstanceCrashing", true))),
            (broken(), yes(), Some(("Normal", "Available", true))),
            (broken(), ready("False", "Starting"), Some(("Normal", "Starting", true))),
            (broken(), unreported(), None),
            (stage(), yes(), Some(("Normal", "Available", false))),
            (unreported(), yes(), Some(("Normal", "Available", false))),
            (yes(), yes(), None),
            (yes(), ready("False", "Stopped"), Some(("Warning", "Stopped", true))),
            (stage(), ready("False", "Stopped"), None),
            (yes(), ready("Unknown", "CellUnreachable"), None),
            (ready("Unknown", "CellUnreachable"), broken(), Some(("Warning", "ImageUnavailable", true))),
            (stage(), denied(), Some(("Warning", "QuotaExceeded", true))),
            (denied(), denied(), None),
            (
                denied(),
                waiting("PendingQuota", "False", "QuotaMisconfigured"),
                Some(("Warning", "QuotaMisconfigured", true)),
            ),
            (denied(), granted(), Some(("Normal", "QuotaAvailable", true))),
            (
                stage(),
                waiting("SchedulingGatesPresent", "Unknown", "QuotaNoBudget"),
                Some(("Warning", "QuotaNoBudget", true)),
            ),
            (stage(), waiting("SchedulingGatesPresent", "Unknown", "PendingEvaluation"), None),
            (
                stage(),
                waiting("NetworkNotFound", "False", "QuotaExceeded"),
                Some(("Warning", "NetworkNotFound", true)),
            ),
            (
                stage(),
                ready("False", "NetworkFailedToCreate"),
                Some(("Warning", "NetworkFailedToCreate", true)),
            ),
            (stage(), ready("False", "NetworkProvisioning"), None),
            (yes(), ready("False", "Suspended"), Some(("Normal", "Suspended", false))),
            (denied(), waiting("Suspended", "False", "QuotaExceeded"), Some(("Normal", "Suspended", false))),
            (ready("False", "Suspended"), stage(), Some(("Normal", "Resumed", false))),
            (yes(), ready("False", "Terminating"), Some(("Normal", "Terminating", false))),
            (
                ready("False", "Terminating"),
                ready("False", DEADLINE_EXCEEDED),
                Some(("Warning", DEADLINE_EXCEEDED, true)),
            ),
            (ready("False", DEADLINE_EXCEEDED), ready("False", DEADLINE_EXCEEDED), None),
        ];
        for (old, new, expected) in table {
            let turn = of_instance(Signal::of_instance(&old), &new);
            assert_eq!(turn.as_ref().map(told), expected, "{old} {new}");
        }
        let over = of_instance(Signal::of_instance(&broken()), &yes()).unwrap();
        assert_eq!(over.note, "no longer ImageUnavailable. words");
    }

    #[test]
    fn u3_an_event_for_each_turn_of_a_deployment() {
        let yes = || deployment("True", "ReplicasAvailable");
        let stage = || deployment("False", "InstancesProvisioning");
        let broken = || deployment("False", "ImageUnavailable");
        let table = [
            (json!(null), stage(), vec![]),
            (json!(null), broken(), vec![("Warning", "ImageUnavailable", true)]),
            (stage(), yes(), vec![]),
            (yes(), stage(), vec![]),
            (broken(), broken(), vec![]),
            (broken(), deployment("False", "QuotaExceeded"), vec![("Warning", "QuotaExceeded", true)]),
            (broken(), yes(), vec![("Normal", "ReplicasAvailable", true)]),
            (yes(), deployment("False", "Suspended"), vec![("Normal", "Suspended", true)]),
            (deployment("False", "Suspended"), stage(), vec![("Normal", "Resumed", true)]),
            (yes(), overdue(), vec![("Warning", DEADLINE_EXCEEDED, true)]),
            (overdue(), overdue(), vec![]),
            (stage(), deployment("False", DEADLINE_EXCEEDED), vec![]),
            (overdue(), yes(), vec![("Normal", "ReplicasAvailable", true)]),
            (
                broken(),
                overdue(),
                vec![("Normal", "ReplicasAvailable", true), ("Warning", DEADLINE_EXCEEDED, true)],
            ),
            // What keeps it from the hub is told of the condition Federated.
            (yes(), json!({"conditions": [condition("Available", "False", "InvalidCityCode", "")]}), vec![]),
            (yes(), json!({"conditions": [condition("Available", "False", "NetworkNotFound", "")]}), vec![]),
        ];
        for (old, new, expected) in table {
            let turns = of_deployment(&old, &new);
            assert_eq!(turns.iter().map(told).collect::<Vec<_>>(), expected, "{old} {new}");
        }
    }

    fn statuses() -> impl Strategy<Value = Vec<Value>> {
        let reasons = [
            "Pending",
            "Available",
            "ImageUnavailable",
            "Stopped",
            "PendingQuota",
            "Suspended",
            "Terminating",
        ];
        let quotas = ["PendingEvaluation", "QuotaExceeded", "QuotaNoBudget", "QuotaAvailable"];
        let truths = || proptest::sample::select(vec!["True", "False", "Unknown"]);
        let each = (
            truths(),
            proptest::sample::select(reasons.to_vec()),
            "[a-z]{0,3}",
            truths(),
            proptest::sample::select(quotas.to_vec()),
        );
        let status = each.prop_map(|(state, reason, message, quota, why)| {
            let conditions =
                [condition("Ready", state, reason, &message), condition("QuotaGranted", quota, why, "")];
            json!({"conditions": conditions})
        });
        proptest::collection::vec(status, 1..12)
    }

    proptest! {
        #[test]
        fn u3_what_stands_is_told_nothing_of_and_no_reason_twice_in_a_row(history in statuses()) {
            let mut last = None;
            for pair in history.windows(2) {
                let [old, new] = pair else { unreachable!() };
                prop_assert_eq!(of_instance(Signal::of_instance(new), new), None);
                let turn = of_instance(Signal::of_instance(old), new);
                let Some(turn) = turn.filter(|turn| turn.type_ == EventType::Warning) else {
                    if Signal::of_instance(new) != Signal::of_instance(old) { last = None; }
                    continue;
                };
                prop_assert_ne!(last.as_ref(), Some(&turn.reason));
                last = Some(turn.reason);
            }
        }
    }
}

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
    let condition = condition(TERMINATION_OVERDUE, "True", "TerminationDeadlineExceeded", "o");
    crate::conditions::put(&mut status, condition);
    status
}

/// Type, reason, and whether the project gets an Event.
fn told(turn: &Transition) -> (&'static str, &str, bool) {
    let type_ = if turn.type_ == EventType::Normal { "Normal" } else { "Warning" };
    (type_, turn.reason.as_str(), !turn.routine)
}

/// A step of the status, and the Events that are expected.
type Turn = (Value, Value, Option<(&'static str, &'static str, bool)>);

fn assert_turns(table: &[Turn]) {
    for (old, new, expected) in table {
        let turn = of_instance(Signal::of_instance(old), new);
        assert_eq!(turn.as_ref().map(told), *expected, "{old} {new}");
    }
}

#[test]
fn u3_an_event_for_each_turn_of_an_instance_and_none_for_a_stage() {
    let stage = || ready("False", "SchedulingGatesPresent");
    let yes = || ready("True", "Available");
    let broken = || ready("False", "ImageUnavailable");
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
        (yes(), ready("False", "Halted"), Some(("Warning", "Halted", true))),
        (stage(), ready("False", "Halted"), None),
        (yes(), ready("False", "Stopped"), Some(("Normal", "Stopped", false))),
        (denied(), waiting("Stopped", "False", "QuotaExceeded"), Some(("Normal", "Stopped", false))),
        (yes(), ready("False", "Stopping"), None),
        (ready("False", "Stopping"), ready("False", "Stopped"), Some(("Normal", "Stopped", false))),
        (ready("False", "Stopped"), ready("False", "Stopped"), None),
        (ready("False", "Stopped"), stage(), Some(("Normal", "Resumed", false))),
        (yes(), ready("False", "Rebuilding"), Some(("Normal", "Rebuilding", true))),
        (yes(), ready("Unknown", "CellUnreachable"), None),
        (ready("Unknown", "CellUnreachable"), broken(), Some(("Warning", "ImageUnavailable", true))),
        (stage(), ready("False", "NetworkProvisioning"), None),
        (yes(), ready("False", "Suspended"), Some(("Normal", "Suspended", false))),
        (denied(), waiting("Suspended", "False", "QuotaExceeded"), Some(("Normal", "Suspended", false))),
        (ready("False", "Suspended"), stage(), Some(("Normal", "Resumed", false))),
        (yes(), ready("False", "Terminating"), Some(("Normal", "Terminating", false))),
        (
            ready("False", "Terminating"),
            ready("False", "TerminationDeadlineExceeded"),
            Some(("Warning", "TerminationDeadlineExceeded", true)),
        ),
        (ready("False", "TerminationDeadlineExceeded"), ready("False", "TerminationDeadlineExceeded"), None),
    ];
    assert_turns(&table);
    let over = of_instance(Signal::of_instance(&broken()), &yes()).unwrap();
    assert_eq!(over.note, "no longer ImageUnavailable. words");
}

#[test]
fn u3_an_event_for_each_turn_of_quota_and_networks() {
    let stage = || ready("False", "SchedulingGatesPresent");
    let granted = || waiting("PendingProgramming", "True", "QuotaAvailable");
    let denied = || waiting("PendingQuota", "False", "QuotaExceeded");
    assert_turns(&[
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
        (stage(), ready("False", "NetworkFailedToCreate"), Some(("Warning", "NetworkFailedToCreate", true))),
    ]);
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
        (yes(), overdue(), vec![("Warning", "TerminationDeadlineExceeded", true)]),
        (overdue(), overdue(), vec![]),
        (stage(), deployment("False", "TerminationDeadlineExceeded"), vec![]),
        (overdue(), yes(), vec![("Normal", "ReplicasAvailable", true)]),
        (
            broken(),
            overdue(),
            vec![("Normal", "ReplicasAvailable", true), ("Warning", "TerminationDeadlineExceeded", true)],
        ),
        // What keeps it from the hub is reported by the condition Federated.
        (yes(), json!({"conditions": [condition("Available", "False", "InvalidCityCode", "")]}), vec![]),
        (yes(), json!({"conditions": [condition("Available", "False", "NetworkNotFound", "")]}), vec![]),
    ];
    for (old, new, expected) in table {
        let turns = of_deployment(&old, &new);
        assert_eq!(turns.iter().map(told).collect::<Vec<_>>(), expected, "{old} {new}");
    }
}

fn statuses() -> impl Strategy<Value = Vec<Value>> {
    let reasons =
        ["Pending", "Available", "ImageUnavailable", "Stopped", "PendingQuota", "Suspended", "Terminating"];
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

use fedhub_cell::status::event::turn;
use fedhub_shared::events::EventType;
use serde_json::{Value, json};

use crate::support::*;

fn ready(status: &str, reason: &str, message: &str) -> Value {
    json!({"conditions": [condition("Ready", status, reason, message)]})
}

#[test]
fn an_event_for_each_turn_of_affairs_and_none_for_a_stage() {
    let quota = |reason: &str| json!({"conditions": [condition("Ready", "False", "PendingQuota", "q"), condition("QuotaGranted", "False", reason, "q")]});
    let yes = || ready("True", "Available", "Instance is ready");
    let stage = || ready("False", "SchedulingGatesPresent", "g");
    let broken = |words| ready("False", "ImageUnavailable", words);
    let suspended = || ready("False", "Suspended", "s");
    let terminating = |words| ready("False", "Terminating", words);
    let overdue = || ready("False", "TerminationDeadlineExceeded", "o");
    let table = [
        (json!(null), json!(null), None),
        (json!(null), stage(), None),
        (json!(null), broken("x"), Some("InstanceBlocked")),
        (stage(), ready("Unknown", "Starting", ""), None),
        (stage(), yes(), Some("InstanceReady")),
        (yes(), yes(), None),
        (yes(), stage(), Some("InstanceNotReady")),
        (yes(), ready("Unknown", "Lost", ""), Some("InstanceNotReady")),
        (yes(), broken("x"), Some("InstanceNotReady")),
        (yes(), suspended(), Some("InstanceSuspended")),
        (stage(), suspended(), Some("InstanceSuspended")),
        (suspended(), suspended(), None),
        (suspended(), stage(), None),
        (yes(), terminating("t"), Some("InstanceTerminating")),
        (broken("x"), terminating("t"), Some("InstanceTerminating")),
        (terminating("t"), terminating("u"), None),
        (terminating("t"), overdue(), Some("InstanceBlocked")),
        (overdue(), overdue(), None),
        (stage(), broken("x"), Some("InstanceBlocked")),
        (broken("x"), broken("y"), None),
        (broken("x"), ready("False", "InstanceCrashing", ""), Some("InstanceBlocked")),
        (broken("x"), stage(), None),
        (stage(), ready("False", "NetworkProvisioning", ""), None),
        (stage(), ready("False", "Resolving", ""), None),
        (stage(), ready("False", "NetworkNotFound", ""), Some("InstanceBlocked")),
        (quota("QuotaExceeded"), quota("QuotaExceeded"), None),
        (quota("QuotaBackendUnavailable"), quota("QuotaExceeded"), Some("InstanceBlocked")),
    ];
    for (old, new, expected) in table {
        let turn = turn(&old, &new);
        assert_eq!(turn.as_ref().map(|t| t.reason), expected, "{old} {new}");
        if let Some(turn) = turn {
            let normal = ["InstanceReady", "InstanceSuspended", "InstanceTerminating"].contains(&turn.reason);
            assert_eq!(turn.type_ == EventType::Normal, normal);
            assert!(!turn.note.is_empty());
        }
    }
    assert_eq!(turn(&stage(), &broken("no such image")).unwrap().note, "ImageUnavailable: no such image");
}

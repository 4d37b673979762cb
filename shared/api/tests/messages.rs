//! Conditions and Events as users see them, in `tests/snapshots`.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use fedhub_api::cells::{CellDown, Declaration};
use fedhub_api::reason::{Reason, attributed};
use fedhub_api::transitions::{Signal, Transition, of_deployment, of_instance};
use fedhub_core::names::LOST;
use fedhub_core::object::{Kind, bare};
use fedhub_testing::{Messages, assert_messages};
use jiff::Timestamp;
use serde_json::{Value, json};

fn status(kind: &str, status: &str, reason: &str) -> Value {
    let detail = "Some detail.";
    let message = if status == "True" { detail.into() } else { attributed(Reason::parse(reason), detail) };
    json!({"conditions": [{"type": kind, "status": status, "reason": reason, "message": message}]})
}

/// The Event for the step of an Instance from one status to another.
fn instance(before: &Value, now: &Value) -> (String, String) {
    event(of_instance(Signal::of_instance(before), now).unwrap())
}

fn deployment(before: &Value, now: &Value) -> (String, String) {
    event(of_deployment(before, now).remove(0))
}

fn event(event: Transition) -> (String, String) {
    (format!("{:?} {}", event.type_, event.reason), event.note)
}

#[test]
fn c9_conditions_and_events_read_well() {
    let conditions = Reason::all()
        .filter(|reason| reason.is_unmet())
        .map(|reason| (format!("{reason} ({})", reason.responsible()), attributed(reason, "Some detail.")));
    let cell =
        |lost| CellDown { cell: "cell-dfw".to_owned(), since: "2026-01-02T15:04:05Z".to_owned(), lost };
    let mut cluster = bare(Kind::Cluster, "", "cell-dfw");
    cluster.metadata.annotations = Some([(LOST.to_owned(), "yesterday".to_owned())].into());
    let broken = status("Ready", "False", "ImageUnavailable");
    let ready = status("Ready", "True", "Available");
    let suspended = status("Ready", "False", "Suspended");
    let denied = status("ReplicasReady", "False", "QuotaExceeded");
    let available = status("ReplicasReady", "True", "ReplicasAvailable");
    let events = [
        instance(&json!(null), &broken),
        instance(&broken, &ready),
        instance(&ready, &status("Ready", "False", "Terminating")),
        instance(&ready, &suspended),
        instance(&suspended, &status("Ready", "False", "Starting")),
        deployment(&json!(null), &denied),
        deployment(&denied, &available),
        deployment(&available, &status("ReplicasReady", "False", "Suspended")),
    ];
    let mut messages = Messages::default();
    messages
        .section("Conditions: the end of a message, by reason", conditions)
        .section("A reason that this version does not know", [("Odd", attributed(None, "Some detail."))])
        .section("Cells that are down", [("not ready", cell(false)), ("lost", cell(true))])
        .section(
            "Declarations that do not count",
            [(LOST, Declaration::refusal(&cluster, Timestamp::UNIX_EPOCH).unwrap())],
        )
        .section("Events", events);
    assert_messages!("conditions_and_events", messages);
}

//! Which Event a change of an Instance's `Ready` deserves: few and stable, one for each turn of affairs.

use fedhub_shared::conditions::{find, is_true, said};
use fedhub_shared::events::EventType;
use serde_json::Value;

use super::blocker::needs_somebody;
use super::termination::TERMINATING;
use super::{QUOTA_GRANTED, READY};

/// An Event to be said about an Instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// Normal, or Warning where somebody has to do something.
    pub type_: EventType,
    /// `InstanceReady`, `InstanceNotReady`, `InstanceSuspended`, `InstanceTerminating` or `InstanceBlocked`.
    pub reason: &'static str,
    /// What a user reads.
    pub note: String,
}

/// What to say of the step from one status to the next; `None` for a stage on the way, or for other words of the
/// same reason.
pub fn turn(old: &Value, new: &Value) -> Option<Turn> {
    let (_, reason, message) = said(find(new, READY)?);
    let note = if message.is_empty() { reason.to_owned() } else { format!("{reason}: {message}") };
    let warning = |kind| Some(Turn { type_: EventType::Warning, reason: kind, note: note.clone() });
    let normal = |kind| Some(Turn { type_: EventType::Normal, reason: kind, note: note.clone() });
    match (is_true(old, READY), is_true(new, READY)) {
        (false, true) => normal("InstanceReady"),
        (_, false) if ["Suspended", TERMINATING].contains(&reason) => {
            let kind = if reason == TERMINATING { "InstanceTerminating" } else { "InstanceSuspended" };
            if cause(old) == cause(new) { None } else { normal(kind) }
        }
        (true, false) => warning("InstanceNotReady"),
        (false, false) if needs_somebody(reason) && cause(old) != cause(new) => warning("InstanceBlocked"),
        (true, true) | (false, false) => None,
    }
}

/// Why an Instance is not ready: the reason, and for quota also which refusal it was.
fn cause(status: &Value) -> (&str, &str) {
    let reason = |kind| find(status, kind).map_or("", |c| said(c).1);
    match reason(READY) {
        "PendingQuota" => ("PendingQuota", reason(QUOTA_GRANTED)),
        other => (other, ""),
    }
}

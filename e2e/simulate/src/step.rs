//! What every part decides with.

use std::time::Duration;

use fedhub_api::conditions;
use fedhub_api::reason::AnyReason;
use fedhub_core::clock::parse_duration;
use fedhub_core::object::{Object, ObjectView};
use jiff::Timestamp;
use serde_json::Value;

use crate::annotations::START_TIME;

/// A step for an object: write a status or finalizers, or wait, or nothing until it changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// The whole status to write; none where the present one is right.
    pub status: Option<Value>,
    /// All finalizers that the object is to have; none where the present ones are right.
    pub finalizers: Option<Vec<String>>,
    /// When to look again, if nothing happens before.
    pub again: Option<Duration>,
}

impl Step {
    /// Returns a step that does nothing.
    pub fn done() -> Self {
        Self::default()
    }

    /// Towards that status, once `waited` has reached `start`. Nothing to do where it stands already.
    pub(crate) fn towards(object: &Object, status: Value, waited: Duration, start: Duration) -> Self {
        if *object.status() == status {
            Self::done()
        } else if waited < start {
            Self { again: Some(start.saturating_sub(waited)), ..Self::default() }
        } else {
            Self { status: Some(status), ..Self::default() }
        }
    }

    /// Returns a step that writes that status at once.
    pub(crate) fn at_once(object: &Object, status: Value) -> Self {
        Self::towards(object, status, Duration::ZERO, Duration::ZERO)
    }

    /// Whether the object is as it is to be.
    pub fn is_done(&self) -> bool {
        *self == Self::done()
    }
}

/// How long the object takes to come up: as its annotation says, or `default`.
pub(crate) fn start_time(object: &Object, default: Duration) -> Duration {
    time(object, START_TIME, default)
}

/// How long something takes: as that annotation of the object says, or `default`. One that cannot be read is
/// said, and counts as absent.
pub(crate) fn time(object: &Object, annotation: &str, default: Duration) -> Duration {
    let Some(text) = object.annotation(annotation) else { return default };
    parse_duration(text).unwrap_or_else(|error| {
        tracing::warn!(object = object.name(), "annotation {annotation}: {error}");
        default
    })
}

/// A condition's status, empty where there is no such condition.
pub(crate) fn holds<'a>(status: &'a Value, kind: &str) -> &'a str {
    conditions::find(status, kind).and_then(|c| c["status"].as_str()).unwrap_or_default()
}

/// Sets a condition, and leaves it alone where it says the same already.
pub(crate) fn set(status: &mut Value, kind: &str, value: &str, reason: &str, message: &str, now: Timestamp) {
    let old = conditions::find(status, kind);
    if old.is_some_and(|c| c["status"] == value && c["reason"] == reason && c["message"] == message) {
        return;
    }
    let new = conditions::stand(old, kind, value, AnyReason::parse(reason), message, now);
    conditions::put(status, new);
}

/// Sets a field of a status that may not be there yet.
pub(crate) fn field(status: &mut Value, name: &str, value: Value) {
    if !status.is_object() {
        *status = Value::Object(serde_json::Map::new());
    }
    status[name] = value;
}

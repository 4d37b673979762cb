//! Conditions inside an untyped status.

use std::time::Duration;

use fedhub_core::clock::stamp;
use fedhub_core::message::bounded;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::reason::{AnyReason, attributed, separated, waits};

/// The condition that tells how far the newest generation has come (U2).
pub const FEDERATED: &str = "Federated";

/// The condition of a type, if the status has one.
pub fn find<'a>(status: &'a Value, kind: &str) -> Option<&'a Value> {
    status.get("conditions")?.as_array()?.iter().find(|c| c["type"] == kind)
}

/// Whether a condition is what a schema puts there before anything is reported: it never turned.
pub fn is_default(condition: &Value) -> bool {
    condition["lastTransitionTime"].as_str().is_some_and(|time| time.starts_with("1970-01-01T00:00:00"))
}

/// Whether a condition of that type stands at `True`.
pub fn is_true(status: &Value, kind: &str) -> bool {
    find(status, kind).is_some_and(|c| c["status"] == "True")
}

/// Whether a condition of that type stands at `True` for that very generation of its object (C6).
pub fn holds_for(status: &Value, kind: &str, generation: i64) -> bool {
    find(status, kind).is_some_and(|c| c["status"] == "True" && c["observedGeneration"] == generation)
}

/// The status, reason and message of a condition; empty where it lacks them.
pub fn said(condition: &Value) -> (&str, &str, &str) {
    let text = |field: &str| condition.get(field).and_then(Value::as_str).unwrap_or_default();
    (text("status"), text("reason"), text("message"))
}

/// A copy of the status that stands; an empty one where there is none.
pub fn standing(status: &Value) -> Value {
    if status.is_object() { status.clone() } else { json!({}) }
}

/// Puts `condition` in the place of the one of its type, or at the end.
pub fn put(status: &mut Value, condition: Value) {
    if !status.is_object() {
        *status = json!({});
    }
    if let Some(map) = status.as_object_mut() {
        let list = map.entry("conditions").or_insert_with(|| json!([]));
        if !list.is_array() {
            *list = json!([]);
        }
        if let Some(items) = list.as_array_mut() {
            match items.iter_mut().find(|c| c["type"] == condition["type"]) {
                Some(old) => *old = condition,
                None => items.push(condition),
            }
        }
    }
}

/// Removes the condition of that type.
pub fn remove(status: &mut Value, kind: &str) {
    if let Some(items) = status.get_mut("conditions").and_then(Value::as_array_mut) {
        items.retain(|c| c["type"] != kind);
    }
}

/// Builds a condition: the time of `old` is kept while the status is the same (I7), and the message is cut to
/// its limit.
pub fn stand(
    old: Option<&Value>,
    kind: &str,
    status: &str,
    reason: impl Into<AnyReason>,
    message: &str,
    now: Timestamp,
) -> Value {
    let reason = reason.into();
    let reason = reason.as_str();
    let message = bounded(message);
    // A schema default was reported by no controller: the first report of its status begins a time of its
    // own.
    let stands =
        |c: &&Value| c["status"] == status && (!is_default(c) || said(c) == (status, reason, message));
    let since = old
        .filter(stands)
        .and_then(|c| c["lastTransitionTime"].as_str())
        .map_or_else(|| stamp(now), str::to_owned);
    json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": since})
}

/// Like [`stand`], but the message of a condition that is not True also says who has to act (C9).
pub fn explained(
    old: Option<&Value>,
    kind: &str,
    status: &str,
    reason: impl Into<AnyReason>,
    message: &str,
    now: Timestamp,
) -> Value {
    let reason = reason.into();
    let message = if status == "True" { message.into() } else { attributed(reason.known(), message) };
    stand(old, kind, status, reason, &message, now)
}

/// How long something may last on which nobody has to act, before its condition says that it lasts.
pub const WAIT_DEADLINE: Duration = Duration::from_mins(10);

/// Like [`explained`], for something that a controller waits for and looks at again after [`next_deadline`].
/// If the condition has not been True for [`WAIT_DEADLINE`], and nothing on the way to it has `moved` for as
/// long, the message says so instead of that nobody has to act.
pub fn awaited(
    old: Option<&Value>,
    kind: &str,
    (status, reason, message): (&str, &AnyReason, &str),
    moved: Option<Timestamp>,
    now: Timestamp,
) -> Value {
    let condition = explained(old, kind, status, reason, message, now);
    if time_left(&condition, moved, now) != Some(Duration::ZERO) {
        return condition;
    }
    let what = separated(reason.as_str(), said(&condition).2).what;
    let minutes = WAIT_DEADLINE.as_secs() / 60;
    let late =
        format!("{kind} has not been True for more than {minutes} minutes, and what holds it is not known");
    let message = if what.is_empty() { late } else { format!("{what}. {late}") };
    // Without a reason, so that the operator acts if it lasts.
    stand(old, kind, status, reason, &attributed(None, &message), now)
}

/// How long a condition may still wait; `None` where it waits for nothing.
fn time_left(condition: &Value, moved: Option<Timestamp>, now: Timestamp) -> Option<Duration> {
    let (status, reason, message) = said(condition);
    if status == "True" || is_default(condition) || !waits(reason, message) {
        return None;
    }
    let since: Timestamp = condition["lastTransitionTime"].as_str()?.parse().ok()?;
    let waited = Duration::try_from(now.duration_since(moved.map_or(since, |moved| moved.max(since))));
    Some(WAIT_DEADLINE.saturating_sub(waited.unwrap_or_default()))
}

/// Returns how long it takes until [`awaited`] changes the message of one of these conditions.
pub fn next_deadline(status: &Value, moved: Option<Timestamp>, now: Timestamp) -> Option<Duration> {
    let conditions = status.get("conditions").and_then(Value::as_array).into_iter().flatten();
    conditions.filter_map(|condition| time_left(condition, moved, now)).filter(|left| !left.is_zero()).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reason::Reason;

    #[test]
    fn i7_a_condition_keeps_its_time_while_its_status_is_unchanged() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let old =
            json!({"type": "Available", "status": "False", "lastTransitionTime": "2020-01-01T00:00:00Z"});
        let kept = stand(Some(&old), "Available", "False", AnyReason::parse("New"), "new words", now);
        assert_eq!(kept["lastTransitionTime"], "2020-01-01T00:00:00Z");
        let moved = stand(Some(&old), "Available", "True", AnyReason::parse("New"), "new words", now);
        assert_eq!(moved["lastTransitionTime"], "1970-01-12T13:46:40Z");
    }

    #[test]
    fn u1_the_first_word_takes_the_place_of_the_schemas() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let old = json!({"type": "Federated", "status": "Unknown", "reason": "Pending", "message": "Waiting",
            "lastTransitionTime": "1970-01-01T00:00:00Z"});
        assert!(is_default(&old));
        let word = stand(Some(&old), "Federated", "Unknown", Reason::AwaitingCell, "", now);
        assert!(!is_default(&word), "{word}");
        assert_eq!(stand(Some(&old), "Federated", "Unknown", Reason::Pending, "Waiting", now), old);
    }

    #[test]
    fn c9_what_nobody_has_to_act_on_has_a_deadline() {
        let began = Timestamp::from_second(1_000_000).unwrap();
        let at = |seconds: u64| began + Duration::from_secs(seconds);
        let first = |status, reason| {
            awaited(None, "Ready", (status, &AnyReason::parse(reason), "words"), None, began)
        };
        let wait = "words. No action required";
        let late = "if this lasts";
        for (status, reason, passed, moved, expected) in [
            ("False", "Pending", 599, None, wait),
            ("False", "Pending", 600, None, late),
            ("Unknown", "Starting", 6_000, None, late),
            ("False", "Pending", 700, Some(101), wait),
            ("False", "Pending", 701, Some(101), late),
            ("False", "Suspended", 6_000, None, wait),
            ("False", "ImageUnavailable", 6_000, None, "and the pull secrets"),
            ("False", "AProvidersOwn", 6_000, None, late),
            ("True", "Pending", 6_000, None, "words"),
        ] {
            let stands = first(status, reason);
            let moved = moved.map(at);
            let condition = awaited(
                Some(&stands),
                "Ready",
                (status, &AnyReason::parse(reason), "words"),
                moved,
                at(passed),
            );
            let (same_status, same_reason, message) = said(&condition);
            assert_eq!((same_status, same_reason), (status, reason));
            assert!(message.ends_with(expected), "{reason} {passed}: {message}");
            assert_eq!(condition["lastTransitionTime"], stands["lastTransitionTime"]);
            let lifted = awaited(
                Some(&stands),
                "Ready",
                (status, &AnyReason::parse(reason), message),
                moved,
                at(passed),
            );
            assert_eq!(lifted, condition, "what is lifted says it once");
        }
    }

    #[test]
    fn c9_a_controller_is_told_when_a_wait_is_over_its_deadline() {
        let began = Timestamp::from_second(1_000_000).unwrap();
        let at = |seconds: u64| began + Duration::from_secs(seconds);
        let of = |reason: &str, now| {
            awaited(None, "Ready", ("False", &AnyReason::parse(reason), "words"), None, now)
        };
        let status =
            json!({"conditions": [of("Pending", at(0)), of("Starting", at(60)), of("Suspended", at(0))]});
        for (now, moved, expected) in [
            (0, None, Some(600)),
            (100, None, Some(500)),
            (600, None, Some(60)),
            (660, None, None),
            (660, Some(659), Some(599)),
        ] {
            let left = next_deadline(&status, moved.map(at), at(now)).map(|left| left.as_secs());
            assert_eq!(left, expected, "{now} {moved:?}");
        }
        assert_eq!(next_deadline(&json!({}), None, began), None);
        let default = json!({"conditions": [{"type": "Ready", "status": "Unknown", "reason": "Pending",
            "message": "No action required", "lastTransitionTime": "1970-01-01T00:00:00Z"}]});
        assert_eq!(next_deadline(&default, None, began), None, "the schema's");
    }

    #[test]
    fn i11_a_long_message_is_cut() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let stands = stand(None, "Available", "False", AnyReason::parse("Long"), &"ü".repeat(40_000), now);
        assert_eq!(stands["message"], "ü".repeat(512));
    }

    #[test]
    fn c6_a_condition_of_another_generation_does_not_hold() {
        let status = |c: Value| json!({"conditions": [c]});
        let of = |generation| json!({"type": "A", "status": "True", "observedGeneration": generation});
        assert!(holds_for(&status(of(2)), "A", 2));
        assert!(!holds_for(&status(of(1)), "A", 2) && !holds_for(&status(of(3)), "A", 2));
        assert!(!holds_for(&status(json!({"type": "A", "status": "True"})), "A", 0), "judged on nothing");
        let denied = json!({"type": "A", "status": "False", "observedGeneration": 2});
        assert!(!holds_for(&status(denied), "A", 2));
    }

    #[test]
    fn a_condition_is_put_once_and_taken_away() {
        let mut status = json!({"conditions": [{"type": "A", "status": "True"}], "other": 1});
        put(&mut status, json!({"type": "B", "status": "False"}));
        put(&mut status, json!({"type": "A", "status": "False"}));
        assert_eq!(status["conditions"].as_array().unwrap().len(), 2);
        assert!(!is_true(&status, "A"));
        remove(&mut status, "A");
        assert!(find(&status, "A").is_none() && find(&status, "B").is_some());
        let mut empty = Value::Null;
        put(&mut empty, json!({"type": "A", "status": "True"}));
        assert!(is_true(&empty, "A"));
    }
}

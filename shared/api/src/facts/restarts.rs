//! When a template asks for a restart (`compute.datumapis.com/restartedAt`), apart from the rest of it.
//!
//! A WD has its Workload's template, but for one thing: a restart of its own stands until the Workload asks
//! for another one, so that one city can be restarted alone (W1). Whether it does is told by the value that
//! the WD was given last, and not by comparing times: clocks differ, and a restart whose time is earlier is
//! one all the same. A value that is no time is a part of the template as any other.

use std::borrow::Cow;

use fedhub_core::hash;
use fedhub_core::names::RESTARTED_AT;
use jiff::Timestamp;
use serde_json::{Value, json};

/// When the template asks for a restart, in seconds since 1970; zero where it does not, or did before.
pub fn restarted_at(template: &Value) -> i64 {
    time(template).map_or(0, |at| at.as_second().max(0))
}

/// The restart that the template asks for, as it is written.
pub fn restart(template: &Value) -> Option<&str> {
    time(template)?;
    template["metadata"]["annotations"][RESTARTED_AT].as_str()
}

/// Whether one restart is as late as the wanted one, by the values of the annotation. What is no time is as
/// late as itself.
pub fn is_as_late(restart: &Value, wanted: &Value) -> bool {
    match (parsed(restart), parsed(wanted)) {
        (Some(restart), Some(wanted)) => restart.as_second() >= wanted.as_second(),
        _ => restart == wanted,
    }
}

/// Hash of a template less when it asks for a restart.
pub fn template_identity(template: &Value) -> u64 {
    hash::json(&without_restart(template))
}

/// The value of [`DEPLOYMENT_REVISION`] of a WD with this template, which the revision has.
///
/// [`DEPLOYMENT_REVISION`]: fedhub_core::names::DEPLOYMENT_REVISION
pub fn revision_mark(revision: u64, template: &Value) -> String {
    format!("{revision}/{:016x}", hash::text(&without_restart(template).to_string()))
}

fn without_restart(template: &Value) -> Cow<'_, Value> {
    let metadata = &template["metadata"];
    let is_empty = |value: &Value| value.as_object().is_some_and(serde_json::Map::is_empty);
    if time(template).is_none() && !is_empty(metadata) && !is_empty(&metadata["annotations"]) {
        return Cow::Borrowed(template);
    }
    // No annotations are as good as none: the restart may be all that there is.
    let mut rest = template.clone();
    let remove = |of: &mut Value, key: &str| of.as_object_mut().map(|of| of.remove(key));
    if time(template).is_some() {
        remove(&mut rest["metadata"]["annotations"], RESTARTED_AT);
    }
    if is_empty(&rest["metadata"]["annotations"]) {
        remove(&mut rest["metadata"], "annotations");
    }
    if is_empty(&rest["metadata"]) {
        remove(&mut rest, "metadata");
    }
    Cow::Owned(rest)
}

/// Whether `template` is what `wanted` asks for: the same but for its restart, which may be a later one.
pub fn is_as_wanted(template: &Value, wanted: &Value) -> bool {
    template_identity(template) == template_identity(wanted) && restarted_at(template) >= restarted_at(wanted)
}

/// Copies the restart of `current` to `template`, if it is the later one.
pub fn keep_later(template: &mut Value, current: &Value) {
    if restarted_at(current) > restarted_at(template) {
        keep(template, current);
    }
}

/// Copies the restart of `current` to `template`, if it has one.
pub fn keep(template: &mut Value, current: &Value) {
    let is_other =
        template["metadata"]["annotations"].get(RESTARTED_AT).is_some() && time(template).is_none();
    if is_other || !template.is_object() || time(current).is_none() {
        return;
    }
    let kept = current["metadata"]["annotations"][RESTARTED_AT].clone();
    let metadata = &mut template["metadata"];
    if !metadata.is_object() {
        *metadata = json!({});
    }
    let annotations = &mut metadata["annotations"];
    if !annotations.is_object() {
        *annotations = json!({});
    }
    annotations[RESTARTED_AT] = kept;
}

fn time(template: &Value) -> Option<Timestamp> {
    parsed(template["metadata"]["annotations"].get(RESTARTED_AT)?)
}

fn parsed(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EARLY: &str = "2026-01-01T00:00:00Z";
    const LATE: &str = "2026-01-01T00:00:01Z";
    const BEFORE_ALL: &str = "0001-01-01T00:00:00Z";

    fn template(restarted: Option<&str>) -> Value {
        let mut template = json!({"spec": {"a": 1}});
        if let Some(restarted) = restarted {
            template["metadata"] = json!({"annotations": {RESTARTED_AT: restarted}});
        }
        template
    }

    #[test]
    fn w1_a_restart_is_no_part_of_the_rest() {
        let same = [
            template(None),
            template(Some(EARLY)),
            template(Some(LATE)),
            json!({"spec": {"a": 1}, "metadata": {}}),
            json!({"spec": {"a": 1}, "metadata": {"annotations": {}}}),
        ];
        for other in &same {
            assert_eq!(template_identity(other), template_identity(&same[0]), "{other}");
        }
        let others = [
            json!({"spec": {"a": 2}}),
            template(Some("by hand")),
            json!({"spec": {"a": 1}, "metadata": {"labels": {"a": "b"}}}),
            json!({"spec": {"a": 1}, "metadata": {"annotations": {RESTARTED_AT: EARLY, "mine": "1"}}}),
        ];
        for other in &others {
            assert_ne!(template_identity(other), template_identity(&same[0]), "{other}");
        }
        assert!(restarted_at(&template(Some(EARLY))) < restarted_at(&template(Some(LATE))));
        assert_eq!((restarted_at(&template(None)), restarted_at(&Value::Null)), (0, 0));
    }

    #[test]
    fn w1_restarts_are_compared_as_times() {
        for (restart, wanted, expected) in [
            (LATE, EARLY, true),
            (EARLY, EARLY, true),
            (EARLY, LATE, false),
            ("2026-01-01T11:00:00Z", "2026-01-01T12:00:00+02:00", true),
            ("2026-01-01T09:00:00Z", "2026-01-01T12:00:00+02:00", false),
            ("by hand", "by hand", true),
            (LATE, "by hand", false),
        ] {
            assert_eq!(is_as_late(&json!(restart), &json!(wanted)), expected, "{restart} {wanted}");
        }
    }

    #[test]
    fn w1_the_later_restart_stands() {
        for (wanted, current, expected) in [
            (None, None, None),
            (None, Some(EARLY), Some(EARLY)),
            (Some(EARLY), None, Some(EARLY)),
            (Some(EARLY), Some(LATE), Some(LATE)),
            (Some(LATE), Some(EARLY), Some(LATE)),
            (Some("by hand"), Some(LATE), Some("by hand")),
            (Some(EARLY), Some("by hand"), Some(EARLY)),
            (Some(BEFORE_ALL), None, Some(BEFORE_ALL)),
        ] {
            let mut kept = template(wanted);
            keep_later(&mut kept, &template(current));
            assert_eq!(kept, template(expected), "{wanted:?} {current:?}");
        }
    }
}

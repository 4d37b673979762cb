//! Which stages of an Instance that comes up are reported, and when.

use std::time::Duration;

use fedhub_cell::domain::status::debounce::debounce;
use fedhub_core::object::{Object, ObjectView};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::support::*;

/// Made so many seconds ago, its provider's last step as many after that.
fn coming_up(age: i64, step: Option<i64>, ready: Option<Value>) -> Object {
    let mut instance = instance("wd-0", &[], &[]);
    let made = now() - SignedDuration::from_secs(age);
    instance.metadata.creation_timestamp = Some(Time(made));
    let step = step.map(|after| {
        let mut step = condition("Programmed", "True", "Programmed", "");
        step["lastTransitionTime"] = json!((made + SignedDuration::from_secs(after)).to_string());
        step
    });
    instance.data["status"]["conditions"] = step.into_iter().chain(ready).collect();
    instance
}

fn wait(instance: &Object) -> Option<u64> {
    debounce(instance, instance.status(), now()).map(|wait| wait.as_secs())
}

fn stage() -> Value {
    condition("Ready", "False", "PendingProgramming", "")
}

#[test]
fn c9_a_stage_is_told_when_it_has_lasted() {
    for (age, step, expected) in [
        (0, None, Some(2)),
        (1, None, Some(1)),
        (2, None, None),
        (-1, None, Some(1)),
        (-60, None, None), // A clock that is far ahead makes no one wait.
        (1, Some(1), Some(2)),
        (3, Some(2), Some(1)),
        (3, Some(1), None),
        (9, Some(8), Some(1)),
        (10, Some(9), None), // However often it goes on from stage to stage.
    ] {
        assert_eq!(wait(&coming_up(age, step, Some(stage()))), expected, "{age} {step:?}");
    }
    assert_eq!(wait(&coming_up(0, None, None)), Some(2), "nothing is reported yet");
}

#[test]
fn c9_what_matters_is_told_at_once() {
    for (status, reason, waits) in [
        ("True", "Available", false),
        ("False", "ImageUnavailable", false),
        ("False", "InstanceCrashing", false),
        ("False", "ConfigurationError", false),
        ("False", "PendingQuota", false),
        ("False", "NetworkNotFound", false),
        ("False", "NetworkFailedToCreate", false),
        ("False", "SourceNotFound", false),
        ("False", "Suspended", false),
        ("False", "PendingProgramming", true),
        ("False", "SchedulingGatesPresent", true),
        ("False", "NetworkProvisioning", true),
        ("False", "Starting", true),
        ("Unknown", "Pending", true),
    ] {
        let ready = condition("Ready", status, reason, "");
        assert_eq!(wait(&coming_up(0, None, Some(ready))).is_some(), waits, "{status} {reason}");
    }
}

#[test]
fn c7_how_far_a_deletion_is_is_told_when_it_lasts() {
    for (ago, expected) in [(0, Some(2)), (1, Some(1)), (2, None), (600, None), (-1, Some(1)), (-60, None)] {
        for ready in [stage(), condition("Ready", "True", "Available", "")] {
            let mut instance = coming_up(600, None, Some(ready));
            instance.metadata.deletion_timestamp = Some(Time(now() - SignedDuration::from_secs(ago)));
            assert_eq!(wait(&instance), expected, "{ago}");
        }
    }
}

proptest! {
    #[test]
    fn a_wait_is_short_and_one_more_look_is_always_to_come(age in -5..15_i64, step in prop::option::of(0..15_i64)) {
        let instance = coming_up(age, step, Some(stage()));
        let mut now: Timestamp = now();
        let mut waited = Duration::ZERO;
        while let Some(wait) = debounce(&instance, instance.status(), now) {
            prop_assert!(!wait.is_zero() && wait <= Duration::from_secs(2));
            now += wait;
            waited += wait;
        }
        prop_assert!(waited <= Duration::from_secs(15), "{waited:?}");
    }
}

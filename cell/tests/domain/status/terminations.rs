//! What is said of an Instance that is being deleted.

use std::time::Duration;

use fedhub_cell::domain::status::termination::{is_overdue, status};
use fedhub_core::object::{Object, ObjectView};
use jiff::SignedDuration;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::Value;

use super::support::*;

const DEADLINE: Duration = Duration::from_mins(10);
const HOLD: &str = "example.com/hold";

fn going(ago: i64, finalizers: &[&str], conditions: &[Value]) -> Object {
    but(instance("wd-0", &[], conditions), |i| {
        i.metadata.deletion_timestamp = Some(Time(now() - SignedDuration::from_secs(ago)));
        i.metadata.finalizers = Some(finalizers.iter().map(|&f| f.to_owned()).collect());
    })
}

fn ready(instance: &Object) -> (String, String, Option<Duration>) {
    let (status, left) = status(instance, DEADLINE, now()).unwrap();
    let (state, reason, message) = words(&status, "Ready");
    assert_eq!(state, "False");
    (reason, message, left)
}

#[test]
fn c7_c12_what_holds_an_instance_is_said_and_whose_job_it_is_when_it_takes_too_long() {
    assert_eq!(status(&instance("wd-0", &[], &[]), DEADLINE, now()), None);
    let both = [HOLD, "vm.example/provider"];
    for (ago, finalizers, reason, parts, left) in [
        (0, &both[..], "Terminating", &["example.com/hold, vm.example/provider"][..], Some(600)),
        (-5, &both, "Terminating", &["waiting for its finalizers"], Some(600)),
        (599, &both, "Terminating", &["waiting for its finalizers"], Some(1)),
        (
            600,
            &both,
            "TerminationDeadlineExceeded",
            &[
                "since 2025-12-31T23:50:00Z",
                "vm.example/provider",
                "by the platform operator: look into the controllers",
            ],
            None,
        ),
        (
            86_400,
            &both[..1],
            "TerminationDeadlineExceeded",
            &["since 2025-12-31T00:00:00Z", HOLD, "Action required by the platform operator"],
            None,
        ),
    ] {
        let instance = going(ago, finalizers, &[]);
        let (is, message, remains) = ready(&instance);
        assert_eq!((is.as_str(), remains.map(|left| left.as_secs())), (reason, left), "{ago}");
        for part in parts {
            assert!(message.contains(part), "{ago}: {message}");
        }
    }
}

#[test]
fn c7_how_far_the_provider_is_is_said() {
    for (reason, said) in [
        ("Stopping", true),
        ("Stopped", true),
        ("", false),
        // Ours, of a time before the deletion.
        ("Suspended", false),
        ("PendingQuota", false),
    ] {
        let (_, message, _) = ready(&going(5, &[HOLD], &[condition("Available", "False", reason, "m")]));
        assert_eq!(message.contains(&format!(". The provider reports: {reason}: m. No")), said, "{message}");
    }
}

#[test]
fn i7_i9_it_comes_to_rest_and_leaves_all_else() {
    let others = [condition("Programmed", "True", "Programmed", ""), condition("Odd", "True", "Odd", "")];
    for ago in [5, 700] {
        let instance = going(ago, &["a/b"], &others);
        let (first, _) = status(&instance, DEADLINE, now()).unwrap();
        assert_eq!(first["conditions"].as_array().unwrap()[..2], others);
        let rested = but(instance, |i| i.data["status"] = first.clone());
        assert_eq!(status(&rested, DEADLINE, now()).unwrap().0, first);
        assert_eq!(is_overdue(&rested), ago == 700);
        assert!(rested.is_terminating());
    }
}

#[test]
fn i11_many_and_long_finalizers_are_cut() {
    let all: Vec<String> = (0..40).map(|n| format!("x{n}.example/{}", "y".repeat(200))).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let (_, message, _) = ready(&going(700, &all, &[]));
    assert!(message.len() <= 1024 && message.contains("and 35 more"), "{message}");
    assert!(message.ends_with("the controllers that hold the finalizers"), "{message}");
}

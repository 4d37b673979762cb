use std::time::Duration;

use fedhub_cell::domain::quota::verdict::{
    QuotaAnswer, QuotaFailure, quota_granted, remake_after, requeue_after,
};
use fedhub_core::object::{Kind, Object};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use super::support::*;

/// A claim made so many seconds ago, with that answer.
fn claim(age: i64, granted: &Value) -> Object {
    but(object(Kind::Instance, "instance-wd-0"), |c| {
        c.metadata.creation_timestamp = Some(Time(now() - jiff::SignedDuration::from_secs(age)));
        c.data = json!({"status": {"conditions": [granted]}});
    })
}

fn granted(status: &str, reason: &str, message: &str) -> Value {
    condition("Granted", status, reason, message)
}

fn said(answer: QuotaAnswer<'_>) -> (String, String, String, Value) {
    let c = quota_granted(&instance("wd-0", &["Quota"], &[]), answer, now());
    let (s, r, m) = words(&json!({"conditions": [c]}), "QuotaGranted");
    (s, r, m, c["observedGeneration"].clone())
}

#[test]
fn each_answer_is_one_verdict_for_the_current_generation() {
    let mut behind = claim(60, &granted("True", "QuotaAvailable", "ok"));
    behind.data["status"]["conditions"][0]["observedGeneration"] = json!(2);
    let of = |age, status: &str, reason: &str, message: &str| claim(age, &granted(status, reason, message));
    let unanswered = but(object(Kind::Instance, "instance-wd-0"), |c| c.data = json!({}));
    for (claim, status, reason, part) in [
        (of(60, "True", "QuotaAvailable", "ok"), "True", "QuotaAvailable", "ok"),
        (of(60, "True", "QuotaAvailable", ""), "True", "QuotaAvailable", "Quota is granted"),
        (behind, "Unknown", "PendingEvaluation", ""),
        (unanswered, "Unknown", "PendingEvaluation", ""),
        (of(9, "False", "PendingEvaluation", "w"), "Unknown", "PendingEvaluation", ""),
        (of(10, "False", "PendingEvaluation", "w"), "Unknown", "QuotaNoBudget", "w"),
        (of(1, "False", "ValidationFailed", "w"), "False", "ValidationFailed", "w"),
        (
            of(1, "False", "QuotaExceeded", "40 of 40."),
            "False",
            "QuotaExceeded",
            "40 of 40. Action required by the user: ask for more quota",
        ),
        (of(1, "False", "Odd", "w"), "False", "QuotaExceeded", "w"),
        (of(1, "Unknown", "Odd", "w"), "Unknown", "PendingEvaluation", ""),
    ] {
        let (s, r, m, generation) = said(QuotaAnswer::Claim(&claim));
        assert_eq!((s.as_str(), r.as_str(), &generation), (status, reason, &json!(3)), "{m}");
        assert!(m.contains(part) && !m.is_empty(), "{r}: {m}");
    }
    assert_eq!(said(QuotaAnswer::Off).1, "QuotaDisabled");
    assert_eq!((said(QuotaAnswer::Off).0.as_str(), said(QuotaAnswer::Off).3), ("True", json!(3)));
    assert_eq!(said(QuotaAnswer::Asked).2, "Waiting for quota evaluation", "as the schema's default");
    let taken = object(Kind::ResourceClaim, "instance-wd-0-k");
    for (answer, reason, part) in [
        (QuotaAnswer::Occupied, "PendingEvaluation", "an earlier quota claim"),
        (QuotaAnswer::Other, "PendingEvaluation", "something else"),
        (QuotaAnswer::Taken(&taken), "QuotaClaimTaken", "/instance-wd-0-k was not made"),
        (
            QuotaAnswer::NoSize("no such type"),
            "InstanceTypeUnavailable",
            "no such type. Action required by the platform",
        ),
    ] {
        let (status, said, message, _) = said(answer);
        assert_eq!((status.as_str(), said.as_str()), ("Unknown", reason));
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn a_failed_request_has_a_reason_of_its_own() {
    for (code, namespace, reason) in [
        (Some(404), "shop", "QuotaNamespaceNotFound"),
        (Some(404), "", "QuotaProjectNotFound"),
        (Some(403), "shop", "QuotaMisconfigured"),
        (Some(422), "shop", "QuotaMisconfigured"),
        (Some(500), "shop", "QuotaBackendUnavailable"),
        (Some(429), "shop", "QuotaBackendUnavailable"),
        (None, "shop", "QuotaBackendUnavailable"),
    ] {
        let failure = QuotaFailure::of_create(code, "alpha", namespace, "words");
        let (s, r, m, _) = said(QuotaAnswer::Failed(&failure));
        assert_eq!((s.as_str(), r.as_str()), ("False", reason));
        assert!(m.contains("words") || m.contains("alpha"), "{m}");
    }
    assert_eq!(said(QuotaAnswer::Failed(&QuotaFailure::ProjectUnresolvable)).1, "QuotaProjectIDUnresolvable");
}

#[test]
fn c6_a_failed_request_takes_no_grant_back_and_renews_none() {
    let failure = QuotaFailure::Unavailable("x".to_owned());
    let mut old = condition("QuotaGranted", "True", "QuotaAvailable", "ok");
    old["observedGeneration"] = json!(2);
    let held = |old: &Value| {
        quota_granted(&instance("wd-0", &[], std::slice::from_ref(old)), QuotaAnswer::Failed(&failure), now())
    };
    assert_eq!(held(&old), old);
}

#[test]
fn c6_a_failure_refuses_no_instance_that_has_passed_its_gate_and_is_told() {
    let failure = QuotaFailure::Misconfigured("no right to".to_owned());
    let stands = |gates: &[&str], status: &str, reason: &str| {
        let old = condition("QuotaGranted", status, reason, "before");
        let i = instance("wd-0", gates, &[old]);
        let c = quota_granted(&i, QuotaAnswer::Failed(&failure), now());
        let (status, reason, message) = words(&json!({"conditions": [c]}), "QuotaGranted");
        assert_eq!(message.contains("no right to"), reason == "QuotaMisconfigured", "{message}");
        assert_eq!(requeue_after(&i, &c, now()).is_some(), reason != "QuotaAvailable", "{reason}");
        format!("{status} {reason}")
    };
    for (status, reason, passed, gated) in [
        ("True", "QuotaAvailable", "True QuotaAvailable", "True QuotaAvailable"),
        // Switched off before, and on again.
        ("True", "QuotaDisabled", "True QuotaMisconfigured", "False QuotaMisconfigured"),
        ("Unknown", "PendingEvaluation", "Unknown QuotaMisconfigured", "False QuotaMisconfigured"),
        ("Unknown", "QuotaNoBudget", "Unknown QuotaMisconfigured", "False QuotaMisconfigured"),
        ("True", "QuotaBackendUnavailable", "True QuotaMisconfigured", "False QuotaMisconfigured"),
        // As an earlier version said it.
        ("False", "QuotaBackendUnavailable", "Unknown QuotaMisconfigured", "False QuotaMisconfigured"),
        // A failed request that a later version names.
        ("True", "QuotaRegionClosed", "True QuotaMisconfigured", "False QuotaMisconfigured"),
        ("False", "QuotaRegionClosed", "Unknown QuotaMisconfigured", "False QuotaMisconfigured"),
        // The quota service's own word.
        ("False", "QuotaExceeded", "False QuotaExceeded", "False QuotaMisconfigured"),
        ("False", "ValidationFailed", "False ValidationFailed", "False QuotaMisconfigured"),
    ] {
        assert_eq!(stands(&[], status, reason), passed);
        assert_eq!(stands(&["Network"], status, reason), passed);
        assert_eq!(stands(&["Quota"], status, reason), gated);
    }
    let later = condition("QuotaGranted", "True", "QuotaRegionClosed", "of a later version");
    assert!(requeue_after(&instance("wd-0", &[], &[]), &later, now()).is_some(), "it is asked again");
}

#[test]
fn c6_a_denial_says_that_what_has_passed_its_gate_keeps_running() {
    let claim = claim(60, &granted("False", "QuotaExceeded", "40 of 40."));
    let says = |gates: &[&str]| {
        let verdict = quota_granted(&instance("wd-0", gates, &[]), QuotaAnswer::Claim(&claim), now());
        words(&json!({"conditions": [verdict]}), "QuotaGranted")
    };
    let (status, reason, message) = says(&[]);
    assert_eq!((status.as_str(), reason.as_str()), ("False", "QuotaExceeded"));
    assert!(message.starts_with("40 of 40; the instance keeps running. Action required"), "{message}");
    assert!(!says(&["Quota"]).2.contains("keeps running"));
}

/// An Instance of that age, and what it says of its quota.
fn aged(age: i64, gates: &[&str], quota: &Value) -> Object {
    but(instance("wd-0", gates, std::slice::from_ref(quota)), |i| {
        i.metadata.creation_timestamp = Some(Time(now() - jiff::SignedDuration::from_secs(age)));
    })
}

#[test]
fn c6_a_denied_claim_is_made_anew_less_often_the_longer_it_lasts() {
    let denied = granted("False", "QuotaExceeded", "used up");
    let published = || condition("QuotaGranted", "False", "QuotaExceeded", "used up");
    // How old the Instance and the claim are, and how long the claim is left alone yet.
    for (instance, of_claim, expected) in [
        (0, 0, 5),
        (3, 3, 2),
        (5, 5, 0),
        (60, 60, 0),
        (15, 0, 7),
        (60, 0, 30),
        (60, 20, 0),
        (61, 1, 29),
        (600, 0, 300),
        (90_000, 10, 290),
        // Clocks that differ.
        (-5, -5, 5),
        (10, 60, 0),
    ] {
        let left =
            remake_after(&aged(instance, &["Quota"], &published()), &claim(of_claim, &denied), false, now());
        assert_eq!(left.map(|left| left.as_secs()), Some(expected), "{instance} {of_claim}");
    }
    let after = |i: &Object, granted: &Value| remake_after(i, &claim(60, granted), false, now());
    let waiting = aged(60, &["Quota"], &published());
    assert_eq!(after(&waiting, &granted("False", "ValidationFailed", "")), Some(Duration::ZERO));
    for answer in [
        granted("True", "QuotaAvailable", ""),
        granted("False", "PendingEvaluation", ""),
        granted("Unknown", "Odd", ""),
    ] {
        assert_eq!(after(&waiting, &answer), None, "{answer}");
    }
    assert_eq!(after(&aged(60, &["Network"], &published()), &denied), None, "it runs");
    let unaware = aged(60, &["Quota"], &condition("QuotaGranted", "Unknown", "PendingEvaluation", ""));
    assert_eq!(after(&unaware, &denied), Some(Duration::from_secs(5)), "it is published first");
    // What requests something else is made anew whatever the answer, and while the Instance waits alone.
    let other = |gates: &[&str], of_claim| {
        let granted = granted("True", "QuotaAvailable", "");
        let i = aged(60, gates, &condition("QuotaGranted", "Unknown", "PendingEvaluation", ""));
        remake_after(&i, &claim(of_claim, &granted), true, now()).map(|left| left.as_secs())
    };
    assert_eq!((other(&["Quota"], 60), other(&["Quota"], 58), other(&[], 60)), (Some(0), Some(0), None));
    assert_eq!(other(&["Quota"], 2), Some(27));
}

#[test]
fn i7_a_denial_stands_until_the_claim_that_was_made_anew_is_answered() {
    let of = |old: &Value, answer: &Value| {
        let claim = claim(60, answer);
        quota_granted(
            &instance("wd-0", &["Quota"], std::slice::from_ref(old)),
            QuotaAnswer::Claim(&claim),
            now(),
        )
    };
    let pending = granted("False", "PendingEvaluation", "");
    let denied = condition("QuotaGranted", "False", "QuotaExceeded", "used up");
    assert_eq!(of(&denied, &pending), denied);
    assert_eq!(of(&denied, &granted("True", "QuotaAvailable", ""))["status"], "True");
    let failed = condition("QuotaGranted", "False", "QuotaMisconfigured", "no right to");
    assert_eq!(of(&failed, &pending)["reason"], "QuotaNoBudget", "that the claim was refused is over");
}

#[test]
fn an_instance_without_quota_is_looked_at_seldomer_with_its_age() {
    for (age, seconds) in
        [(-5, 1), (0, 1), (59, 1), (60, 15), (299, 15), (300, 60), (599, 60), (600, 300), (90_000, 300)]
    {
        let i = but(instance("wd-0", &[], &[]), |i| {
            i.metadata.creation_timestamp = Some(Time(now() - jiff::SignedDuration::from_secs(age)));
        });
        for status in ["False", "Unknown"] {
            let again = requeue_after(&i, &condition("QuotaGranted", status, "R", ""), now());
            assert_eq!(again, Some(Duration::from_secs(seconds)), "{age}");
        }
        assert_eq!(requeue_after(&i, &condition("QuotaGranted", "True", "R", ""), now()), None);
    }
}

#[test]
fn i7_a_plane_that_fails_in_other_words_each_time_is_said_once() {
    let said = |old: Option<&Value>, failure: QuotaFailure| {
        let i = instance("wd-0", &[], old.map(std::slice::from_ref).unwrap_or_default());
        quota_granted(&i, QuotaAnswer::Failed(&failure), now())
    };
    let first = said(None, QuotaFailure::Unavailable("a".to_owned()));
    assert_eq!(said(Some(&first), QuotaFailure::Unavailable("b".to_owned())), first);
    let refused = said(Some(&first), QuotaFailure::Misconfigured("c".to_owned()));
    assert!(refused["message"].as_str().unwrap().contains('c'));
    let other = said(Some(&refused), QuotaFailure::Misconfigured("d".to_owned()));
    assert!(other["message"].as_str().unwrap().contains('d'), "C9: a refusal is about what was asked");
}

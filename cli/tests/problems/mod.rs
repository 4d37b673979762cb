//! What goes wrong, in words: every kind of failure has a sentence, a remedy and an exit code.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::time::Duration;

use fedhub_cli::exit::Exit;
use fedhub_cli::problem::{Failure, Problem, is_final};
use fedhub_testing::{Messages, assert_messages};
use kube::client::AuthError;
use kube::core::Status;
use serde_json::{Value, json};
use strum::VariantArray;

fn refused(code: u16, reason: &str, message: &str, details: &Value) -> kube::Error {
    let mut status = Status::failure(message, reason).with_code(code);
    status.details = serde_json::from_value(details.clone()).unwrap();
    kube::Error::Api(Box::new(status))
}

fn cases() -> Vec<(&'static str, kube::Error)> {
    let none = Value::Null;
    let cause = |field: &str, message: &str| json!({ "reason": "FieldValueInvalid", "field": field, "message": message });
    let named = json!({ "name": "api", "kind": "workloads", "group": "compute.datumapis.com" });
    let one = json!({ "causes": [cause("spec.placements[0].cityCodes", "Required value: at least one")] });
    let two = json!({ "causes": [cause("spec.a", "Too long"), cause("", "Never good")] });
    let forbidden = "workloads.compute.datumapis.com is forbidden: User \"me\" cannot list resource";
    let denied = "admission webhook \"w.datumapis.com\" denied the request: the project's quota of instances is used up.";
    let policy = "workloads \"api\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: not on Fridays";
    let mute = "admission webhook \"w.datumapis.com\" denied the request without explanation";
    let quota = "workloads.compute.datumapis.com \"api\" is forbidden: exceeded quota: objects, requested: count/workloads.compute.datumapis.com=1, used: count/workloads.compute.datumapis.com=5, limited: count/workloads.compute.datumapis.com=5";
    let limit = "instances \"api\" is forbidden: maximum cpu usage per instance is 1, but limit is 2.";
    let leaving = "workloads \"api\" is forbidden: unable to create new content in namespace default because it is being terminated";
    let advised = Failure::NoToken {
        why: "the key is not accepted".to_owned(),
        advice: Some("Log in with a new key: `datumctl login --credentials FILE`".to_owned()),
    };
    let terminating = json!({ "causes": [{ "reason": "NamespaceTerminating" }] });
    vec![
        ("login", refused(401, "Unauthorized", "Unauthorized", &none)),
        ("right", refused(403, "Forbidden", forbidden, &none)),
        (
            "suspended",
            refused(403, "Forbidden", "x", &json!({ "causes": [{ "reason": "ProjectSuspended" }] })),
        ),
        ("refused by admission", refused(403, "Forbidden", denied, &none)),
        ("refused by a policy", refused(403, "Forbidden", policy, &none)),
        ("refused without a word", refused(403, "Forbidden", mute, &none)),
        ("over the quota of the namespace", refused(403, "Forbidden", quota, &named)),
        ("refused by a limit", refused(403, "Forbidden", limit, &named)),
        ("namespace that goes", refused(403, "Forbidden", leaving, &named)),
        ("namespace that goes, by its cause", refused(403, "Forbidden", "x", &terminating)),
        ("missing object", refused(404, "NotFound", "workloads \"api\" not found", &named)),
        ("missing kind", refused(404, "NotFound", "the server could not find the requested resource", &none)),
        ("exists", refused(409, "AlreadyExists", "exists", &named)),
        ("conflict", refused(409, "Conflict", "the object has been modified", &named)),
        ("too large", refused(413, "RequestEntityTooLarge", "limit is 3145728", &none)),
        ("one field", refused(422, "Invalid", "Workload is invalid", &one)),
        ("two fields", refused(422, "Invalid", "Workload is invalid", &two)),
        ("no field", refused(400, "BadRequest", "unknown field \"spec.plaecments\".", &none)),
        ("no words", refused(422, "Invalid", "", &none)),
        ("throttled", refused(429, "TooManyRequests", "too many", &none)),
        (
            "throttled for long",
            refused(429, "TooManyRequests", "too many", &json!({ "retryAfterSeconds": 60 })),
        ),
        ("broken", refused(500, "InternalError", "etcdserver: leader changed", &none)),
        ("away", refused(503, "ServiceUnavailable", "try later", &none)),
        ("silent", kube::Error::Service(Box::new(Failure::Silent(Duration::from_secs(30))))),
        ("no token", kube::Error::Service(Box::new(Failure::no_token("not logged in")))),
        ("no token, with advice", kube::Error::Service(Box::new(advised))),
        ("no credentials", kube::Error::Auth(AuthError::MissingCommand)),
        ("credentials that ended", kube::Error::Service(Box::new(AuthError::ExecPluginFailed))),
        ("no connection", kube::Error::Service(Box::new(std::io::Error::other("connection refused")))),
        ("no request", kube::Error::HttpError("a b".parse::<http::Uri>().unwrap_err().into())),
        ("no sense", kube::Error::SerdeError(serde_json::from_str::<u8>("<html>").unwrap_err())),
    ]
}

#[test]
fn problems_read_well() {
    let plain = cases().into_iter().map(|(label, error)| {
        let problem = Problem::from_error(error, "deploy workload \"api\"");
        (label, format!("{}\nexit code {}", problem.text(false), problem.exit.code()))
    });
    let verbose = cases()
        .into_iter()
        .map(|(label, error)| (label, Problem::from_error(error, "deploy workload \"api\"").text(true)));
    let mut messages = Messages::default();
    assert_messages!("problems", messages.section("Plain", plain).section("With --verbose", verbose));
}

/// Kinds, groups and webhooks are the server's words: they come with `--verbose` alone. What can be done is
/// always told.
#[test]
fn no_sentence_has_raw_names_and_each_has_a_remedy() {
    for (label, error) in cases() {
        let problem = Problem::from_error(error, "list the workloads");
        let text = problem.text(false);
        for raw in ["datumapis.com", "workloads.compute", "webhook", "etcdserver", "User \"me\""] {
            assert!(!text.contains(raw), "{label}: {text}");
        }
        assert!(
            problem.remedy.is_some() || ["refused by admission", "refused by a policy"].contains(&label),
            "{label}"
        );
        assert!(problem.raw.is_some(), "{label}");
    }
}

/// A terminal would break lines in the middle of words. What is indented stays indented.
#[test]
fn lines_are_wrapped_between_words_on_a_terminal() {
    let problem = Problem::failed("One two three four:\n  five six seven eight").remedy("Nine ten eleven.");
    let narrow = "Error: One two\nthree four:\n  five six\n  seven eight\nNine ten\neleven.";
    assert_eq!(problem.told(false, Some(15)), narrow);
    assert_eq!(problem.told(false, None), problem.text(false));
}

/// What a server says moves no cursor, writes no clipboard, and makes no row among the rows of this program.
#[test]
fn control_characters_of_a_server_are_shown_and_not_done() {
    let said = "\u{1b}[31m\u{1b}]52;c;eA==\u{7}";
    let error = refused(422, "Invalid", said, &Value::Null);
    let told = Problem::from_error(error, "deploy").told(true, Some(80));
    assert!(!told.contains(['\u{1b}', '\u{7}']) && told.contains("\\u{1b}[31m\\u{1b}]52"), "{told}");
    // Each is one sentence, and stays on one line; so do the raw words.
    let words = format!("{said}\n  spec.b: b");
    let webhook = format!("admission webhook \"w.datumapis.com\" denied the request: {words}\n");
    let policy =
        format!("workloads \"api\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: {words}");
    let forbidden = format!("workloads \"api\" is forbidden: {words}");
    for (code, reason, message) in [
        (403, "Forbidden", &webhook),
        (403, "Forbidden", &policy),
        (403, "Forbidden", &forbidden),
        (422, "Invalid", &words),
    ] {
        let problem = Problem::from_error(refused(code, reason, message, &Value::Null), "deploy");
        let lines = 2 + usize::from(problem.remedy.is_some());
        let told = problem.told(true, None);
        assert_eq!(told.lines().count(), lines, "{told}");
        assert!(!told.contains(['\u{1b}', '\u{7}']), "{told}");
        assert!(told.contains("\\u{1b}[31m\\u{1b}]52;c;eA==\\u{7}\\u{a} spec.b: b"), "{told}");
        assert!(!told.lines().next().unwrap().contains("b\\u{a}"), "{told}");
    }
    let cause = |message: &str| json!({ "field": "spec.a", "message": message });
    let causes = json!({ "causes": [cause("a\n  spec.b: b"), cause("c")] });
    let told = Problem::from_error(refused(422, "Invalid", "x", &causes), "deploy").told(false, None);
    assert!(told.contains("spec.a: a\\u{a} spec.b: b\n"), "{told}");
}

#[test]
fn what_waiting_does_not_mend_ends_a_wait() {
    let ends = [
        "login",
        "right",
        "suspended",
        "refused by admission",
        "refused by a policy",
        "refused without a word",
        "over the quota of the namespace",
        "refused by a limit",
        "namespace that goes",
        "namespace that goes, by its cause",
        "missing object",
        "missing kind",
        "no token",
        "no token, with advice",
        "no credentials",
        "credentials that ended",
    ];
    for (label, error) in cases() {
        assert_eq!(is_final(&error), ends.contains(&label), "{label}");
    }
}

#[test]
fn every_exit_code_has_one_meaning() {
    let codes: std::collections::BTreeSet<u8> = Exit::VARIANTS.iter().map(|exit| exit.code()).collect();
    assert_eq!(codes.len(), Exit::VARIANTS.len());
    assert_eq!(codes, [0, 1, 2, 3, 4, 9, 10, 11, 12, 13, 130].into());
}

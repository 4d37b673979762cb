//! Tokens: asked for, renewed, refused, and seen by nobody.

use std::fs;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use fedhub_cli::session::token::Tokens;
use fedhub_core::clock::Clock;
use fedhub_testing::{condition, until};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::datumctl;
use crate::support::{Platform, ended, script};

fn jwt(subject: &str, end: i64) -> String {
    format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(json!({ "sub": subject, "exp": end }).to_string()))
}

fn pending() -> Value {
    json!({ "phase": "PendingApproval", "conditions": [condition("Ready", "False", "EntitlementPendingApproval", "Soon.")] })
}

fn active() -> Value {
    json!({ "phase": "Active", "conditions": [condition("Ready", "True", "EntitlementActive", "")] })
}

/// A token is used until a minute before its end, then the helper is asked anew.
#[tokio::test]
async fn a_token_is_renewed_a_minute_before_its_end() {
    let files = tempfile::tempdir().unwrap();
    let first = jwt("a", 1_000);
    let second = jwt("a", 5_000);
    let text = format!(
        "printf x >> {dir}/asked\nif [ \"$(cat {dir}/asked)\" = x ]; then printf {first}; else printf {second}; fi\n",
        dir = files.path().display()
    );
    let helper = script(files.path(), "helper", &text).display().to_string();
    let tokens = Tokens::new(helper, None, Clock::from_tokio(Timestamp::from_second(0).unwrap()));
    let later = async |seconds| {
        // Not while the helper runs: time that is paused goes on by itself where nothing else does.
        tokio::time::pause();
        tokio::time::advance(std::time::Duration::from_secs(seconds)).await;
        tokio::time::resume();
    };
    let times = || fs::read_to_string(files.path().join("asked")).unwrap_or_default().len();
    let get = async || tokens.get().await.unwrap().header.to_str().unwrap().to_owned();
    assert_eq!(get().await, format!("Bearer {first}"));
    later(935).await;
    assert_eq!((get().await, times()), (format!("Bearer {first}"), 1));
    later(6).await;
    assert_eq!((get().await, times()), (format!("Bearer {second}"), 2));
    assert_eq!((get().await, times()), (format!("Bearer {second}"), 2));
}

/// The server stops taking a token in the middle of a run: the helper is asked once more, and the run goes
/// on.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_ends_in_the_middle_of_a_run_is_renewed() {
    let platform = Platform::start().await;
    platform.give("first second");
    platform.accepted.lock().unwrap().insert("first".to_owned());
    platform.entitle(&pending());
    let mut waiting = platform.command(&["access", "request", "--wait"]);
    let waiting = tokio::spawn(async move { waiting.output().await.unwrap() });
    let watches = || platform.plane.audit().iter().filter(|entry| entry.verb == "watch").count();
    until("a watch", || watches() > 0).await;
    *platform.accepted.lock().unwrap() = ["second".to_owned()].into();
    platform.plane.break_watches();
    until("the second token", || platform.tokens.lock().unwrap().iter().any(|token| token == "second")).await;
    platform.plane.patch_status("ServiceEntitlement", "", "compute", &active()).unwrap();
    let output = waiting.await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(
        platform.asked().len(),
        2,
        "the helper was asked once at first, and once when the token was refused"
    );
}

/// A token that is refused is renewed once for a request, and not for ever.
#[tokio::test(flavor = "multi_thread")]
async fn a_login_that_is_not_accepted_is_said_after_one_renewal() {
    let platform = Platform::start().await;
    platform.accepted.lock().unwrap().clear();
    let run = platform.run(&["access", "-v"]).await;
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.err.contains("your login has expired") && run.err.contains("`datumctl login`"), "{run:?}");
    assert_eq!(platform.asked().len(), 2);
    assert_eq!(platform.tokens.lock().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_helper_that_fails_says_why() {
    let platform = Platform::start().await;
    for (text, expected) in [
        ("echo 'Error: not logged in' >&2\nexit 1\n", ": not logged in."),
        ("exit 1\n", ": it said nothing."),
        ("true\n", ": what it printed is no token."),
    ] {
        script(platform.files.path(), "helper", text);
        let run = platform.run(&["access"]).await;
        assert_eq!(run.code, 1, "{run:?}");
        assert!(run.err.contains(expected) && run.err.contains("`datumctl login`"), "{expected}: {run:?}");
    }
    let mut command = platform.command(&["access"]);
    command.env("DATUM_CREDENTIALS_HELPER", "/nowhere/datumctl");
    let run = ended(command).await;
    assert!(run.err.contains("it could not be started"), "{run:?}");
}

/// The host says why on the first line, and what to do on the next.
#[tokio::test(flavor = "multi_thread")]
async fn the_host_says_why_it_gives_no_token() {
    let platform = Platform::start().await;
    fs::write(platform.file("ended"), "").unwrap();
    let run = ended(datumctl(&platform, &["compute", "status"])).await;
    assert_eq!((run.code, run.out.as_str()), (1, ""), "{run:?}");
    let expected = "datumctl gave no login: The key could not be exchanged for a token.\n\
                    Please log in again: `datumctl login --credentials <file>`\n";
    assert!(run.err.ends_with(expected), "{run:?}");
}

/// Neither what is printed nor what children get holds a token.
#[tokio::test(flavor = "multi_thread")]
async fn no_token_is_printed_or_passed_on() {
    let platform = Platform::start().await;
    platform.give("hunter2 hunter2");
    let run = platform.run(&["access", "--verbose"]).await;
    assert_eq!(run.code, 1, "{run:?}");
    let environment = fs::read_to_string(platform.file("environment")).unwrap();
    let asked = platform.asked().join("\n");
    for text in [&run.out, &run.err, &environment, &asked] {
        assert!(!text.contains("hunter2"), "{text}");
    }
    assert!(environment.contains("DATUM_PROJECT=shop"), "it was seen: {environment}");
}

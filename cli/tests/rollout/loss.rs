//! Connections that are lost, and refusals that no patience mends.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fedhub_cli::exit::Exit;
use fedhub_cli::problem::Failure;
use fedhub_cli::rollout::wait::{Outcome, Wait, wait};
use fedhub_fake_apiserver::Fault;
use http::Request;
use kube::Client;
use kube::client::{AuthError, Body};
use serde_json::json;
use tokio::time::{Instant, sleep};
use tower::util::service_fn;
use tower::{BoxError, ServiceExt};

use crate::rollout::fixtures::{SPACE, condition};
use crate::rollout::waiting::{DFW, Record, finish, of, status, updating, waited};

const LOST: &str = "The platform does not answer: trying again. The rollout goes on.";
const BACK: &str = "The platform answers again.";

#[tokio::test(start_paused = true)]
async fn a_lost_watch_is_resumed_and_what_happened_meanwhile_is_seen() {
    for compact in [false, true] {
        let server = updating();
        let record = Record::default();
        let begin = Instant::now();
        let end = waited(&server, record.clone(), async {
            sleep(Duration::from_secs(30)).await;
            let fault = server.fault(Fault::Disconnect);
            sleep(Duration::from_secs(5)).await;
            finish(&server);
            if compact {
                // What happened is not in the watch cache any more: only a list has it.
                server.compact();
            }
            server.clear_fault(fault);
        });
        let end = end.await.unwrap();
        assert_eq!(end.outcome, Outcome::Done, "compacted: {compact}");
        let seconds = record.seconds_since(begin);
        assert!((35..75).contains(&seconds), "{seconds}");
        let notes = record.notes();
        assert_eq!(notes.first().map(String::as_str), Some(LOST), "{notes:?}");
        assert_eq!(notes.iter().filter(|note| *note == LOST).count(), 1, "said once: {notes:?}");
        assert!(notes.len() == 1 || notes[1] == BACK, "{notes:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_patience_gets_it() {
    for fault in [Fault::Status(500), Fault::Status(503), Fault::Throttle(2)] {
        let server = updating();
        let record = Record::default();
        server.fault(fault.times(12));
        let end = waited(&server, record.clone(), async {
            sleep(Duration::from_secs(200)).await;
            finish(&server);
        });
        assert_eq!(end.await.unwrap().outcome, Outcome::Done, "{fault:?}");
        assert_eq!(record.notes(), [LOST, BACK], "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_right_that_is_missing_is_said_and_not_swallowed() {
    // One that lists has been let in: it is asked again for a moment.
    for (code, verb, resource, words, limit) in [
        (403, "list", "workloaddeployments", "your account lacks the right to do that in this project", 2),
        (403, "watch", "instances", "your account lacks the right to do that in this project", 30),
        (401, "list", "workloads", "your login has expired or is not accepted", 2),
    ] {
        let server = updating();
        let begin = Instant::now();
        server.fault(Fault::Status(code).on(verb, resource));
        let problem = waited(&server, Record::default(), async {}).await.unwrap_err();
        assert!(begin.elapsed() < Duration::from_secs(limit), "{verb}: {:?}", begin.elapsed());
        let expected = format!("Could not watch the rollout of \"web\": {words}. The rollout goes on.");
        assert_eq!((problem.sentence, problem.exit), (expected, Exit::Failed), "{verb} {resource}");
        assert!(problem.remedy.is_some());
    }
    // A login that expires in the middle.
    let server = updating();
    let problem = waited(&server, Record::default(), async {
        sleep(Duration::from_secs(30)).await;
        server.fault(Fault::Status(401));
        server.break_watches();
    });
    assert!(problem.await.unwrap_err().sentence.contains("your login has expired"));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_while_it_starts_is_asked_again() {
    for code in [401, 403, 404] {
        let server = updating();
        let record = Record::default();
        let end = waited(&server, record.clone(), async {
            sleep(Duration::from_secs(30)).await;
            let fault = server.fault(Fault::Status(code));
            server.break_watches();
            sleep(Duration::from_secs(4)).await;
            finish(&server);
            server.clear_fault(fault);
        });
        assert_eq!(end.await.unwrap().outcome, Outcome::Done, "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_served_is_said() {
    let server = updating();
    server.unregister("instances.compute.datumapis.com");
    let problem = waited(&server, Record::default(), async {}).await.unwrap_err();
    assert_eq!(problem.exit, Exit::Unavailable, "{problem:?}");
}

/// It was blocked when the connection went, and is mended when that is back: what was known last ends
/// nothing.
#[tokio::test(start_paused = true)]
async fn blocked_is_believed_only_when_lists_say_it_too() {
    let server = updating();
    let record = Record::default();
    let begin = Instant::now();
    let end = waited(&server, record.clone(), async {
        sleep(Duration::from_secs(20)).await;
        let conditions = [condition("ReplicasReady", "False", "QuotaExceeded", "the words")];
        status(&server, "WorkloadDeployment", DFW, json!({"conditions": conditions}));
        sleep(Duration::from_secs(5)).await;
        let fault = server.fault(Fault::Disconnect);
        sleep(Duration::from_mins(1)).await;
        let conditions = [condition("ReplicasReady", "True", "ReplicasAvailable", "")];
        status(&server, "WorkloadDeployment", DFW, json!({"conditions": conditions}));
        finish(&server);
        server.clear_fault(fault);
    });
    assert_eq!(end.await.unwrap().outcome, Outcome::Done);
    assert!(record.seconds_since(begin) >= 85);
}

/// A login that ends in the middle: requests are not sent any more, and no patience mends that.
#[tokio::test(start_paused = true)]
async fn a_login_that_ends_in_the_middle_ends_the_wait() {
    let no_token: fn() -> BoxError = || Failure::no_token("not logged in").into();
    let no_credentials: fn() -> BoxError = || AuthError::ExecPluginFailed.into();
    for (failure, words) in [
        (no_token, "datumctl gave no login: not logged in"),
        (no_credentials, "your credentials cannot be read, or have expired"),
    ] {
        let server = updating();
        let has_ended = Arc::new(AtomicBool::new(false));
        let begin = Instant::now();
        let plane = server.clone();
        let flag = has_ended.clone();
        let service = service_fn(move |request: Request<Body>| {
            let plane = plane.clone();
            let has_ended = flag.load(Ordering::Relaxed);
            async move {
                if has_ended {
                    return Err(failure());
                }
                plane.service().oneshot(request).await
            }
        });
        let wait_for = Wait { client: Client::new(service, SPACE), ..of(&server, 600) };
        let mut record = Record::default();
        let (end, ()) = tokio::join!(wait(&wait_for, &mut record, pending()), async {
            sleep(Duration::from_secs(30)).await;
            has_ended.store(true, Ordering::Relaxed);
            server.break_watches();
        });
        let problem = end.unwrap_err();
        let expected = format!("Could not watch the rollout of \"web\": {words}. The rollout goes on.");
        assert_eq!((problem.sentence, problem.exit), (expected, Exit::Failed));
        assert!(problem.remedy.unwrap().starts_with("Log in again with `datumctl login`"));
        let seconds = begin.elapsed().as_secs();
        assert!((30..75).contains(&seconds), "{seconds}");
    }
}

//! Deployments that fail in the middle, or are not done in time.

use std::sync::Arc;
use std::time::Duration;

use fedhub_cli::args::Global;
use fedhub_cli::exit::Exit;
use fedhub_cli::session::Session;
use fedhub_fake_apiserver::{ApiServer, AuditEntry, Fault};
use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use serde_json::json;
use tokio::time::Instant;
use tower::ServiceExt;
use tower::util::service_fn;

use super::fixtures::web;
use super::runs::{NEW, deployed, file, plane, run, stored};

/// A session in which something is done before each object that is made behind a path, and not by a dry run.
fn preceded(
    server: &ApiServer,
    path: &'static str,
    by: impl Fn(&ApiServer) + Send + Sync + 'static,
) -> Session {
    let plane = server.clone();
    let by = Arc::new(by);
    let service = service_fn(move |request: Request<Body>| {
        let uri = request.uri().to_string();
        if request.method() == Method::POST && uri.contains(path) && !uri.contains("dryRun") {
            by(&plane);
        }
        plane.service().oneshot(request)
    });
    Session::with_client(Client::new(service, "default"), Global::default())
}

/// What was written before a failure is told, its URL follows, and it is waited for.
#[tokio::test(start_paused = true)]
async fn what_was_stored_before_a_failure_is_seen_through() {
    let networking =
        [("NetworkService", "networkservices"), ("HTTPProxy", "httpproxies"), ("Network", "networks")];
    let server = plane(&networking);
    run(&server, &[&NEW[..], &["--http-port=8080", "--yes"]].concat()).await.unwrap();
    let mut moved = stored(&server, "web").unwrap();
    moved["spec"]["template"]["spec"]["runtime"]["sandbox"]["containers"][0]["ports"][0]["port"] =
        json!(9090);
    moved["spec"]["template"]["spec"]["networkInterfaces"][0]["network"]["name"] = json!("other");
    let mut second = web();
    second["metadata"]["name"] = json!("second");
    let both = file(&format!("{moved}\n---\n{second}\n"));
    let session = preceded(&server, "/workloads", |server| {
        server.fault(Fault::Status(403).on("create", "workloads"));
    });
    let words = ["-f", both.path().to_str().unwrap(), "--timeout=5s", "--yes"];
    let begin = Instant::now();
    let problem = deployed(&session, &words).await.unwrap_err();
    let sentence = &problem.sentence;
    let remedy = problem.remedy.as_ref().unwrap();
    assert!(sentence.starts_with("Could not deploy workload \"second\""), "{problem:?}");
    assert!(sentence.ends_with("\nWritten before that: network other, workload web."), "{problem:?}");
    assert!(problem.exit == Exit::Failed && !remedy.contains("Nothing was changed"), "{problem:?}");
    assert!(begin.elapsed() >= Duration::from_secs(5), "the rollout of the first one is waited for");
    assert_eq!(stored(&server, "second"), None);
    let port = &server.get("NetworkService", "default", "web").unwrap()["spec"]["ports"][0]["port"];
    assert_eq!(*port, 9090, "the URL follows");
    // A network alone is told, too.
    let session = preceded(&server, "/networks", |server| {
        server.fault(Fault::Status(403).on("create", "workloads"));
    });
    server.clear_faults();
    second["spec"]["template"]["spec"]["networkInterfaces"][0]["network"]["name"] = json!("third");
    std::fs::write(&both, second.to_string()).unwrap();
    let problem = deployed(&session, &words).await.unwrap_err();
    assert!(problem.sentence.ends_with("\nWritten before that: network third."), "{problem:?}");
}

/// Nothing takes the workload up: its URL is not waited for when the time for the rollout is over.
#[tokio::test(start_paused = true)]
async fn a_url_is_not_waited_for_beyond_the_time_that_is_given() {
    let server = plane(&[("NetworkService", "networkservices"), ("HTTPProxy", "httpproxies")]);
    let words = [&NEW[..], &["--http-port=8080", "--no-save", "--timeout=10s"]].concat();
    let session = Session::with_client(server.client(), Global::default());
    let begin = Instant::now();
    let problem = deployed(&session, &words).await.unwrap_err();
    assert_eq!(problem.exit, Exit::TimedOut, "{problem:?}");
    let seconds = begin.elapsed().as_secs();
    assert!((10..15).contains(&seconds), "{seconds}");
    assert!(server.get("HTTPProxy", "default", "web").is_some());
}

/// A network's name becomes a part of a path: what is no name is left to the server's check.
#[tokio::test]
async fn a_network_that_cannot_be_is_not_looked_for() {
    let server = plane(&[("Network", "networks")]);
    let mut odd = web();
    odd["spec"]["template"]["spec"]["networkInterfaces"][0]["network"]["name"] = json!("../workloads");
    run(&server, &["-f", file(&odd.to_string()).path().to_str().unwrap(), "--dry-run=client"]).await.unwrap();
    let asked: Vec<_> = server.audit().iter().map(AuditEntry::short).collect();
    assert_eq!(asked, ["get workloads/web"]);
}

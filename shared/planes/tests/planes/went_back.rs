//! Planes other than the hub whose resourceVersions go back, as those of a server that is restored in place
//! do (I13).

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fedhub_core::clock::Clock;
use fedhub_core::object::{Kind, PlaneId};
use fedhub_fake_apiserver::{ApiServer, Fault};
use fedhub_planes::{Health, Planes, Settings, watched};
use http::{Request, Response};
use kube::client::Body;
use serde_json::json;
use tower::service_fn;

use crate::planes::support::*;

fn edited(server: &ApiServer, times: usize) {
    for n in 0..times {
        server.patch("Instance", "n", "a", &json!({"spec": {"a": n}})).unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn i13_a_plane_that_was_restored_while_it_was_away_is_read_anew() {
    let server = ApiServer::project_plane("alpha");
    server.put(instance("a")).unwrap();
    let (planes, plane, notes) = engaged(&server).await;
    let backup = server.snapshot();
    edited(&server, 30);
    server.put(instance("b")).unwrap();
    // Until a bookmark tells the watch of the kind that is asked about how far the server has come.
    quiet(65).await;
    let away = server.fault(Fault::Disconnect);
    server.break_watches();
    until("the outage", || plane.health() != Health::Engaged).await;
    server.restore(&backup);
    notes.take();
    server.clear_fault(away);
    let now = || planes.project(&plane_name("alpha")).unwrap();
    until("the plane", || now().synced() && now().store(Kind::Instance).len() == 1).await;
    assert_eq!(notes.take(), ["alpha left", "alpha +a", "alpha sync Instance"], "no deletion is told");
    edited(&server, 1);
    quiet(1).await;
    assert_eq!(notes.take(), ["alpha +a"]);
    planes.stop().await;
}

/// The kind that is asked about cannot be listed for now; the list of another says the same.
#[tokio::test(start_paused = true)]
async fn i13_a_list_that_goes_back_has_the_whole_plane_read_anew() {
    let server = ApiServer::project_plane("alpha");
    server.put(instance("a")).unwrap();
    let (planes, _, notes) = engaged(&server).await;
    let backup = server.snapshot();
    edited(&server, 30);
    quiet(1).await;
    let unread = server.fault(Fault::Status(503).on("list", "workloaddeployments"));
    server.fault(Fault::Status(410).on("watch", "instances").times(1));
    server.restore(&backup);
    until("the plane to be read anew", || notes.take().contains(&"alpha left".to_owned())).await;
    server.clear_fault(unread);
    let now = || planes.project(&plane_name("alpha")).unwrap();
    until("sync", || now().synced()).await;
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i13_the_plane_that_a_process_runs_in_is_read_anew_kind_by_kind() {
    let server = ApiServer::cell("cell");
    server.put(instance("a")).unwrap();
    let kinds = watched::all(&[Kind::WorkloadDeployment, Kind::Instance]);
    let settings = Settings { anchor: PlaneId::Cell, anchor_kinds: kinds, seed: 7, ..Settings::default() };
    let clock = Clock::from_tokio(server.clock().now());
    let planes = Planes::with(client(&server), metrics(), clock, settings);
    planes.start();
    until("sync", || planes.anchor().synced()).await;
    let backup = server.snapshot();
    edited(&server, 30);
    quiet(1).await;
    server.restore(&backup);
    edited(&server, 1);
    let version = || server.get("Instance", "n", "a").unwrap()["metadata"]["resourceVersion"].clone();
    let known = || {
        let version =
            planes.anchor().store(Kind::Instance).object("n", "a")?.metadata.resource_version.clone();
        version.map(|version| json!(version))
    };
    quiet(5).await;
    edited(&server, 1);
    quiet(1).await;
    assert_eq!(known(), Some(version()));
    planes.stop().await;
}

/// A server announces by a bookmark that a watch ends in time: such a one goes on without a question.
#[tokio::test(start_paused = true)]
async fn i13_i7_a_plane_at_rest_is_asked_nothing() {
    let server = ApiServer::project_plane("alpha");
    let (planes, plane, _) = engaged(&server).await;
    quiet(5).await;
    let mark = server.mark();
    quiet(3_600).await;
    let others: Vec<_> =
        server.requests_since(mark).into_iter().filter(|entry| entry.verb != "watch").collect();
    assert!(others.is_empty(), "{others:?}");
    server.break_watches();
    quiet(60).await;
    assert_eq!((count(&server, "list", "workloaddeployments"), count(&server, "list", "instances")), (2, 1));
    assert_eq!(plane.health(), Health::Engaged);
    planes.stop().await;
}

/// A server whose every watch begins with an event that is older than its list.
fn confused(lists: &Arc<AtomicUsize>) -> kube::Client {
    let lists = lists.clone();
    let service = service_fn(move |request: Request<Body>| {
        let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        lists.fetch_add(usize::from(!is_watch), Ordering::Relaxed);
        let answer = if is_watch {
            let metadata = json!({"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "5"});
            json!({"type": "ADDED", "object": {"metadata": metadata}})
        } else {
            json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "10"}, "items": []})
        };
        async move { Ok::<_, Infallible>(Response::new(Body::from(answer.to_string().into_bytes()))) }
    });
    kube::Client::new(service, "default")
}

#[tokio::test(start_paused = true)]
async fn i13_i8_a_plane_that_goes_back_again_and_again_is_read_anew_now_and_then() {
    let lists = Arc::new(AtomicUsize::new(0));
    let planes = registry(&ApiServer::hub("hub"));
    let notes = Notes::on(&planes);
    planes.engage(&plane_name("alpha"), confused(&lists));
    quiet(600).await;
    let left = notes.take().iter().filter(|note| *note == "alpha left").count();
    assert!((50..=60).contains(&left), "{left} times in ten minutes");
    let lists = lists.load(Ordering::Relaxed);
    assert!(lists <= 4 * left, "{lists} lists");
    planes.stop().await;
}

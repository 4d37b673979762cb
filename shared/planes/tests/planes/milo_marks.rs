//! Discovery `milo`: a project is disengaged only when no write that could place our finalizer is in flight
//! (section 2, I3).

use std::sync::Arc;
use std::time::Duration;

use fedhub_core::clock::Clock;
use fedhub_core::errors::RequestError;
use fedhub_core::names::FEDERATOR_FINALIZER;
use fedhub_core::object::{Kind, ObjectRef};
use fedhub_fake_apiserver::{ApiServer, Fault};
use fedhub_lease::{Leadership, LeaseConfig};
use fedhub_planes::{Pass, Plane, Planes, Settings};
use serde_json::json;

use crate::planes::milo::{Run, deployment, free, milo, project};
use crate::planes::support::{client, metrics, plane_name, quiet, until};

async fn mark(plane: &Plane) -> Result<ObjectRef, RequestError> {
    let wd = plane.refresh(&Pass::unbound(), Kind::WorkloadDeployment, "n", "one").await.unwrap().unwrap();
    plane
        .patch_metadata(
            &Pass::unbound(),
            Kind::WorkloadDeployment,
            &wd,
            json!({"finalizers": [FEDERATOR_FINALIZER]}),
            "m",
        )
        .await
}

fn marked(server: &ApiServer) -> bool {
    let wd = server.get("WorkloadDeployment", "n", "one").unwrap();
    wd["metadata"]["finalizers"] == json!([FEDERATOR_FINALIZER])
}

/// A project that is Ready, with a WD that is not marked yet, and its plane in sync. From here on the plane's
/// watches are silent.
async fn unmarked() -> (Run, ApiServer, Arc<Plane>) {
    let milo = milo();
    let a = ApiServer::project_plane("a");
    milo.put(project("a", "True")).unwrap();
    let mut wd = deployment("one", false);
    wd["metadata"]["finalizers"] = json!(null);
    a.put(wd).unwrap();
    let run = Run::start(milo, &[&a]);
    until("sync", || run.planes.engaged(&plane_name("a")).is_some()).await;
    let plane = run.planes.project(&plane_name("a")).unwrap();
    a.fault(Fault::Hang.on("watch", "*"));
    (run, a, plane)
}

#[tokio::test(start_paused = true)]
async fn i3_a_project_is_not_let_go_while_its_first_mark_is_in_flight() {
    for deleted in [false, true] {
        let (run, a, plane) = unmarked().await;
        a.fault(Fault::Slow(Duration::from_secs(5)).on("patch", "workloaddeployments"));
        let writes = tokio::spawn(async move { mark(&plane).await });
        quiet(1).await;
        if deleted {
            run.vanish("a");
        } else {
            run.turn("a", "False");
        }
        quiet(1).await;
        assert_eq!(run.names(), ["a"], "deleted: {deleted}: its mark is in flight");
        writes.await.unwrap().unwrap();
        assert!(marked(&a));
        quiet(60).await;
        assert_eq!(run.names(), ["a"], "deleted: {deleted}: its mark is stored");
        a.clear_faults();
        free(&a, "one");
        until("it to be disengaged", || run.names().is_empty()).await;
        run.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn i3_a_project_is_not_let_go_while_nobody_knows_whether_its_first_mark_was_stored() {
    for fault in [Fault::LostAnswer, Fault::CutShort] {
        let (run, a, plane) = unmarked().await;
        a.fault(fault.on("patch", "workloaddeployments"));
        mark(&plane).await.unwrap_err();
        assert!(marked(&a));
        run.turn("a", "False");
        quiet(60).await;
        assert_eq!(run.names(), ["a"], "{fault:?}");
        a.clear_faults();
        quiet(300).await;
        assert_eq!(run.names(), ["a"], "{fault:?}: the watch has delivered the mark");
        free(&a, "one");
        until("it to be disengaged", || run.names().is_empty()).await;
        run.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn i3_a_mark_that_was_refused_holds_no_project() {
    let (run, a, plane) = unmarked().await;
    a.fault(Fault::Slow(Duration::from_secs(5)).on("patch", "workloaddeployments"));
    let writes = tokio::spawn({
        let a = a.clone();
        async move {
            let writing = mark(&plane);
            tokio::pin!(writing);
            let _ = tokio::time::timeout(Duration::from_secs(1), &mut writing).await;
            a.patch("WorkloadDeployment", "n", "one", &json!({"metadata": {"labels": {"x": "z"}}})).unwrap();
            writing.await
        }
    });
    quiet(2).await;
    run.turn("a", "False");
    quiet(1).await;
    assert_eq!(run.names(), ["a"], "its mark is in flight");
    assert_eq!(writes.await.unwrap().unwrap_err().code(), Some(409));
    quiet(1).await;
    assert_eq!(run.names(), [""; 0], "at once, by the answer");
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn i3_nothing_is_marked_in_a_project_that_was_let_go() {
    let (run, a, plane) = unmarked().await;
    run.turn("a", "False");
    until("it to be disengaged", || run.names().is_empty()).await;
    mark(&plane).await.unwrap_err();
    assert!(!marked(&a));
    run.end().await;
}

/// A process that takes part in an election which it wins when `management` answers.
fn replica(management: &ApiServer) -> (Arc<Planes>, Leadership) {
    let hub = ApiServer::hub("hub");
    let clock = Clock::from_tokio(hub.clock().now());
    let config = LeaseConfig {
        namespace: "fedhub-system".to_owned(),
        name: "fedhub".to_owned(),
        identity: "replica".to_owned(),
        duration: Duration::from_secs(15),
        renew: Duration::from_secs(5),
        warm_up: Duration::ZERO,
    };
    let leadership = Leadership::start(client(management), config, clock.clone(), &metrics());
    let settings = Settings { seed: 7, fence: leadership.fence(), ..Settings::default() };
    let planes = Planes::with(client(&hub), metrics(), clock, settings);
    tokio::spawn(fedhub_lease::follow(leadership.terms(), vec![planes.clone()], Vec::new()));
    planes.start();
    (planes, leadership)
}

#[tokio::test(start_paused = true)]
async fn i3_what_a_standby_let_go_by_a_lagging_watch_is_found_when_it_leads() {
    let milo = milo();
    let a = ApiServer::project_plane("a");
    let management = ApiServer::management("m");
    management
        .put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "fedhub-system"}}))
        .unwrap();
    management.fault(Fault::Disconnect);
    milo.put(project("a", "True")).unwrap();
    let mut wd = deployment("one", false);
    wd["metadata"]["finalizers"] = json!(null);
    a.put(wd).unwrap();
    let (planes, leadership) = replica(&management);
    let run = Run::over(planes, milo, &[&a]);
    until("sync", || run.planes.engaged(&plane_name("a")).is_some()).await;
    a.fault(Fault::Hang.on("watch", "*"));
    // The leader marks the WD, and the standby does not receive that before the project turns not Ready.
    a.patch("WorkloadDeployment", "n", "one", &json!({"metadata": {"finalizers": [FEDERATOR_FINALIZER]}}))
        .unwrap();
    run.turn("a", "False");
    quiet(60).await;
    a.clear_faults();
    management.clear_faults();
    until("the standby to lead", || run.planes.leads()).await;
    until("the project to be engaged", || run.planes.engaged(&plane_name("a")).is_some()).await;
    quiet(60).await;
    assert_eq!(run.names(), ["a"], "a WD of it holds our finalizer");
    free(&a, "one");
    until("it to be disengaged", || run.names().is_empty()).await;
    leadership.release().await;
    run.end().await;
}

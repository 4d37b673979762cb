//! Discovery `milo`: what is remembered of Projects that are long gone is forgotten, and nothing else (I4).

use fedhub_fake_apiserver::{ApiServer, Fault};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::planes::milo::{Run, milo, project};
use crate::planes::milo_projects::{management, remembered, remembering};
use crate::planes::support::{HOME, client, plane_name, quiet, until};

/// Longer than it takes until Projects are looked for.
const LOOK: u64 = 2 * 3600;

/// A process whose Project `a` was engaged, remembered and then deleted.
async fn vanished(management: &ApiServer, plane: &ApiServer) -> Run {
    let milo = milo();
    milo.put(project("a", "True")).unwrap();
    let run = remembering(management, milo, plane);
    run.planes.start();
    until("it to be engaged", || run.planes.engaged(&plane_name("a")).is_some()).await;
    until("it to be remembered", || !remembered(management, "a").is_empty()).await;
    run.vanish("a");
    until("it to leave", || run.names().is_empty()).await;
    run
}

/// Makes the plane be gone for `days` longer.
fn backdate(management: &ApiServer, days: i64) {
    let maps = management.list("configmaps");
    let map = maps.iter().find(|map| map["data"]["gone_a"].is_string()).unwrap();
    let since: Timestamp = map["data"]["gone_a"].as_str().unwrap().parse().unwrap();
    let since = (since - SignedDuration::from_hours(24 * days)).to_string();
    let name = map["metadata"]["name"].as_str().unwrap();
    management.patch("ConfigMap", HOME, name, &json!({"data": {"gone_a": since}})).unwrap();
}

#[tokio::test(start_paused = true)]
async fn i4_the_identity_of_a_project_is_forgotten_once_its_server_said_for_a_month_that_it_is_gone() {
    let management = management();
    let plane = ApiServer::project_plane("a");
    let run = vanished(&management, &plane).await;
    quiet(LOOK).await;
    let since = remembered(&management, "gone_a");
    assert!(!since.is_empty() && !remembered(&management, "a").is_empty(), "{since}");
    let mark = management.mark();
    quiet(LOOK).await;
    assert_eq!(remembered(&management, "gone_a"), since);
    assert!(management.writes_since(mark).iter().all(|write| write.resource != "configmaps"), "I7");
    backdate(&management, 29);
    quiet(LOOK).await;
    assert!(!remembered(&management, "a").is_empty(), "less than a month");
    backdate(&management, 1);
    quiet(LOOK).await;
    assert_eq!((remembered(&management, "a"), remembered(&management, "gone_a")), Default::default());
    // One of that name is a new plane.
    run.milo.put(project("a", "True")).unwrap();
    until("it to be engaged", || run.planes.engaged(&plane_name("a")).is_some()).await;
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn i4_a_server_that_fails_proves_nothing() {
    for fault in [Fault::Status(503), Fault::Status(403), Fault::Html] {
        let management = management();
        let plane = ApiServer::project_plane("a");
        let run = vanished(&management, &plane).await;
        run.milo.fault(fault.on("get", "projects"));
        quiet(LOOK).await;
        assert!(!remembered(&management, "a").is_empty(), "{fault:?}");
        assert_eq!(remembered(&management, "gone_a"), "", "{fault:?}");
        run.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn i4_a_project_that_comes_back_is_remembered_for_another_month() {
    let management = management();
    let plane = ApiServer::project_plane("a");
    let run = vanished(&management, &plane).await;
    quiet(LOOK).await;
    backdate(&management, 40);
    run.milo.put(project("a", "Unknown")).unwrap();
    quiet(LOOK).await;
    assert!(!remembered(&management, "a").is_empty());
    assert_eq!(remembered(&management, "gone_a"), "");
    run.vanish("a");
    quiet(LOOK).await;
    assert!(!remembered(&management, "a").is_empty(), "it has only just gone again");
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn i4_a_plane_of_no_project_is_never_forgotten() {
    let management = management();
    let plane = ApiServer::project_plane("a");
    let run = remembering(&management, milo(), &plane);
    run.planes.start();
    run.planes.engage(&plane_name("a"), client(&plane));
    until("it to be remembered", || !remembered(&management, "a").is_empty()).await;
    run.planes.disengage(&plane_name("a"));
    // How far the hub was seen is stored within a minute.
    quiet(120).await;
    let mark = management.mark();
    quiet(LOOK).await;
    assert!(!remembered(&management, "a").is_empty());
    assert!(management.writes_since(mark).iter().all(|write| write.resource != "configmaps"));
    run.end().await;
}

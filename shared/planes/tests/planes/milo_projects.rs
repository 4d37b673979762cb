//! Discovery `milo`: Projects that are suspended and resumed, and those that are deleted and created again
//! (section 2).

use fedhub_api::reason::Reason;
use fedhub_core::clock::Clock;
use fedhub_core::errors::Category;
use fedhub_core::fence::Fence;
use fedhub_core::object::{Kind, Object};
use fedhub_fake_apiserver::{ApiServer, Fault};
use fedhub_planes::DryRun;
use fedhub_planes::Precondition;
use fedhub_planes::events::EventType;
use fedhub_planes::{Health, Identities, Pass, Planes, Settings};
use k8s_openapi::api::core::v1::ObjectReference;
use serde_json::json;

use crate::planes::milo::{Run, deployment, milo, project};
use crate::planes::support::{HOME, Notes, client, instance, metrics, plane_name, quiet, until};

pub fn management() -> ApiServer {
    let server = ApiServer::management("m");
    server.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}})).unwrap();
    server
}

/// A process that remembers and discovers, `plane` being that of the Project.
pub fn remembering(management: &ApiServer, milo: ApiServer, plane: &ApiServer) -> Run {
    let hub = ApiServer::hub("hub");
    let identities = Identities::new(HOME);
    let settings = Settings { seed: 7, identities: Some(identities.clone()), ..Settings::default() };
    let planes = Planes::with(client(&hub), metrics(), Clock::from_tokio(hub.clock().now()), settings);
    let run = Run::over(planes.clone(), milo, &[]);
    tokio::spawn(identities.run(client(management), planes, Fence::open(), run.stop.clone()));
    run.servers.lock().unwrap().insert("a".to_owned(), plane.clone());
    run
}

pub fn remembered(management: &ApiServer, plane: &str) -> String {
    let maps = management.list("configmaps");
    let entry = maps.iter().find_map(|map| map["data"][plane].as_str());
    entry.unwrap_or_default().to_owned()
}

fn uid(server: &ApiServer, kind: &str, name: &str) -> String {
    server.get(kind, "", name).unwrap()["metadata"]["uid"].as_str().unwrap().to_owned()
}

fn entry(run: &Run, name: &str, server: &ApiServer) -> String {
    format!("{}/{}", uid(server, "Namespace", "default"), uid(&run.milo, "Project", name))
}

/// The plane of the one Project is engaged and remembered; then the Project is deleted and created again with
/// another plane, while the discovery receives no event.
async fn recreated(run: &Run, management: &ApiServer, [old, new]: [&ApiServer; 2]) {
    until("the old one", || run.planes.engaged(&plane_name("a")).is_some()).await;
    quiet(10).await;
    assert_eq!(remembered(management, "a"), entry(run, "a", old));
    run.milo.fault(Fault::Hang.on("watch", "projects"));
    run.vanish("a");
    run.milo.put(project("a", "True")).unwrap();
    run.servers.lock().unwrap().insert("a".to_owned(), new.clone());
    run.milo.compact();
}

fn two_planes() -> [ApiServer; 2] {
    let planes = ["old", "new"].map(ApiServer::project_plane);
    planes[0].put(deployment("one", true)).unwrap();
    planes
}

#[tokio::test(start_paused = true)]
async fn i4_a_project_that_was_deleted_and_made_anew_engages_by_itself() {
    let management = management();
    let milo = milo();
    let [old, new] = two_planes();
    milo.put(project("a", "True")).unwrap();
    let run = remembering(&management, milo, &old);
    let notes = Notes::on(&run.planes);
    recreated(&run, &management, [&old, &new]).await;
    notes.take();
    run.milo.break_watches();
    run.milo.clear_faults();
    until("the new one to be remembered", || remembered(&management, "a") == entry(&run, "a", &new)).await;
    let plane = run.planes.engaged(&plane_name("a")).unwrap();
    assert!(plane.store(Kind::WorkloadDeployment).is_empty(), "nothing that was known of the old one counts");
    assert!(notes.take().contains(&"a left".to_owned()));
    // Created again on what the old one left: it is the same plane, for another Project.
    run.vanish("a");
    run.milo.put(project("a", "True")).unwrap();
    until("that to be remembered", || remembered(&management, "a") == entry(&run, "a", &new)).await;
    assert!(run.planes.engaged(&plane_name("a")).is_some());
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn i4_a_project_that_was_made_anew_while_nobody_looked_on_engages_by_itself() {
    let management = management();
    let milo = milo();
    let [old, new] = two_planes();
    milo.put(project("a", "True")).unwrap();
    let run = remembering(&management, milo.clone(), &old);
    recreated(&run, &management, [&old, &new]).await;
    run.end().await;
    milo.clear_faults();
    let run = remembering(&management, milo.clone(), &new);
    until("the new one to be remembered", || remembered(&management, "a") == entry(&run, "a", &new)).await;
    run.end().await;

    // From now on it is one plane like another: an impostor is refused.
    let mark = management.mark();
    let impostor = ApiServer::project_plane("impostor");
    let run = remembering(&management, milo, &impostor);
    quiet(60).await;
    let health = run.planes.project(&plane_name("a")).unwrap().health();
    assert!(
        matches!(&health, Health::Unreachable(reason) if reason.contains("another cluster")),
        "{health:?}"
    );
    assert!(management.writes_since(mark).is_empty());
    run.end().await;
}

fn turn(run: &Run, suspended: &str) {
    let conditions = json!([{"type": "Ready", "status": "True"}, {"type": "Suspended", "status": suspended}]);
    run.milo.patch_status("Project", "", "a", &json!({"conditions": conditions})).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_suspended_project_is_a_plane_that_is_read_and_not_written() {
    let milo = milo();
    let a = ApiServer::project_plane("a");
    let mut suspended = project("a", "True");
    suspended["status"]["suspensions"] = json!([{"reason": "NonPayment"}]);
    milo.put(suspended).unwrap();
    a.put(deployment("one", true)).unwrap();
    let run = Run::start(milo, &[&a]);
    until("sync", || run.planes.engaged(&plane_name("a")).is_some()).await;
    let plane = run.planes.project(&plane_name("a")).unwrap();
    assert_eq!(plane.health(), Health::Suspended);
    assert_eq!(
        run.planes.states()[1..],
        [("engaged", 0), ("unreachable", 0), ("suspended", 1), ("paused", 0)]
    );

    let mark = a.mark();
    let wd = plane.refresh(&Pass::unbound(), Kind::WorkloadDeployment, "n", "one").await.unwrap().unwrap();
    let object: Object = serde_json::from_value(instance("x")).unwrap();
    let note = json!({"annotations": {"a/b": "c"}});
    for error in [
        plane.create(&Pass::unbound(), Kind::Instance, &object, "m").await.unwrap_err(),
        plane.replace(&Pass::unbound(), Kind::WorkloadDeployment, &wd, "m", DryRun::Yes).await.unwrap_err(),
        plane
            .replace_status(&Pass::unbound(), Kind::WorkloadDeployment, &wd, &json!({}), "m", DryRun::No)
            .await
            .unwrap_err(),
        plane.patch_metadata(&Pass::unbound(), Kind::WorkloadDeployment, &wd, note, "m").await.unwrap_err(),
        plane.delete(&Pass::unbound(), Kind::WorkloadDeployment, &wd, Precondition::Uid).await.unwrap_err(),
    ] {
        assert_eq!(error.category(), Category::NotEngaged, "{error:?}");
    }
    plane.events.say(&ObjectReference::default(), EventType::Normal, Reason::Federated, "x".to_owned()).await;
    assert!(a.writes_since(mark).is_empty());
    // Terminating objects are released.
    a.delete("WorkloadDeployment", "n", "one").unwrap();
    let wd = plane.refresh(&Pass::unbound(), Kind::WorkloadDeployment, "n", "one").await.unwrap().unwrap();
    plane
        .patch_metadata(&Pass::unbound(), Kind::WorkloadDeployment, &wd, json!({"finalizers": null}), "m")
        .await
        .unwrap();

    turn(&run, "False");
    until("it to be resumed", || plane.health() == Health::Engaged).await;
    plane.create(&Pass::unbound(), Kind::Instance, &object, "m").await.unwrap();
    turn(&run, "True");
    until("it to be suspended", || plane.health() == Health::Suspended).await;
    run.turn("a", "False");
    until("it to be disengaged", || run.names().is_empty()).await;
    run.end().await;
}

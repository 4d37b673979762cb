//! Discovery `milo`: which Projects make a plane, and until when it stays (section 2, I3).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use fedhub_core::names::FEDERATOR_FINALIZER;
use fedhub_core::object::Kind;
use fedhub_fake_apiserver::{ApiServer, Fault, Resource};
use fedhub_planes::discovery::milo::Milo;
use fedhub_planes::{Health, Pass, Planes};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::planes::support::*;

const GROUP: &str = "resourcemanager.miloapis.com";

pub fn milo() -> ApiServer {
    let projects = Resource::custom(GROUP, "v1alpha1", "Project", "projects").cluster_scoped().with_status();
    ApiServer::builder("milo").resources(fedhub_fake_apiserver::resource::base()).resource(projects).build()
}

pub fn project(name: &str, ready: &str) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1alpha1"), "kind": "Project",
        "metadata": {"name": name, "finalizers": ["test/held"]},
        "spec": {"ownerRef": {"kind": "Organization", "name": "o"}},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    })
}

pub fn deployment(name: &str, held: bool) -> Value {
    let finalizers = if held { json!([FEDERATOR_FINALIZER]) } else { json!(["example.com/other"]) };
    json!({
        "apiVersion": API, "kind": "WorkloadDeployment",
        "metadata": {"namespace": "n", "name": name, "finalizers": finalizers}, "spec": {"cityCode": "DFW"},
    })
}

/// A Milo, the planes of its projects, and a discovery over it.
pub struct Run {
    pub milo: ApiServer,
    pub servers: Arc<Mutex<BTreeMap<String, ApiServer>>>,
    pub planes: Arc<Planes>,
    pub stop: CancellationToken,
}

impl Run {
    pub fn start(milo: ApiServer, planes_of_projects: &[&ApiServer]) -> Self {
        Self::over(registry(&ApiServer::hub("hub")), milo, planes_of_projects)
    }

    pub fn over(planes: Arc<Planes>, milo: ApiServer, planes_of_projects: &[&ApiServer]) -> Self {
        let known = planes_of_projects.iter().map(|s| (s.name().to_owned(), (*s).clone()));
        let servers = Arc::new(Mutex::new(known.collect::<BTreeMap<_, _>>()));
        let connect = {
            let servers = servers.clone();
            move |name: &fedhub_core::names::PlaneName| {
                let servers = servers.lock().unwrap();
                servers
                    .get(name.as_str())
                    .map(|server| client(server).into())
                    .ok_or_else(|| "no such server".to_owned())
            }
        };
        let discovery = Milo::new(planes.clone(), client(&milo), Box::new(connect));
        let stop = CancellationToken::new();
        tokio::spawn(discovery.run(stop.clone()));
        Self { milo, servers, planes, stop }
    }

    pub fn names(&self) -> Vec<String> {
        self.planes.projects().iter().map(|p| p.id.to_string().replace("project ", "")).collect()
    }

    pub fn turn(&self, name: &str, ready: &str) {
        let status = json!({"conditions": [{"type": "Ready", "status": ready}]});
        self.milo.patch_status("Project", "", name, &status).unwrap();
    }

    pub fn vanish(&self, name: &str) {
        let bare = json!({"metadata": {"finalizers": null}});
        self.milo.patch("Project", "", name, &bare).unwrap();
        self.milo.delete("Project", "", name).unwrap();
    }

    pub async fn end(self) {
        self.stop.cancel();
        self.planes.stop().await;
    }
}

/// A WD goes as it does when its work is done: our finalizer comes off.
pub fn free(server: &ApiServer, name: &str) {
    let bare = json!({"metadata": {"finalizers": null}});
    server.patch("WorkloadDeployment", "n", name, &bare).unwrap();
}

#[tokio::test(start_paused = true)]
async fn each_project_that_is_ready_is_a_plane_and_one_that_becomes_so() {
    let milo = milo();
    let a = ApiServer::project_plane("a");
    let b = ApiServer::project_plane("b");
    milo.put(project("a", "True")).unwrap();
    let run = Run::start(milo, &[&a, &b]);
    quiet(5).await;
    run.milo.put(project("b", "Unknown")).unwrap();
    quiet(60).await;
    assert_eq!(run.names(), ["a"]);
    assert!(b.audit().is_empty(), "a project that is not Ready yet is not asked");
    run.turn("b", "True");
    until("both to be engaged", || run.planes.states()[1] == ("engaged", 2)).await;
    let first = run.planes.project(&plane_name("a")).unwrap();
    // News that changes nothing, and a new list.
    run.milo.patch("Project", "", "a", &json!({"metadata": {"labels": {"x": "y"}}})).unwrap();
    run.milo.compact();
    run.milo.break_watches();
    quiet(60).await;
    assert!(Arc::ptr_eq(&first, &run.planes.project(&plane_name("a")).unwrap()));
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn i3_a_project_that_turns_not_ready_or_is_deleted_stays_until_its_last_wd_is_free() {
    for deleted in [false, true] {
        let milo = milo();
        let a = ApiServer::project_plane("a");
        milo.put(project("a", "True")).unwrap();
        for (name, held) in [("one", true), ("two", true), ("other", false)] {
            a.put(deployment(name, held)).unwrap();
        }
        let run = Run::start(milo, &[&a]);
        let notes = Notes::on(&run.planes);
        until("sync", || run.planes.engaged(&plane_name("a")).is_some()).await;
        if deleted {
            run.milo.delete("Project", "", "a").unwrap();
        } else {
            run.turn("a", "False");
        }
        quiet(600).await;
        assert_eq!(run.names(), ["a"], "deleted: {deleted}");
        free(&a, "one");
        a.delete("WorkloadDeployment", "n", "one").unwrap();
        if deleted {
            // The Project itself is gone first.
            run.milo.patch("Project", "", "a", &json!({"metadata": {"finalizers": null}})).unwrap();
        }
        quiet(600).await;
        assert_eq!(run.names(), ["a"], "deleted: {deleted}");
        notes.take();
        free(&a, "two");
        quiet(1).await;
        assert_eq!(run.names(), [""; 0], "deleted: {deleted}: at once, by the event");
        assert!(notes.take().contains(&"a left".to_owned()));
        let asked = a.audit().len();
        quiet(600).await;
        assert_eq!(a.audit().len(), asked, "no request is sent to it any more");
        if !deleted {
            run.turn("a", "True");
            until("it again", || run.planes.engaged(&plane_name("a")).is_some()).await;
        }
        run.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_project_without_wds_of_ours_goes_at_once_and_comes_back() {
    let milo = milo();
    let a = ApiServer::project_plane("a");
    milo.put(project("a", "True")).unwrap();
    a.put(deployment("other", false)).unwrap();
    let run = Run::start(milo, &[&a]);
    until("sync", || run.planes.engaged(&plane_name("a")).is_some()).await;
    run.turn("a", "False");
    quiet(1).await;
    assert_eq!(run.names(), [""; 0]);
    run.turn("a", "True");
    until("it again", || run.planes.engaged(&plane_name("a")).is_some()).await;
    run.vanish("a");
    quiet(1).await;
    assert_eq!(run.names(), [""; 0]);
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn i3_a_project_that_vanishes_in_a_gap_stays_until_its_last_wd_is_free() {
    let milo = milo();
    let a = ApiServer::project_plane("a");
    let b = ApiServer::project_plane("b");
    milo.put(project("a", "True")).unwrap();
    milo.put(project("b", "True")).unwrap();
    a.put(deployment("one", true)).unwrap();
    let run = Run::start(milo, &[&a, &b]);
    until("both to be engaged", || run.planes.states()[1] == ("engaged", 2)).await;
    let before = run.planes.project(&plane_name("a")).unwrap();
    run.milo.fault(Fault::Hang.on("watch", "projects"));
    run.vanish("a");
    run.vanish("b");
    run.milo.compact();
    run.milo.break_watches();
    run.milo.clear_faults();
    until("the one without WDs to go", || run.names() == ["a"]).await;
    quiet(600).await;
    assert!(Arc::ptr_eq(&before, &run.planes.project(&plane_name("a")).unwrap()));
    // The finalizer's last write is our own: the watch brings it.
    let plane = run.planes.project(&plane_name("a")).unwrap();
    let wd =
        plane.get_or_fetch(&Pass::unbound(), Kind::WorkloadDeployment, "n", "one").await.unwrap().unwrap();
    plane
        .patch_metadata(&Pass::unbound(), Kind::WorkloadDeployment, &wd, json!({"finalizers": null}), "m")
        .await
        .unwrap();
    quiet(1).await;
    assert_eq!(run.names(), [""; 0]);
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn i3_what_an_earlier_process_left_in_a_project_that_is_not_ready_is_found() {
    let milo = milo();
    let servers = ["held", "free", "ready", "going"].map(ApiServer::project_plane);
    for (name, ready) in [("held", "False"), ("free", "Unknown"), ("ready", "True"), ("going", "True")] {
        milo.put(project(name, ready)).unwrap();
    }
    milo.delete("Project", "", "going").unwrap();
    servers[0].put(deployment("one", true)).unwrap();
    servers[3].put(deployment("one", true)).unwrap();
    let run = Run::start(milo, &servers.each_ref());
    quiet(30).await;
    assert_eq!(run.names(), ["going", "held", "ready"]);
    free(&servers[0], "one");
    free(&servers[3], "one");
    quiet(1).await;
    assert_eq!(run.names(), ["ready"]);
    // Once looked at, an old project that is still not Ready is left alone.
    run.milo.compact();
    run.milo.break_watches();
    quiet(60).await;
    assert_eq!(run.names(), ["ready"]);
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn i3_a_plane_whose_wds_nobody_has_listed_is_held() {
    let milo = milo();
    let a = ApiServer::project_plane("a");
    milo.put(project("a", "True")).unwrap();
    a.fault(Fault::Status(503));
    let run = Run::start(milo, &[&a]);
    quiet(30).await;
    run.turn("a", "False");
    quiet(600).await;
    assert_eq!(run.names(), ["a"]);
    assert!(matches!(run.planes.projects()[0].health(), Health::Unreachable(_)));
    a.clear_faults();
    until("the list that says that nothing is held", || run.names().is_empty()).await;

    // And one that turns Ready again restarts its watches instead of waiting out their back-off.
    a.fault(Fault::Status(503));
    run.turn("a", "True");
    quiet(600).await;
    run.turn("a", "False");
    quiet(600).await;
    a.clear_faults();
    run.turn("a", "True");
    quiet(1).await;
    assert!(run.planes.engaged(&plane_name("a")).is_some());
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_project_that_makes_no_plane_is_told_so_once_and_disturbs_no_other() {
    let long = "x".repeat(56);
    let milo = milo();
    milo.put(project(&long, "True")).unwrap();
    milo.put(project("lost", "True")).unwrap();
    milo.put(project("fine", "True")).unwrap();
    let fine = ApiServer::project_plane("fine");
    let run = Run::start(milo, &[&fine]);
    until("the other", || run.planes.engaged(&plane_name("fine")).is_some()).await;
    assert_eq!(run.planes.states()[2], ("unreachable", 2));
    let events = |about: &str| -> Vec<String> {
        let events = run.milo.list("events.events.k8s.io");
        let of = events.iter().filter(|e| e["regarding"]["name"] == about && e["type"] == "Warning");
        of.map(|e| e["note"].as_str().unwrap().to_owned()).collect()
    };
    assert!(matches!(&events(&long)[..], [note] if note.contains("at most 63")), "{:?}", events(&long));
    assert_eq!(events("lost"), ["no such server"]);
    run.milo.compact();
    run.milo.break_watches();
    quiet(60).await;
    assert_eq!((events(&long).len(), events("lost").len()), (1, 1));

    run.vanish(&long);
    run.servers.lock().unwrap().insert("lost".to_owned(), ApiServer::project_plane("lost"));
    run.milo.patch("Project", "", "lost", &json!({"metadata": {"labels": {"x": "y"}}})).unwrap();
    until("it to be engaged", || run.planes.engaged(&plane_name("lost")).is_some()).await;
    assert_eq!(run.planes.states()[2], ("unreachable", 0));
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn i4_planes_stay_while_the_projects_cannot_be_listed() {
    let milo = milo();
    let a = ApiServer::project_plane("a");
    milo.put(project("a", "True")).unwrap();
    let run = Run::start(milo, &[&a]);
    until("sync", || run.planes.engaged(&plane_name("a")).is_some()).await;
    let plane = run.planes.project(&plane_name("a")).unwrap();
    for fault in [Fault::Status(403), Fault::Disconnect, Fault::Status(404), Fault::Garbage, Fault::Hang] {
        run.milo.fault(fault);
        run.milo.compact();
        run.milo.break_watches();
        quiet(300).await;
        run.milo.clear_faults();
    }
    assert!(!plane.stop.is_cancelled());
    run.end().await;
}

//! Discovery `milo`: projects that vanished without being watched, and are named by what they left on the hub
//! (F11).

use std::sync::Arc;

use fedhub_core::clock::Clock;
use fedhub_core::fence::Fence;
use fedhub_core::names::{PlaneName, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE, encode_plane};
use fedhub_fake_apiserver::{ApiServer, Fault};
use fedhub_planes::{Identities, Planes, Settings};
use serde_json::json;

use crate::planes::milo::{Run, deployment, free, milo, project};
use crate::planes::support::{API, client, metrics, plane_name, quiet, registry, until};

/// A hub namespace of a project.
fn namespace(hub: &ApiServer, name: &str, of: &PlaneName) {
    let labels = json!({UPSTREAM_CLUSTER: encode_plane(of), UPSTREAM_NAMESPACE: "default"});
    hub.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}))
        .unwrap();
}

fn federated(hub: &ApiServer, namespace: &str) {
    let wd = json!({
        "apiVersion": API, "kind": "WorkloadDeployment",
        "metadata": {"namespace": namespace, "name": "one"}, "spec": {"cityCode": "DFW"},
    });
    hub.put(wd).unwrap();
}

fn started(hub: &ApiServer) -> Arc<Planes> {
    let planes = registry(hub);
    planes.start();
    planes
}

#[tokio::test(start_paused = true)]
async fn f11_a_project_that_vanished_before_the_start_is_engaged_until_its_last_wd_is_free() {
    let hub = ApiServer::hub("hub");
    let milo = milo();
    let [gone, clean, stands] = ["gone", "clean", "stands"].map(ApiServer::project_plane);
    for (name, of) in [("ns-1", "gone"), ("ns-2", "clean"), ("ns-3", "stands"), ("ns-4", "long-gone")] {
        namespace(&hub, name, &plane_name(of));
    }
    for namespace in ["ns-1", "ns-2", "ns-3"] {
        federated(&hub, namespace);
    }
    gone.put(deployment("one", true)).unwrap();
    stands.put(deployment("one", true)).unwrap();
    milo.put(project("stands", "True")).unwrap();
    let run = Run::over(started(&hub), milo, &[&gone, &clean, &stands]);
    until("both to be engaged", || run.planes.states()[1] == ("engaged", 2)).await;
    quiet(60).await;
    assert_eq!(
        run.names(),
        ["gone", "stands"],
        "what holds our finalizer, and nothing of which the hub has nothing"
    );
    free(&gone, "one");
    until("it to be disengaged", || run.names() == ["stands"]).await;
    // A gap is no new start.
    let asked = gone.audit().len();
    hub.compact();
    hub.break_watches();
    run.milo.compact();
    run.milo.break_watches();
    quiet(300).await;
    assert_eq!(gone.audit().len(), asked, "looked at once");
    // Its name is free for another.
    run.milo.put(project("gone", "True")).unwrap();
    until("it to be engaged", || run.planes.engaged(&plane_name("gone")).is_some()).await;
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn f11_a_vanished_project_is_looked_for_only_where_projects_and_hub_are_known() {
    let hub = ApiServer::hub("hub");
    let milo = milo();
    let a = ApiServer::project_plane("a");
    namespace(&hub, "ns-1", &plane_name("a"));
    federated(&hub, "ns-1");
    a.put(deployment("one", true)).unwrap();
    milo.fault(Fault::Status(503));
    let run = Run::over(started(&hub), milo, &[&a]);
    quiet(60).await;
    assert_eq!(run.names(), [""; 0], "its Project may be there");
    run.milo.clear_faults();
    until("it to be engaged", || run.planes.engaged(&plane_name("a")).is_some()).await;
    run.end().await;

    let hub = ApiServer::hub("hub");
    let milo = crate::planes::milo::milo();
    namespace(&hub, "ns-1", &plane_name("a"));
    federated(&hub, "ns-1");
    hub.fault(Fault::Status(503));
    let run = Run::over(started(&hub), milo, &[&a]);
    quiet(60).await;
    hub.clear_faults();
    until("it to be engaged", || run.planes.engaged(&plane_name("a")).is_some()).await;
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn f11_a_vanished_project_whose_plane_does_not_answer_is_held() {
    let hub = ApiServer::hub("hub");
    let milo = milo();
    let a = ApiServer::project_plane("a");
    namespace(&hub, "ns-1", &plane_name("a"));
    federated(&hub, "ns-1");
    a.put(deployment("one", true)).unwrap();
    a.fault(Fault::Status(404));
    let run = Run::over(started(&hub), milo, &[&a]);
    quiet(600).await;
    assert_eq!(run.planes.states()[2], ("unreachable", 1));
    assert!(run.planes.gone().is_empty());
    a.clear_faults();
    until("it to be engaged", || run.planes.engaged(&plane_name("a")).is_some()).await;
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn f11_what_is_left_of_a_vanished_project_whose_plane_is_not_there_is_orphaned() {
    let hub = ApiServer::hub("hub");
    let milo = milo();
    let management = ApiServer::management("m");
    let servers = ["empty", "starting", "clean"].map(ApiServer::project_plane);
    for (n, of) in ["empty", "starting", "clean", "nowhere"].into_iter().enumerate() {
        namespace(&hub, &format!("ns-{n}"), &plane_name(of));
        federated(&hub, &format!("ns-{n}"));
    }
    servers[0].delete("Namespace", "", "default").unwrap();
    servers[1].put(deployment("one", true)).unwrap();
    servers[1].fault(Fault::Status(404));
    let identities = Identities::new("fedhub-system");
    let settings = Settings { seed: 7, identities: Some(identities.clone()), ..Settings::default() };
    let planes = Planes::with(client(&hub), metrics(), Clock::from_tokio(hub.clock().now()), settings);
    planes.start();
    let run = Run::over(planes.clone(), milo, &servers.each_ref());
    tokio::spawn(identities.run(client(&management), planes, Fence::open(), run.stop.clone()));
    quiet(60).await;
    let gone = |run: &Run| run.planes.gone().iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(gone(&run), ["clean", "nowhere"], "the others may be starting");
    servers[1].clear_faults();
    until("the empty one to be given up", || gone(&run) == ["clean", "empty", "nowhere"]).await;
    assert_eq!(run.names(), ["starting"]);
    let asked = servers[0].audit().len();
    quiet(600).await;
    assert_eq!(servers[0].audit().len(), asked, "no request is sent to it any more");
    run.end().await;
}

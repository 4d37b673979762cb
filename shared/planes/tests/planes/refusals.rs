//! What is said of a plane that is refused, and that it is asked again when its entry goes (section 2, I4).

use std::sync::Arc;
use std::time::Duration;

use fedhub_cache::MemoryBudget;
use fedhub_core::fence::Fence;
use fedhub_core::names::{PLANE_NAME, PLANE_SECRET};
use fedhub_fake_apiserver::ApiServer;
use fedhub_fake_apiserver::http::{self, Census, Identity};
use fedhub_planes::Planes;
use fedhub_planes::discovery::kubeconfigs::Kubeconfigs;
use fedhub_planes::transport::{Transport, TransportConfig};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::planes::milo::{milo, project};
use crate::planes::milo_projects::{management, remembered, remembering};
use crate::planes::support::*;

/// Warnings about an object: the reason, the note, and whether it was said more than once.
fn warnings(server: &ApiServer, about: &str) -> Vec<(String, String, bool)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let events = server.list("events.events.k8s.io").into_iter();
    let of = events.filter(|e| e["regarding"]["name"] == about && e["type"] == "Warning");
    of.map(|e| (text(&e["reason"]), text(&e["note"]), !e["series"].is_null())).collect()
}

fn forget(management: &ApiServer, plane: &str) {
    let maps = management.list("configmaps");
    let map = maps.iter().find(|map| !map["data"][plane].is_null()).unwrap();
    let name = map["metadata"]["name"].as_str().unwrap();
    management.patch("ConfigMap", HOME, name, &json!({"data": {plane: null}})).unwrap();
}

/// Awaits that the plane is engaged, within a second of paused time.
async fn within_a_second(planes: &Planes, name: &str) {
    let since = Instant::now();
    until("the plane to be engaged", || planes.engaged(&plane_name(name)).is_some()).await;
    assert!(since.elapsed() < Duration::from_secs(1), "{:?}", since.elapsed());
}

#[tokio::test(start_paused = true)]
async fn i4_a_project_whose_plane_is_another_cluster_is_told_so_once_and_engages_when_its_entry_goes() {
    let management = management();
    let milo = milo();
    let [right, twin] = ["right", "twin"].map(ApiServer::project_plane);
    milo.put(project("a", "True")).unwrap();
    let run = remembering(&management, milo.clone(), &right);
    until("it to be remembered", || !remembered(&management, "a").is_empty()).await;
    run.end().await;

    let run = remembering(&management, milo.clone(), &twin);
    quiet(600).await;
    let events = warnings(&milo, "a");
    assert!(
        matches!(&events[..], [(reason, note, false)] if reason == "AnotherIdentity" && note.contains("ConfigMap")),
        "{events:?}"
    );
    assert!(twin.audit().iter().all(|entry| !entry.is_write()), "a refused plane is not written");
    forget(&management, "a");
    within_a_second(&run.planes, "a").await;
    assert_eq!(warnings(&milo, "a").len(), 1);
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn i4_a_project_whose_plane_is_that_of_another_is_told_so_once_and_engages_when_that_one_goes() {
    let management = management();
    let milo = milo();
    let server = ApiServer::project_plane("one");
    milo.put(project("a", "True")).unwrap();
    let run = remembering(&management, milo.clone(), &server);
    until("it to be remembered", || !remembered(&management, "a").is_empty()).await;
    run.servers.lock().unwrap().insert("b".to_owned(), server.clone());
    milo.put(project("b", "True")).unwrap();
    quiet(600).await;
    let events = warnings(&milo, "b");
    assert!(
        matches!(&events[..], [(reason, note, false)] if reason == "IdentityTaken" && note.contains("plane a")),
        "{events:?}"
    );
    assert!(warnings(&milo, "a").is_empty());
    run.vanish("a");
    quiet(60).await;
    assert!(run.planes.engaged(&plane_name("b")).is_none(), "what is remembered counts");
    forget(&management, "a");
    within_a_second(&run.planes, "b").await;
    run.end().await;
}

#[tokio::test]
async fn i4_a_secret_whose_plane_is_another_cluster_is_told_so() {
    let management = management();
    let twin = ApiServer::project_plane("twin");
    let remembers = json!({"federation.datumapis.com/remembers": "plane-identities"});
    let map = json!({"namespace": HOME, "name": "fedhub-plane-identities-0", "labels": remembers});
    let known =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": map, "data": {"p": "another-uid"}});
    management.put(known).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    let identity = Identity::generate(&["127.0.0.1".to_owned()]).unwrap();
    let serving = twin.service();
    tokio::spawn(async move {
        http::serve(listener, &identity, http::Settings::default(), serving, Arc::<Census>::default()).await;
    });
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    });
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {
            "namespace": HOME, "name": "plane-p", "labels": {PLANE_SECRET.0: PLANE_SECRET.1},
            "annotations": {PLANE_NAME: "p"},
        },
        "stringData": {"kubeconfig": kubeconfig.to_string()},
    });
    management.put(secret).unwrap();

    let stop = CancellationToken::new();
    let planes = remembering_registry(&ApiServer::hub("hub"), &management, Fence::open(), &stop);
    let transport =
        Transport::new(TransportConfig::default(), planes.metrics().clone(), MemoryBudget::unlimited());
    tokio::spawn(Kubeconfigs::new(planes.clone(), client(&management), HOME, transport).run(stop.clone()));
    until("the Event", || !warnings(&management, "plane-p").is_empty()).await;
    let events = warnings(&management, "plane-p");
    assert!(
        matches!(&events[..], [(reason, note, false)] if reason == "AnotherIdentity" && note.contains("another-uid")),
        "{events:?}"
    );
    let stored = management.list("events.events.k8s.io");
    assert_eq!(stored[0]["metadata"]["namespace"], HOME);
    stop.cancel();
    planes.stop().await;
}

//! A name stands for one cluster, and a cluster has one name (section 2, I4).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use fedhub_core::clock::Clock;
use fedhub_core::errors::Category;
use fedhub_core::fence::Fence;
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Kind, Object};
use fedhub_fake_apiserver::{ApiServer, Fault};
use fedhub_lease::{Leadership, LeaseConfig};
use fedhub_planes::{Health, Pass, Plane, Planes};
use http::Request;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower::{Layer, Service, service_fn};

use crate::planes::support::*;

pub(super) fn management() -> ApiServer {
    let server = ApiServer::management("m");
    server.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}})).unwrap();
    server
}

/// A process that remembers.
pub(super) struct Process {
    pub(super) planes: Arc<Planes>,
    stop: CancellationToken,
}

impl Process {
    pub(super) fn start(management: &ApiServer) -> Self {
        Self::fenced(management, Fence::open())
    }

    fn fenced(management: &ApiServer, fence: Fence) -> Self {
        let stop = CancellationToken::new();
        let planes = remembering_registry(&ApiServer::hub("hub"), management, fence, &stop);
        Self { planes, stop }
    }

    pub(super) fn engage(&self, name: &str, server: &ApiServer) -> Arc<Plane> {
        self.planes.engage(&plane_name(name), client(server))
    }

    pub(super) async fn engaged(&self, name: &str) -> Arc<Plane> {
        until("the plane to be engaged", || self.planes.engaged(&plane_name(name)).is_some()).await;
        self.planes.engaged(&plane_name(name)).unwrap()
    }

    /// Why a plane is not engaged.
    pub(super) fn reason(&self, name: &str) -> String {
        assert!(self.planes.engaged(&plane_name(name)).is_none());
        match self.planes.project(&plane_name(name)).unwrap().health() {
            Health::Unreachable(reason) => reason,
            other => panic!("{other:?}"),
        }
    }

    pub(super) async fn end(self) {
        self.stop.cancel();
        self.planes.stop().await;
    }
}

pub(super) fn uid(server: &ApiServer, namespace: &str) -> String {
    server.get("Namespace", "", namespace).unwrap()["metadata"]["uid"].as_str().unwrap().to_owned()
}

/// The entries on the management plane.
pub(super) fn stored(management: &ApiServer) -> Value {
    let maps = management.list("configmaps");
    let entries = maps.iter().filter_map(|map| map["data"].as_object()).flatten();
    entries.map(|(name, uid)| (name.clone(), uid.clone())).collect::<serde_json::Map<_, _>>().into()
}

/// The name of the `ConfigMap` that remembers a plane.
pub(super) fn shard(management: &ApiServer, plane: &str) -> String {
    let maps = management.list("configmaps");
    let map = maps.iter().find(|map| !map["data"][plane].is_null()).unwrap();
    map["metadata"]["name"].as_str().unwrap().to_owned()
}

pub(super) fn remove(management: &ApiServer, plane: &str) {
    let map = shard(management, plane);
    management.patch("ConfigMap", HOME, &map, &json!({"data": {plane: null}})).unwrap();
}

/// Requests that read more of a plane than its identity.
fn worked_on(server: &ApiServer) -> bool {
    server.audit().iter().any(|entry| entry.resource != "namespaces")
}

#[tokio::test(start_paused = true)]
async fn i4_another_cluster_behind_a_known_name_is_refused_until_an_operator_says_so() {
    let management = management();
    let right = ApiServer::project_plane("right");
    let twin = ApiServer::project_plane("twin");
    right.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}})).unwrap();
    let process = Process::start(&management);
    process.engage("a", &right);
    process.engaged("a").await;
    quiet(10).await;
    assert_eq!(stored(&management), json!({"a": uid(&right, "kube-system")}));
    process.end().await;

    let process = Process::start(&management);
    let mark = management.mark();
    process.engage("a", &twin);
    quiet(600).await;
    let reason = process.reason("a");
    for part in [uid(&right, "kube-system"), uid(&twin, "default"), shard(&management, "a")] {
        assert!(reason.contains(&part), "{reason}");
    }
    assert_eq!(
        process.planes.states(),
        [("engaging", 0), ("engaged", 0), ("unreachable", 1), ("suspended", 0), ("paused", 0)]
    );
    assert!(!worked_on(&twin), "not even listed");
    let refused = |p: &Process| {
        p.planes.metrics().watch_restarts.with_label_values(&["project", "another_identity"]).get()
    };
    assert!(refused(&process) > 0);
    // The right one, meanwhile: it is asked once for both of its watches.
    right.clear_audit();
    process.engage("a", &right);
    process.engaged("a").await;
    assert_eq!(count(&right, "get", "namespaces"), 1);
    assert!(management.writes_since(mark).is_empty(), "nothing new, nothing written");

    process.engage("a", &twin);
    quiet(60).await;
    process.reason("a");
    remove(&management, "a");
    process.engaged("a").await;
    quiet(10).await;
    assert_eq!(stored(&management), json!({"a": uid(&twin, "default")}));
    process.end().await;
}

/// A client of whichever server stands behind the address now.
fn address(at: &Arc<Mutex<ApiServer>>) -> kube::Client {
    let at = at.clone();
    let service = service_fn(move |request: Request<kube::client::Body>| {
        let mut service = at.lock().unwrap().service();
        async move { service.call(request).await }
    });
    kube::Client::new(fedhub_planes::transport::HeaderTimeoutLayer::new(HEADERS).layer(service), "default")
}

#[tokio::test(start_paused = true)]
async fn i4_a_wrong_twin_behind_the_same_address_is_noticed_when_the_watches_start_anew() {
    for gap in [false, true] {
        let management = management();
        let right = ApiServer::project_plane("right");
        let twin = ApiServer::project_plane("twin");
        right.put(instance("x")).unwrap();
        twin.put(instance("y")).unwrap();
        let process = Process::start(&management);
        let at = Arc::new(Mutex::new(right.clone()));
        process.planes.engage(&plane_name("a"), address(&at));
        let plane = process.engaged("a").await;
        if gap {
            // The watches end in good order, and the place to resume from is gone on either server.
            twin.compact();
            right.compact();
        } else {
            right.fault(Fault::Disconnect);
        }
        *at.lock().unwrap() = if gap { twin.clone() } else { right.clone() };
        right.break_watches();
        if gap {
            twin.fault(Fault::Status(410).on("watch", "instances").times(1));
            twin.fault(Fault::Status(410).on("watch", "workloaddeployments").times(1));
        } else {
            until("trouble", || plane.health() != Health::Engaged).await;
            *at.lock().unwrap() = twin.clone();
        }
        until("the twin to be noticed", || process.planes.engaged(&plane_name("a")).is_none()).await;
        quiet(300).await;
        assert!(process.reason("a").contains(&uid(&right, "default")));
        assert_eq!(process.planes.project(&plane_name("a")).unwrap().objects(), 0, "nothing known counts");
        assert_eq!(count(&twin, "list", "instances"), 0);
        // Whoever still holds the old one cannot write there.
        let object: Object = serde_json::from_value(instance("z")).unwrap();
        let error = plane.create(&Pass::unbound(), Kind::Instance, &object, "test").await.unwrap_err();
        assert_eq!(error.category(), Category::NotEngaged);
        assert!(twin.audit().iter().all(|entry| !entry.is_write()));

        right.clear_faults();
        *at.lock().unwrap() = right.clone();
        let plane = process.engaged("a").await;
        assert!(plane.store(Kind::Instance).get("n", "x").is_some());
        process.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn of_two_names_with_one_identity_the_later_is_refused() {
    let management = management();
    let server = ApiServer::project_plane("one");
    let process = Process::start(&management);
    process.engage("b", &server);
    let plane = process.engaged("b").await;
    process.engage("a", &server);
    quiet(60).await;
    let reason = process.reason("a");
    assert!(
        reason.contains("the cluster of plane b") && reason.contains(&uid(&server, "default")),
        "{reason}"
    );
    assert!(!plane.stop.is_cancelled(), "the first goes on");
    process.planes.disengage(&plane_name("b"));
    quiet(60).await;
    process.reason("a");
    remove(&management, "b");
    process.engaged("a").await;
    process.end().await;
}

#[tokio::test(start_paused = true)]
async fn what_another_leader_remembered_counts_for_who_was_accepted_before() {
    let management = management();
    let server = ApiServer::project_plane("one");
    let process = Process::start(&management);
    process.engage("a", &server);
    process.engaged("a").await;
    let theirs = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "namespace": HOME, "name": "fedhub-plane-identities-other",
            "labels": {"federation.datumapis.com/remembers": "plane-identities"},
        },
        "data": {"z": uid(&server, "default"), "": "nonsense", "empty": ""},
    });
    management.put(theirs).unwrap();
    until("the plane to be refused", || process.planes.engaged(&plane_name("a")).is_none()).await;
    quiet(60).await;
    assert!(process.reason("a").contains("the cluster of plane z"));
    assert_eq!(stored(&management)["a"], Value::Null);
    process.end().await;
}

#[tokio::test(start_paused = true)]
async fn many_planes_are_remembered_by_few_writes_and_a_restart_by_none() {
    let management = management();
    let servers: Vec<_> = (0..300).map(|n| ApiServer::project_plane(&format!("p{n}"))).collect();
    let mark = management.mark();
    let process = Process::start(&management);
    for server in &servers {
        process.engage(server.name(), server);
    }
    until("all to be engaged", || process.planes.states()[1].1 == 300).await;
    quiet(30).await;
    assert_eq!(stored(&management).as_object().unwrap().len(), 300);
    let writes = management.writes_since(mark).len();
    assert!(writes <= 32, "{writes} writes");
    process.end().await;

    let process = Process::start(&management);
    let mark = management.mark();
    for server in &servers {
        process.engage(server.name(), server);
    }
    until("all to be engaged", || process.planes.states()[1].1 == 300).await;
    management.compact();
    management.break_watches();
    quiet(600).await;
    assert!(management.writes_since(mark).is_empty());
    process.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_standby_reads_and_the_leader_writes() {
    let management = management();
    let server = ApiServer::project_plane("a");
    let never = ApiServer::management("never");
    never.fault(Fault::Disconnect);
    let config = LeaseConfig {
        namespace: HOME.to_owned(),
        name: "fedhub".to_owned(),
        identity: "standby".to_owned(),
        duration: Duration::from_secs(15),
        renew: Duration::from_secs(5),
        warm_up: Duration::ZERO,
    };
    let clock = Clock::from_tokio(never.clock().now());
    let leadership = Leadership::start(client(&never), config, clock, &metrics());
    let standby = Process::fenced(&management, leadership.fence());
    standby.engage("a", &server);
    standby.engaged("a").await;
    quiet(60).await;
    assert_eq!(stored(&management), json!({}));
    let leader = Process::start(&management);
    leader.engage("a", &server);
    quiet(60).await;
    assert_eq!(stored(&management), json!({"a": uid(&server, "default")}));
    assert!(standby.planes.engaged(&plane_name("a")).is_some());
    leader.end().await;
    standby.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_write_of_another_is_not_overwritten() {
    let management = management();
    let server = ApiServer::project_plane("a");
    let process = Process::start(&management);
    process.engage("a", &server);
    process.engaged("a").await;
    quiet(10).await;
    let map = shard(&management, "a");
    let name = same_shard("a");
    let other = ApiServer::project_plane("other");
    process.engage(&name, &other);
    // The watch does not bring this before the write is due.
    management.fault(Fault::Hang.on("watch", "configmaps"));
    management.break_watches();
    management.patch("ConfigMap", HOME, &map, &json!({"data": {"theirs": "x"}})).unwrap();
    quiet(10).await;
    management.clear_faults();
    until("both to be stored", || !stored(&management)[&name].is_null()).await;
    assert_eq!(stored(&management)["theirs"], "x");
    process.end().await;
}

/// Another name that is remembered in the same `ConfigMap`.
pub(super) fn same_shard(name: &str) -> String {
    let shard = |name: &str| fedhub_core::hash::text(PlaneName::new(name).unwrap().as_str()) & 0xf;
    (0..1_000).map(|n| format!("p{n}")).find(|other| shard(other) == shard(name)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn who_cannot_be_asked_is_not_worked_on_and_says_why() {
    let management = management();
    let server = ApiServer::project_plane("a");
    let process = Process::start(&management);
    let fault = server.fault(Fault::Status(403).on("get", "namespaces"));
    process.engage("a", &server);
    quiet(60).await;
    let reason = process.reason("a");
    assert!(
        reason.starts_with("failed to get namespaces/kube-system") && reason.contains("forbidden"),
        "{reason}"
    );
    assert!(!worked_on(&server));
    assert!(process.planes.metrics().watch_restarts.with_label_values(&["project", "forbidden"]).get() > 0);
    server.clear_fault(fault);
    process.engaged("a").await;

    let bare = ApiServer::builder("bare").build();
    let nameless = ApiServer::project_plane("nameless");
    nameless.delete("Namespace", "", "default").unwrap();
    process.engage("bare", &bare);
    process.engage("nameless", &nameless);
    let silent = ApiServer::project_plane("silent");
    silent.fault(Fault::Hang);
    process.engage("silent", &silent);
    quiet(60).await;
    assert!(process.reason("bare").starts_with("failed to get namespaces/kube-system"));
    assert!(process.reason("nameless").contains("neither a namespace kube-system nor default,"));
    assert!(process.reason("silent").contains("no answer within"), "{}", process.reason("silent"));
    process.end().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_worked_on_before_what_is_remembered_was_read() {
    let management = management();
    let server = ApiServer::project_plane("a");
    management.fault(Fault::Status(403).on("list", "configmaps"));
    let process = Process::start(&management);
    process.engage("a", &server);
    quiet(120).await;
    let reason = process.reason("a");
    assert!(
        reason.contains("failed to read plane identities on the management plane")
            && reason.contains("forbidden"),
        "{reason}"
    );
    assert!(server.audit().is_empty());
    management.clear_faults();
    process.engaged("a").await;
    process.end().await;
}

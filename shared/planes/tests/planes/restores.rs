//! A hub that was restored from a backup is recognised, by what is remembered on the management plane, too
//! (I4).

use std::sync::Arc;

use fedhub_api::cells::lost_since;
use fedhub_core::clock::Clock;
use fedhub_core::fence::Fence;
use fedhub_core::names::PlaneName;
use fedhub_fake_apiserver::{ApiServer, Fault, Snapshot};
use fedhub_planes::identity::hub;
use fedhub_planes::{Distrust, Planes};
use http::{Request, Response};
use http_body_util::{Either, Full};
use hyper::body::Bytes;
use kube::client::Body;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tower::{Service, service_fn};

use crate::planes::support::*;

const API: &str = "compute.datumapis.com/v1alpha";

struct World {
    hub: ApiServer,
    management: ApiServer,
}

struct Process {
    planes: Arc<Planes>,
    stop: CancellationToken,
}

impl World {
    fn new() -> Self {
        let world = Self { hub: ApiServer::hub("hub"), management: ApiServer::management("m") };
        let home = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}});
        world.management.put(home).unwrap();
        world.others(1);
        for name in ["wd-0", "wd-1"] {
            world.put(name);
        }
        world
    }

    fn put(&self, name: &str) {
        let labels = json!({"topology.datum.net/city-code": "DFW"});
        let namespace = "ns-a";
        let wd = json!({"apiVersion": API, "kind": "WorkloadDeployment",
            "metadata": {"namespace": namespace, "name": "wd", "labels": labels}, "spec": {"cityCode": "DFW"}});
        self.hub.put(wd).unwrap();
        let metadata = json!({"namespace": namespace, "name": name});
        let instance =
            json!({"apiVersion": API, "kind": "Instance", "metadata": metadata, "spec": {"n": name}});
        self.hub.put(instance).unwrap();
    }

    /// The cell writes.
    fn touch(&self, status: u64) {
        self.hub.patch_status("Instance", "ns-a", "wd-0", &json!({ "n": status })).unwrap();
    }

    /// Other objects of the hub change: Leases, say.
    fn others(&self, count: usize) {
        for n in 0..count {
            let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "karmada", "name": "x"},
                "data": {"n": n.to_string()}});
            self.hub.put(map).unwrap();
        }
    }

    fn start(&self) -> Process {
        let stop = CancellationToken::new();
        let planes = remembering_registry(&self.hub, &self.management, Fence::open(), &stop);
        planes.start();
        Process { planes, stop }
    }

    /// What is stored on the management plane.
    fn stored(&self) -> Value {
        let map = self.management.get("ConfigMap", HOME, hub::NAME);
        map.map_or(Value::Null, |map| map["data"].clone())
    }

    fn writes(&self) -> usize {
        self.management.audit().iter().filter(|entry| entry.is_write()).count()
    }
}

impl Process {
    async fn end(self) {
        self.stop.cancel();
        self.planes.stop().await;
    }
}

/// A process that has seen `wd-2`, which the backup lacks, and has not stored the version of that yet.
async fn running_past_a_backup() -> (World, Process, Snapshot) {
    let world = World::new();
    let run = world.start();
    quiet(30).await;
    let backup = world.hub.snapshot();
    world.put("wd-2");
    quiet(1).await;
    (world, run, backup)
}

#[tokio::test(start_paused = true)]
async fn i7_the_highest_version_is_stored_once_a_minute_and_only_when_it_moved() {
    let world = World::new();
    let run = world.start();
    quiet(30).await;
    assert_eq!(world.writes(), 1);
    assert_eq!(world.stored(), json!({"highestResourceVersion": world.hub.revision().to_string()}));
    // An idle hub, whose Leases and the like move its version on.
    let stored = world.stored();
    for _ in 0..60 {
        world.others(5);
        quiet(30).await;
    }
    assert_eq!((world.writes(), world.stored()), (1, stored));
    for n in 0..600 {
        world.touch(n);
        quiet(1).await;
    }
    let writes = world.writes() - 1;
    assert!((9..=11).contains(&writes), "in ten minutes: {writes}");
    quiet(90).await;
    run.end().await;
    let before = (world.writes(), world.stored());
    let run = world.start();
    quiet(300).await;
    assert_eq!((world.writes(), world.stored()), before, "a restart writes nothing");
    assert_eq!(run.planes.distrust(), None);
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn i4_a_hub_restored_while_nobody_looked_is_distrusted_until_an_operator_accepts_it() {
    let world = World::new();
    let backup = world.hub.snapshot();
    world.put("wd-2");
    let run = world.start();
    quiet(30).await;
    run.end().await;
    world.hub.restore(&backup);
    let run = world.start();
    until("the hub to be in sync", || run.planes.hub().synced()).await;
    assert_eq!(run.planes.distrust(), Some(Distrust::Restored), "from the first list on");
    quiet(30).await;
    let at = world.stored()["restoredAtResourceVersion"].clone();
    assert_eq!(at, json!(backup_revision(&world)));
    run.end().await;

    // Others go on there: its versions are higher now than they ever were. It is remembered all the same.
    world.others(50);
    let run = world.start();
    let standby = world.start();
    quiet(300).await;
    assert_eq!(run.planes.distrust(), Some(Distrust::Restored));
    assert_eq!(run.planes.metrics().hub_restored.get(), 1);

    let operator = client(&world.management);
    assert!(hub::accept_restore(&operator, HOME).await.unwrap());
    quiet(1).await;
    assert_eq!((run.planes.distrust(), standby.planes.distrust()), (None, None));
    assert_eq!(run.planes.metrics().hub_restored.get(), 0);
    quiet(300).await;
    assert_eq!(world.stored().get("restoredAtResourceVersion"), None);
    assert!(!hub::accept_restore(&operator, HOME).await.unwrap(), "there is nothing to accept");
    run.end().await;
    standby.end().await;
    let run = world.start();
    quiet(60).await;
    assert_eq!(run.planes.distrust(), None);
    run.end().await;
}

/// A client of the hub whose Clusters are in a store of their own, which has come much further.
fn with_clusters_apart(hub: &ApiServer) -> kube::Client {
    let hub = hub.clone();
    let service = service_fn(move |request: Request<Body>| {
        let mut hub = hub.service();
        async move {
            if !request.uri().path().ends_with("/clusters") {
                let answer = Service::call(&mut hub, request).await?;
                return Ok::<_, tower::BoxError>(answer.map(Either::Left));
            }
            if request.uri().query().is_some_and(|query| query.contains("watch=true")) {
                return std::future::pending().await;
            }
            let cluster = json!({"metadata": {"name": "cell-dfw", "uid": "u", "resourceVersion": "9000000"}});
            let list = json!({
                "kind": "ClusterList", "apiVersion": "cluster.karmada.io/v1alpha1",
                "metadata": {"resourceVersion": "9000000"}, "items": [cluster],
            });
            Ok(Response::new(Either::Right(Full::<Bytes>::from(list.to_string()))))
        }
    });
    kube::Client::new(service, "default")
}

#[tokio::test(start_paused = true)]
async fn i13_versions_of_clusters_are_compared_with_those_of_nothing_else() {
    let world = World::new();
    let clock = Clock::from_tokio(world.hub.clock().now());
    let planes = Planes::new(with_clusters_apart(&world.hub), metrics(), clock, 7);
    planes.start();
    until("sync", || planes.hub().synced() && planes.clusters().len() == 1).await;
    quiet(120).await;
    assert_eq!(count(&world.hub, "list", "instances"), 1, "the hub did not go back");
    assert_eq!(planes.distrust(), None);
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_a_process_that_ends_stores_how_far_the_hub_has_come() {
    let (world, run, backup) = running_past_a_backup().await;
    let before = world.stored();
    run.planes.remember().await;
    run.end().await;
    assert_ne!(world.stored(), before, "before the minute is over");
    world.hub.restore(&backup);
    let run = world.start();
    until("the hub to be in sync", || run.planes.hub().synced()).await;
    assert_eq!(run.planes.distrust(), Some(Distrust::Restored));
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn i4_that_the_hub_was_restored_is_stored_at_once() {
    let (world, run, backup) = running_past_a_backup().await;
    world.hub.restore(&backup);
    until("the hub to be distrusted", || run.planes.distrust() == Some(Distrust::Restored)).await;
    quiet(1).await;
    assert!(
        hub::accept_restore(&client(&world.management), HOME).await.unwrap(),
        "an operator may accept it"
    );
    run.end().await;
}

fn backup_revision(world: &World) -> String {
    world.hub.revision().to_string()
}

#[tokio::test(start_paused = true)]
async fn i4_a_restored_hub_that_others_soon_write_past_its_old_versions_is_recognised() {
    let world = World::new();
    let backup = world.hub.snapshot();
    world.put("wd-2");
    let run = world.start();
    until("the hub to be in sync", || run.planes.hub().synced()).await;
    quiet(11).await;
    let away = world.hub.fault(Fault::Disconnect);
    quiet(2).await;
    world.hub.restore(&backup);
    world.hub.clear_fault(away);
    // Its watches go on from where they were, and get no 410.
    quiet(3).await;
    world.others(50);
    quiet(60).await;
    assert_eq!(run.planes.distrust(), Some(Distrust::Restored));
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn i4_a_hub_whose_cells_have_written_back_is_trusted_again_and_that_is_remembered() {
    let world = World::new();
    let backup = world.hub.snapshot();
    world.put("wd-2");
    let run = world.start();
    quiet(30).await;
    world.hub.restore(&backup);
    until("it to be noticed", || run.planes.distrust().is_some()).await;
    quiet(60).await;
    assert!(world.stored()["restoredAtResourceVersion"].is_string());
    world.touch(1);
    until("it to be trusted", || run.planes.distrust().is_none()).await;
    quiet(30).await;
    assert_eq!(world.stored().get("restoredAtResourceVersion"), None);
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn c11_a_cell_that_is_declared_lost_is_not_waited_for() {
    let world = World::new();
    let put_cluster = |lost: Value| {
        let labels = json!({"topology.datum.net/city-code": "DFW"});
        let metadata = json!({"name": "cell-dfw", "labels": labels, "annotations": lost});
        let cluster =
            json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": metadata});
        world.hub.put(cluster).unwrap();
    };
    put_cluster(json!(null));
    let backup = world.hub.snapshot();
    world.put("wd-2");
    let run = world.start();
    quiet(30).await;
    world.hub.restore(&backup);
    until("it to be noticed", || run.planes.distrust().is_some()).await;
    put_cluster(json!({"federation.datumapis.com/lost": "yes"}));
    quiet(300).await;
    assert_eq!(run.planes.distrust(), Some(Distrust::Restored));
    let now = fedhub_core::clock::stamp(run.planes.clock().now());
    put_cluster(json!({"federation.datumapis.com/lost": now}));
    until("it to be trusted", || run.planes.distrust().is_none()).await;
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn c11_a_declaration_from_before_the_restore_counts_once_an_operator_accepts_that() {
    let world = World::new();
    let metadata = json!({
        "name": "cell-dfw", "labels": {"topology.datum.net/city-code": "DFW"},
        "annotations": {"federation.datumapis.com/lost": "2025-12-30T00:00:00Z"},
    });
    let cluster =
        json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": metadata});
    world.hub.put(cluster).unwrap();
    let lost = |run: &Process| {
        let cells = run.planes.clusters();
        cells.iter().any(|cell| lost_since(cell).is_some())
    };
    let backup = world.hub.snapshot();
    world.put("wd-2");
    let run = world.start();
    quiet(30).await;
    assert!(lost(&run));
    world.hub.restore(&backup);
    until("it to be noticed", || run.planes.distrust().is_some()).await;
    quiet(600).await;
    assert_eq!(
        (run.planes.distrust(), lost(&run)),
        (Some(Distrust::Restored), false),
        "its city is waited for"
    );
    world.touch(1);
    until("it to be trusted", || run.planes.distrust().is_none()).await;
    quiet(30).await;
    assert!(!lost(&run), "the cell has just written");
    run.end().await;
    let run = world.start();
    quiet(60).await;
    assert!(!lost(&run), "nor after a restart");
    assert!(hub::accept_restore(&client(&world.management), HOME).await.unwrap());
    quiet(30).await;
    assert!(lost(&run));
    // It is one of what was accepted, of no later restore.
    world.hub.restore(&backup);
    until("it to be noticed", || run.planes.distrust().is_some()).await;
    assert!(!lost(&run));
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn i4_a_city_without_a_cell_is_not_waited_for() {
    let world = World::new();
    let metadata =
        json!({"namespace": "ns-a", "name": "far", "labels": {"topology.datum.net/city-code": "LHR"}});
    let far = json!({"apiVersion": API, "kind": "WorkloadDeployment", "metadata": metadata, "spec": {"cityCode": "LHR"}});
    world.hub.put(far.clone()).unwrap();
    // Its tenant made an Instance of it, by hand.
    let alpha = ApiServer::project_plane("alpha");
    alpha.put(far).unwrap();
    let metadata = json!({"namespace": "ns-a", "name": "far-0"});
    alpha.put(json!({"apiVersion": API, "kind": "Instance", "metadata": metadata, "spec": {}})).unwrap();
    let backup = world.hub.snapshot();
    world.put("wd-2");
    let run = world.start();
    let name = PlaneName::new("alpha").unwrap();
    run.planes.engage(&name, client(&alpha));
    until("the project plane to be in sync", || run.planes.engaged(&name).is_some()).await;
    quiet(30).await;
    world.hub.restore(&backup);
    until("it to be noticed", || run.planes.distrust().is_some()).await;
    world.touch(1);
    until("it to be trusted", || run.planes.distrust().is_none()).await;
    run.end().await;
}

#[tokio::test(start_paused = true)]
async fn i4_while_it_is_not_known_what_is_remembered_nothing_is_inferred() {
    let world = World::new();
    world.management.fault(Fault::Status(503));
    let run = world.start();
    until("the hub to be in sync", || run.planes.hub().synced()).await;
    assert_eq!(run.planes.distrust(), Some(Distrust::Unverified));
    quiet(600).await;
    assert_eq!(run.planes.distrust(), Some(Distrust::Unverified));
    world.management.clear_faults();
    until("it to be known", || run.planes.distrust().is_none()).await;
    run.end().await;
}

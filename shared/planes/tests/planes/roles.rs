//! Registries of the cell role: one around the cell, one around the hub whose project planes show claims
//! only, each watching its own kinds and nothing else.

use std::sync::Arc;

use fedhub_core::clock::Clock;
use fedhub_core::names::{CITY_CODE, INSTANCE_CITY, SOURCE_CLUSTER, UPSTREAM_NAMESPACE};
use fedhub_core::object::{Kind, Object, PlaneId};
use fedhub_fake_apiserver::{ApiServer, Fault, Resource, resource};
use fedhub_planes::{Health, Pass, Plane, Planes, Settings, Watched};
use serde_json::{Value, json};

use crate::planes::support::*;

const NETWORKING: [Kind; 3] = [Kind::NetworkBinding, Kind::SubnetClaim, Kind::LocationBinding];

/// The registry around the cell.
fn around_cell(cell: &ApiServer, networking: bool) -> Arc<Planes> {
    let networking = NETWORKING.into_iter().filter(|_| networking);
    let kinds = [Kind::WorkloadDeployment, Kind::Instance].into_iter().chain(networking);
    let settings = Settings {
        seed: 7,
        anchor: PlaneId::Cell,
        anchor_kinds: kinds.map(Watched::all).collect(),
        project_kinds: Vec::new(),
        ..Settings::default()
    };
    Planes::with(client(cell), metrics(), Clock::from_tokio(cell.clock().now()), settings)
}

/// The registry around the hub, for the cell `dfw-1` in the city `DFW`.
fn around_hub(hub: &ApiServer) -> Arc<Planes> {
    let settings = Settings {
        seed: 8,
        anchor_kinds: vec![
            Watched::all(Kind::Namespace),
            Watched::labelled(Kind::WorkloadDeployment, CITY_CODE, "DFW"),
            Watched::labelled(Kind::Instance, INSTANCE_CITY, "DFW"),
        ],
        project_kinds: vec![Watched::labelled(Kind::ResourceClaim, SOURCE_CLUSTER, "dfw-1")],
        ..Settings::default()
    };
    Planes::with(client(hub), metrics(), Clock::from_tokio(hub.clock().now()), settings)
}

fn labelled(kind: Kind, name: &str, key: &str, value: &str) -> Value {
    let resource = kind.resource();
    json!({
        "apiVersion": resource.api_version, "kind": resource.kind,
        "metadata": {"namespace": "n", "name": name, "labels": {key: value}}, "spec": {"a": 1},
    })
}

fn object(value: Value) -> Object {
    serde_json::from_value(value).unwrap()
}

fn names(plane: &Plane, kind: Kind) -> Vec<String> {
    plane.store(kind).select(None, |o| Some(o.name.to_owned()))
}

/// What lists and watches have asked for.
fn asked(server: &ApiServer) -> Vec<String> {
    let reads = server.audit().into_iter().filter(|e| e.verb == "list" || e.verb == "watch");
    let mut resources: Vec<_> = reads.map(|e| e.resource).collect();
    resources.sort();
    resources.dedup();
    resources
}

#[tokio::test(start_paused = true)]
async fn a_registry_around_the_cell_lists_watches_and_writes_there() {
    let cell = ApiServer::cell("cell");
    cell.put(instance("a")).unwrap();
    cell.put(json!({
        "apiVersion": "networking.datumapis.com/v1alpha", "kind": "LocationBinding", "metadata": {"name": "dfw"},
    }))
    .unwrap();
    let planes = around_cell(&cell, true);
    let notes = Notes::on(&planes);
    planes.start();
    let plane = planes.anchor().clone();
    until("the cell in sync", || plane.synced()).await;
    assert_eq!((plane.id.to_string(), plane.id.kind()), ("cell".to_owned(), "cell"));
    assert_eq!(
        asked(&cell),
        ["instances", "locationbindings", "networkbindings", "subnetclaims", "workloaddeployments"]
    );
    assert!(plane.store(Kind::Instance).object("n", "a").is_some(), "listed, and kept whole");
    assert!(plane.store(Kind::LocationBinding).object("", "dfw").is_some());
    notes.take();
    cell.put(instance("b")).unwrap();
    cell.delete("Instance", "n", "a").unwrap();
    quiet(1).await;
    assert_eq!(notes.take(), ["cell +b", "cell -a"]);

    cell.fault(Fault::Hang.on("watch", "*"));
    cell.break_watches();
    plane.create(&Pass::unbound(), Kind::Instance, &object(instance("c")), "m").await.unwrap();
    assert!(plane.store(Kind::Instance).object("n", "c").is_some(), "own writes are known at once");
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_word_of_a_term_that_begins_is_told_of_the_anchor_whatever_it_watches() {
    let cell = ApiServer::cell("cell");
    let settings = Settings {
        anchor: PlaneId::Cell,
        anchor_kinds: vec![Watched::all(Kind::Instance)],
        ..Settings::default()
    };
    let planes = Planes::with(client(&cell), metrics(), Clock::from_tokio(cell.clock().now()), settings);
    let notes = Notes::on(&planes);
    planes.start();
    planes.resync();
    assert!(notes.take().is_empty(), "not before it is in sync");
    until("sync", || planes.anchor().synced()).await;
    notes.take();
    planes.resync();
    assert_eq!(notes.take(), ["cell sync Instance"]);
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c15_a_kind_that_need_not_be_served_holds_nothing_up_and_is_seen_once_it_is() {
    let location = json!({
        "apiVersion": "networking.datumapis.com/v1alpha", "kind": "LocationBinding", "metadata": {"name": "dfw"},
    });
    let served =
        Resource::custom("networking.datumapis.com", "v1alpha", "LocationBinding", "locationbindings");
    for code in [403, 404] {
        let cell = ApiServer::cell("cell");
        let fault = cell.fault(Fault::Status(code).on("list", "locationbindings"));
        if code == 404 {
            cell.unregister("locationbindings.networking.datumapis.com");
        }
        let kinds = vec![Watched::all(Kind::Instance), Watched::all(Kind::LocationBinding).if_served()];
        let settings = Settings { anchor: PlaneId::Cell, anchor_kinds: kinds, ..Settings::default() };
        let planes = Planes::with(client(&cell), metrics(), Clock::from_tokio(cell.clock().now()), settings);
        let notes = Notes::on(&planes);
        planes.start();
        let plane = planes.anchor().clone();
        until("the cell in sync", || plane.synced()).await;
        assert_eq!(plane.health(), Health::Engaged, "{code}");
        notes.take();
        quiet(300).await;
        assert!(notes.take().is_empty(), "{code}: to be asked again is no news");
        cell.clear_fault(fault);
        cell.register(served.clone().cluster_scoped());
        cell.put(location.clone()).unwrap();
        until("the location", || plane.store(Kind::LocationBinding).object("", "dfw").is_some()).await;
        planes.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_the_cell_does_not_serve_makes_it_unreachable_by_name_until_it_does() {
    let cell = ApiServer::project_plane("cell");
    let planes = around_cell(&cell, true);
    planes.start();
    let plane = planes.anchor();
    until("the reason", || plane.health() != Health::Engaging).await;
    let Health::Unreachable(words) = plane.health() else { panic!("{:?}", plane.health()) };
    assert_eq!(
        words,
        "networkbindings.networking.datumapis.com is not served there: its CRD is missing (it comes with what serves \
         networking.datumapis.com)"
    );
    assert!(!plane.synced());
    for resource in resource::cell() {
        cell.register(resource);
    }
    quiet(60).await;
    assert_eq!(plane.health(), Health::Engaged);
    planes.stop().await;

    let without = around_cell(&ApiServer::project_plane("cell"), false);
    without.start();
    until("sync without networking", || without.anchor().synced()).await;
    without.stop().await;
}

#[tokio::test(start_paused = true)]
async fn selectors_reach_the_requests_of_their_kind_on_the_hub_and_on_project_planes() {
    let hub = ApiServer::hub("hub");
    let wd = |name, city| labelled(Kind::WorkloadDeployment, name, CITY_CODE, city);
    let copy = |name, city| labelled(Kind::Instance, name, INSTANCE_CITY, city);
    let claim = |name, cell| labelled(Kind::ResourceClaim, name, SOURCE_CLUSTER, cell);
    for object in [wd("ours", "DFW"), wd("theirs", "ORD"), copy("ours", "DFW"), copy("theirs", "ORD")] {
        hub.put(object).unwrap();
    }
    let server =
        ApiServer::builder("p").resources(resource::base()).resource(resource::resource_claim()).build();
    server.put(claim("ours", "dfw-1")).unwrap();
    server.put(claim("theirs", "ord-1")).unwrap();
    let planes = around_hub(&hub);
    planes.start();
    let project = planes.engage(&plane_name("p"), client(&server));
    until("sync", || planes.ready(&plane_name("p"))).await;
    assert_eq!(asked(&hub), ["instances", "namespaces", "workloaddeployments"]);
    assert_eq!(asked(&server), ["resourceclaims"], "it needs no WDs there, and no right to them");

    // Lists did; now the watches.
    hub.put(wd("ours-2", "DFW")).unwrap();
    hub.put(wd("theirs-2", "ORD")).unwrap();
    hub.put(copy("theirs-2", "ORD")).unwrap();
    server.put(claim("ours-2", "dfw-1")).unwrap();
    server.put(claim("theirs-2", "ord-1")).unwrap();
    quiet(1).await;
    assert_eq!(names(planes.hub(), Kind::WorkloadDeployment), ["ours", "ours-2"]);
    assert_eq!(names(planes.hub(), Kind::Instance), ["ours"]);
    assert!(names(planes.hub(), Kind::Namespace).contains(&"n".to_owned()), "of these all");
    assert_eq!(names(&project, Kind::ResourceClaim), ["ours", "ours-2"]);
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_watch_would_not_show_is_not_stored_when_it_is_read_or_written() {
    let hub = ApiServer::hub("hub");
    hub.put(labelled(Kind::Instance, "theirs", INSTANCE_CITY, "ORD")).unwrap();
    hub.put(labelled(Kind::Instance, "ours", INSTANCE_CITY, "DFW")).unwrap();
    let planes = around_hub(&hub);
    planes.start();
    until("sync", || planes.hub().synced()).await;
    let plane = planes.hub();
    let kind = Kind::Instance;
    assert!(plane.refresh(&Pass::unbound(), kind, "n", "theirs").await.unwrap().is_some());
    let made = object(labelled(kind, "new", INSTANCE_CITY, "ORD"));
    plane.create(&Pass::unbound(), kind, &made, "m").await.unwrap();
    let cluster =
        json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "c"}});
    plane.create(&Pass::unbound(), Kind::Cluster, &object(cluster), "m").await.unwrap();
    assert_eq!(names(plane, kind), ["ours"]);
    assert!(plane.store(Kind::Cluster).is_empty(), "not watched here");
    planes.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_an_object_that_leaves_the_selection_is_told_as_an_inferred_absence() {
    let hub = ApiServer::hub("hub");
    hub.put(labelled(Kind::WorkloadDeployment, "a", CITY_CODE, "DFW")).unwrap();
    hub.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns-1"}})).unwrap();
    let planes = around_hub(&hub);
    let notes = Notes::on(&planes);
    planes.start();
    until("sync", || planes.hub().synced()).await;
    notes.take();
    let city = |city: &str| json!({"metadata": {"labels": {CITY_CODE: city}}});
    hub.patch("WorkloadDeployment", "n", "a", &city("ORD")).unwrap();
    quiet(1).await;
    assert_eq!(notes.take(), ["hub -a?"], "it lives: its deletion was not seen");
    hub.patch("WorkloadDeployment", "n", "a", &city("DFW")).unwrap();
    quiet(1).await;
    assert_eq!(notes.take(), ["hub +a"]);
    planes.stop().await;
}

/// One cluster as project plane and as cell: a WD with the label is Karmada's, and the cell's.
#[tokio::test(start_paused = true)]
async fn two_registries_on_one_plane_distinguish_objects_by_a_label() {
    let server = ApiServer::cell("both");
    let kind = Kind::WorkloadDeployment;
    let around = |watched| {
        let settings = Settings { anchor: PlaneId::Cell, anchor_kinds: vec![watched], ..Settings::default() };
        let planes =
            Planes::with(client(&server), metrics(), Clock::from_tokio(server.clock().now()), settings);
        planes.start();
        planes
    };
    let cell = around(Watched::with(kind, UPSTREAM_NAMESPACE));
    let project = around(Watched::without(kind, UPSTREAM_NAMESPACE));
    let in_cell = Notes::on(&cell);
    let in_project = Notes::on(&project);
    server.put(labelled(kind, "karmadas", UPSTREAM_NAMESPACE, "team")).unwrap();
    server.put(labelled(kind, "users", CITY_CODE, "DFW")).unwrap();
    until("sync", || cell.anchor().synced() && project.anchor().synced()).await;
    assert_eq!(names(cell.anchor(), kind), ["karmadas"]);
    assert_eq!(names(project.anchor(), kind), ["users"]);
    in_cell.take();
    in_project.take();

    let mine = json!({"metadata": {"labels": {UPSTREAM_NAMESPACE: "team"}}});
    server.patch("WorkloadDeployment", "n", "users", &mine).unwrap();
    quiet(1).await;
    assert_eq!(in_cell.take(), ["cell +users"]);
    assert_eq!(in_project.take(), ["cell -users?"], "it lives: its deletion was not seen");
    // And what one of them writes the other does not take for its own.
    let made = object(labelled(kind, "made", UPSTREAM_NAMESPACE, ""));
    project.anchor().create(&Pass::unbound(), kind, &made, "m").await.unwrap();
    assert!(names(project.anchor(), kind).is_empty());
    quiet(1).await;
    assert_eq!(names(cell.anchor(), kind), ["karmadas", "made", "users"]);
    cell.stop().await;
    project.stop().await;
}

#[tokio::test(start_paused = true)]
async fn two_registries_side_by_side_share_nothing() {
    let cell = ApiServer::cell("cell");
    let hub = ApiServer::hub("hub");
    cell.put(instance("in-the-cell")).unwrap();
    hub.put(labelled(Kind::Instance, "on-the-hub", INSTANCE_CITY, "DFW")).unwrap();
    let ours = around_cell(&cell, false);
    let theirs = around_hub(&hub);
    let in_cell = Notes::on(&ours);
    let on_hub = Notes::on(&theirs);
    hub.fault(Fault::Disconnect);
    ours.start();
    theirs.start();
    until("the cell in sync", || ours.anchor().synced()).await;
    quiet(60).await;
    assert!(matches!(theirs.hub().health(), Health::Unreachable(_)));
    assert_eq!(ours.anchor().health(), Health::Engaged, "the hub's trouble is not the cell's");
    hub.clear_faults();
    until("the hub in sync", || theirs.hub().synced()).await;
    assert_eq!(in_cell.take(), ["cell +in-the-cell", "cell sync Instance"]);
    assert_eq!(on_hub.take(), ["hub +on-the-hub", "hub sync Instance"]);
    assert_eq!(names(ours.anchor(), Kind::Instance), ["in-the-cell"]);
    assert_eq!(names(theirs.hub(), Kind::Instance), ["on-the-hub"]);

    let server =
        ApiServer::builder("p").resources(resource::base()).resource(resource::resource_claim()).build();
    theirs.engage(&plane_name("p"), client(&server));
    until("the project plane", || theirs.ready(&plane_name("p"))).await;
    assert!(ours.projects().is_empty());
    theirs.stop().await;
    assert!(!ours.anchor().stop.is_cancelled());
    cell.put(instance("later")).unwrap();
    quiet(1).await;
    assert_eq!(in_cell.take(), ["cell +later"], "its watches go on");
    ours.stop().await;
}

//! The page of a process that has planes, over in-memory API servers.

use fedhub_core::fence::Term;
use fedhub_core::names::{PlaneName, binding_name, hub_namespace};
use fedhub_core::object::{Key, Kind, PlaneId};
use fedhub_fake_apiserver::{ApiServer, Fault, until};
use http_body_util::BodyExt;
use serde_json::json;
use tokio::sync::watch;

use super::*;
use crate::admin::Status as _;
use crate::status::tests::{lead, process};

/// A process with two project planes, of which the second does not answer.
struct World {
    hub: ApiServer,
    management: ApiServer,
    projects: [ApiServer; 2],
    page: Arc<StatusPage>,
    term: watch::Sender<Option<Term>>,
}

fn name(n: usize) -> PlaneName {
    PlaneName::new(["project-a", "project-b"][n]).unwrap()
}

async fn world() -> World {
    let hub = ApiServer::hub("hub");
    let management = ApiServer::management("management");
    let projects = [0, 1].map(|n| ApiServer::project_plane(name(n).as_str()));
    for (kind, object) in [
        ("Namespace", json!({"apiVersion": "v1", "metadata": {"name": "shop"}})),
        (
            "WorkloadDeployment",
            json!({
                "apiVersion": "compute.datumapis.com/v1alpha",
                "metadata": {"name": "web", "namespace": "shop"}, "spec": {"cityCode": "DFW"},
            }),
        ),
    ] {
        let mut object = object;
        object["kind"] = json!(kind);
        projects[0].put(object).unwrap();
    }
    projects[1].fault(Fault::Status(503).on("list", "workloaddeployments"));
    let (status, term) = process(&hub);
    let planes = status.roles()[0].registries[0].clone();
    for (n, project) in projects.iter().enumerate() {
        planes.engage(&name(n), project.client());
    }
    planes.refuse("bad name", "its name is not valid", None);
    let explainer = Explainer::new(planes.clone(), management.client(), "fedhub-system", "fedhub");
    let page = StatusPage::new(Arc::new(status), Some(explainer));
    lead(&term);
    until("the planes to be known", || {
        page.status.ready().is_ok()
            && planes.states()[..3] == [("engaging", 0), ("engaged", 1), ("unreachable", 2)]
    })
    .await;
    World { hub, management, projects, page, term }
}

impl World {
    async fn get(&self, address: &str) -> (StatusCode, String) {
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        let response = self.page.respond(path, query, "test").await;
        let code = response.status();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (code, String::from_utf8(bytes.to_vec()).unwrap())
    }
}

#[tokio::test(start_paused = true)]
async fn the_page_shows_what_the_process_knows() {
    let world = world().await;
    let queue = &world.page.status.roles()[0].controllers[0].queue;
    let plane = PlaneId::Project(name(0));
    let key = Key {
        plane: plane.clone(),
        kind: Kind::WorkloadDeployment,
        namespace: "shop".into(),
        name: "web".into(),
    };
    assert!(queue.add(key, &plane));
    tokio::time::advance(Duration::from_secs(90)).await;
    lead(&world.term);
    let (code, fleet) = world.get("/status").await;
    assert_eq!(code, StatusCode::OK);
    for part in ["1 plane is unreachable", "1 plane is refused", "1 plane is stuck", "management · leader"] {
        assert!(fleet.contains(part), "{part}: {fleet}");
    }
    let (_, planes) = world.get("/status/planes").await;
    let at = |text: &str| planes.find(text).unwrap_or_else(|| panic!("{text}: {planes}"));
    assert!(at(">project-b<") < at(">bad name<") && at(">bad name<") < at(">project-a<"), "{planes}");
    assert!(planes.contains("cannot list workloaddeployments"), "{planes}");
    let (_, plane) = world.get("/status/plane?name=project-a").await;
    for part in ["stuck", "90s", "federator", "workloaddeployments", "<bdi>shop</bdi>/", "name=web"] {
        assert!(plane.contains(part), "{part}: {plane}");
    }
    let (code, refused) = world.get("/status/plane?name=bad+name").await;
    assert!(code == StatusCode::OK && refused.contains("its name is not valid"), "{refused}");
    world.term.send(None).unwrap();
    tokio::time::advance(FRESH).await;
    assert!(world.get("/status").await.1.contains("management · standby"));
}

#[tokio::test(start_paused = true)]
async fn u4_a_chain_is_read_by_the_clients_of_the_process_with_the_rights_it_has() {
    let world = world().await;
    let shop = world.projects[0].get("Namespace", "", "shop").unwrap();
    let space = hub_namespace(shop["metadata"]["uid"].as_str().unwrap());
    let labels = json!({
        "meta.datumapis.com/upstream-cluster-name": "cluster-project-a",
        "meta.datumapis.com/upstream-namespace": "shop",
    });
    let metadata = json!({"name": space, "labels": labels});
    world.hub.put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})).unwrap();
    world
        .hub
        .put(json!({
            "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {
                "name": binding_name("WorkloadDeployment", "web"), "namespace": space,
                "labels": {"resourcebinding.karmada.io/permanent-id": "1"},
            },
            "spec": {"clusters": [{"name": "cell-dfw"}]},
        }))
        .unwrap();
    let servers = [&world.hub, &world.management, &world.projects[0], &world.projects[1]];
    let marks = servers.map(ApiServer::mark);
    let (code, page) = world.get("/status/object?kind=wd&plane=project-a&namespace=shop&name=web").await;
    assert_eq!(code, StatusCode::OK);
    assert!(page.contains("project-wd") && page.contains("NotFederated"), "{page}");
    // The hub here has no Cluster.
    assert!(page.contains("no-cell-for-city") && page.contains("cluster cell-dfw"), "{page}");
    for (server, mark) in servers.into_iter().zip(marks) {
        assert!(server.writes_since(mark).is_empty(), "{}", server.name());
        let requests = server.requests_since(mark);
        assert!(
            !requests.iter().any(|request| request.resource.contains("works")),
            "fedhub has no right to that"
        );
        assert!(server.name() == "project-b" || !requests.is_empty(), "{} was not read", server.name());
    }
    let (code, page) = world.get("/status/object?kind=wd&plane=none&namespace=shop&name=web").await;
    assert!(code == StatusCode::NOT_FOUND && page.contains("has not engaged a plane"), "{page}");
    let (code, _) = world.get("/status/object?kind=wd&plane=project-a&namespace=shop&name=..%2F..").await;
    assert_eq!(code, StatusCode::BAD_REQUEST);
}

#[tokio::test(start_paused = true)]
async fn one_chain_at_a_time_is_read_for_a_caller_and_one_that_hangs_ends() {
    let world = world().await;
    for resource in ["workloaddeployments", "namespaces", "instances"] {
        world.projects[0].fault(Fault::Hang.on("get", resource));
        world.hub.fault(Fault::Hang.on("get", resource));
    }
    let address = "/status/object?kind=instance&plane=project-a&namespace=shop&name=web-0";
    let began = Instant::now();
    let ((first, text), (second, _)) = tokio::join!(world.get(address), world.get(address));
    assert_eq!(second, StatusCode::TOO_MANY_REQUESTS);
    assert!(first == StatusCode::GATEWAY_TIMEOUT || text.contains("no answer within"), "{first}: {text}");
    assert!(began.elapsed() <= Duration::from_secs(6), "{:?}", began.elapsed());
    let (third, _) = world.get(address).await;
    assert_ne!(third, StatusCode::TOO_MANY_REQUESTS, "the first one has ended");
}

#[tokio::test(start_paused = true)]
async fn however_many_ask_the_process_is_read_once_a_second() {
    let world = world().await;
    let first = world.page.snapshot();
    assert!(Arc::ptr_eq(&first, &world.page.snapshot()));
    tokio::time::advance(FRESH).await;
    assert!(!Arc::ptr_eq(&first, &world.page.snapshot()));
}

#[tokio::test(start_paused = true)]
async fn samples_are_taken_until_the_process_stops() {
    let world = world().await;
    let stop = CancellationToken::new();
    let sampling = tokio::spawn(world.page.clone().sample(stop.clone()));
    until("three samples", || world.page.samples.covered() == samples::EVERY * 3).await;
    world.page.status.roles()[0].registries[0]
        .metrics()
        .propagated(fedhub_core::metrics::Hop::ProjectToHub, Duration::from_millis(40));
    until("another one", || world.page.samples.covered() > samples::EVERY * 3).await;
    let (trend, per_minute) = world.page.samples.hop("project_to_hub");
    assert!(per_minute == 1 && trend.latest().is_some_and(|it| it > 0.025 && it <= 0.05), "{trend:?}");
    stop.cancel();
    sampling.await.unwrap();
}

/// What is kept for the page does not grow with the number of planes, and reading it takes a moment.
#[tokio::test(start_paused = true)]
async fn ten_thousand_planes_cost_no_more_samples_and_are_read_in_a_moment() {
    let world = world().await;
    let role = &world.page.status.roles()[0];
    let before = collect::measure(&world.page.status);
    for n in 0..10_000 {
        let plane = PlaneId::Project(PlaneName::new(&format!("project-{n}")).unwrap());
        let key = Key {
            plane: plane.clone(),
            kind: Kind::WorkloadDeployment,
            namespace: "shop".into(),
            name: "web".into(),
        };
        assert!(role.controllers.iter().all(|it| it.queue.add(key.clone(), &plane)));
        role.registries[0].refuse(&format!("secret-{n}"), "not a kubeconfig", None);
    }
    let after = collect::measure(&world.page.status);
    assert_eq!((before.hops.len(), before.controllers.len()), (after.hops.len(), after.controllers.len()));
    let began = std::time::Instant::now();
    let snapshot = world.page.snapshot();
    let took = began.elapsed();
    println!("10,000 planes and 40,000 keys are read in {took:?}");
    assert_eq!(snapshot.planes.len(), 10_003);
    // Many times what it takes in a debug build.
    assert!(took < Duration::from_secs(5), "{took:?}");
    let (_, page) = world.get("/status/planes").await;
    assert!(page.len() < 100_000, "{}", page.len());
}

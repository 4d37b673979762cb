use std::sync::Arc;

use fedhub_cache::MemoryBudget;
use fedhub_core::clock::Clock;
use fedhub_core::fence::{Fence, Term};
use fedhub_core::names::PlaneName;
use fedhub_core::object::Key;
use fedhub_engine::{Queue, QueueConfig};
use fedhub_fake_apiserver::{ApiServer, until};
use fedhub_planes::Settings;
use fedhub_planes::transport::TransportConfig;
use fedhub_workload::instance_types::{self, Catalog};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;

use super::*;
use crate::admin::Status as _;
use crate::webhooks::readiness;

fn put_cluster(hub: &ApiServer, name: &str, city: &str, conditions: &serde_json::Value) {
    hub.put(json!({
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
        "metadata": {"name": name, "labels": {CITY_CODE: city}}, "status": {"conditions": conditions},
    }))
    .unwrap();
}

fn ready(status: &str) -> serde_json::Value {
    json!([{"type": "Ready", "status": status, "lastTransitionTime": "2026-01-02T00:00:00Z"}])
}

/// A process of the management role, and what makes it the leader.
pub fn process(hub: &ApiServer) -> (Status, watch::Sender<Option<Term>>) {
    let (term, terms) = watch::channel(None);
    let metrics = Metrics::new().unwrap();
    let clock = Clock::from_tokio(hub.clock().now());
    let settings = Settings { fence: Fence::new(terms), ..Settings::default() };
    let planes = Planes::with(hub.client(), metrics.clone(), clock, settings);
    planes.start();
    let named = [
        ("federator", Some(Kind::WorkloadDeployment)),
        ("projector", Some(Kind::Instance)),
        ("lost_cells", None),
    ];
    let controllers = named
        .map(|(name, kind)| {
            let queue = Arc::new(Queue::new(QueueConfig::default()));
            Controlled { name, kind, queue }
        })
        .into();
    let role = Role { name: "management", registries: vec![planes], controllers, identity: None };
    let transport = Transport::new(TransportConfig::default(), metrics.clone(), MemoryBudget::unlimited());
    let process = ProcessMetrics::new().unwrap();
    let scraping = Mutex::new(());
    (Status { roles: vec![role], metrics, process, scraping, transport, admission: None }, term)
}

pub fn lead(term: &watch::Sender<Option<Term>>) {
    let now = Instant::now();
    let until = now + std::time::Duration::from_mins(1);
    term.send(Some(Term { epoch: 1, until, since: now })).unwrap();
}

/// The series of a scrape whose names begin so.
fn series(status: &Status, name: &str) -> Vec<String> {
    let text = status.metrics().unwrap();
    text.lines().filter(|line| line.starts_with(name)).map(str::to_owned).collect()
}

#[tokio::test(start_paused = true)]
async fn u2_each_cell_shows_whether_karmada_reaches_it() {
    let hub = ApiServer::hub("hub");
    put_cluster(&hub, "cell-dfw", "DFW", &ready("True"));
    put_cluster(&hub, "cell-ord", "ORD", &ready("True"));
    put_cluster(&hub, "cell-new", "NEW", &json!([]));
    hub.put(
        json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "other"},
        "status": {"conditions": ready("False")}}),
    )
    .unwrap();
    let (status, term) = process(&hub);
    lead(&term);
    until("the hub to be in sync", || status.ready().is_ok()).await;
    let cells = || series(&status, "fedhub_cell_ready");
    let dfw = r#"fedhub_cell_ready{cell="cell-dfw",city="DFW"}"#;
    let ord = r#"fedhub_cell_ready{cell="cell-ord",city="ORD"}"#;
    assert_eq!(cells(), [format!("{dfw} 1"), format!("{ord} 1")]);
    put_cluster(&hub, "cell-ord", "ORD", &ready("Unknown"));
    until("the other one to be down", || cells() == [format!("{dfw} 1"), format!("{ord} 0")]).await;
    hub.delete("Cluster", "", "cell-ord").unwrap();
    until("it to go with its Cluster", || cells() == [format!("{dfw} 1")]).await;
}

/// How many series a process shows that has so many planes, and everything that can be said of them.
async fn series_of(planes: usize) -> usize {
    let hub = ApiServer::hub("hub");
    let cities: Vec<_> = (0..12).map(|n| format!("C{n}")).collect();
    for city in &cities {
        put_cluster(&hub, &format!("cell-{}", city.to_lowercase()), city, &ready("True"));
    }
    let (status, term) = process(&hub);
    lead(&term);
    until("the hub to be in sync", || status.ready().is_ok()).await;
    let role = &status.roles[0];
    let metrics = &status.metrics;
    for n in 0..planes {
        let name = PlaneName::new(&format!("project-{n}")).unwrap();
        let plane = PlaneId::Project(name);
        let kind = Kind::WorkloadDeployment;
        let key = Key {
            plane: plane.clone(),
            kind,
            namespace: format!("ns-{n}").into(),
            name: format!("wd-{n}").into(),
        };
        for controlled in &role.controllers {
            assert!(controlled.queue.add(key.clone(), &plane));
        }
        role.registries[0].refuse(&format!("secret-{n}"), "not a kubeconfig", None);
    }
    for city in &cities {
        metrics.convergence.with_label_values(&[city.as_str()]).observe(1.0);
        metrics.convergence_karmada.with_label_values(&[city.as_str()]).observe(1.0);
    }
    let text = status.metrics().unwrap();
    let lagging = text.lines().filter(|line| line.starts_with("fedhub_oldest_unsynced_plane_seconds{"));
    assert_eq!(lagging.count(), WORST * role.controllers.len());
    text.lines().filter(|line| !line.starts_with('#')).count()
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_planes_make_no_more_series_than_a_hundred() {
    let hundred = series_of(100).await;
    let all = series_of(10_000).await;
    assert_eq!(hundred, all);
    assert!(all < 1_000, "{all}");
}

#[tokio::test(start_paused = true)]
async fn a_standby_shows_what_is_its_own_and_nothing_of_the_leader() {
    let hub = ApiServer::hub("hub");
    put_cluster(&hub, "cell-dfw", "DFW", &ready("True"));
    let (status, term) = process(&hub);
    until("the hub to be in sync", || status.ready().is_ok()).await;
    let of_leader = |name: &&str| !series(&status, &format!("fedhub_{name}")).is_empty();
    let own = ["leader{role=\"management\"} 0", "planes{", "cache_objects ", "build_info{"];
    let shown = |names: &[&str]| names.iter().filter(|name| of_leader(name)).count();
    assert_eq!(
        (shown(&["objects{", "queue_depth{", "cells_for_city{", "cell_ready{"]), shown(&own)),
        (0, own.len())
    );
    assert!(!series(&status, "process_start_time_seconds ").is_empty());
    lead(&term);
    assert_eq!(
        shown(&[
            "leader{role=\"management\"} 1",
            "objects{",
            "queue_depth{",
            "cells_for_city{",
            "cell_ready{"
        ]),
        5
    );
    term.send(None).unwrap();
    assert_eq!(shown(&["objects{", "queue_depth{", "cells_for_city{", "cell_ready{"]), 0);
}

#[tokio::test(start_paused = true)]
async fn w4_who_answers_reviews_is_ready_once_catalog_and_planes_are_known_and_waits_for_neither_long() {
    // The source of the catalog is any server with types.
    let (hub, source) = (ApiServer::hub("hub"), ApiServer::hub("management"));
    let (status, _term) = process(&hub);
    until("the hub to be in sync", || status.ready().is_ok()).await;
    let planes = status.roles()[0].registries[0].clone();
    let settings = Settings {
        anchor: PlaneId::Management,
        anchor_kinds: instance_types::watched_at_source(),
        ..Settings::default()
    };
    let types = Planes::with(source.client(), Metrics::new().unwrap(), Clock::system(), settings);
    let catalog = || Some(Catalog::new(types.clone()));
    let status = status.reviewing(Some(Readiness::new(planes.clone(), catalog())));
    let missing = || status.ready().err().unwrap_or_default();
    let no_catalog = "admission: the catalog of instance types is not read yet";
    let no_list = "admission: it is not known yet which project planes there are";
    assert_eq!(missing(), [no_catalog, no_list]);
    let silent = tower::service_fn(|_: http::Request<kube::client::Body>| {
        std::future::pending::<Result<http::Response<kube::client::Body>, tower::BoxError>>()
    });
    let name = PlaneName::new("project-a").unwrap();
    planes.engage(&name, kube::Client::new(silent, "default"));
    planes.mark_discovered();
    types.start();
    let no_plane = "admission: project planes not tried yet: 1, project project-a among them";
    until("the catalog to be known", || missing() == [no_plane]).await;
    // By another process with the same planes, which has waited long enough.
    tokio::time::advance(readiness::WAITS).await;
    assert_eq!(missing(), Vec::<String>::new());
    // What comes later keeps nobody waiting.
    let other = Readiness::new(planes.clone(), catalog());
    assert_eq!(other.missing().len(), 1);
    planes.disengage(&name);
    assert_eq!(other.missing(), Vec::<String>::new());
    let silent = tower::service_fn(|_: http::Request<kube::client::Body>| {
        std::future::pending::<Result<http::Response<kube::client::Body>, tower::BoxError>>()
    });
    planes.engage(&name, kube::Client::new(silent, "default"));
    assert_eq!(other.missing(), Vec::<String>::new());
    planes.stop().await;
    types.stop().await;
}

/// The samples of a scrape whose names begin so, by their labels.
fn samples(status: &Status, name: &str) -> Vec<String> {
    series(status, name).into_iter().map(|line| line[name.len()..].to_owned()).collect()
}

/// Each role has a Lease of its own: in a pair of replicas each may hold one.
#[tokio::test(start_paused = true)]
async fn u2_each_role_says_whether_it_leads() {
    let hub = ApiServer::hub("hub");
    let (mut status, term) = process(&hub);
    let (cell, _follows) = process(&hub);
    status.roles.extend(cell.roles.into_iter().map(|role| Role { name: "cell", ..role }));
    let leaders = || samples(&status, "fedhub_leader");
    assert_eq!(leaders(), [r#"{role="cell"} 0"#, r#"{role="management"} 0"#]);
    lead(&term);
    until("the one role to lead", || leaders() == [r#"{role="cell"} 0"#, r#"{role="management"} 1"#]).await;
}

/// One plane that lags is one of many; a cell lags as a whole.
#[tokio::test(start_paused = true)]
async fn u2_planes_that_lag_are_counted_and_weighed_against_those_at_work() {
    let hub = ApiServer::hub("hub");
    let (status, term) = process(&hub);
    lead(&term);
    until("the hub to be in sync", || status.ready().is_ok()).await;
    let role = &status.roles[0];
    for n in 0..4 {
        role.registries[0].refuse(&format!("secret-{n}"), "not a kubeconfig", None);
    }
    let add = |n: usize| {
        let plane = PlaneId::Project(PlaneName::new(&format!("project-{n}")).unwrap());
        let kind = Kind::WorkloadDeployment;
        let namespace = format!("ns-{n}").into();
        let key = Key { plane: plane.clone(), kind, namespace, name: "web".into() };
        assert!(role.controllers[0].queue.add(key, &plane));
    };
    let lagging = || {
        ["fedhub_lagging_planes", "fedhub_lagging_planes_ratio"]
            .map(|name| samples(&status, &format!("{name}{{controller=\"federator\"}} ")).concat())
    };
    assert_eq!(lagging(), ["0", "0"]);
    add(0);
    tokio::time::advance(LAGGING).await;
    lead(&term);
    assert_eq!(lagging(), ["0", "0"], "it is slow, and not stuck");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(lagging(), ["1", "0.25"]);
    add(1);
    tokio::time::advance(LAGGING + Duration::from_secs(1)).await;
    lead(&term);
    assert_eq!(lagging(), ["2", "0.5"]);
    for (lagging, planes, expected) in [(0, 0, 0.0), (1, 0, 1.0), (1, 1, 1.0), (3, 2, 1.0), (1, 10, 0.1)] {
        assert!((share(lagging, planes) - expected).abs() < 1e-9, "{lagging} of {planes}");
    }
}

#[tokio::test(start_paused = true)]
async fn u2_the_circuit_of_the_hub_has_a_series_of_its_own() {
    let hub = ApiServer::hub("hub");
    let (status, term) = process(&hub);
    lead(&term);
    until("the hub to be in sync", || status.ready().is_ok()).await;
    let open = samples(&status, "fedhub_circuit_breakers_open{controller=\"federator\",");
    assert_eq!(open, [r#"plane_kind="hub"} 0"#, r#"plane_kind="project"} 0"#]);
}

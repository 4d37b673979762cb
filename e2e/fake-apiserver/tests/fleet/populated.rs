//! A populated fleet is as fedhub leaves it: no controller of the management role finds anything to write.

use std::time::Duration;

use fedhub_core::metrics::Metrics;
use fedhub_core::names::REFERENCED_DATA;
use fedhub_fake_apiserver::fleet::{Fleet, Population, Settings, State};
use fedhub_federator::progress::PATIENCE;
use fedhub_federator::teardown::TeardownLimits;
use fedhub_federator::{Federator, FederatorConfig};
use fedhub_planes::watched::{self, Watched};
use fedhub_planes::{DATA_KINDS, HUB_KINDS};
use fedhub_projector::Projector;
use fedhub_projector::controller::ProjectorConfig;
use fedhub_testing::{Process, plane_name, quiet};
use fedhub_workload::referenced_data::ReferencedData;
use fedhub_workload::workload_controller::{Options, Strategy, WorkloadController};
use serde_json::{Value, json};

fn fleet() -> Fleet {
    let settings =
        Settings { clock: fedhub_fake_apiserver::Clock::default(), audit: true, ..Settings::new(3) };
    Fleet::new(&settings).unwrap()
}

/// The controllers of the management role over the fleet, for so many seconds; then what they wrote, in
/// short, and what they knew.
async fn run(fleet: &Fleet, seconds: u64) -> (Vec<String>, Metrics) {
    let marks: Vec<_> = fleet.planes().map(|server| (server.clone(), server.mark())).collect();
    let mut process = Process::on(fleet.hub());
    let settings = fedhub_planes::Settings {
        seed: 7,
        anchor_kinds: watched::all(&HUB_KINDS)
            .into_iter()
            .chain(DATA_KINDS.map(|kind| Watched::labelled(kind, REFERENCED_DATA, "true").if_served()))
            .collect(),
        project_kinds: fedhub_workload::on_projects(false, false),
        ..fedhub_planes::Settings::default()
    };
    let planes = process.planes(fleet.hub().client(), settings);
    let [down, back, made, copied] = [(); 4].map(|()| process.queue(planes.seed()));
    let policy_gc_delay = Duration::from_secs(10);
    let config = FederatorConfig { policy_gc_delay, patience: PATIENCE, teardown: TeardownLimits::default() };
    let federator = Federator::new(planes.clone(), down.clone(), vec![made.clone()], config);
    let projector = Projector::new(planes.clone(), back.clone(), ProjectorConfig::default());
    let options = Options { move_deadline: Duration::from_mins(10), default_rollout: Strategy::InOrder };
    let workloads = WorkloadController::new(planes.clone(), made.clone(), None, options);
    let data = ReferencedData::new(planes.clone(), copied.clone());
    planes.listen(federator.clone());
    planes.listen(projector.clone());
    planes.listen(workloads.clone());
    planes.listen(data.clone());
    planes.start();
    process.work(&federator, &down, 4);
    process.work(&projector, &back, 4);
    process.work(&workloads, &made, 4);
    process.work(&data, &copied, 4);
    let run = process.running(());
    for (name, server) in fleet.projects() {
        planes.engage(&plane_name(name), server.client());
    }
    quiet(seconds).await;
    let asked = |(server, mark): &(fedhub_fake_apiserver::ApiServer, fedhub_fake_apiserver::Mark)| {
        let since = server.requests_since(*mark);
        let writes = since.into_iter().filter(|e| !matches!(e.verb, "get" | "list" | "watch"));
        writes.map(|e| format!("{} {} {:?}", e.verb, e.resource, e.name)).collect::<Vec<_>>()
    };
    let writes = marks.iter().flat_map(asked).collect();
    let metrics = run.metrics.clone();
    run.stop().await;
    (writes, metrics)
}

fn reconciled(metrics: &Metrics, controller: &str, outcome: &str) -> u64 {
    metrics.reconciles.with_label_values(&[controller, outcome]).get()
}

#[tokio::test(start_paused = true)]
async fn i7_a_start_on_a_populated_fleet_writes_nothing_not_even_to_try() {
    let fleet = fleet();
    fleet.populate(&Population::in_order(7, 20)).unwrap();
    assert_eq!(fleet.hub().list("WorkloadDeployment").len(), 7);
    assert_eq!(fleet.hub().list("Instance").len(), 20);
    let projections: usize = fleet.projects().values().map(|p| p.list("Instance").len()).sum();
    assert_eq!(projections, 20);
    let before: Vec<u64> = fleet.planes().map(fedhub_fake_apiserver::ApiServer::objects_hash).collect();
    let (writes, metrics) = run(&fleet, 120).await;
    assert_eq!(writes, Vec::<String>::new(), "dry runs included");
    assert_eq!(
        fleet.planes().map(fedhub_fake_apiserver::ApiServer::objects_hash).collect::<Vec<_>>(),
        before
    );
    // What is in order is seen to be so without a pass; whatever had one was in order too.
    for outcome in ["updated", "waiting", "failed", "transient", "conflict", "bug"] {
        for controller in ["federator", "projector"] {
            assert_eq!(reconciled(&metrics, controller, outcome), 0, "{controller} {outcome}");
        }
    }
    assert_eq!(metrics.objects.with_label_values(&["projector", "parked"]).get(), 0);
}

#[tokio::test(start_paused = true)]
async fn i7_what_fedhub_made_of_unfederated_wds_is_what_a_populated_fleet_has() {
    let made = fleet();
    let unfederated = Population { state: State::Unfederated, ..Population::in_order(4, 0) };
    made.populate(&unfederated).unwrap();
    let (writes, _) = run(&made, 60).await;
    assert!(!writes.is_empty());
    let populated = fleet();
    populated.populate(&Population::in_order(4, 0)).unwrap();
    for (mine, theirs) in made.planes().zip(populated.planes()) {
        for kind in ["Namespace", "WorkloadDeployment", "PropagationPolicy"] {
            let all = |server: &fedhub_fake_apiserver::ApiServer| -> Vec<Value> {
                server
                    .list(kind)
                    .into_iter()
                    .map(|object| without_what_differs(object, mine.name()))
                    .collect()
            };
            assert_eq!(all(mine), all(theirs), "{kind} on {}", mine.name());
        }
    }
}

/// UIDs, versions and times are each server's own, and no cell has reported in the world that fedhub made.
fn without_what_differs(mut object: Value, plane: &str) -> Value {
    object["status"] = Value::Null;
    let meta = object["metadata"].as_object_mut().unwrap();
    for key in ["uid", "resourceVersion", "creationTimestamp"] {
        meta.remove(key);
    }
    if plane != "hub"
        && let Some(annotations) = meta.get_mut("annotations")
    {
        annotations["federation.datumapis.com/hub-namespace-uid"] = json!("a hub's");
    }
    object
}

#[test]
fn objects_are_as_large_as_real_ones() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _inside = runtime.enter();
    let fleet = fleet();
    fleet.populate(&Population::in_order(3, 6)).unwrap();
    let planes = [fleet.hub(), fleet.plane("p-00000").unwrap()];
    for server in planes {
        for (kind, sizes) in [("WorkloadDeployment", 1500..2600), ("Instance", 1800..2800)] {
            let size = server.list(kind)[0].to_string().len();
            assert!(sizes.contains(&size), "{kind} on {}: {size} bytes", server.name());
        }
    }
}

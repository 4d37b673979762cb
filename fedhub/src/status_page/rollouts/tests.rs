//! Rollouts of a process whose planes are in memory.

use std::sync::Arc;

use fedhub_api::facts::restarts::revision_mark;
use fedhub_api::facts::workload::recorded_template;
use fedhub_core::clock::Clock;
use fedhub_core::metrics::Metrics;
use fedhub_fake_apiserver::resource::{self, Resource};
use fedhub_fake_apiserver::{ApiServer, until};
use fedhub_planes::Settings;
use serde_json::{Value, json};

use super::*;

const GROUP: &str = "compute.datumapis.com";
const COMPUTE: &str = "compute.datumapis.com/v1alpha";
const NOW: &str = "2026-01-02T12:00:00Z";

fn template(revision: u64) -> Value {
    json!({"spec": {"runtime": {"sandbox": {"containers": [{"name": "web", "image": format!("web:{revision}")}]}}}})
}

/// A project plane whose Workloads are in DFW and ORD.
fn project() -> ApiServer {
    let kinds = [("Workload", "workloads"), ("WorkloadRollout", "workloadrollouts")];
    let kinds = kinds.map(|(kind, plural)| Resource::custom(GROUP, "v1alpha", kind, plural).with_status());
    ApiServer::builder("project-a").resources(resource::project_plane().into_iter().chain(kinds)).build()
}

/// Puts a Workload of revision 2 that says that of its rollout.
fn put(project: &ApiServer, name: &str, reason: &str) -> Value {
    let template = template(2);
    let workload = json!({
        "apiVersion": COMPUTE, "kind": "Workload",
        "metadata": {
            "namespace": "shop", "name": name, "creationTimestamp": "2026-01-01T00:00:00Z",
            "annotations": {
                "compute.datumapis.com/current-revision": "2",
                "federation.datumapis.com/recorded-template": recorded_template(2, &template),
            },
        },
        "spec": {"template": template, "placements": [{"name": "us", "cityCodes": ["DFW", "ORD"]}]},
        "status": {
            "heldRevision": 1,
            "conditions": [{
                "type": "Progressing", "status": "True", "reason": reason, "message": "", "observedGeneration": 1,
            }],
        },
    });
    project.put(workload).unwrap()
}

/// Puts a WD of a Workload at that revision, with so many of its two Instances ready.
fn put_wd(project: &ApiServer, workload: &Value, city: &str, revision: u64, ready: u32) {
    let name = workload["metadata"]["name"].as_str().unwrap();
    let template = template(revision);
    let wd = json!({
        "apiVersion": COMPUTE, "kind": "WorkloadDeployment",
        "metadata": {
            "namespace": "shop", "name": format!("{name}-us-{}", city.to_lowercase()),
            "annotations": {"compute.datumapis.com/revision": revision_mark(revision, &template)},
        },
        "spec": {
            "cityCode": city, "placementName": "us", "template": template,
            "workloadRef": {"name": name, "uid": workload["metadata"]["uid"]},
        },
        "status": {
            "observedGeneration": 1, "replicas": 2, "desiredReplicas": 2, "updatedReplicas": 2,
            "currentReplicas": 2, "readyReplicas": ready,
        },
    });
    project.put(wd).unwrap();
}

/// The planes of a process that has read the hub and the project.
async fn planes(project: &ApiServer) -> Arc<Planes> {
    let hub = ApiServer::hub("hub");
    for city in ["DFW", "ORD"] {
        let metadata = json!({"name": city.to_lowercase(), "labels": {"topology.datum.net/city-code": city}});
        let cluster = json!({
            "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": metadata, "spec": {},
        });
        hub.put(cluster).unwrap();
    }
    let clock = Clock::from_tokio(hub.clock().now());
    let project_kinds = fedhub_workload::on_projects(false, false);
    let settings = Settings { project_kinds, ..Settings::default() };
    let planes = Planes::with(hub.client(), Metrics::new().unwrap(), clock, settings);
    planes.start();
    let name = PlaneName::new("project-a").unwrap();
    planes.engage(&name, project.client());
    let kinds = [Kind::Workload, Kind::WorkloadRollout];
    until("the planes to be read", || {
        let engaged = planes.engaged(&name);
        planes.hub().synced()
            && engaged.is_some_and(|plane| kinds.iter().all(|kind| plane.store(*kind).synced()))
    })
    .await;
    planes
}

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn r1_a_rollout_without_an_object_is_shown_by_the_plan_and_without_a_request() {
    let project = project();
    let web = put(&project, "web", "RolloutInProgress");
    put_wd(&project, &web, "DFW", 2, 1);
    put_wd(&project, &web, "ORD", 1, 2);
    put(&project, "done", "RolloutComplete");
    let planes = planes(&project).await;
    let mark = project.mark();
    let found = rollouts(&planes, now());
    assert!(project.requests_since(mark).is_empty());
    assert_eq!(found.counts, [(RolloutState::InProgress, 1)]);
    let [row] = &*found.rows else { panic!("{found:?}") };
    assert_eq!((&*row.plane, &*row.namespace, &*row.workload), ("project-a", "shop", "web"));
    assert_eq!(row.cities, [(RolloutCityState::Updating, 1), (RolloutCityState::Waiting, 1)]);
    assert_eq!(row.remark.as_deref(), Some("ORD waits until \"DFW\" is healthy on the new revision"));
    assert_eq!((&row.wave, row.since, row.deployment.as_deref()), (&None, None, Some("web-us-dfw")));
}

#[tokio::test(start_paused = true)]
async fn r6_a_rollout_that_stalls_comes_first_with_its_wave_since_when_and_why() {
    let project = project();
    for n in 0..SHOWN + 10 {
        put(&project, &format!("a-{n:03}"), "RolloutInProgress");
    }
    let web = put(&project, "web", "CityFailed");
    put_wd(&project, &web, "DFW", 2, 0);
    put_wd(&project, &web, "ORD", 1, 2);
    let city = |city: &str, wave: &str, state: &str, revision: u64| {
        json!({
            "deployment": format!("web-us-{}", city.to_lowercase()), "city": city, "wave": wave, "state": state,
            "revision": revision, "since": "2026-01-02T11:58:00Z",
        })
    };
    let mut failed = city("DFW", "canary", "Failed", 2);
    failed["cause"] = json!({"reason": "ImageUnavailable", "message": "no such image"});
    let wave = |name: &str, deployment: &str| json!({"name": name, "deployments": [deployment]});
    let rollout = json!({
        "apiVersion": COMPUTE, "kind": "WorkloadRollout", "metadata": {"namespace": "shop", "name": "web"},
        "spec": {"workloadRef": {"name": "web"}, "waves": [{"name": "canary", "cities": ["DFW"]}, {"name": "rest"}]},
        "status": {
            "targetRevision": 2, "direction": "Forward",
            "plan": [wave("canary", "web-us-dfw"), wave("rest", "web-us-ord")],
            "cities": [failed, city("ORD", "rest", "Waiting", 1)],
        },
    });
    project.put(rollout).unwrap();
    let planes = planes(&project).await;
    let found = rollouts(&planes, now());
    assert_eq!(found.counts, [(RolloutState::Stalled, 1), (RolloutState::InProgress, SHOWN + 10)]);
    assert_eq!(found.rows.len(), SHOWN);
    assert_eq!(found.rows[1].workload, "a-000", "the rest in the order of their names");
    let row = &found.rows[0];
    assert_eq!((row.state, row.wave.as_deref()), (RolloutState::Stalled, Some("canary")));
    assert_eq!(row.since, Some("2026-01-02T11:58:00Z".parse().unwrap()));
    assert_eq!(row.remark.as_deref(), Some("DFW failed by ImageUnavailable: no such image"));
}

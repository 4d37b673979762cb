//! What the plan of the Workload controller says of what was read.

use fedhub_api::facts::restarts::revision_mark;
use fedhub_api::facts::workload::recorded_template;
use fedhub_core::object::Object;
use serde_json::{Value, json};

use super::*;

const NOW: &str = "2026-01-02T12:00:00Z";
const COMPUTE: &str = "compute.datumapis.com/v1alpha";

fn object(value: Value) -> Object {
    serde_json::from_value(value).unwrap()
}

fn template(revision: u64) -> Value {
    json!({"spec": {"runtime": {"sandbox": {"containers": [{"name": "web", "image": format!("web:{revision}")}]}}}})
}

/// A Workload of revision 2 in three cities, which keep revision 1 until it is their turn.
fn workload() -> Object {
    let template = template(2);
    object(json!({
        "apiVersion": COMPUTE, "kind": "Workload",
        "metadata": {
            "namespace": "shop", "name": "web", "uid": "uid-web", "generation": 2,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "annotations": {
                "compute.datumapis.com/current-revision": "2",
                "federation.datumapis.com/recorded-template": recorded_template(2, &template),
            },
        },
        "spec": {"template": template, "placements": [{"name": "us", "cityCodes": ["DFW", "ORD", "LAX"]}]},
        "status": {"heldRevision": 1},
    }))
}

/// A WD of that revision, with so many of two Instances ready.
fn wd(city: &str, revision: u64, ready: u32) -> Object {
    let template = template(revision);
    object(json!({
        "apiVersion": COMPUTE, "kind": "WorkloadDeployment",
        "metadata": {
            "namespace": "shop", "name": format!("web-us-{}", city.to_lowercase()), "uid": format!("uid-{city}"),
            "generation": 1,
            "annotations": {"compute.datumapis.com/revision": revision_mark(revision, &template)},
        },
        "spec": {
            "cityCode": city, "placementName": "us", "template": template,
            "workloadRef": {"name": "web", "uid": "uid-web"},
        },
        "status": {
            "observedGeneration": 1, "replicas": 2, "desiredReplicas": 2, "updatedReplicas": 2,
            "currentReplicas": 2, "readyReplicas": ready,
        },
    }))
}

/// What is read of a project.
struct Read {
    workload: Object,
    rollout: Option<Object>,
    deployments: [Object; 3],
}

fn read(deployments: [Object; 3]) -> Read {
    Read { workload: workload(), rollout: None, deployments }
}

fn decided(read: &Read) -> Option<Rollout> {
    let cities = ["DFW", "ORD", "LAX"].map(str::to_owned).into();
    let locations = Locations { by: Authority::Cells, cities };
    let plane = PlaneName::new("project-a").unwrap();
    let rollout = read.rollout.clone();
    let of = Surroundings::from_objects(plane, &read.workload, rollout, &read.deployments, locations);
    decide(of, NOW.parse().unwrap())
}

/// What is said of a WD.
fn said(read: &Read, deployment: &str) -> Option<String> {
    decided(read)?.turn(deployment).map(|turn| turn.evidence)
}

/// The first city is under way, the others wait.
fn under_way() -> Read {
    read([wd("DFW", 2, 1), wd("ORD", 1, 2), wd("LAX", 1, 2)])
}

/// A WorkloadRollout of two waves, with that status.
fn rollout(spec: &Value, status: &Value) -> Object {
    let mut rollout = json!({
        "apiVersion": COMPUTE, "kind": "WorkloadRollout",
        "metadata": {"namespace": "shop", "name": "web", "generation": 1},
        "spec": {
            "workloadRef": {"name": "web"},
            "waves": [{"name": "canary", "cities": ["DFW"], "soak": "5m", "approval": "After"}, {"name": "rest"}],
        },
        "status": status,
    });
    json_patch::merge(&mut rollout["spec"], spec);
    object(rollout)
}

/// The status of the rollout after its first city became that.
fn status(state: &str, approvals: &Value) -> Value {
    let wave = |name: &str, deployments: &[&str], more: Value| {
        let mut wave = json!({"name": name, "deployments": deployments, "maxConcurrent": 1});
        json_patch::merge(&mut wave, &more);
        wave
    };
    let city = |city: &str, wave: &str, state: &str, revision: u64| {
        json!({
            "deployment": format!("web-us-{}", city.to_lowercase()), "city": city, "wave": wave, "state": state,
            "revision": revision, "since": "2026-01-02T11:58:00Z",
        })
    };
    json!({
        "targetRevision": 2, "direction": "Forward", "approvals": approvals,
        "plan": [
            wave("canary", &["web-us-dfw"], json!({"soak": "5m", "approval": "After"})),
            wave("rest", &["web-us-ord", "web-us-lax"], json!({})),
        ],
        "cities": [
            city("DFW", "canary", state, 2), city("ORD", "rest", "Waiting", 1), city("LAX", "rest", "Waiting", 1),
        ],
    })
}

#[test]
fn u4_r1_without_an_object_a_wd_waits_for_the_cities_before_it() {
    let read = under_way();
    let waits = "the WD carries revision 1 of 2: it waits until \"DFW\" is healthy on the new revision";
    assert_eq!(said(&read, "web-us-ord").as_deref(), Some(waits));
    assert_eq!(said(&read, "web-us-lax").as_deref(), Some(waits));
    assert_eq!(said(&read, "web-us-dfw"), None, "it has the newest one");
}

#[test]
fn u4_r1_a_wd_whose_turn_has_come_does_not_wait() {
    let read = read([wd("DFW", 2, 2), wd("ORD", 1, 2), wd("LAX", 1, 2)]);
    let due = "the WD carries revision 1 of 2: it is to get the newest one now";
    assert_eq!(said(&read, "web-us-ord").as_deref(), Some(due));
    let waits = "the WD carries revision 1 of 2: it waits until \"ORD\" is healthy on the new revision";
    assert_eq!(said(&read, "web-us-lax").as_deref(), Some(waits));
}

#[test]
fn u4_r3_a_city_that_failed_is_named_with_its_cause() {
    let mut read = under_way();
    let stuck = json!([{
        "type": "Available", "status": "False", "reason": "ImageUnavailable", "message": "no such image",
    }]);
    read.deployments[0].data["status"]["conditions"] = stuck;
    let said = said(&read, "web-us-ord").unwrap();
    assert!(said.contains("the rollout has stopped: \"DFW\" failed by ImageUnavailable"), "{said}");
    let wait = decided(&read).unwrap().turn("web-us-ord").unwrap().wait.unwrap();
    assert!(wait.reason().needs_action(), "{wait:?}");
}

#[test]
fn u4_r1_nothing_waits_where_all_cities_go_at_once_or_have_the_template() {
    let mut read = under_way();
    read.workload.data["status"] = json!({});
    assert_eq!(decided(&read), None, "the operator's default may be all at once");
    let annotations = read.workload.metadata.annotations.as_mut().unwrap();
    annotations.insert("compute.datumapis.com/rollout".to_owned(), "in-order".to_owned());
    assert!(said(&read, "web-us-ord").is_some(), "the Workload says otherwise");
    let mut read = under_way();
    // The same template may have been a revision before.
    read.deployments[1] = wd("ORD", 2, 2);
    let mark = revision_mark(1, &template(2));
    let annotations = read.deployments[1].metadata.annotations.as_mut().unwrap();
    annotations.insert("compute.datumapis.com/revision".to_owned(), mark);
    assert_eq!(said(&read, "web-us-ord"), None);
}

#[test]
fn u4_a_pause_of_the_workload_is_what_its_wds_wait_for() {
    let mut read = under_way();
    let annotations = read.workload.metadata.annotations.as_mut().unwrap();
    annotations.insert("compute.datumapis.com/rollout-paused".to_owned(), "true".to_owned());
    let paused = "the WD carries revision 1 of 2: it keeps its revision while the rollout is paused";
    assert_eq!(said(&read, "web-us-ord").as_deref(), Some(paused));
}

#[test]
fn u4_r3_what_a_wave_waits_for_is_said_by_its_plan() {
    let begins = "the WD carries revision 1 of 2, in the wave \"rest\": ";
    let mut read = read([wd("DFW", 2, 2), wd("ORD", 1, 2), wd("LAX", 1, 2)]);
    let none = json!({});
    for (spec, status, waits) in [
        (
            &none,
            status("Soaking", &none),
            "it waits until \"DFW\" has stayed healthy, at 2026-01-02T12:03:00Z",
        ),
        (
            &none,
            status("Complete", &none),
            "it waits until the wave \"canary\" is approved after its last city",
        ),
        (
            &json!({"paused": true}),
            status("Soaking", &none),
            "it keeps its revision while the rollout is paused",
        ),
    ] {
        read.rollout = Some(rollout(spec, &status));
        let turn = decided(&read).unwrap().turn("web-us-ord").unwrap();
        assert_eq!(turn.evidence, format!("{begins}{waits}"));
        assert_eq!(turn.since, Some("2026-01-02T11:58:00Z".parse().unwrap()));
    }
    let by = json!([{"wave": "canary", "gate": "After", "by": "eve", "at": "2026-01-02T11:59:00Z"}]);
    read.rollout = Some(rollout(&none, &status("Complete", &by)));
    let due = format!("{begins}it is to get the newest one now");
    assert_eq!(said(&read, "web-us-ord"), Some(due));
}

#[test]
fn u4_r6_r7_the_way_back_an_abort_and_an_invalid_rollout_are_said() {
    let mut read = read([wd("DFW", 2, 0), wd("ORD", 1, 2), wd("LAX", 1, 2)]);
    let stuck = json!([{
        "type": "Available", "status": "False", "reason": "ImageUnavailable", "message": "no such image",
    }]);
    read.deployments[0].data["status"]["conditions"] = stuck;
    let mut failed = status("Failed", &json!({}));
    for city in 0..3 {
        failed["cities"][city]["lastGood"] = json!(1);
    }
    read.rollout = Some(rollout(&json!({"onFailure": "RollBack"}), &failed));
    let back = said(&read, "web-us-ord").unwrap();
    let turned = "it returns to its last good revision, since the rollout turned back: \"DFW\" failed by";
    assert!(back.contains(turned), "{back}");
    read.rollout = Some(rollout(&json!({"abort": true}), &failed));
    assert!(said(&read, "web-us-ord").unwrap().contains("since the rollout was aborted"));
    read.rollout = Some(rollout(&json!({"waves": [{"name": "canary", "cities": ["DFW"]}]}), &json!({})));
    let invalid = said(&read, "web-us-ord").unwrap();
    assert!(invalid.contains("this deployment is in no wave"), "{invalid}");
}

//! What a pass over one Workload costs, its requests aside.

use std::fmt::Write;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use fedhub_core::object::{Kind, Object, bare, set_field};
use fedhub_workload::workload_controller::plan::{WorkloadPlan, plan};
use fedhub_workload::workload_controller::revisions;
use fedhub_workload::workload_controller::snapshot::Snapshot;
use serde_json::json;

use crate::workload_controller::paused::{made_of, seen, web};

const CITIES: usize = 500;
/// In how many placements they are.
const PLACEMENTS: usize = 10;

/// The processor time of this thread: what it waits for others on a busy machine is not in it.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split_whitespace().next().unwrap().parse().unwrap())
}

/// `web` in so many cities, with its template recorded.
fn spread(image: &str, revision: u64) -> Object {
    let mut web = web(&[], image, None, false);
    let placements = (0..PLACEMENTS).map(|at| {
        let cities: Vec<_> = (0..CITIES / PLACEMENTS).map(|number| format!("C{at}X{number}")).collect();
        json!({"name": format!("p{at}"), "cityCodes": cities, "scaleSettings": {"minReplicas": 1}})
    });
    web.data["spec"]["placements"] = placements.collect();
    let annotations = serde_json::from_value(revisions::annotations(revision, &web)).unwrap();
    web.metadata.annotations = Some(annotations);
    web
}

/// The rollout of `web`, a wave for each placement.
fn waves() -> Object {
    let mut rollout = bare(Kind::WorkloadRollout, "shop", "web");
    let waves = (0..PLACEMENTS).map(|at| json!({"name": format!("w{at}"), "placements": [format!("p{at}")]}));
    let waves: Vec<_> = waves.collect();
    rollout.data = json!({"spec": {"workloadRef": {"name": "web"}, "waves": waves}});
    rollout
}

/// Midway in a rollout: half of the cities have the newest template, and all are healthy.
fn midway(rollout: Option<Object>) -> Snapshot {
    let newest = spread("a:2", 2);
    let done = made_of(&newest).into_iter().take(CITIES / 2);
    let rest = made_of(&spread("a:1", 1)).into_iter().skip(CITIES / 2);
    let deployments: Vec<_> = done
        .chain(rest)
        .map(|mut wd| {
            wd.metadata.generation = Some(1);
            wd.data["status"] = json!({"observedGeneration": 1, "replicas": 1, "desiredReplicas": 1,
                "updatedReplicas": 1, "currentReplicas": 1, "readyReplicas": 1});
            wd
        })
        .collect();
    assert_eq!(deployments.len(), CITIES);
    let mut seen = seen(&newest, &deployments);
    let cities = (0..CITIES)
        .map(|number| format!("C{}X{}", number / (CITIES / PLACEMENTS), number % (CITIES / PLACEMENTS)));
    seen.locations.cities = cities.collect();
    let Some(mut rollout) = rollout else { return seen };
    seen.rollout = Some(Arc::new(rollout.clone()));
    let WorkloadPlan::WriteRollout(status) = plan(&seen) else { panic!("no status") };
    assert_eq!(status["cities"].as_array().map(Vec::len), Some(CITIES));
    set_field(&mut rollout, "status", status);
    Snapshot { rollout: Some(Arc::new(rollout)), turns: OnceLock::new(), ..seen }
}

/// The time of a pass that finds one city to turn: what the caches say is copied, and planned by.
fn pass(seen: &Snapshot) -> Duration {
    const PASSES: u32 = 50;
    let start = processor_time();
    for _ in 0..PASSES {
        let seen = Snapshot { turns: OnceLock::new(), ..seen.clone() };
        let _ = seen.fingerprint();
        let WorkloadPlan::Write { update, .. } = plan(&seen) else { panic!("{:?}", plan(&seen)) };
        assert_eq!(update.len(), 1);
    }
    processor_time().saturating_sub(start) / PASSES
}

/// Run it with `--release -- --ignored --nocapture`.
#[test]
#[ignore = "measures time, and needs a release build"]
fn a_pass_over_a_workload_in_500_cities_takes_at_most_20_milliseconds() {
    let mut text = String::new();
    for (case, rollout) in [("one by one", None), ("ten waves", Some(waves()))] {
        let time = pass(&midway(rollout));
        writeln!(text, "{case}: {time:?}").unwrap();
        assert!(time < Duration::from_millis(20), "{text}");
    }
    println!("{text}");
}

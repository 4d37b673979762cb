//! W1: a WD that is not wanted any more gives way to what takes its place once that is available, and nothing
//! is deleted while no wanted site has a WD.

use std::time::Duration;

use fedhub_core::object::Object;
use fedhub_workload::workload_controller::plan::WorkloadPlan;
use proptest::prelude::*;
use serde_json::json;

use crate::workload_controller::paused::{made_of, planned, seen, web, written};
use crate::workload_controller::support::*;

const READY: (&str, &str, &str) = ("True", "StableInstanceFound", "1/1 instances are ready");
const CRASHING: (&str, &str, &str) = ("False", "InstanceCrashing", "0/1 instances are ready");

/// The WD in one city, made so many seconds before the snapshot and available or not.
fn wd(city: &str, age: i64, available: bool) -> Object {
    let mut wd = made_of(&web(&[city], "a:1", None, false)).remove(0);
    let now = jiff::Timestamp::from_second(1_767_225_600).unwrap();
    let created = now - Duration::from_secs(u64::try_from(age).unwrap());
    wd.metadata.creation_timestamp = serde_json::from_value(json!(created.to_string())).unwrap();
    wd.metadata.generation = Some(1);
    let status = if available { "True" } else { "False" };
    wd.data["status"] = json!({"observedGeneration": 1, "replicas": 1, "desiredReplicas": 1, "updatedReplicas": 1,
        "readyReplicas": i32::from(available), "conditions": [condition("Available", status, "Odd", "")]});
    wd
}

#[test]
fn w1_what_is_not_wanted_gives_way_when_what_is_wanted_is_available_or_late() {
    let deadline = i64::try_from(MOVE_DEADLINE.as_secs()).unwrap();
    let dfw = || wd("DFW", 10_000, true);
    let synced = WorkloadPlan::Synced;
    let gone = || written(&[], &[], &["us-dfw"]);
    for (what, cities, others, expected) in [
        ("the new city has no WD yet", &["ORD"][..], vec![], written(&["us-ord"], &[], &[])),
        ("it is not available yet", &["ORD"], vec![wd("ORD", 5, false)], synced.clone()),
        ("a moment before the deadline", &["ORD"], vec![wd("ORD", deadline - 1, false)], synced.clone()),
        ("it is available", &["ORD"], vec![wd("ORD", 5, true)], gone()),
        ("it had its time", &["ORD"], vec![wd("ORD", deadline, false)], gone()),
        (
            "one of two is not there",
            &["LHR", "ORD"],
            vec![wd("ORD", 5, true)],
            written(&["us-lhr"], &[], &[]),
        ),
        ("one of two is late", &["LHR", "ORD"], vec![wd("LHR", 5, true), wd("ORD", deadline, false)], gone()),
        ("nowhere", &["DFX"], vec![], synced.clone()),
        ("nowhere, beside one that serves", &["DFX", "ORD"], vec![wd("ORD", 10_000, true)], synced.clone()),
        ("a city less", &["ORD"], vec![wd("ORD", 10_000, true)], gone()),
        ("no city at all", &[], vec![], gone()),
    ] {
        let all: Vec<_> = others.into_iter().chain([dfw()]).collect();
        assert_eq!(planned(seen(&web(cities, "a:1", None, false), &all)), expected, "{what}");
    }
}

/// A status of an older generation tells nothing of what is to take the place, and a WD that is being deleted
/// takes none.
#[test]
fn w1_what_is_wanted_has_to_be_available_as_it_is_now() {
    let moved = web(&["ORD"], "a:1", None, false);
    let mut older = wd("ORD", 5, true);
    older.metadata.generation = Some(2);
    let mut leaving = wd("ORD", 10_000, true);
    leaving.metadata.deletion_timestamp = serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
    for wanted in [older, leaving] {
        assert_eq!(planned(seen(&moved, &[wanted, wd("DFW", 10_000, true)])), WorkloadPlan::Synced);
    }
}

proptest! {
    /// Whatever is edited: as long as nothing that is wanted has a WD, nothing is deleted, paused or not.
    #[test]
    fn w1_nothing_is_deleted_while_nothing_that_is_wanted_is_placed(
        cities in proptest::sample::subsequence(vec!["DFX", "LHR", "ORD", "NRT"], 0..=4),
        served in proptest::sample::subsequence(vec!["LHR", "ORD", "NRT"], 0..=3),
        placed in proptest::collection::btree_map(
            proptest::sample::select(vec!["DFW", "LHR", "ORD"]), (0..1000i64, any::<bool>()), 0..4),
        paused in any::<bool>(),
    ) {
        let wds: Vec<_> = placed.iter().map(|(city, (age, available))| wd(city, *age, *available)).collect();
        let mut seen = seen(&web(&cities, "a:1", None, paused), &wds);
        seen.locations.cities = served.into_iter().map(str::to_owned).collect();
        if let WorkloadPlan::Write { create, delete, .. } = planned(seen) {
            let has_place = cities.is_empty() || cities.iter().any(|city| placed.contains_key(city));
            prop_assert!(delete.is_empty() || has_place && create.is_empty(), "{delete:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn w1_a_city_that_is_swapped_for_another_stays_until_that_is_available() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    world.report("web-us-dfw", 1, READY);
    quiet(5).await;
    world.place("web", &["ORD"]);
    quiet(60).await;
    assert_eq!(world.wds(), ["web-us-dfw", "web-us-ord"]);
    let (status, _, message) = world.said("web", "Progressing");
    assert!(status == "True" && message.contains("Keeping WorkloadDeployment \"web-us-dfw\""), "{message}");
    world.report("web-us-ord", 1, READY);
    quiet(5).await;
    assert_eq!(world.wds(), ["web-us-ord"]);
    assert_eq!(world.said("web", "Progressing").1, "RolloutComplete");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w1_a_city_that_is_swapped_gives_way_when_the_deadline_is_over() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    world.report("web-us-dfw", 1, READY);
    quiet(5).await;
    world.place("web", &["ORD"]);
    quiet(5).await;
    world.report("web-us-ord", 1, CRASHING);
    quiet(MOVE_DEADLINE.as_secs() - 15).await;
    assert_eq!(world.wds(), ["web-us-dfw", "web-us-ord"]);
    // Nothing happens but that time goes by, for another process, too.
    run.stop().await;
    let run = world.run();
    quiet(20).await;
    assert_eq!(world.wds(), ["web-us-ord"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w1_w7_a_city_that_cannot_be_placed_empties_no_workload() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    world.report("web-us-dfw", 1, READY);
    quiet(5).await;
    world.place("web", &["DFX"]);
    quiet(3600).await;
    assert_eq!(world.wds(), ["web-us-dfw"]);
    let (_, reason, message) = world.said("web", "Available");
    assert!(reason == "NoMatchingLocations" && message.contains("\"DFX\""), "{reason}: {message}");
    assert!(world.said("web", "Progressing").2.contains("Keeping WorkloadDeployment \"web-us-dfw\""));
    let from = position(&world.project);
    quiet(3600).await;
    assert_eq!(asked(&world.project, from), [""; 0]);
    world.place("web", &["ORD"]);
    quiet(5).await;
    world.report("web-us-ord", 1, READY);
    quiet(5).await;
    assert_eq!(world.wds(), ["web-us-ord"]);
    run.stop().await;
}

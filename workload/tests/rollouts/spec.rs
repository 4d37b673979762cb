//! What a rollout asks for, and every fault with its words.

use std::time::Duration;

use fedhub_core::object::{Object, TooLarge, set_too_large};
use fedhub_rollout::{Approval, OnFailure, Policy, Strategy, Unreachable};
use fedhub_workload::admission::Fault;
use fedhub_workload::rollouts::spec::{policy, revision_history_limit};
use serde_json::{Value, json};

use crate::rollouts::fixtures::{DEPLOYMENTS, rollout, with};

fn waves(policy: &Policy) -> Vec<(&str, Vec<&str>)> {
    policy.waves.iter().map(|wave| (&*wave.name, wave.deployments.iter().map(|it| &**it).collect())).collect()
}

fn faults(rollout: &Object) -> Vec<String> {
    let faults = policy(rollout, &DEPLOYMENTS, false).unwrap_err();
    faults.iter().map(Fault::to_string).collect()
}

#[test]
fn r1_without_waves_each_deployment_follows_the_one_before_it() {
    let mut rollout = rollout(Value::Null);
    rollout.data["spec"].as_object_mut().unwrap().remove("waves");
    let policy = policy(&rollout, &DEPLOYMENTS, false).unwrap();
    let names = DEPLOYMENTS.iter().map(|it| it.name.into());
    assert_eq!(policy, Policy::one_by_one(names, Duration::from_mins(10)));
    assert_eq!(revision_history_limit(&rollout), 20);
    assert_eq!(revision_history_limit(&with(rollout, "revisionHistoryLimit", json!(3))), 3);
}

#[test]
fn r1_every_field_of_a_rollout_is_read() {
    let canary = json!({"name": "canary", "cities": ["lhr"], "approval": "After", "soak": "1h30m", "maxConcurrent": 7, "maxFailures": 2});
    let mut rollout = rollout(json!([canary, {"name": "rest", "approval": "Before"}]));
    for (field, value) in [
        ("strategy", json!("External")),
        ("unreachable", json!("Hold")),
        ("onFailure", json!("RollBack")),
        ("progressDeadline", json!("90s")),
        ("paused", json!(true)),
        ("abort", json!(true)),
    ] {
        rollout = with(rollout, field, value);
    }
    let policy = policy(&rollout, &DEPLOYMENTS, false).unwrap();
    assert_eq!(policy.strategy, Strategy::External);
    assert_eq!((policy.unreachable, policy.on_failure), (Unreachable::Hold, OnFailure::RollBack));
    assert_eq!((policy.paused, policy.abort), (true, true));
    assert_eq!(policy.progress_deadline, Duration::from_secs(90));
    let [canary, rest] = policy.waves.as_slice() else { panic!("two waves") };
    assert_eq!((canary.approval, canary.soak), (Approval::After, Duration::from_mins(90)));
    assert_eq!((canary.max_concurrent, canary.max_failures), (7, 2));
    assert_eq!((rest.approval, rest.soak), (Approval::Before, Duration::ZERO));
    assert_eq!((rest.max_concurrent, rest.max_failures), (1, 0));
}

#[test]
fn r1_waves_select_by_city_by_placement_and_by_both() {
    for (asked, expected) in [
        (
            json!([{"name": "a", "cities": ["ord", "DFW"]}, {"name": "b"}]),
            vec![("a", vec!["web-us-ord", "web-us-dfw", "web-eu-dfw"]), ("b", vec!["web-eu-lhr"])],
        ),
        (
            json!([{"name": "a"}, {"name": "b", "placements": ["eu"]}]),
            vec![("a", vec!["web-us-dfw", "web-us-ord"]), ("b", vec!["web-eu-lhr", "web-eu-dfw"])],
        ),
        (
            json!([{"name": "a", "cities": ["DFW"], "placements": ["eu"]}, {"name": "b", "cities": ["DFW"], "placements": ["us"]}, {"name": "c"}]),
            vec![
                ("a", vec!["web-eu-dfw"]),
                ("b", vec!["web-us-dfw"]),
                ("c", vec!["web-us-ord", "web-eu-lhr"]),
            ],
        ),
        (
            json!([{"name": "a", "placements": ["eu", "us"]}, {"name": "b"}]),
            vec![("a", vec!["web-us-dfw", "web-us-ord", "web-eu-lhr", "web-eu-dfw"]), ("b", vec![])],
        ),
    ] {
        let policy = policy(&rollout(asked), &DEPLOYMENTS, false).unwrap();
        assert_eq!(waves(&policy), expected);
    }
}

#[test]
fn r1_a_city_in_no_wave_or_in_two_moves_nothing() {
    for (asked, expected) in [
        (
            json!([{"name": "a", "placements": ["us"]}, {"name": "b", "cities": ["LHR"]}]),
            "spec.waves: Invalid value: \"web-eu-dfw\": this deployment is in no wave: name its city \"DFW\" or its \
             placement \"eu\" in one, or add a wave with neither cities nor placements",
        ),
        (
            json!([{"name": "a", "placements": ["us"]}, {"name": "b", "cities": ["DFW"]}, {"name": "c"}]),
            "spec.waves[1]: Duplicate value: \"web-us-dfw\": it is in the wave \"a\" too: each deployment is in \
             exactly one wave",
        ),
        (
            json!([{"name": "a", "cities": ["DWF"]}, {"name": "b"}]),
            "spec.waves[0].cities[0]: Not found: \"DWF\": no placement of the workload has this city",
        ),
        (
            json!([{"name": "a", "cities": ["LHR"], "placements": ["us"]}, {"name": "b"}]),
            "spec.waves[0].cities[0]: Not found: \"LHR\": none of the wave's placements has this city",
        ),
        (
            json!([{"name": "a", "placements": ["asia"]}, {"name": "b"}]),
            "spec.waves[0].placements[0]: Not found: \"asia\": the workload has no placement of that name",
        ),
    ] {
        assert_eq!(faults(&rollout(asked)), [expected]);
    }
}

#[test]
fn r1_what_shows_without_the_workload_is_a_fault_here_too() {
    let rest = || rollout(json!([{"name": "rest"}]));
    for (rollout, expected) in [
        (with(rest(), "workloadRef", json!({"name": "shop"})), "a rollout has the name of its workload"),
        (with(rest(), "progressDeadline", json!("soon")), "spec.progressDeadline: Invalid value: \"soon\""),
        (with(rest(), "progressDeadline", json!("0s")), "spec.progressDeadline: Invalid value: \"0s\""),
        (with(rest(), "progressDeadline", json!("721h")), "at most 720h"),
        (with(rest(), "progressDeadline", json!("1500ms")), "spec.progressDeadline: Invalid value"),
        (with(rest(), "revisionHistoryLimit", json!(21)), "spec.revisionHistoryLimit: Invalid value: \"21\""),
        (with(rest(), "strategy", json!("Random")), "spec: Forbidden: it cannot be read"),
        (
            with(rest(), "waves", json!([{"name": "a", "maxConcurrent": -1}])),
            "spec: Forbidden: it cannot be read",
        ),
        (
            rollout(json!([{"name": "a", "maxConcurrent": 0}])),
            "spec.waves[0].maxConcurrent: Invalid value: \"0\"",
        ),
        (rollout(json!([{"name": "a", "maxFailures": 5001}])), "spec.waves[0].maxFailures: Invalid value"),
        (rollout(json!([{"name": "a", "soak": "1d"}])), "spec.waves[0].soak: Invalid value: \"1d\""),
        (rollout(json!([{"name": "A"}])), "spec.waves[0].name: Invalid value: \"A\""),
        (
            rollout(json!([{"name": "a", "cities": ["DFW"]}, {"name": "a"}])),
            "spec.waves[1].name: Duplicate value: \"a\"",
        ),
        (
            rollout(json!([{"name": "a"}, {"name": "b"}])),
            "spec.waves[1]: Invalid value: \"b\": one wave takes all",
        ),
        (
            rollout(
                json!([{"name": "a", "cities": ["DFW"]}, {"name": "b", "cities": ["dfw"]}, {"name": "c"}]),
            ),
            "spec.waves[1]: Duplicate value: \"dfw\": an earlier wave has it",
        ),
        (
            rollout(
                json!([{"name": "a", "placements": ["eu"]}, {"name": "b", "placements": ["eu"]}, {"name": "c"}]),
            ),
            "spec.waves[1]: Duplicate value: \"eu\": an earlier wave has it",
        ),
        (
            rollout((0..32).map(|i| json!({"name": format!("w{i}"), "cities": [format!("C{i}")]})).collect()),
            "spec.waves: Too many: \"32\": it has at most 31 items",
        ),
    ] {
        let found = faults(&rollout);
        assert!(found.iter().any(|fault| fault.contains(expected)), "{expected}: {found:?}");
    }
}

#[test]
fn r1_a_rollout_that_is_too_large_to_be_read_moves_nothing() {
    let mut large = rollout(json!([]));
    set_too_large(&mut large, Some(TooLarge { size: 2 << 20, limit: 1 << 20 }));
    let found = faults(&large);
    assert_eq!(found, ["spec: Forbidden: its size of 2097152 bytes is over the limit of 1048576 bytes"]);
}

//! W1: plans by themselves.

use std::sync::Arc;

use fedhub_api::reason::Reason;
use fedhub_cache::digest::Version;
use fedhub_core::object::{Kind, Object, bare};
use fedhub_planes::WriteState;
use fedhub_workload::workload_controller::plan::WorkloadPlan;
use fedhub_workload::workload_controller::snapshot::{RefusedDeployment, Snapshot};
use serde_json::json;

use crate::workload_controller::paused::{made_of, planned, seen, web, written};

/// `web`, whose placement was renamed, beside the WD of the old name.
fn renamed() -> (Object, Vec<Object>) {
    let mut web = web(&["DFW"], "a:1", None, false);
    let before = made_of(&web);
    web.data["spec"]["placements"][0]["name"] = json!("eu");
    (web, before)
}

#[test]
fn w1_w7_no_deployment_gives_way_to_one_that_cannot_be_created() {
    let (web, before) = renamed();
    assert_eq!(
        planned(seen(&web, &before)),
        written(&["eu-dfw"], &[], &[]),
        "what takes its place is not there yet"
    );
    let mut unplaceable = seen(&web, &before);
    unplaceable.locations.cities.remove("DFW");
    assert_eq!(planned(unplaceable), WorkloadPlan::Synced);
    let mut refused = seen(&web, &before);
    let refusal = RefusedDeployment { reason: Reason::DeploymentsRefused, message: String::new() };
    refused.learnt.refused.insert("web-eu-dfw".to_owned(), refusal);
    assert_eq!(planned(refused), WorkloadPlan::Synced);
    let mut foreign = made_of(&web).remove(0);
    foreign.data["spec"]["workloadRef"]["uid"] = json!("another");
    let taken = seen(&web, &[before[0].clone(), foreign]);
    assert_eq!(planned(taken), WorkloadPlan::Synced);
}

#[test]
fn w1_a_city_that_is_named_twice_holds_nothing_up() {
    let (mut web, before) = renamed();
    web.data["spec"]["placements"][0]["cityCodes"] = json!(["DFW", "DFW"]);
    assert_eq!(planned(seen(&web, &before)), written(&["eu-dfw"], &[], &[]));
    let both = [before[0].clone(), made_of(&web).remove(0)];
    assert_eq!(planned(seen(&web, &both)), written(&[], &[], &["us-dfw"]));
}

#[test]
fn i7_w1_what_was_learnt_of_one_version_does_not_count_for_another() {
    let before = made_of(&web(&["DFW"], "a:1", None, false));
    let with = |image: &str, settled: &str| -> Snapshot {
        let web = web(&["DFW"], image, None, false);
        let mut seen = seen(&web, &before);
        let content =
            self::seen(&self::web(&["DFW"], settled, None, false), &[]).sites("u")[0].1[0].wanted.content();
        seen.learnt.settled.insert("web-us-dfw".to_owned(), (Version::new(""), content));
        seen
    };
    assert_eq!(planned(with("a:2", "a:2")), WorkloadPlan::Synced);
    assert_eq!(planned(with("a:3", "a:2")), written(&[], &["us-dfw"], &[]));
    let mut seen = with("a:1", "a:1");
    seen.learnt.status_settled = Some(1);
    let plan = fedhub_workload::workload_controller::plan::plan(&seen);
    assert!(matches!(plan, WorkloadPlan::WriteStatus(_)), "another status was found settled");
}

#[test]
fn r8_nothing_is_said_of_a_rollout_without_its_workload_while_its_plane_takes_no_writes() {
    let rollout = bare(Kind::WorkloadRollout, "default", "web");
    let orphan = |writes: WriteState| Snapshot {
        workload: None,
        rollout: Some(Arc::new(rollout.clone())),
        writes,
        ..seen(&web(&["DFW"], "a:1", None, false), &[])
    };
    let plan = fedhub_workload::workload_controller::plan::plan;
    assert!(matches!(plan(&orphan(WriteState::Active)), WorkloadPlan::WriteRollout(_)));
    for writes in [WriteState::Paused, WriteState::Suspended] {
        assert_eq!(plan(&orphan(writes)), WorkloadPlan::AwaitResume);
    }
    let gone = Snapshot { rollout: None, ..orphan(WriteState::Active) };
    assert_eq!(plan(&gone), WorkloadPlan::Synced);
}

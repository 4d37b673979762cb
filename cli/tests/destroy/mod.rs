//! `destroy`: nothing goes that nobody wanted gone, and the end is told when it is there.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::process::{Command, Stdio};

use fedhub_cli::destroy::plan::{Consent, Target, consent};
use fedhub_cli::destroy::remains::remaining;
use fedhub_fake_apiserver::{AuditEntry, Fault};
use fedhub_testing::{condition, until};
use serde_json::json;

use crate::support::Platform;

const FINALIZER: &str = "compute.datumapis.com/workload-controller";

async fn platform() -> Platform {
    let platform = Platform::start().await;
    platform.entitle(&json!({ "phase": "Active", "conditions": [condition("Ready", "True", "R", "")] }));
    platform
}

#[test]
fn somebody_has_to_want_it() {
    for (yes, can_ask, expected) in [
        (true, true, Consent::Given),
        (true, false, Consent::Given),
        (false, true, Consent::Question),
        (false, false, Consent::Missing),
    ] {
        assert_eq!(consent(yes, can_ask), expected, "{yes} {can_ask}");
    }
}

#[test]
fn what_goes_is_told_with_its_cities_and_instances() {
    let of = |value| Target::from_workload(&serde_json::from_value(value).unwrap()).in_words();
    let workload = |status| {
        json!({
            "apiVersion": "compute.datumapis.com/v1alpha", "kind": "Workload", "metadata": { "name": "api" },
            "spec": { "placements": [{ "cityCodes": ["LHR", "DFW"] }, { "cityCodes": ["DFW"] }] }, "status": status,
        })
    };
    assert_eq!(of(workload(json!({ "replicas": 4 }))), "workload \"api\" with 4 instances in DFW, LHR");
    assert_eq!(of(workload(json!({ "replicas": 1 }))), "workload \"api\" with 1 instance in DFW, LHR");
    // Unknown is not none.
    assert_eq!(of(workload(json!({}))), "workload \"api\" with its instances in DFW, LHR");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_terminal_nothing_goes_without_yes() {
    let platform = platform().await;
    platform.workload("api", &[]);
    let refused = platform.run(&["destroy", "api"]).await;
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.err.contains("4 instances in DFW, LHR") && refused.err.contains("--yes"), "{refused:?}");
    assert_eq!(platform.plane.names("Workload").len(), 1);
    let done = platform.run(&["destroy", "api", "-y"]).await;
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(platform.plane.names("Workload"), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_done_when_everything_is_gone_and_not_before() {
    let platform = platform().await;
    platform.workload("api", &[FINALIZER]);
    let mut waiting = platform.command(&["destroy", "api", "--yes", "-o", "json"]);
    let waiting = tokio::spawn(async move { waiting.output().await.unwrap() });
    let watches = || platform.plane.audit().iter().filter(|entry| entry.verb == "watch").count();
    until("a watch", || watches() > 0).await;
    assert!(!waiting.is_finished());
    // A watch that breaks off is watched anew, and says nothing.
    platform.plane.break_watches();
    until("another watch", || watches() > 1).await;
    assert!(!waiting.is_finished());
    platform
        .plane
        .patch("Workload", "default", "api", &json!({ "metadata": { "finalizers": null } }))
        .unwrap();
    let output = waiting.await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told, json!({ "workload": "api", "deleted": true, "gone": true }));
}

#[test]
fn what_is_left_is_told_by_city_with_what_holds_it_up() {
    let deployment = |city: &str, federated: serde_json::Value| {
        serde_json::from_value(json!({
            "apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadDeployment", "metadata": { "name": city },
            "spec": { "cityCode": city }, "status": { "conditions": [federated] },
        }))
        .unwrap()
    };
    let instance = |city: &str| {
        let labels = json!({ "compute.datumapis.com/city-code": city });
        let metadata = json!({ "name": "i", "labels": labels });
        serde_json::from_value(json!({ "apiVersion": "compute.datumapis.com/v1alpha", "kind": "Instance", "metadata": metadata }))
            .unwrap()
    };
    let away = condition("Federated", "False", "CellUnreachable", "The city does not answer.");
    let deployments =
        [deployment("DFW", away), deployment("LHR", condition("Federated", "True", "Applied", "Fine."))];
    let instances = [instance("DFW"), instance("DFW"), instance("LHR")];
    assert_eq!(
        remaining(&deployments, Some(&instances)).unwrap(),
        "  DFW: 2 instances left; The city does not answer.\n  LHR: 1 instance left"
    );
    assert_eq!(remaining(&deployments[1..], None).unwrap(), "  LHR: its instances are not known");
    assert_eq!(remaining(&[], Some(&instances)), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_hangs_is_told_and_can_be_waited_for_again() {
    let platform = platform().await;
    platform.workload("api", &[FINALIZER]);
    let uid = platform.plane.get("Workload", "default", "api").unwrap()["metadata"]["uid"].clone();
    platform
        .plane
        .put(json!({
            "apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadDeployment",
            "metadata": { "namespace": "default", "name": "api-default-dfw", "labels": { "compute.datumapis.com/workload-uid": uid } },
            "spec": { "cityCode": "DFW" },
        }))
        .unwrap();
    let started = platform.run(&["destroy", "api", "--yes", "--no-wait"]).await;
    assert_eq!(started.code, 0, "{started:?}");
    // It needs no consent any more.
    let late = platform.run(&["destroy", "api", "--timeout", "200ms"]).await;
    assert_eq!(late.code, 3, "{late:?}");
    assert!(
        late.err.contains("The deletion goes on") && late.err.contains("DFW: 0 instances left"),
        "{late:?}"
    );
    // Somebody who waits is told which city still has what, once.
    let waiting = platform.run(&["destroy", "api", "--timeout", "13s"]).await;
    assert!(waiting.code == 3 && waiting.err.matches("DFW: 0 instances left").count() == 2, "{waiting:?}");
    // What cannot be read is no nothing.
    platform.plane.fault(Fault::Status(403).on("list", "workloaddeployments"));
    let blind = platform.run(&["destroy", "api", "--timeout", "200ms"]).await;
    assert!(blind.code == 3 && blind.err.contains("What is left is not known."), "{blind:?}");
    assert_eq!(
        platform.plane.audit().iter().filter(|entry| entry.verb == "delete" && !entry.dry_run).count(),
        1
    );
}

/// What is deleted is what was shown: one that was made anew by the same name stays.
#[tokio::test(flavor = "multi_thread")]
async fn only_the_workload_that_was_shown_is_deleted() {
    let platform = platform().await;
    platform.workload("api", &[]);
    let uid = platform.plane.get("Workload", "default", "api").unwrap()["metadata"]["uid"].clone();
    assert_eq!(platform.run(&["destroy", "api", "--yes"]).await.code, 0);
    let deleted: Vec<_> = platform.plane.audit().into_iter().filter(|entry| entry.verb == "delete").collect();
    assert_eq!(deleted.iter().map(|entry| entry.dry_run).collect::<Vec<_>>(), [true, false]);
    for entry in deleted {
        assert_eq!(entry.body.unwrap()["preconditions"]["uid"], uid);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_leads_nowhere_is_answered_with_the_way_to_those_that_do() {
    let platform = platform().await;
    platform.workload("api", &[]);
    let run = platform.run(&["destroy", "apo", "--yes"]).await;
    assert_eq!(run.code, 1, "{run:?}");
    assert!(
        run.err.contains("There is no workload \"apo\"")
            && run.err.contains("compute workloads")
            && run.err.contains("` lists those that there are."),
        "{run:?}"
    );
}

/// A right that is missing ends the wait, and is not swallowed.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_forbidden_is_said() {
    let platform = platform().await;
    platform.workload("api", &[FINALIZER]);
    platform.plane.fault(Fault::Status(403).on("delete", "workloads"));
    let run = platform.run(&["destroy", "api", "--yes"]).await;
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.err.contains("lacks the right"), "{run:?}");
    platform.plane.clear_faults();
    platform.plane.fault(Fault::Status(403).on("watch", "workloads"));
    let run = platform.run(&["destroy", "api", "--yes"]).await;
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.err.contains("lacks the right"), "{run:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_ends_the_waiting_and_not_the_deletion() {
    let platform = platform().await;
    platform.workload("api", &[FINALIZER]);
    let mut command = platform.command(&["destroy", "api", "--yes"]);
    let waiting = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let watches = || platform.plane.audit().iter().filter(|entry| entry.verb == "watch").count();
    until("a watch", || watches() > 0).await;
    let interrupted =
        Command::new("kill").args(["-INT", &waiting.id().unwrap().to_string()]).status().unwrap();
    assert!(interrupted.success());
    let output = waiting.wait_with_output().await.unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("The deletion of workload \"api\" goes on."), "{said}");
}

/// The proxy goes before what it leads to; what is another workload's stays, and a missing right is no reason
/// to stop.
#[tokio::test(flavor = "multi_thread")]
async fn the_url_of_a_workload_goes_with_it() {
    for (is_own, forbidden, left) in [(true, false, 0), (false, false, 2), (true, true, 2)] {
        let platform = platform().await;
        platform.workload("api", &[]);
        let uid = platform.plane.get("Workload", "default", "api").unwrap()["metadata"]["uid"].clone();
        platform.publish("api", &if is_own { uid } else { json!("of-an-earlier-one") });
        if forbidden {
            platform.plane.fault(Fault::Status(403).on("get", "httpproxies"));
        }
        let run = platform.run(&["destroy", "api", "--yes"]).await;
        assert_eq!(run.code, 0, "{run:?}");
        assert_eq!(run.err.contains("It goes with the workload."), forbidden, "{run:?}");
        assert_eq!(run.err.contains("Removed its URL https://api.example.net."), left == 0, "{run:?}");
        let there = platform.plane.names("HTTPProxy").len() + platform.plane.names("NetworkService").len();
        assert_eq!(there, left, "{is_own} {forbidden}");
        let audit = platform.plane.audit();
        let deleted: Vec<String> =
            audit.iter().filter(|entry| entry.verb == "delete").map(AuditEntry::short).collect();
        let whole = [
            "delete workloads/api (dry)",
            "delete httpproxies/api",
            "delete networkservices/api",
            "delete workloads/api",
        ];
        let alone = [whole[0], whole[3]];
        assert_eq!(deleted, if left == 0 { &whole[..] } else { &alone[..] });
    }
}

/// A workload that may not be deleted runs on, and answers on.
#[tokio::test(flavor = "multi_thread")]
async fn a_workload_that_may_not_go_keeps_its_url() {
    let platform = platform().await;
    platform.workload("api", &[]);
    let uid = platform.plane.get("Workload", "default", "api").unwrap()["metadata"]["uid"].clone();
    platform.publish("api", &uid);
    platform.plane.fault(Fault::Status(403).on("delete", "workloads"));
    let run = platform.run(&["destroy", "api", "--yes"]).await;
    assert_eq!(run.code, 1, "{run:?}");
    for kind in ["Workload", "HTTPProxy", "NetworkService"] {
        assert_eq!(platform.plane.names(kind).len(), 1, "{kind}");
    }
}

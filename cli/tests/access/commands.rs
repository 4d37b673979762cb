//! The command and the gate against a platform.

use std::time::Duration;

use fedhub_fake_apiserver::Fault;
use fedhub_testing::until;
use serde_json::{Value, json};

use super::status;
use crate::support::Platform;

fn writes(platform: &Platform) -> usize {
    platform.plane.audit().iter().filter(|entry| entry.is_write()).count()
}

/// Answers the request of the program as the platform does, once it is there.
fn answer(platform: &Platform, status: Value) -> tokio::task::JoinHandle<()> {
    let plane = platform.plane.clone();
    tokio::spawn(async move {
        until("a request", || !plane.list("ServiceEntitlement").is_empty()).await;
        let name = plane.list("ServiceEntitlement")[0]["metadata"]["name"].as_str().unwrap().to_owned();
        plane.patch_status("ServiceEntitlement", "", &name, &status).unwrap();
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn access_tells_the_state_for_people_and_programs_and_writes_nothing() {
    let platform = Platform::start().await;
    let none = platform.run(&["access"]).await;
    assert_eq!(
        (none.code, none.out.lines().next()),
        (0, Some("Compute is not enabled in project \"shop\"."))
    );
    let marked = writes(&platform);
    platform.entitle(&status("PendingApproval", "EntitlementPendingApproval", false));
    let told = platform.run(&["access", "-o", "json"]).await;
    let value: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!((&value["state"], &value["project"]), (&json!("PendingApproval"), &json!("shop")), "{told:?}");
    assert_eq!(
        (&value["service"], &value["entitlement"]),
        (&json!("compute.datumapis.com"), &json!("compute"))
    );
    assert_eq!((told.err.as_str(), writes(&platform)), ("", marked));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_gate_ends_with_the_exit_code_of_the_state() {
    let platform = Platform::start().await;
    platform.offer("GatedByProvider");
    assert_eq!(platform.run(&["destroy", "api", "--yes"]).await.code, 10, "nobody can be asked");
    for (status, code) in [
        (status("PendingApproval", "EntitlementPendingApproval", false), 12),
        (status("Rejected", "EntitlementRejected", false), 11),
        (status("Rejected", "EntitlementRejected", true), 11),
        (status("Rejected", "ServiceNotPublished", false), 13),
        // It runs, and says what is wrong with the name.
        (status("Active", "EntitlementActive", true), 1),
    ] {
        platform.entitle(&status);
        let run = platform.run(&["destroy", "api", "--yes"]).await;
        assert_eq!(run.code, code, "{status} {run:?}");
    }
    assert_eq!(writes(&platform), 0, "nothing was asked for");
}

/// Enabled there and then, without a question, also where nobody could answer one: and it is said.
#[tokio::test(flavor = "multi_thread")]
async fn what_needs_no_approval_is_enabled_on_the_way() {
    let platform = Platform::start().await;
    platform.offer("SelfService");
    platform.workload("api", &[]);
    let answered = answer(&platform, status("Active", "EntitlementActive", true));
    let run = platform.run(&["destroy", "api", "--yes"]).await;
    answered.await.unwrap();
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.err.contains("Enabling compute in project \"shop\" ...\nCompute is enabled"), "{run:?}");
    assert_eq!(platform.plane.names("Workload"), []);
    let requested = platform.plane.list("ServiceEntitlement");
    assert_eq!(
        requested[0]["spec"]["serviceRef"]["name"], "compute-datumapis-com",
        "as the catalogue calls it"
    );
}

/// Reading, dry runs and what is refused before anything is sent change nothing, the project's access
/// included.
#[tokio::test(flavor = "multi_thread")]
async fn what_changes_nothing_does_not_enable_compute() {
    let platform = Platform::start().await;
    platform.offer("SelfService");
    let wrong = platform.file("wrong.yaml");
    let right = platform.file("right.yaml");
    std::fs::write(&wrong, "kind: Pod").unwrap();
    let workload = json!({
        "apiVersion": "compute.datumapis.com/v1alpha", "kind": "Workload", "metadata": { "name": "api" },
        "spec": {
            "placements": [{ "name": "default", "cityCodes": ["DFW"], "scaleSettings": { "minReplicas": 1 } }],
            "template": { "spec": { "runtime": {
                "resources": { "instanceType": "datumcloud/d1-standard-2" },
                "sandbox": { "containers": [{ "name": "app", "image": "a:1" }] },
            }, "networkInterfaces": [{ "network": { "name": "default" } }] } },
        },
    });
    std::fs::write(&right, workload.to_string()).unwrap();
    let wrong = wrong.to_str().unwrap();
    let right = right.to_str().unwrap();
    for (arguments, code) in [
        (&["status"][..], 10),
        (&["quota"], 10),
        (&["explain", "api"], 10),
        (&["rollout", "status", "api"], 10),
        (&["rollout", "undo", "api", "--dry-run"], 10),
        (&["deploy", "-f", right, "--dry-run=client"], 10),
        (&["deploy", "-f", right, "--dry-run=server"], 10),
        (&["deploy", "-f", wrong, "--yes"], 2),
    ] {
        let run = platform.run(arguments).await;
        assert_eq!(run.code, code, "{arguments:?} {run:?}");
        let is_told = run.err.contains(if code == 10 { "access request`" } else { "Nothing was sent" });
        assert!(is_told, "{arguments:?} {run:?}");
        assert_eq!(writes(&platform), 0, "{arguments:?} {run:?}");
    }
    for arguments in [&["deploy", "-f", right, "--yes", "--no-wait"][..], &["rollout", "undo", "api"]] {
        let platform = Platform::start().await;
        platform.offer("SelfService");
        let answered = answer(&platform, status("Active", "EntitlementActive", true));
        let run = platform.run(arguments).await;
        answered.await.unwrap();
        assert!(run.err.contains("Compute is enabled"), "{arguments:?} {run:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_not_offered_is_not_asked_for() {
    let platform = Platform::start().await;
    for arguments in [["access", "request"].as_slice(), &["destroy", "api", "--yes"]] {
        let run = platform.run(arguments).await;
        assert_eq!(run.code, 13, "{run:?}");
    }
    assert_eq!(writes(&platform), 0);
}

/// What was asked for already is progress: also where somebody was first by a moment (409).
#[tokio::test(flavor = "multi_thread")]
async fn an_existing_request_is_no_error() {
    let platform = Platform::start().await;
    platform.offer("GatedByProvider");
    let answered = answer(&platform, status("PendingApproval", "EntitlementPendingApproval", false));
    let first = platform.run(&["access", "request", "--message", "For the shop"]).await;
    answered.await.unwrap();
    assert_eq!(first.code, 0, "{first:?}");
    assert_eq!(platform.plane.list("ServiceEntitlement")[0]["spec"]["requestMessage"], "For the shop");
    let again = platform.run(&["access", "request"]).await;
    assert_eq!(again.code, 0, "{again:?}");
    assert!(again.out.contains("awaits the provider's approval"), "{again:?}");

    let platform = Platform::start().await;
    platform.offer("GatedByProvider");
    // It is made between the look and the request.
    platform.entitle(&status("Active", "EntitlementActive", true));
    platform.plane.fault(Fault::EmptyList.on("list", "serviceentitlements").times(1));
    platform.plane.fault(Fault::Status(409).on("create", "serviceentitlements").times(1));
    let run = platform.run(&["access", "request", "--wait"]).await;
    assert!(run.code == 0 && !run.err.contains("Error"), "{run:?}");
}

/// A request without an answer for long is told as that at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_the_platform_has_forgotten_slows_nothing_down() {
    let platform = Platform::start().await;
    platform
        .plane
        .put(json!({
            "apiVersion": "services.miloapis.com/v1alpha1", "kind": "ServiceEntitlement",
            "metadata": { "name": "compute", "creationTimestamp": "2026-01-01T00:00:00Z" },
            "spec": { "serviceRef": { "name": "compute" } },
        }))
        .unwrap();
    for arguments in [["destroy", "api", "--yes"].as_slice(), &["access"], &["access", "request"]] {
        let began = std::time::Instant::now();
        let run = platform.run(arguments).await;
        assert!(began.elapsed() < Duration::from_secs(10), "{arguments:?} {run:?}");
        assert!(
            format!("{}{}", run.out, run.err).contains("the platform has not answered"),
            "{arguments:?} {run:?}"
        );
        assert_eq!(run.code, if arguments[0] == "destroy" { 12 } else { 0 }, "{arguments:?} {run:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_ends_with_the_decision_or_with_its_time() {
    let platform = Platform::start().await;
    platform.entitle(&status("PendingApproval", "EntitlementPendingApproval", false));
    let late = platform.run(&["access", "request", "--wait", "--timeout", "100ms"]).await;
    assert_eq!(late.code, 12, "{late:?}");
    let mut waiting = platform.command(&["access", "request", "--wait"]);
    let waiting = tokio::spawn(async move { waiting.output().await.unwrap() });
    let watches = || platform.plane.audit().iter().filter(|entry| entry.verb == "watch").count();
    let before = watches();
    until("another watch", || watches() > before).await;
    // A watch that breaks is no answer.
    platform.plane.break_watches();
    let denied = status("Rejected", "EntitlementRejected", false);
    platform.plane.patch_status("ServiceEntitlement", "", "compute", &denied).unwrap();
    let output = waiting.await.unwrap();
    assert_eq!(output.status.code(), Some(11), "{output:?}");
}

/// Asked for again: the refused request goes first, and its deletion may take a while.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_request_is_renewed() {
    let platform = Platform::start().await;
    platform.offer("GatedByProvider");
    platform.entitle(&status("Rejected", "EntitlementRejected", false));
    let refused = platform.run(&["access", "request"]).await;
    assert_eq!(refused.code, 11, "{refused:?}");
    assert!(refused.err.contains("access request --renew"), "{refused:?}");
    let plane = platform.plane.clone();
    let answered = tokio::spawn(async move {
        until("a new request", || {
            plane.list("ServiceEntitlement").iter().any(|it| it["status"]["phase"].is_null())
        })
        .await;
        let name = plane.list("ServiceEntitlement")[0]["metadata"]["name"].as_str().unwrap().to_owned();
        let active = status("Active", "EntitlementActive", true);
        plane.patch_status("ServiceEntitlement", "", &name, &active).unwrap();
    });
    let renewed = platform.run(&["access", "request", "--renew", "--wait"]).await;
    answered.await.unwrap();
    assert_eq!(renewed.code, 0, "{renewed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plane_without_entitlements_needs_no_request() {
    let platform = Platform::start().await;
    platform.plane.unregister("serviceentitlements.services.miloapis.com");
    platform.workload("api", &[]);
    assert_eq!(platform.run(&["access"]).await.code, 0);
    let run = platform.run(&["destroy", "api", "--yes"]).await;
    assert_eq!(run.code, 0, "{run:?}");
}

/// Runs a command on a terminal on which a person types these keys. Returns the exit code and the screen.
async fn on_a_terminal(platform: &Platform, arguments: &str, keys: &str) -> (i32, String) {
    let command =
        format!("printf '{keys}' | script -qec '{} {arguments}' /dev/null", crate::support::program());
    let mut shell = tokio::process::Command::new("sh");
    let plain = platform.command(&[]);
    let set = plain.as_std().get_envs().filter_map(|(name, value)| Some((name, value?)));
    shell.args(["-c", &command]).env_clear().envs(set);
    let output = shell.output().await.unwrap();
    (output.status.code().unwrap(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_on_a_terminal_is_asked_where_approval_is_needed() {
    let platform = Platform::start().await;
    platform.offer("GatedByProvider");
    let (code, screen) = on_a_terminal(&platform, "destroy api", "n\\n").await;
    assert_eq!(code, 9, "{screen}");
    assert!(screen.contains("[y/N]") && screen.contains("Nothing was asked for."), "{screen}");
    assert_eq!(writes(&platform), 0);
    let answered = answer(&platform, status("PendingApproval", "EntitlementPendingApproval", false));
    let (code, screen) = on_a_terminal(&platform, "destroy api", "y\\n").await;
    answered.await.unwrap();
    assert_eq!(code, 12, "{screen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_on_a_terminal_is_asked_before_a_workload_goes() {
    let platform = Platform::start().await;
    platform.entitle(&status("Active", "EntitlementActive", true));
    platform.workload("api", &[]);
    let (code, screen) = on_a_terminal(&platform, "destroy api", "\\n").await;
    assert!(code == 1 && screen.contains("4 instances in DFW, LHR"), "{code} {screen}");
    assert_eq!(platform.plane.names("Workload").len(), 1, "{screen}");
    let (code, screen) = on_a_terminal(&platform, "destroy api", "y\\n").await;
    assert_eq!((code, platform.plane.names("Workload")), (0, vec![]), "{screen}");
}

/// Who may not see entitlements is not stopped by that: the server has the last word.
#[tokio::test(flavor = "multi_thread")]
async fn an_account_that_may_not_see_whether_compute_is_enabled_may_use_it() {
    let platform = Platform::start().await;
    platform.plane.fault(Fault::Status(403).on("list", "serviceentitlements"));
    platform.workload("api", &[]);
    assert_eq!(platform.run(&["access"]).await.code, 1, "where it is asked, it is said");
    let run = platform.run(&["destroy", "api", "--yes"]).await;
    assert_eq!((run.code, platform.plane.names("Workload")), (0, vec![]), "{run:?}");
    assert!(run.err.starts_with("Whether compute is enabled is not known"), "{run:?}");
}

/// A request that is waited for, once it is watched.
async fn waiting(platform: &Platform) -> tokio::task::JoinHandle<std::process::Output> {
    platform.entitle(&status("PendingApproval", "EntitlementPendingApproval", false));
    // Without an end of its own.
    let mut command = platform.command(&["access", "request", "--wait", "--timeout", "0"]);
    let waiting = tokio::spawn(async move { command.output().await.unwrap() });
    until("a watch", || platform.plane.audit().iter().any(|entry| entry.verb == "watch")).await;
    waiting
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_outlasts_a_platform_that_is_away_for_a_moment() {
    let platform = Platform::start().await;
    let waiting = waiting(&platform).await;
    let fault = platform.plane.fault(Fault::Status(500).on("*", "serviceentitlements"));
    platform.plane.break_watches();
    until("a list that fails", || {
        platform.plane.audit().iter().any(|entry| entry.verb == "list" && entry.code == 500)
    })
    .await;
    platform.plane.clear_fault(fault);
    let active = status("Active", "EntitlementActive", true);
    platform.plane.patch_status("ServiceEntitlement", "", "compute", &active).unwrap();
    let output = waiting.await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let told = String::from_utf8(output.stderr).unwrap();
    let lines = ["The platform does not answer: trying again.", "The platform answers again."];
    assert!(lines.iter().all(|line| told.matches(line).count() == 1), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_ends_without_access_is_no_success() {
    let platform = Platform::start().await;
    let withdrawn = waiting(&platform).await;
    fedhub_testing::withdraw(&platform.plane);
    let output = withdrawn.await.unwrap();
    assert_eq!(output.status.code(), Some(10), "{output:?}");

    let platform = Platform::start().await;
    let suspended = waiting(&platform).await;
    let mut status = status("Active", "EntitlementActive", true);
    let condition = fedhub_testing::condition("Suspended", "True", "BillingHold", "\u{1b}[31mno\nmoney");
    status["conditions"].as_array_mut().unwrap().push(condition);
    platform.plane.patch_status("ServiceEntitlement", "", "compute", &status).unwrap();
    let output = suspended.await.unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    // What the platform says is one line, in whatever colour this program chooses.
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("\\u{1b}[31mno\\u{a}money\n"), "{told}");
    let shown = platform.run(&["access"]).await;
    assert!(shown.out.contains("\\u{1b}[31mno\\u{a}money\n"), "{shown:?}");
}

//! Manifest, variables, arguments and exit codes.

use std::fs;

use serde_json::{Value, json};

use super::kubectl::{PLANE, kubeconfig};
use super::{datumctl, named};
use crate::support::{Platform, ended};

#[tokio::test(flavor = "multi_thread")]
async fn the_probe_gets_a_manifest_with_three_variables() {
    let platform = Platform::start().await;
    let probed = ended(datumctl(&platform, &["probe"])).await;
    assert_eq!((probed.code, probed.err.as_str()), (0, ""));
    let manifest: Value = serde_json::from_str(&probed.out).unwrap();
    assert_eq!((&manifest["name"], &manifest["api_version"]), (&json!("compute"), &json!(1)));
    let version = manifest["version"].as_str().unwrap();
    assert!(version.starts_with('v') && version.split('.').count() == 3, "{version}");
    assert!(manifest["description"].as_str().is_some_and(|text| !text.is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_manifest_is_given_wherever_the_flag_stands_before_anything_is_parsed() {
    let platform = Platform::start().await;
    for arguments in [
        ["--plugin-manifest", "x"].as_slice(),
        &["destroy", "--no-such-flag", "--plugin-manifest"],
        &["access", "--", "--plugin-manifest"],
    ] {
        let answered = platform.run(arguments).await;
        assert_eq!(answered.code, 0, "{arguments:?} {answered:?}");
        assert!(answered.out.starts_with('{') && answered.err.is_empty(), "{arguments:?} {answered:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_host_passes_arguments_on_and_ends_as_the_plugin_does() {
    let platform = Platform::start().await;
    platform.entitle(
        &json!({ "phase": "Active", "conditions": [fedhub_testing::condition("Ready", "True", "R", "")] }),
    );
    for (arguments, code) in [
        (["compute", "access"].as_slice(), 0),
        (&["compute", "no-such-command"], 2),
        (&["compute", "destroy", "api"], 1),
        (&["--project", "shop", "compute", "access"], 0),
    ] {
        let run = ended(datumctl(&platform, arguments)).await;
        assert_eq!(run.code, code, "{arguments:?} {run:?}");
    }
    let asked = platform.asked();
    assert!(!asked.is_empty() && asked.iter().all(|asked| asked == "auth get-token"), "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_session_of_the_host_is_asked_for_its_token() {
    let platform = Platform::start().await;
    let mut command = datumctl(&platform, &["compute", "access"]);
    command.env("STUB_SESSION", "work");
    let run = ended(command).await;
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(platform.asked(), ["auth get-token --session work"]);
}

/// Empty variables are variables that are not set.
#[tokio::test(flavor = "multi_thread")]
async fn an_empty_project_is_none() {
    let platform = Platform::start().await;
    let run = ended(datumctl(&platform, &["--project", "", "compute", "access"])).await;
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.err.contains("No project is chosen."), "{run:?}");
    assert_eq!(platform.asked().len(), 0, "no token is asked for in vain");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_flag_wins_over_the_variable() {
    let platform = Platform::start().await;
    let mut command = datumctl(&platform, &["compute", "access", "--project", "shop"]);
    command.env("STUB_PROJECT", "elsewhere");
    let run = ended(command).await;
    assert_eq!(run.code, 0, "{run:?}");
    let refused = ended(datumctl(&platform, &["compute", "access", "--project", "../x"])).await;
    assert_eq!(refused.code, 2, "{refused:?}");
}

/// Forwarded help comes without the variables of datumctl, and needs none.
#[tokio::test(flavor = "multi_thread")]
async fn help_needs_nothing() {
    let platform = Platform::start().await;
    for arguments in [["compute", "--help"].as_slice(), &["compute", "destroy", "-h"]] {
        let help = ended(datumctl(&platform, arguments)).await;
        assert_eq!(help.code, 0, "{arguments:?} {help:?}");
        assert!(help.out.contains("Usage: datumctl compute "), "{arguments:?} {help:?}");
        assert!(help.out.contains("Examples:") || help.out.contains("Exit codes:"), "{arguments:?} {help:?}");
    }
    assert!(platform.tokens.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_typo_is_answered_with_what_was_meant() {
    let platform = Platform::start().await;
    for (arguments, meant) in [(["acess"].as_slice(), "access"), (&["destroy", "x", "--yess"], "--yes")] {
        let run = platform.run(arguments).await;
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.err.contains(meant), "{arguments:?} {run:?}");
    }
}

/// A kubeconfig of the user's leads to some project: never to the one that a command was meant for.
#[tokio::test(flavor = "multi_thread")]
async fn without_the_login_of_the_host_nothing_is_done_elsewhere() {
    let platform = Platform::start().await;
    platform.entitle(
        &json!({ "phase": "Active", "conditions": [fedhub_testing::condition("Ready", "True", "R", "")] }),
    );
    platform.workload("api", &[]);
    let file = kubeconfig(&platform, PLANE);
    fs::create_dir(platform.file(".kube")).unwrap();
    fs::copy(&file, platform.file(".kube/config")).unwrap();
    fs::write(platform.file("logged-out"), "").unwrap();
    for arguments in [
        ["compute", "destroy", "api", "--yes"].as_slice(),
        &["compute", "status"],
        &["compute", "status", "--project", "shop"],
        &["compute", "deploy", "web", "--image", "nginx", "--city", "DFW", "--no-save", "--no-wait"],
    ] {
        for by_variable in [true, false] {
            let mut command = datumctl(&platform, arguments);
            if by_variable {
                command.env("KUBECONFIG", &file);
            }
            let run = ended(command).await;
            assert_eq!((run.code, run.out.as_str()), (2, ""), "{arguments:?} {run:?}");
            let told = ["datumctl has no login", "`datumctl login`"];
            assert!(told.iter().all(|words| run.err.contains(words)), "{arguments:?} {run:?}");
        }
    }
    assert!(platform.plane.audit().is_empty(), "nothing was sent");
    // One that is named is meant.
    let run = ended(datumctl(&platform, &["compute", "access", "--kubeconfig", &file])).await;
    assert_eq!(run.code, 0, "{run:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_login_and_a_kubeconfig_it_is_said_what_to_do() {
    let platform = Platform::start().await;
    let hosted = datumctl(&platform, &["compute", "access", "--context", "shop"]);
    let mut alone = named(platform.files.path(), "datumctl-compute");
    alone.arg("access");
    for command in [hosted, alone] {
        let run = ended(command).await;
        assert_eq!(run.code, 2, "{run:?}");
        let told = ["There is no kubeconfig to connect with", "datumctl login"];
        assert!(told.iter().all(|words| run.err.contains(words)), "{run:?}");
    }
    let mut command = platform.command(&["access"]);
    command.env("DATUM_CREDENTIALS_HELPER", "");
    let run = ended(command).await;
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.err.contains("DATUM_CREDENTIALS_HELPER"), "{run:?}");
}

/// Flags before the name are the host's own, and it passes on no namespace: where nothing is found, the
/// namespace is named.
#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_the_host_does_not_pass_on_is_not_worked_in() {
    let platform = Platform::start().await;
    platform.entitle(
        &json!({ "phase": "Active", "conditions": [fedhub_testing::condition("Ready", "True", "R", "")] }),
    );
    for command in ["status", "workloads"] {
        let run = ended(datumctl(&platform, &["-n", "other", "compute", command])).await;
        assert_eq!(run.code, 0, "{run:?}");
        assert!(run.err.contains("no workloads in namespace \"default\" of project \"shop\""), "{run:?}");
    }
}

/// Nobody reads standard error any more: the command ends as it would have.
#[tokio::test(flavor = "multi_thread")]
async fn a_closed_standard_error_changes_no_exit_code() {
    let platform = Platform::start().await;
    platform.offer("SelfService");
    for (arguments, code) in [(["access", "--project", "../x"].as_slice(), 2), (&["status", "web"], 10)] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = platform.command(arguments);
        let ended = command.stderr(writer).status().await.unwrap();
        assert_eq!(ended.code(), Some(code), "{arguments:?}");
    }
}

/// Names become parts of paths: `destroy 'web?dryRun=All'` and `scale web/status` are no names.
#[tokio::test(flavor = "multi_thread")]
async fn names_are_checked_before_anything_is_sent() {
    let platform = Platform::start().await;
    for wrong in ["web/status", "web?dryRun=All", "..", "Web", "a%2fb", ""] {
        for command in [
            ["destroy", wrong, "--yes"].as_slice(),
            &["scale", wrong, "--min", "3"],
            &["restart", wrong],
            &["deploy", wrong, "--image", "a"],
            &["status", wrong],
            &["explain", wrong],
            &["events", wrong],
            &["rollout", wrong],
            &["rollout", "status", wrong],
            &["rollout", "history", wrong],
            &["rollout", "undo", wrong],
            &["rollout", "restart", wrong],
            &["rollout", "pause", wrong],
            &["rollout", "resume", wrong],
            &["workloads", "describe", wrong],
            &["instances", "describe", wrong],
            &["instances", "--workload", wrong],
            &["status", "--namespace", wrong],
        ] {
            let run = platform.run(command).await;
            assert_eq!(run.code, 2, "{command:?} {run:?}");
            assert!(run.err.contains("begin and end with a letter or digit"), "{command:?} {run:?}");
        }
    }
    assert!(platform.asked().is_empty() && platform.plane.audit().is_empty());
}

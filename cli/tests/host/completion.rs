//! Completion, through both hosts and in shells.

use std::process::Command;

use super::{datumctl, named};
use crate::support::{Platform, ended, program};

#[tokio::test(flavor = "multi_thread")]
async fn both_hosts_are_answered_in_their_protocol() {
    let platform = Platform::start().await;
    let mut kubectl = named(platform.files.path(), "kubectl_complete-compute");
    kubectl.arg("acc");
    for command in [datumctl(&platform, &["__complete", "compute", "acc"]), kubectl] {
        let answered = ended(command).await;
        let lines: Vec<&str> = answered.out.lines().collect();
        assert!(lines[0].starts_with("access\tShow whether"), "{answered:?}");
        assert_eq!((lines.len(), lines[1], answered.code), (2, ":4", 0), "{answered:?}");
    }
    let plain = platform.run(&["__completeNoDesc", "acc"]).await;
    assert_eq!(plain.out, "access\n:4\n");
}

/// Their scripts put `--flag=` before each candidate, and complete paths where nothing speaks against it.
#[tokio::test(flavor = "multi_thread")]
async fn both_hosts_get_values_alone_and_leave_paths_to_the_shell() {
    let platform = Platform::start().await;
    for (words, expected) in [
        (["status", "--output=js"].as_slice(), ["json", ":4"].as_slice()),
        (&["deploy", "web", "--dry-run="], &["client", "server", ":4"]),
        (&["deploy", "web", "--file="], &[":0"]),
        (&["deploy", "-f", ""], &[":0"]),
        (&["deploy", "web", "--save", "work"], &[":0"]),
        (&["status", "--kubeconfig", "/et"], &[":0"]),
        (&["man", "--dir", ""], &[":0"]),
    ] {
        let hosted = datumctl(&platform, &[["__complete", "compute"].as_slice(), words].concat());
        let mut kubectl = named(platform.files.path(), "kubectl_complete-compute");
        kubectl.args(words);
        for command in [hosted, kubectl] {
            let answered = ended(command).await;
            let values: Vec<&str> =
                answered.out.lines().map(|line| line.split('\t').next().unwrap_or_default()).collect();
            assert_eq!((values.as_slice(), answered.code), (expected, 0), "{words:?} {answered:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn flags_are_offered_where_one_is_begun() {
    let platform = Platform::start().await;
    platform.workload("api", &[]);
    for (words, expected) in [
        (["destroy", ""].as_slice(), "api\n:4\n"),
        (&["destroy", "api", "--ye"], "--yes\n:4\n"),
        (
            &["rollout", ""],
            "status\nhistory\nundo\nrestart\npause\nresume\napprove\nabort\nretry\nhelp\napi\n:4\n",
        ),
    ] {
        let answered = platform.run(&[["__completeNoDesc"].as_slice(), words].concat()).await;
        assert_eq!(answered.out, expected, "{words:?} {answered:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn flags_and_their_values_are_completed() {
    let platform = Platform::start().await;
    for (words, expected) in [
        (["access", "request", "--re"].as_slice(), "--renew\n:4\n"),
        (&["--output", "js"], "json\n:4\n"),
        (&["completion", "f"], "fish\n:4\n"),
        (&["no-such-command", "--zzz"], ":4\n"),
    ] {
        let arguments = [["__completeNoDesc"].as_slice(), words].concat();
        let answered = platform.run(&arguments).await;
        assert_eq!((answered.out.as_str(), answered.code), (expected, 0), "{words:?} {answered:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_workloads_come_from_the_project() {
    let platform = Platform::start().await;
    for name in ["api", "api-2", "web"] {
        platform.workload(name, &[]);
    }
    let answered = platform.run(&["__completeNoDesc", "destroy", "ap"]).await;
    assert_eq!(answered.out, "api\napi-2\n:4\n", "{answered:?}");
    // Neither a question nor an error disturbs the shell, whatever goes wrong.
    platform.accepted.lock().unwrap().clear();
    let answered = platform.run(&["__completeNoDesc", "destroy", "ap"]).await;
    assert_eq!((answered.out.as_str(), answered.err.as_str(), answered.code), (":4\n", "", 0));
    let elsewhere = platform.run(&["__completeNoDesc", "--project=elsewhere", "destroy", "ap"]).await;
    assert_eq!(elsewhere.out, ":4\n", "{elsewhere:?}");
}

/// What bash offers for a line, by the script that it is given; a suite types on terminals, in all shells.
fn in_bash(platform: &Platform, words: &[&str]) -> String {
    let text = format!(
        "source <({program} completion bash); COMP_WORDS=({program} {words}); COMP_CWORD={last}; _datumctl_compute; \
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        program = program(),
        words = words.join(" "),
        last = words.len(),
    );
    let mut command = Command::new("bash");
    command.args(["-c", &text]).env("SSL_CERT_FILE", platform.file("ca.pem")).env("DATUM_PROJECT", "shop");
    command.env("DATUM_API_HOST", &platform.host).env("DATUM_CREDENTIALS_HELPER", platform.file("helper"));
    let output = command.output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn bash_completes_by_the_script() {
    let platform = Platform::start().await;
    platform.workload("api", &[]);
    assert_eq!(in_bash(&platform, &["acc"]), "access\n");
    assert_eq!(in_bash(&platform, &["destroy", "a"]), "api\n");
    assert_eq!(in_bash(&platform, &["access", "--output", "=", "js"]), "json\n");
    let begin = platform.file("ca.p").display().to_string();
    let whole = format!("{begin}em\n");
    assert_eq!(in_bash(&platform, &["deploy", "-f", &begin]), whole);
    assert_eq!(in_bash(&platform, &["deploy", "--file", "=", &begin]), whole);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_shell_has_a_script_that_it_can_read() {
    let platform = Platform::start().await;
    for shell in ["bash", "zsh", "fish"] {
        let script = platform.run(&["completion", shell]).await;
        assert_eq!(script.code, 0, "{script:?}");
        assert!(script.out.contains("__complete"), "{script:?}");
        let file = platform.file(shell);
        std::fs::write(&file, script.out).unwrap();
        // A shell that is not installed cannot read anything.
        if let Ok(read) = Command::new(shell).arg("-n").arg(&file).output() {
            assert!(read.status.success(), "{shell}: {}", String::from_utf8_lossy(&read.stderr));
        }
    }
    assert_eq!(platform.run(&["completion", "csh"]).await.code, 2);
}

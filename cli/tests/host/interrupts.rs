//! On a terminal: questions, Ctrl-C while the program waits for whoever started it, and what it does not ask.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use fedhub_testing::{condition, until};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;

use crate::support::{Platform, program};

const PATIENCE: Duration = Duration::from_secs(30);

async fn platform() -> Platform {
    let platform = Platform::start().await;
    platform.entitle(&json!({ "phase": "Active", "conditions": [condition("Ready", "True", "R", "")] }));
    platform
}

/// The program on a terminal of its own: what is typed goes to the standard input of the command.
fn on_terminal(platform: &Platform, arguments: &str) -> Command {
    let mut command = Command::new("script");
    command.args(["-qec", &format!("exec {} {arguments}", program()), "/dev/null"]).env_clear();
    for (name, value) in platform.command(&[]).as_std().get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_or_interrupted() {
    for (typed, code, left) in [("\x03", 130, 1), ("n\r", 1, 1), ("y\r", 0, 0)] {
        let platform = platform().await;
        platform.workload("api", &[]);
        let uid = platform.plane.get("Workload", "default", "api").unwrap()["metadata"]["uid"].clone();
        platform.publish("api", &uid);
        let mut child = on_terminal(&platform, "destroy api").spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let mut output = child.stdout.take().unwrap();
        let mut shown = String::new();
        let mut bytes = [0; 1024];
        while !shown.contains("Delete it? [y/N]") {
            let read = timeout(PATIENCE, output.read(&mut bytes)).await.unwrap().unwrap();
            assert_ne!(read, 0, "{shown}");
            shown += &String::from_utf8_lossy(&bytes[..read]);
        }
        assert!(shown.contains(", with its URL https://api.example.net."), "{shown}");
        input.write_all(typed.as_bytes()).await.unwrap();
        let status =
            timeout(PATIENCE, child.wait()).await.unwrap_or_else(|_| panic!("{typed:?} is not seen"));
        assert_eq!(status.unwrap().code(), Some(code), "{typed:?} {shown}");
        output.read_to_string(&mut shown).await.unwrap();
        assert_eq!(shown.contains("Interrupted."), code == 130, "{shown}");
        assert_eq!(platform.plane.names("Workload").len(), left, "{typed:?}");
        let sent = platform.plane.audit().iter().filter(|entry| entry.verb == "delete").count();
        assert_eq!(sent > 0, left == 0, "{typed:?}");
    }
}

/// Who names nothing is told what to name, and is not asked: on a terminal as without one.
#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_of_nothing_says_what_to_name() {
    let platform = platform().await;
    let without = platform.run(&["deploy"]).await;
    assert_eq!((without.code, without.out.as_str()), (2, ""), "{without:?}");
    let mut command = on_terminal(&platform, "deploy");
    let shown =
        timeout(PATIENCE, command.stdin(Stdio::null()).output()).await.expect("nothing is asked").unwrap();
    let text = String::from_utf8(shown.stdout).unwrap();
    assert_eq!(shown.status.code(), Some(2), "{text}");
    for told in [&without.err, &text] {
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in [
            "It is not said what to deploy.",
            "`datumctl compute deploy WORKLOAD --image IMAGE --city CITY`",
            "`datumctl compute deploy -f workload.yaml`",
        ] {
            assert!(told.contains(words), "{words}: {told}");
        }
        assert!(!told.contains('?') && !told.contains("prompt"), "{told}");
    }
    assert!(platform.plane.audit().is_empty() && platform.asked().is_empty(), "nothing was sent");
}

/// Whether a process has a handler for SIGINT.
fn handles_interrupts(id: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(caught.trim(), 16).unwrap() & 2 != 0
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_ends_the_reading_of_standard_input() {
    let platform = platform().await;
    let mut command = platform.command(&["deploy", "-f", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().unwrap();
    let id = child.id().unwrap();
    let input = child.stdin.take();
    until("a handler of SIGINT", || handles_interrupts(id)).await;
    let sent = std::process::Command::new("kill").args(["-INT", &id.to_string()]).status().unwrap();
    assert!(sent.success());
    let output = timeout(PATIENCE, child.wait_with_output()).await.expect("Ctrl-C is seen").unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{told}");
    assert!(told.contains("Interrupted."), "{told}");
    drop(input);
}

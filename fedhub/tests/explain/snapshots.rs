//! `fedhub snapshot`, and `fedhub explain --from` what it wrote.

use std::fs;

use fedhub_fake_apiserver::{ApiServer, Fault};

use serde_json::json;

use super::faults::CASES;
use super::objects::put_identity;
use super::planes::{Planes, Ran};

/// What a snapshot cannot show: without the management plane there are no planes to read, and a right to get
/// is not one to list.
const LIVE_ONLY: [&str; 2] = ["management-unreachable", "plane-forbidden"];

/// What is decided by the project's namespace, which of the last one the hub alone names.
const WITH_A_NAMESPACE: [&str; 3] = ["in-sync", "image-unavailable", "orphaned-on-hub"];

async fn snapshot(planes: &Planes) -> Ran {
    let flags = [
        "snapshot".to_owned(),
        format!("--file={}", planes.file("snapshot").display()),
        format!("--hub-kubeconfig={}", planes.file("hub").display()),
        format!("--management-kubeconfig={}", planes.file("management").display()),
        planes.cell_flag(),
        "--timeout=5s".to_owned(),
    ];
    planes.run(&flags.iter().map(String::as_str).collect::<Vec<_>>()).await
}

async fn from_file(planes: &Planes, format: &str) -> Ran {
    let from = format!("--from={}", planes.file("snapshot").display());
    planes.run(&["explain", "wd", "web", "-n", "shop", "--plane", "project-a", &from, "-o", format]).await
}

/// An answer without its ages, which count from when it was made.
fn without_ages(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.contains("\"ageSeconds\""));
    let since = lines.map(|line| match line.rsplit_once(" (") {
        Some((since, _)) if line.starts_with("Since:") => since,
        _ => line,
    });
    since.map(|line| line.to_owned() + "\n").collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_a_snapshot_is_explained_as_the_planes_were() {
    for (cause, code, edit) in CASES.iter().filter(|it| !LIVE_ONLY.contains(&it.0)) {
        let planes = Planes::in_sync().await;
        edit(&planes);
        let cell = planes.cell_flag();
        for format in ["wide", "json"] {
            let mut seen = Vec::new();
            // For people, ages are rounded, and the next one may begin between the two.
            for _ in 0..4 {
                let taken = snapshot(&planes).await;
                assert!([0, 3].contains(&taken.code), "{cause}: {}", taken.text);
                let live = planes.explain(["wd", "web"], &[&cell, "--timeout=5s", "-o", format]).await;
                let file = from_file(&planes, format).await;
                assert_eq!((live.code, file.code), (*code, *code), "{cause}: {}\n{}", live.text, file.text);
                seen.push((without_ages(&live.text), without_ages(&file.text)));
                if seen.last().is_some_and(|(live, file)| live == file) {
                    break;
                }
            }
            let (live, file) = seen.pop().unwrap();
            assert_eq!(live, file, "{cause}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_a_snapshot_reads_only_and_has_no_secret() {
    let planes = Planes::in_sync().await;
    planes.management.put(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "fedhub-system", "name": "anothers"},
        "data": {"password": "of another"},
    }))
    .unwrap();
    let marks = planes.servers().map(ApiServer::mark);
    assert_eq!(snapshot(&planes).await.code, 0);
    for (server, mark) in planes.servers().into_iter().zip(marks) {
        let requests = server.requests_since(mark);
        assert!(requests.iter().all(|it| matches!(it.verb, "get" | "list")), "{requests:?}");
    }
    let file = fs::read_to_string(planes.file("snapshot")).unwrap();
    for secret in ["token", "kubeconfig", "certificate", "Secret", "containers", "fieldsV1", "of another"] {
        assert!(!file.contains(secret), "{secret}: {file}");
    }
    // One that is not there is so, and other files are refused.
    let from = format!("--from={}", planes.file("snapshot").display());
    let flags = ["explain", "wd", "web", "-n", "shop", "--plane", "project-z", &from, "--json"];
    assert_eq!(planes.run(&flags).await.json["cause"], "plane-not-known");
    for content in ["nonsense", "{}", r#"{"version": 99}"#] {
        fs::write(planes.file("snapshot"), content).unwrap();
        let ran = from_file(&planes, "json").await;
        assert!(ran.code == 1 && ran.text.contains("snapshot"), "{}", ran.text);
    }
    let fault = planes.management.fault(Fault::Status(403));
    let ran = snapshot(&planes).await;
    assert_eq!(ran.code, 1, "{}", ran.text);
    planes.management.clear_fault(fault);
}

/// fedhub's own credentials, which the Secrets of project planes have.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn u4_a_snapshot_needs_no_right_to_list_the_namespaces_of_projects() {
    for (cause, code, edit) in CASES.iter().filter(|it| WITH_A_NAMESPACE.contains(&it.0)) {
        let planes = Planes::in_sync().await;
        edit(&planes);
        put_identity(&planes, "uid-project-a");
        planes.project.fault(Fault::Status(403).on("list", "namespaces"));
        let taken = snapshot(&planes).await;
        assert_eq!(taken.code, 0, "{cause}: {}", taken.text);
        let ran = from_file(&planes, "json").await;
        assert_eq!((ran.json["cause"].as_str(), ran.code), (Some(*cause), *code), "{}", ran.text);
    }
    // Without the right to get them either, the gap is named.
    let planes = Planes::in_sync().await;
    planes.project.fault(Fault::Status(403).on("*", "namespaces"));
    let taken = snapshot(&planes).await;
    assert!(taken.code == 3 && taken.text.contains("not read"), "{}", taken.text);
}

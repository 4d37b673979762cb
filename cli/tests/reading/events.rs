//! `events`: joined over a workload, its deployments and its instances by name, newest last, and followed
//! (U3).

use std::time::Duration;

use fedhub_cli::events::join::{Filter, Names, entries};
use fedhub_core::object::Object;
use fedhub_fake_apiserver::Fault;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::time::timeout;

use crate::reading::plane::Plane;
use crate::reading::support::{counts, deployment, object, serving, with, workload};

fn event(kind: &str, name: &str, minute: u32, reason: &str) -> Value {
    let is_warning = reason.ends_with("Unavailable");
    json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {
            "namespace": "default", "name": format!("{name}.{minute}.{}", reason.to_lowercase()),
            "creationTimestamp": "2026-11-23T10:00:00Z",
        },
        "involvedObject": {
            "apiVersion": "compute.datumapis.com/v1alpha", "kind": kind, "namespace": "default", "name": name,
            "uid": "of-another-plane",
        },
        "type": if is_warning { "Warning" } else { "Normal" },
        "reason": reason, "message": format!("{reason} 説明"),
        "eventTime": format!("2026-11-23T11:{minute:02}:00.000000Z"),
    })
}

fn project() -> Vec<Value> {
    vec![
        workload("web", &["DFW"], json!({})),
        deployment("web", "DFW", with(counts(1, 1, 1), serving())),
        workload("web-us", &["DFW"], json!({})),
        deployment("web-us", "DFW", with(counts(1, 1, 1), serving())),
    ]
}

fn all() -> Vec<Value> {
    let mut foreign = event("Pod", "web-us-dfw-0", 9, "Odd");
    foreign["involvedObject"]["apiVersion"] = json!("v1");
    vec![
        event("Instance", "web-us-dfw-0", 3, "ImageUnavailable"),
        event("WorkloadDeployment", "web-us-dfw", 2, "Federated"),
        event("Workload", "web", 1, "Progressing"),
        event("Instance", "web-us-us-dfw-0", 4, "ImageUnavailable"),
        foreign,
    ]
}

fn names(of: &[Value]) -> Names {
    let objects: Vec<Object> = of.iter().cloned().map(object).collect();
    let of = |kind: &str| -> Vec<Object> {
        objects.iter().filter(|it| it.types.as_ref().is_some_and(|it| it.kind == kind)).cloned().collect()
    };
    Names::new(&of("Workload"), &of("WorkloadDeployment"))
}

#[test]
fn u3_events_are_joined_by_name_and_the_newest_is_last() {
    let events: Vec<Object> = all().into_iter().map(object).collect();
    let filter = Filter { workload: Some("web"), ..Filter::default() };
    let found = entries(&events, &names(&project()), filter);
    let reasons: Vec<&str> = found.iter().map(|it| it.reason.as_str()).collect();
    assert_eq!(reasons, ["Progressing", "Federated", "ImageUnavailable"], "and none of web-us");
    assert_eq!(found[2].about.city.as_deref(), Some("DFW"));
    // Without the deployments, the spec of the Workload tells their names.
    let workloads: Vec<Value> = project().into_iter().filter(|it| it["kind"] == "Workload").collect();
    assert_eq!(entries(&events, &names(&workloads), filter), found);
    let warnings = Filter { warnings: true, ..Filter::default() };
    assert_eq!(entries(&events, &names(&project()), warnings).len(), 2);
}

#[test]
fn an_event_that_recurs_counts_as_new() {
    let mut again = event("Workload", "web", 1, "Progressing");
    again["series"] = json!({"count": 7, "lastObservedTime": "2026-11-23T11:59:00.000000Z"});
    let events: Vec<Object> = all().into_iter().chain([again]).map(object).collect();
    let found = entries(&events, &names(&project()), Filter::default());
    let last = found.last().unwrap();
    assert_eq!((last.count, last.reason.as_str()), (7, "Progressing"));
}

#[tokio::test]
async fn events_are_listed_and_what_is_not_known_is_said() {
    let plane = Plane::with(project().into_iter().chain(all())).await;
    let ended = plane.run("events web").await;
    assert_eq!(ended.out.lines().count(), 4, "{ended:?}");
    let last = ended.out.lines().last().unwrap();
    assert!(last.contains("web-us-dfw-0") && last.contains("説明"), "{last}");
    assert!(ended.out.contains("Placed") && ended.out.contains("placed in DFW"), "{ended:?}");
    assert!(!ended.out.to_lowercase().contains("federat"), "not the platform's own words: {ended:?}");
    let value = plane.run("events web --warnings -o json").await.json();
    assert_eq!((value.as_array().unwrap().len(), &value[0]["location"]), (1, &json!("DFW")));
    let ended = plane.run("events nope").await;
    assert!(ended.code == 1 && ended.err.contains("There is no workload \"nope\""), "{ended:?}");
    plane.server.fault(Fault::Status(403).on("list", "workloaddeployments"));
    let ended = plane.run("events web").await;
    assert!(
        ended.code == 0 && ended.out.lines().count() == 4 && ended.err.contains("lacks the right"),
        "{ended:?}"
    );
    plane.server.fault(Fault::Status(403).on("list", "events"));
    let ended = plane.run("events web").await;
    assert!(ended.code == 1 && ended.out.is_empty(), "unread is not none: {ended:?}");
}

#[tokio::test]
async fn a_watch_goes_on_over_a_lost_connection_and_repeats_nothing() {
    let plane = Plane::with(project().into_iter().chain(all())).await;
    let mut child = plane.start("events web --watch");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next =
        async || timeout(Duration::from_mins(1), lines.next_line()).await.unwrap().unwrap().unwrap();
    for reason in ["Progressing", "Placed", "ImageUnavailable"] {
        let line = next().await;
        assert!(line.contains(reason), "{line}");
    }
    plane.server.put(event("Instance", "web-us-us-dfw-0", 20, "NotOurs")).unwrap();
    plane.server.put(event("Instance", "web-us-dfw-0", 21, "Available")).unwrap();
    assert!(next().await.contains("web-us-dfw-0  Available"));
    // The watch breaks, and what it would resume from is forgotten: it begins with a list again.
    plane.server.break_watches();
    plane.server.compact();
    plane.server.put(event("Workload", "web", 22, "Progressing")).unwrap();
    let line = next().await;
    assert!(line.starts_with("2026-11-23T11:22:00Z"), "nothing is repeated: {line}");
    // A deployment that was made meanwhile is known when an event is about it.
    plane.server.put(workload("web", &["DFW", "ORD"], json!({}))).unwrap();
    plane.server.put(event("WorkloadDeployment", "web-us-ord", 23, "Federated")).unwrap();
    let line = next().await;
    assert!(line.contains("web in ORD"), "{line}");
    child.kill().await.unwrap();
}

#[tokio::test]
async fn a_watch_ends_when_nobody_reads_it_and_says_a_missing_right() {
    let plane = Plane::with(project().into_iter().chain(all())).await;
    let mut child = plane.start("events --watch -o json");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = timeout(Duration::from_mins(1), lines.next_line()).await.unwrap().unwrap().unwrap();
    let first: Value = serde_json::from_str(&first).unwrap();
    assert_eq!(first["reason"], "Progressing");
    drop(lines);
    // Each line that nobody reads is a reason to end; the first may still fit the pipe.
    let ended = timeout(Duration::from_mins(1), async {
        for minute in 30..60 {
            plane.server.put(event("Workload", "web", minute, "Progressing")).unwrap();
            if let Ok(ended) = timeout(Duration::from_millis(500), child.wait()).await {
                return ended.unwrap();
            }
        }
        child.wait().await.unwrap()
    });
    assert_eq!(ended.await.unwrap().code(), Some(0));
    plane.server.fault(Fault::Status(403).on("list", "events"));
    let ended = plane.run("events --watch").await;
    assert!(ended.code == 1 && ended.err.contains("lacks the right"), "{ended:?}");
}

#[tokio::test]
async fn a_watch_outlasts_a_refusal_that_passes_and_steers_no_terminal() {
    let plane = Plane::with(project()).await;
    let mut child = plane.start("events --watch");
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next =
        async || timeout(Duration::from_mins(1), lines.next_line()).await.unwrap().unwrap().unwrap();
    plane.server.put(event("Workload", "web", 1, "Progressing")).unwrap();
    assert!(next().await.contains("Progressing"));
    plane.server.fault(Fault::Status(403).on("*", "events").times(2));
    plane.server.break_watches();
    let mut steering = event("Workload", "web", 2, "Odd");
    steering["message"] = json!("\u{1b}[31mred\u{1b}]52;c;eA==\u{7}\nDFW: done");
    plane.server.put(steering).unwrap();
    let line = next().await;
    let shown = "\\u{1b}[31mred\\u{1b}]52;c;eA==\\u{7}\\u{a}DFW: done";
    assert!(line.ends_with(&format!("Odd: {shown}")), "{line}");
    child.kill().await.unwrap();
    let table = plane.run("events web").await;
    assert!(!table.out.contains(['\u{1b}', '\u{7}']) && table.out.lines().count() == 3, "{table:?}");
    assert!(table.out.trim_end().ends_with(shown), "{table:?}");
}

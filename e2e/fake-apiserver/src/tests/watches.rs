//! The watch stream, line by line.

use std::time::Duration;

use http::Request;
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};
use tower::ServiceExt;

use super::{MAPS, WDS, ask, map, plane, version, wd};
use crate::{AnswerBody, ApiServer, Fault};

struct Lines(AnswerBody);

async fn open(server: &ApiServer, path: &str, query: &str) -> Lines {
    let request = Request::builder().uri(format!("{path}?watch=true&{query}")).body(Body::empty()).unwrap();
    let response = server.service().oneshot(request).await.unwrap();
    assert_eq!(response.status(), 200);
    Lines(response.into_body())
}

impl Lines {
    /// The next event; null at the end of the stream, or `"error"` if it broke.
    async fn next(&mut self) -> Value {
        match self.0.frame().await {
            None => Value::Null,
            Some(Err(_)) => json!("error"),
            Some(Ok(frame)) => serde_json::from_slice(frame.data_ref().unwrap()).unwrap(),
        }
    }

    /// What is there now, as `TYPE name@version`, without waiting for more.
    async fn now(&mut self) -> Vec<String> {
        let mut seen = Vec::new();
        while let Ok(event) = timeout(Duration::from_millis(1), self.next()).await {
            if event.is_null() {
                seen.push("end".to_owned());
                break;
            }
            let meta = &event["object"]["metadata"];
            let kind = event["type"].as_str().unwrap_or("?");
            let name = meta["name"].as_str().unwrap_or_default();
            seen.push(format!("{kind} {name}@{}", meta["resourceVersion"].as_str().unwrap_or_default()));
        }
        seen
    }
}

#[tokio::test(start_paused = true)]
async fn where_a_watch_starts() {
    let server = plane();
    let a = version(&server.put(map("a")).unwrap());
    let b = version(&server.put(map("b")).unwrap());
    let from = |version: &str| format!("resourceVersion={version}");
    let added_a = format!("ADDED a@{a}");
    let added_b = format!("ADDED b@{b}");
    for (query, expected) in [
        (String::new(), vec![added_a.clone(), added_b.clone()]),
        (from("0"), vec![added_a.clone(), added_b.clone()]),
        (from(&a), vec![added_b.clone()]),
        (from(&b), vec![]),
        (from("99999999"), vec![]),
    ] {
        assert_eq!(open(&server, MAPS, &query).await.now().await, expected, "{query}");
    }
    let initial = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut lines = open(&server, MAPS, initial).await;
    assert_eq!(lines.now().await, [added_a, added_b, format!("BOOKMARK @{b}")]);
    let (code, _) = ask(&server, "GET", &format!("{MAPS}?watch=1&sendInitialEvents=true"), Value::Null).await;
    assert_eq!(code, 422);
}

#[tokio::test(start_paused = true)]
async fn too_old_is_said_inside_the_stream() {
    let server = plane();
    let old = version(&server.put(map("a")).unwrap());
    server.compact();
    let mut lines = open(&server, MAPS, &format!("resourceVersion={old}")).await;
    let event = lines.next().await;
    assert_eq!((&event["type"], &event["object"]["code"]), (&json!("ERROR"), &json!(410)));
    assert_eq!((&event["object"]["reason"], &event["object"]["kind"]), (&json!("Expired"), &json!("Status")));
    assert_eq!(lines.next().await, Value::Null);
}

#[tokio::test(start_paused = true)]
async fn the_events_of_a_life() {
    let server = plane();
    let mut lines = open(&server, WDS, &format!("resourceVersion={}", server.revision())).await;
    let mut object = wd("a");
    object["metadata"]["finalizers"] = json!(["x.io/one"]);
    ask(&server, "POST", WDS, object).await;
    let path = format!("{WDS}/a");
    ask(&server, "PATCH", &path, json!({ "spec": { "replicas": 1 } })).await;
    ask(&server, "PATCH", &format!("{path}/status"), json!({ "status": { "x": 1 } })).await;
    ask(&server, "DELETE", &path, Value::Null).await;
    ask(&server, "DELETE", &path, Value::Null).await;
    ask(&server, "PATCH", &path, json!({ "metadata": { "finalizers": [] } })).await;
    let mut events = Vec::new();
    for _ in 0..4 {
        events.push(lines.next().await);
    }
    let types: Vec<&str> = events.iter().filter_map(|e| e["type"].as_str()).collect();
    assert_eq!(
        types,
        ["ADDED", "MODIFIED", "MODIFIED", "DELETED"],
        "no event for writes that change nothing"
    );
    let last = &events[3]["object"];
    assert_eq!(version(last), server.revision().to_string(), "the last state under a new resourceVersion");
    assert_eq!(
        last["metadata"]["finalizers"],
        json!(["x.io/one"]),
        "the last stored state had the finalizer"
    );
    assert!(last["metadata"]["deletionTimestamp"].is_string());
    assert!(lines.now().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn bookmarks_and_timeouts() {
    let server = plane();
    let start = Instant::now();
    let mut lines =
        open(&server, MAPS, "resourceVersion=0&allowWatchBookmarks=true&timeoutSeconds=100").await;
    server.put(wd("elsewhere")).unwrap();
    let bookmark = lines.next().await;
    assert_eq!(start.elapsed().as_secs(), 60);
    assert_eq!(
        (&bookmark["type"], version(&bookmark["object"])),
        (&json!("BOOKMARK"), server.revision().to_string())
    );
    assert_eq!(
        (&bookmark["object"]["kind"], &bookmark["object"]["apiVersion"]),
        (&json!("ConfigMap"), &json!("v1"))
    );
    assert_eq!(lines.next().await["type"], "BOOKMARK", "one before the end");
    assert_eq!(lines.next().await, Value::Null);
    assert_eq!(start.elapsed().as_secs(), 100);
    let mut silent = open(&server, MAPS, "resourceVersion=0&timeoutSeconds=100").await;
    assert_eq!(silent.next().await, Value::Null, "none were asked for");
}

#[tokio::test(start_paused = true)]
async fn only_what_is_in_scope() {
    let server = plane();
    let from = server.revision();
    let mut one = open(&server, MAPS, &format!("resourceVersion={from}")).await;
    let mut all = open(&server, "/api/v1/configmaps", &format!("resourceVersion={from}")).await;
    let mut named = open(
        &server,
        "/api/v1/configmaps",
        &format!("resourceVersion={from}&fieldSelector=metadata.name%3Db"),
    )
    .await;
    server.put(map("a")).unwrap();
    let mut other = map("b");
    other["metadata"]["namespace"] = json!("m");
    server.put(other).unwrap();
    server.put(wd("w")).unwrap();
    assert_eq!((one.now().await.len(), all.now().await.len(), named.now().await.len()), (1, 2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_falls_behind_the_history_is_ended() {
    let server = ApiServer::builder("small").resources(crate::resource::base()).history(3).build();
    server.put(map("a")).unwrap();
    let mut lines = open(&server, MAPS, &format!("resourceVersion={}", server.revision())).await;
    for i in 0..4 {
        server.patch("ConfigMap", "n", "a", &json!({ "data": { "k": i.to_string() } })).unwrap();
    }
    assert_eq!(lines.now().await, ["end"]);
}

#[tokio::test(start_paused = true)]
async fn ends_of_watches() {
    let server = plane();
    let mut broken = open(&server, MAPS, "resourceVersion=0").await;
    server.break_watches();
    assert_eq!(broken.next().await, Value::Null);
    let mut cut = open(&server, MAPS, "resourceVersion=0").await;
    let mut other = open(&server, WDS, "resourceVersion=0").await;
    server.fault(Fault::Disconnect.on("watch", "configmaps").times(1));
    server.put(map("a")).unwrap();
    assert_eq!(cut.next().await["type"], "ADDED", "a counted fault is for new requests only");
    server.fault(Fault::Disconnect.on("watch", "configmaps"));
    assert_eq!(cut.next().await, "error");
    server.put(wd("a")).unwrap();
    assert_eq!(other.next().await["type"], "ADDED");
}

//! kube's own watcher on top of a simulated server, under paused time.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::{DeserializeGuard, PartialObjectMeta};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use crate::{ApiServer, Fault};

type Event = watcher::Event<DeserializeGuard<ConfigMap>>;

fn map(name: &str, value: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "namespace": "n", "name": name }, "data": { "v": value } })
}

fn watch(server: &ApiServer, config: watcher::Config) -> impl Stream<Item = watcher::Result<Event>> + Unpin {
    let api: Api<DeserializeGuard<ConfigMap>> = Api::all(server.client());
    Box::pin(watcher(api, config))
}

/// The next `count` events, in short; an error is `error <code>`.
async fn take(
    stream: &mut (impl Stream<Item = watcher::Result<Event>> + Unpin),
    count: usize,
) -> Vec<String> {
    let mut seen = Vec::new();
    for _ in 0..count {
        let event = timeout(Duration::from_hours(1), stream.next()).await.expect("an event").expect("no end");
        seen.push(match event {
            Ok(watcher::Event::Init) => "init".into(),
            Ok(watcher::Event::InitApply(o)) => format!("initapply {}", o.name_any()),
            Ok(watcher::Event::InitDone) => "initdone".into(),
            Ok(watcher::Event::Apply(o)) => {
                format!("apply {}{}", o.name_any(), if o.0.is_err() { " broken" } else { "" })
            }
            Ok(watcher::Event::Delete(o)) => format!("delete {}", o.name_any()),
            Err(watcher::Error::WatchError(status)) => format!("error {}", status.code),
            Err(watcher::Error::WatchStartFailed(_)) => "start failed".into(),
            Err(watcher::Error::InitialListFailed(_)) => "list failed".into(),
            Err(watcher::Error::WatchFailed(_)) => "watch failed".into(),
            Err(error) => format!("{error:?}"),
        });
    }
    seen
}

/// Polls until the stream waits for news.
async fn idle(stream: &mut (impl Stream<Item = watcher::Result<Event>> + Unpin)) {
    assert!(timeout(Duration::from_secs(1), stream.next()).await.is_err(), "no news");
}

#[tokio::test(start_paused = true)]
async fn init_apply_delete() {
    let server = ApiServer::project_plane("p");
    server.put(map("a", "1")).unwrap();
    let mut stream = watch(&server, watcher::Config::default());
    assert_eq!(take(&mut stream, 3).await, ["init", "initapply a", "initdone"]);
    server.put(map("b", "1")).unwrap();
    server.put(map("a", "2")).unwrap();
    server.put(map("a", "2")).unwrap();
    server.delete("ConfigMap", "n", "b").unwrap();
    assert_eq!(take(&mut stream, 3).await, ["apply b", "apply a", "delete b"]);
}

#[tokio::test(start_paused = true)]
async fn pages_are_followed() {
    let server = ApiServer::project_plane("p");
    for i in 0..7 {
        server.put(map(&format!("m{i}"), "1")).unwrap();
    }
    let mut stream = watch(&server, watcher::Config::default().page_size(3));
    assert_eq!(take(&mut stream, 9).await[8], "initdone");
    assert_eq!(server.audit().iter().filter(|e| e.verb == "list").count(), 3);
}

#[tokio::test(start_paused = true)]
async fn broken_watches_resume_without_a_relist() {
    let server = ApiServer::project_plane("p");
    server.put(map("a", "1")).unwrap();
    let mut stream = watch(&server, watcher::Config::default());
    take(&mut stream, 3).await;
    server.put(map("a", "2")).unwrap();
    take(&mut stream, 1).await;
    server.break_watches();
    server.put(map("a", "3")).unwrap();
    assert_eq!(take(&mut stream, 1).await, ["apply a"]);
    assert_eq!(server.audit().iter().filter(|e| e.verb == "list").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn relist_on_410() {
    let server = ApiServer::project_plane("p");
    server.put(map("a", "1")).unwrap();
    let mut stream = watch(&server, watcher::Config::default());
    take(&mut stream, 3).await;
    idle(&mut stream).await;
    server.compact();
    server.put(map("b", "1")).unwrap();
    assert_eq!(take(&mut stream, 1).await, ["apply b"], "an open watch survives compaction");
    server.delete("ConfigMap", "n", "a").unwrap();
    server.compact();
    server.break_watches();
    assert_eq!(take(&mut stream, 4).await, ["error 410", "init", "initapply b", "initdone"]);
}

#[tokio::test(start_paused = true)]
async fn streaming_lists() {
    let server = ApiServer::project_plane("p");
    server.put(map("a", "1")).unwrap();
    let mut stream = watch(&server, watcher::Config::default().streaming_lists());
    assert_eq!(take(&mut stream, 3).await, ["init", "initapply a", "initdone"]);
    server.put(map("b", "1")).unwrap();
    assert_eq!(take(&mut stream, 1).await, ["apply b"]);
    assert!(server.audit().iter().all(|e| e.verb == "watch"));
}

#[tokio::test(start_paused = true)]
async fn bookmarks_keep_an_idle_watch_young() {
    let server = ApiServer::project_plane("p");
    server.put(map("a", "1")).unwrap();
    let mut stream = watch(&server, watcher::Config::default());
    take(&mut stream, 3).await;
    // A busy neighbour moves the revision on; the idle watch hears of it by bookmark only.
    let busy = server.clone();
    let start = Instant::now();
    let neighbour = async {
        for i in 0..9000 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "namespace": "n", "name": "s" },
                                 "stringData": { "i": i.to_string() } });
            busy.put(secret).unwrap();
        }
        busy.put(map("z", "1")).unwrap();
    };
    let (seen, ()) = tokio::join!(take(&mut stream, 1), neighbour);
    assert_eq!(seen, ["apply z"]);
    assert!(start.elapsed() >= Duration::from_mins(15));
    let audit = server.audit();
    assert_eq!(audit.iter().filter(|e| e.verb == "list").count(), 1, "no 410 on the way");
    assert!(audit.iter().filter(|e| e.verb == "watch").count() >= 3, "timeoutSeconds ends a watch");
}

#[tokio::test(start_paused = true)]
async fn an_undecodable_object_is_that_object_only() {
    let server = ApiServer::project_plane("p");
    let mut stream = watch(&server, watcher::Config::default());
    take(&mut stream, 2).await;
    let mut broken = map("broken", "1");
    broken["data"] = json!([1, 2]);
    server.put(broken).unwrap();
    server.put(map("fine", "1")).unwrap();
    assert_eq!(take(&mut stream, 2).await, ["apply broken broken", "apply fine"]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_on_a_selection_sees_objects_come_and_go() {
    let server = ApiServer::project_plane("p");
    let mut labelled = map("a", "1");
    labelled["metadata"]["labels"] = json!({ "on": "yes" });
    server.put(labelled.clone()).unwrap();
    server.put(map("b", "1")).unwrap();
    let mut stream = watch(&server, watcher::Config::default().labels("on=yes"));
    assert_eq!(take(&mut stream, 3).await, ["init", "initapply a", "initdone"]);
    let set = |on: &str| {
        server.patch("ConfigMap", "n", "b", &json!({ "metadata": { "labels": { "on": on } } })).unwrap()
    };
    set("yes");
    set("no");
    server.delete("ConfigMap", "n", "b").unwrap();
    server.delete("ConfigMap", "n", "a").unwrap();
    assert_eq!(take(&mut stream, 3).await, ["apply b", "delete b", "delete a"]);
}

#[tokio::test(start_paused = true)]
async fn faults_of_the_connection_reach_open_watches() {
    let server = ApiServer::project_plane("p");
    let mut stream = watch(&server, watcher::Config::default());
    take(&mut stream, 2).await;
    idle(&mut stream).await;

    let id = server.fault(Fault::Hang);
    server.put(map("a", "1")).unwrap();
    assert!(timeout(Duration::from_secs(200), stream.next()).await.is_err(), "silence");
    server.clear_fault(id);
    assert_eq!(take(&mut stream, 1).await, ["apply a"], "it goes on where it was");

    server.fault(Fault::Disconnect.on("watch", "configmaps"));
    assert_eq!(take(&mut stream, 2).await, ["watch failed", "start failed"]);
    server.clear_faults();
    server.put(map("b", "1")).unwrap();
    assert_eq!(take(&mut stream, 1).await, ["apply b"]);
}

#[tokio::test(start_paused = true)]
async fn a_rewound_backup_leaves_a_silent_gap_and_a_bumped_one_a_410() {
    let server = ApiServer::project_plane("p");
    server.put(map("a", "1")).unwrap();
    let backup = server.snapshot();
    let mut stream = watch(&server, watcher::Config::default());
    take(&mut stream, 3).await;
    for v in 0..5 {
        server.put(map("b", &v.to_string())).unwrap();
    }
    assert_eq!(take(&mut stream, 5).await.into_iter().collect::<BTreeSet<_>>().len(), 1);

    server.restore(&backup);
    server.put(map("c", "1")).unwrap();
    assert!(timeout(Duration::from_secs(5), stream.next()).await.is_err(), "the gap is not reported");
    server.put(map("d", "1")).unwrap();
    assert!(
        timeout(Duration::from_secs(5), stream.next()).await.is_err(),
        "and it stays until the counter has caught up"
    );

    server.restore_bumped(&backup);
    assert_eq!(take(&mut stream, 4).await, ["error 410", "init", "initapply a", "initdone"]);
}

#[tokio::test(start_paused = true)]
async fn an_empty_list_is_believed() {
    let server = ApiServer::project_plane("p");
    server.put(map("a", "1")).unwrap();
    server.fault(Fault::EmptyList.times(1));
    let mut stream = watch(&server, watcher::Config::default());
    assert_eq!(take(&mut stream, 2).await, ["init", "initdone"]);
}

#[tokio::test(start_paused = true)]
async fn metadata_watches() {
    let server = ApiServer::project_plane("p");
    server.put(map("a", "1")).unwrap();
    let api: Api<PartialObjectMeta<ConfigMap>> = Api::all(server.client());
    let mut stream = Box::pin(watcher(api, watcher::Config::default()).applied_objects());
    assert_eq!(stream.next().await.unwrap().unwrap().name_any(), "a");
    server.put(map("b", "1")).unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap().name_any(), "b");
}

#[tokio::test(start_paused = true)]
async fn the_same_run_twice_is_the_same() {
    async fn run() -> (Vec<String>, u64) {
        let server = ApiServer::hub("h");
        let mut stream = watch(&server, watcher::Config::default());
        let mut seen = take(&mut stream, 2).await;
        for i in 0..20 {
            server.put(map(&format!("m{}", i % 7), &i.to_string())).unwrap();
            tokio::time::sleep(Duration::from_millis(700)).await;
        }
        seen.extend(take(&mut stream, 20).await);
        (seen, server.objects_hash())
    }
    assert_eq!(run().await, run().await);
}

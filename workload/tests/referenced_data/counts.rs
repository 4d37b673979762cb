//! Companions that several WDs share, and those that are not ours.

use fedhub_core::names::{COPIED_FROM, REFERENCED_BY, REFERENCED_DATA};
use fedhub_fake_apiserver::Fault;
use serde_json::{Value, json};

use crate::referenced_data::support::{World, quiet, until};

fn secret(name: &str) -> Value {
    json!([{"secret": {"secretName": name}}])
}

/// Two WDs that share a Secret, in order.
pub async fn shared() -> (World, crate::referenced_data::support::Run) {
    let world = World::new();
    world.put_source("Secret", "db", &json!({"password": "Y2FuYXJ5"}));
    world.put_wd("api", &secret("db"));
    world.put_wd("web", &secret("db"));
    let run = world.run();
    until("both", || world.is_ready("api") && world.is_ready("web")).await;
    quiet(2).await;
    (world, run)
}

#[tokio::test(start_paused = true)]
async fn w5_a_companion_counts_all_wds_that_refer_to_it_and_goes_with_the_last() {
    let (world, run) = shared().await;
    assert_eq!(world.counted("Secret", "db"), ["shop/api", "shop/web"]);
    world.alpha.delete("WorkloadDeployment", "shop", "api").unwrap();
    until("the WD to go", || world.wd("api").is_none()).await;
    quiet(60).await;
    assert_eq!(world.counted("Secret", "db"), ["shop/web"]);
    world.alpha.delete("WorkloadDeployment", "shop", "web").unwrap();
    until("the WD to go", || world.wd("web").is_none()).await;
    assert!(world.companion("Secret", "db").is_none());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w5_no_count_is_lost_where_others_write_it_at_the_same_time() {
    let world = World::new();
    world.put_source("Secret", "db", &json!({"password": "Y2FuYXJ5"}));
    let names: Vec<String> = (0..20).map(|n| format!("wd-{n}")).collect();
    for name in &names {
        world.put_wd(name, &secret("db"));
    }
    world.hub.fault(Fault::Status(409).on("update", "secrets").times(3));
    world.hub.fault(Fault::LostAnswer.on("patch", "secrets").times(3));
    let run = world.run();
    until("all", || names.iter().all(|name| world.is_ready(name))).await;
    assert_eq!(world.counted("Secret", "db").len(), 20);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w5_a_count_that_cannot_be_read_deletes_nothing_and_is_made_anew() {
    let (world, run) = shared().await;
    run.stop().await;
    let corrupt = json!({"metadata": {"annotations": {REFERENCED_BY: "{not a list"}}});
    world.hub.patch("Secret", &world.hub_space(), "db", &corrupt).unwrap();
    world.alpha.delete("WorkloadDeployment", "shop", "api").unwrap();
    let run = world.run();
    until("the WD to go", || world.wd("api").is_none()).await;
    quiet(60).await;
    assert_eq!(world.counted("Secret", "db"), ["shop/web"]);
    run.stop().await;
    world.hub.patch("Secret", &world.hub_space(), "db", &corrupt).unwrap();
    world.alpha.delete("WorkloadDeployment", "shop", "web").unwrap();
    let run = world.run();
    until("the WD to go", || world.wd("web").is_none()).await;
    assert!(world.companion("Secret", "db").is_some(), "it is unknown which other WDs refer to it");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w5_what_stands_there_and_is_no_companion_is_not_touched() {
    let world = World::with_web();
    let stopped = world.run();
    until("the hub namespace", || world.hub.get("Namespace", "", &world.hub_space()).is_some()).await;
    until("the copy", || world.companion("Secret", "db").is_some()).await;
    stopped.stop().await;
    world.hub.delete("Secret", &world.hub_space(), "db").unwrap();
    let foreign = json!({"apiVersion": "v1", "kind": "Secret", "data": {"k": "YQ=="},
        "metadata": {"namespace": world.hub_space(), "name": "db"}});
    let foreign = world.hub.put(foreign).unwrap();
    let run = world.run();
    until("the error", || world.fails_with("web", "SourceNameTaken")).await;
    quiet(600).await;
    assert_eq!(world.companion("Secret", "db").unwrap(), foreign);
    // It is asked for again.
    world.hub.delete("Secret", &world.hub_space(), "db").unwrap();
    until("the condition", || world.is_ready("web")).await;
    let ours = world.companion("Secret", "db").unwrap();
    assert_eq!(ours["metadata"]["labels"], json!({REFERENCED_DATA: "true"}));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w5_a_companion_of_the_go_manager_is_adopted() {
    let world = World::with_web();
    let space = world.hub_space();
    let labels = json!({"meta.datumapis.com/upstream-cluster-name": "cluster-alpha", "meta.datumapis.com/upstream-namespace": "shop"});
    world
        .hub
        .put(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space, "labels": labels}}))
        .unwrap();
    let metadata = json!({"namespace": space, "name": "db", "labels": {REFERENCED_DATA: "true"},
        "annotations": {REFERENCED_BY: r#"["shop/gone","shop/web"]"#}});
    let before = world
        .hub
        .put(json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {}}))
        .unwrap();
    let run = world.ready().await;
    let now = world.companion("Secret", "db").unwrap();
    assert_eq!(now["metadata"]["uid"], before["metadata"]["uid"]);
    assert_eq!(now["data"], json!({"password": "Y2FuYXJ5"}));
    assert_eq!(world.counted("Secret", "db"), ["shop/web"], "no WD of the other name exists");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w5_a_companion_that_a_wd_needs_and_is_not_counted_for_stays() {
    let (world, run) = shared().await;
    run.stop().await;
    // As after a backup of the hub from before the other WD.
    let older = json!({"metadata": {"annotations": {REFERENCED_BY: r#"["shop/api"]"#}}});
    world.hub.patch("Secret", &world.hub_space(), "db", &older).unwrap();
    let uid = world.companion("Secret", "db").unwrap()["metadata"]["uid"].clone();
    world.alpha.delete("WorkloadDeployment", "shop", "api").unwrap();
    let run = world.run();
    until("the WD to go", || world.wd("api").is_none()).await;
    quiet(60).await;
    assert_eq!(world.counted("Secret", "db"), ["shop/web"]);
    assert_eq!(world.companion("Secret", "db").unwrap()["metadata"]["uid"], uid);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w5_a_companion_is_deleted_once_though_the_hubs_watch_lags() {
    let (world, run) = shared().await;
    world.hub.fault(Fault::Hang.on("watch", "secrets"));
    let from = world.positions();
    let failed = run.failed("referenced_data");
    for name in ["api", "web"] {
        world.edit_wd(name, &json!([]));
        world.roll_out(name).await;
        quiet(5).await;
    }
    assert!(world.companion("Secret", "db").is_none());
    let deletes = world.data_requests(from).into_iter().filter(|it| it.starts_with("delete"));
    assert_eq!((deletes.count(), run.failed("referenced_data")), (1, failed));
    world.hub.clear_faults();
    // Its name is free again.
    world.edit_wd("web", &secret("db"));
    until("the data", || world.is_ready("web")).await;
    assert_eq!(world.counted("Secret", "db"), ["shop/web"]);
    run.stop().await;
}

/// While the watch of companions stands still, another process counts a WD of its own namespace.
#[tokio::test(start_paused = true)]
async fn w5_i3_a_count_that_the_watch_does_not_show_is_not_lost() {
    for (counted, left) in
        [(&["shop/web"][..], &["zoo/other"][..]), (&["shop/api", "shop/web"], &["shop/api", "zoo/other"])]
    {
        let (world, run) = shared().await;
        if counted.len() == 1 {
            world.alpha.delete("WorkloadDeployment", "shop", "api").unwrap();
            until("the WD to go", || world.wd("api").is_none()).await;
        }
        quiet(5).await;
        assert_eq!(world.counted("Secret", "db"), counted);
        let before = world.companion("Secret", "db").unwrap()["metadata"]["uid"].clone();
        let fault = world.hub.fault(Fault::Hang.on("watch", "secrets"));
        let mut all: Vec<&str> = counted.iter().copied().chain(["zoo/other"]).collect();
        all.sort_unstable();
        let newer = json!({"metadata": {"annotations": {REFERENCED_BY: json!(all).to_string()}}});
        world.hub.patch("Secret", &world.hub_space(), "db", &newer).unwrap();
        world.alpha.delete("WorkloadDeployment", "shop", "web").unwrap();
        quiet(60).await;
        world.hub.clear_fault(fault);
        until("the WD to go", || world.wd("web").is_none()).await;
        assert_eq!(world.counted("Secret", "db"), left);
        assert_eq!(world.companion("Secret", "db").unwrap()["metadata"]["uid"], before);
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn w5_a_companion_that_became_anothers_is_not_written() {
    let world = World::with_web();
    let run = world.ready().await;
    world.hub.fault(Fault::Hang.on("watch", "secrets"));
    let theirs = json!({"metadata": {"labels": {REFERENCED_DATA: null}, "annotations": {COPIED_FROM: null}},
        "data": {"k": "dGhlaXJz"}});
    let theirs = world.hub.patch("Secret", &world.hub_space(), "db", &theirs).unwrap();
    world.alpha.patch("Secret", "shop", "db", &json!({"data": {"password": "bmV3"}})).unwrap();
    until("the error", || world.fails_with("web", "SourceNameTaken")).await;
    assert_eq!(world.companion("Secret", "db").unwrap()["data"], theirs["data"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w5_what_a_wd_does_without_is_counted_for_it_no_more_while_the_rest_is_not_ready() {
    let (world, run) = shared().await;
    world.put_source("Secret", "tls", &json!({"k": "YQ=="}));
    let refused = world.hub.fault(Fault::Status(503).on("create", "secrets"));
    world.edit_wd("api", &secret("tls"));
    quiet(60).await;
    assert_eq!(world.counted("Secret", "db"), ["shop/api", "shop/web"], "the old annotation names it");
    world.hub.clear_fault(refused);
    world.roll_out("api").await;
    until("the count", || world.counted("Secret", "db") == ["shop/web"]).await;
    assert!(world.is_ready("api"));
    run.stop().await;
}

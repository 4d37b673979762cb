//! Companions that somebody else edited, that lost what marks them, or whose counts are about nothing.

use fedhub_core::names::{COPIED_FROM, REFERENCED_BY, REFERENCED_DATA, REFERENCED_DATA_FINALIZER};
use fedhub_fake_apiserver::Fault;
use serde_json::json;

use crate::referenced_data::support::{SPACE, World, quiet, until};

#[tokio::test(start_paused = true)]
async fn w5_i7_a_companion_that_was_edited_is_put_right_and_one_with_other_labels_is_not_written() {
    let world = World::with_web();
    let run = world.ready().await;
    let space = world.hub_space();
    for (kind, name, edit, data) in [
        ("ConfigMap", "app", json!({"mode": "off", "more": "x"}), json!({"mode": "on"})),
        ("Secret", "db", json!({"password": "ZWRpdGVk"}), json!({"password": "Y2FuYXJ5"})),
    ] {
        world.hub.patch(kind, &space, name, &json!({"data": edit})).unwrap();
        until("the content", || world.companion(kind, name).unwrap()["data"] == data).await;
    }
    quiet(5).await;
    let label = json!({"metadata": {"labels": {"example.com/other": "kept"}}});
    world.hub.patch("Secret", &space, "db", &label).unwrap();
    let from = world.positions();
    quiet(60).await;
    assert_eq!(world.writes(from), [vec![], vec![]] as [Vec<String>; 2]);
    let from = world.positions();
    quiet(600).await;
    assert_eq!(world.data_requests(from), Vec::<String>::new(), "compared once");
    assert_eq!(run.failed("referenced_data"), 0);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w5_an_edit_while_the_watch_is_broken_is_found_by_the_list() {
    let world = World::with_web();
    let run = world.ready().await;
    let fault = world.hub.fault(Fault::Status(503).on("watch", "secrets"));
    world.hub.break_watches();
    quiet(5).await;
    world.hub.patch("Secret", &world.hub_space(), "db", &json!({"data": {"password": "ZWRpdGVk"}})).unwrap();
    world.hub.compact();
    world.hub.clear_fault(fault);
    until("the content", || world.companion("Secret", "db").unwrap()["data"]["password"] == "Y2FuYXJ5").await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i6_w5_a_companion_that_lost_its_label_gets_it_back() {
    let world = World::with_web();
    let run = world.ready().await;
    let unlabelled = json!({"metadata": {"labels": {REFERENCED_DATA: null}}});
    let before = world.hub.patch("Secret", &world.hub_space(), "db", &unlabelled).unwrap();
    until("the label", || {
        world.companion("Secret", "db").unwrap()["metadata"]["labels"] == json!({REFERENCED_DATA: "true"})
    })
    .await;
    quiet(5).await;
    assert!(world.is_ready("web") && world.counted("Secret", "db") == ["shop/web"]);
    assert_eq!(world.companion("Secret", "db").unwrap()["metadata"]["uid"], before["metadata"]["uid"]);
    // It is found without it, too.
    run.stop().await;
    world.hub.patch("Secret", &world.hub_space(), "db", &unlabelled).unwrap();
    world.alpha.delete("WorkloadDeployment", SPACE, "web").unwrap();
    let run = world.run();
    until("the WD to go", || world.wd("web").is_none()).await;
    assert!(world.companion("Secret", "db").is_none());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i3_w5_what_a_restored_hub_brings_back_of_a_wd_that_was_released_goes() {
    let world = World::with_web();
    let run = world.ready().await;
    let before = world.companion("Secret", "db").unwrap();
    world.edit_wd("web", &json!([]));
    world.roll_out("web").await;
    let held = || world.wd("web").unwrap()["metadata"]["finalizers"].to_string();
    until("the finalizer to go", || !held().contains(REFERENCED_DATA_FINALIZER)).await;
    let restore = || {
        let annotations = before["metadata"]["annotations"].clone();
        assert!(annotations[REFERENCED_BY].is_string() && annotations[COPIED_FROM].is_string());
        let metadata = json!({"namespace": world.hub_space(), "name": "db", "annotations": annotations,
            "labels": before["metadata"]["labels"]});
        world.hub.put(json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata})).unwrap();
    };
    restore();
    until("it to go", || world.companion("Secret", "db").is_none()).await;
    run.stop().await;
    restore();
    let run = world.run();
    until("it to go", || world.companion("Secret", "db").is_none()).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w5_the_count_of_a_wd_that_is_gone_from_everywhere_keeps_no_companion() {
    let world = World::with_web();
    let run = world.ready().await;
    let counted = json!({"metadata": {"annotations": {REFERENCED_BY: r#"["shop/gone","shop/web"]"#}}});
    world.hub.patch("Secret", &world.hub_space(), "db", &counted).unwrap();
    quiet(5).await;
    world.alpha.delete("WorkloadDeployment", SPACE, "web").unwrap();
    until("the WD to go", || world.wd("web").is_none()).await;
    assert!(world.companion("Secret", "db").is_none());
    run.stop().await;
}

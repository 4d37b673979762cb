//! What is copied, in which order, and what is said of it.

use fedhub_core::names::{REFERENCED_DATA, REFERENCED_DATA_FINALIZER};
use fedhub_fake_apiserver::Fault;
use serde_json::json;

use crate::referenced_data::support::{SPACE, World, position, quiet, until};

#[tokio::test(start_paused = true)]
async fn w5_what_a_wd_refers_to_is_on_the_hub_before_the_annotation_that_names_it() {
    let world = World::with_web();
    let refused = world.hub.fault(Fault::Status(503).on("create", "secrets"));
    let run = world.run();
    until("the first copy", || world.companion("ConfigMap", "app").is_some()).await;
    quiet(600).await;
    assert!(world.expected("web").is_null() && world.condition("web").is_none());
    assert_eq!(world.counted("ConfigMap", "app"), ["shop/web"]);
    world.hub.clear_fault(refused);
    until("the data to be on the hub", || world.is_ready("web")).await;
    quiet(2).await;
    for (kind, name, data) in
        [("ConfigMap", "app", json!({"mode": "on"})), ("Secret", "db", json!({"password": "Y2FuYXJ5"}))]
    {
        let companion = world.companion(kind, name).unwrap();
        assert_eq!(companion["data"], data);
        assert_eq!(
            companion["metadata"]["labels"],
            json!({REFERENCED_DATA: "true"}),
            "no label spreads it (H17)"
        );
        assert_eq!(world.counted(kind, name), ["shop/web"]);
    }
    assert_eq!(world.companion("Secret", "db").unwrap()["type"], "Opaque");
    assert_eq!(world.expected("web"), json!({"generation": 1, "expected": ["ConfigMap/app", "Secret/db"]}));
    // The federator mirrors it.
    let hub = world.hub.get("WorkloadDeployment", &world.hub_space(), "web").unwrap();
    let key = fedhub_core::names::EXPECTED_REFERENCED_DATA;
    assert_eq!(hub["metadata"]["annotations"][key], json!(world.annotation("web", key).unwrap()));
    assert!(
        world.wd("web").unwrap()["metadata"]["finalizers"].to_string().contains(REFERENCED_DATA_FINALIZER)
    );
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i7_w6_a_restart_reads_no_content_and_writes_nothing() {
    let world = World::with_web();
    world.ready().await.stop().await;
    let from = world.positions();
    let run = world.run();
    quiet(600).await;
    assert_eq!(world.writes(from), [vec![], vec![]] as [Vec<String>; 2]);
    assert_eq!(world.data_requests(from), Vec::<String>::new());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w5_a_source_that_changes_is_copied_again() {
    let world = World::with_web();
    let run = world.ready().await;
    world.alpha.patch("ConfigMap", SPACE, "app", &json!({"data": {"mode": null, "level": "2"}})).unwrap();
    until("the copy", || world.companion("ConfigMap", "app").unwrap()["data"] == json!({"level": "2"})).await;
    let from = world.positions();
    quiet(60).await;
    assert_eq!(world.writes(from), [vec![], vec![]] as [Vec<String>; 2], "once");
    // Foreign metadata of the companion stays (I9).
    let patch = json!({"metadata": {"labels": {"example.com/other": "kept"}}});
    world.hub.patch("ConfigMap", &world.hub_space(), "app", &patch).unwrap();
    world.alpha.patch("ConfigMap", SPACE, "app", &json!({"data": {"level": "3"}})).unwrap();
    until("the copy", || world.companion("ConfigMap", "app").unwrap()["data"] == json!({"level": "3"})).await;
    assert_eq!(
        world.companion("ConfigMap", "app").unwrap()["metadata"]["labels"]["example.com/other"],
        "kept"
    );
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w5_a_companion_that_was_deleted_by_hand_comes_back() {
    let world = World::with_web();
    let run = world.ready().await;
    world.hub.delete("Secret", &world.hub_space(), "db").unwrap();
    until("the companion", || world.companion("Secret", "db").is_some()).await;
    assert_eq!(world.counted("Secret", "db"), ["shop/web"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w5_a_new_generation_has_a_list_of_its_own() {
    let world = World::with_web();
    let run = world.ready().await;
    world.put_source("Secret", "tls", &json!({"k": "YQ=="}));
    world.edit_wd("web", &json!([{"secret": {"secretName": "tls"}}]));
    let both = json!(["ConfigMap/app", "Secret/db", "Secret/tls"]);
    until("the new list", || world.expected("web") == json!({"generation": 2, "expected": both})).await;
    quiet(600).await;
    assert!(world.companion("Secret", "db").is_some(), "Instances on the old template need it");
    world.roll_out("web").await;
    until("the list of the new one", || {
        world.expected("web") == json!({"generation": 2, "expected": ["Secret/tls"]})
    })
    .await;
    until("the rest to go", || world.companion("Secret", "db").is_none()).await;
    assert!(world.companion("ConfigMap", "app").is_none() && world.companion("Secret", "tls").is_some());
    until("the condition", || world.is_ready("web")).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w5_one_name_of_two_kinds_is_two_references() {
    let world = World::with_web();
    world.put_source("Secret", "app", &json!({"k": "YQ=="}));
    let run = world.ready().await;
    world.edit_wd("web", &json!([{"secret": {"secretName": "app"}}]));
    world.roll_out("web").await;
    until("the ConfigMap to go", || world.companion("ConfigMap", "app").is_none()).await;
    until("the condition", || world.is_ready("web")).await;
    assert_eq!(world.counted("Secret", "app"), ["shop/web"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w5_a_wd_that_refers_to_nothing_any_more_is_left_as_if_it_never_had() {
    let world = World::with_web();
    let run = world.ready().await;
    world.edit_wd("web", &json!([]));
    quiet(600).await;
    assert!(world.companion("Secret", "db").is_some(), "Instances on the old template need it");
    assert!(!world.expected("web").is_null());
    world.roll_out("web").await;
    until("the companions to go", || world.companion("Secret", "db").is_none()).await;
    until("the finalizer to go", || {
        !world.wd("web").unwrap()["metadata"]["finalizers"].to_string().contains(REFERENCED_DATA_FINALIZER)
    })
    .await;
    quiet(5).await;
    assert!(world.companion("ConfigMap", "app").is_none() && world.expected("web").is_null());
    assert_eq!(world.condition("web"), None);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w5_a_secret_that_comes_back_with_another_type_is_replaced() {
    let world = World::with_web();
    let run = world.ready().await;
    world.alpha.delete("Secret", SPACE, "db").unwrap();
    until("the error", || world.fails_with("web", "SourceNotFound")).await;
    assert!(world.companion("Secret", "db").is_some(), "what runs keeps what it has");
    assert_eq!(world.expected("web")["generation"], 1, "nor does the cell forget what it needs");
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "example.com/other",
        "metadata": {"namespace": SPACE, "name": "db"}, "data": {"k": "YQ=="}});
    world.alpha.put(secret).unwrap();
    until("the new type", || {
        world.companion("Secret", "db").is_some_and(|c| c["data"] == json!({"k": "YQ=="}))
    })
    .await;
    until("the condition", || world.is_ready("web")).await;
    assert_eq!(world.companion("Secret", "db").unwrap()["type"], "example.com/other");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w9_i3_a_wd_that_is_deleted_while_its_project_is_suspended_goes() {
    let world = World::with_web();
    let run = world.ready().await;
    run.planes.suspend(&crate::referenced_data::support::plane_name("alpha"), true);
    world.alpha.delete("WorkloadDeployment", SPACE, "web").unwrap();
    until("the WD to go", || world.wd("web").is_none()).await;
    assert!(world.companion("Secret", "db").is_none() && world.companion("ConfigMap", "app").is_none());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w5_what_runs_keeps_its_data_while_a_new_reference_fails() {
    let world = World::with_web();
    let run = world.ready().await;
    world.edit_wd("web", &json!([{"secret": {"secretName": "tls"}}]));
    until("the error", || world.fails_with("web", "SourceNotFound")).await;
    // Of one Instance, the cell counts the new one alone, which waits.
    world.roll_out("web").await;
    quiet(600).await;
    assert_eq!((world.counted("Secret", "db").len(), world.counted("ConfigMap", "app").len()), (1, 1));
    assert_eq!(world.expected("web"), json!({"generation": 1, "expected": ["ConfigMap/app", "Secret/db"]}));
    world.put_source("Secret", "tls", &json!({"k": "YQ=="}));
    until("the rest to go", || world.companion("Secret", "db").is_none()).await;
    assert!(world.is_ready("web"));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i12_a_paused_plane_is_left_alone() {
    let world = World::with_web();
    let run = world.ready().await;
    run.planes.suspend(&crate::referenced_data::support::plane_name("alpha"), true);
    let from = position(&world.hub);
    world.alpha.patch("ConfigMap", SPACE, "app", &json!({"data": {"mode": "off"}})).unwrap();
    quiet(60).await;
    assert_eq!(
        crate::referenced_data::support::writes(&world.hub, from)
            .iter()
            .filter(|w| w.contains("configmaps"))
            .count(),
        0
    );
    run.planes.suspend(&crate::referenced_data::support::plane_name("alpha"), false);
    until("the copy", || world.companion("ConfigMap", "app").unwrap()["data"]["mode"] == "off").await;
    run.stop().await;
}

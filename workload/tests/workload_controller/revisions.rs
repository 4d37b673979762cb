//! W10: each new template is recorded.

use fedhub_core::names::{CURRENT_REVISION, revision_history};
use fedhub_fake_apiserver::Fault;
use fedhub_testing::event_notes;
use serde_json::{Value, json};

use crate::workload_controller::support::*;

fn history(world: &World) -> Value {
    let name = revision_history("web").unwrap();
    world.project.get("ConfigMap", SPACE, &name).map_or(Value::Null, |history| history["data"].clone())
}

fn current(world: &World) -> Value {
    world.workload("web")["metadata"]["annotations"][CURRENT_REVISION].clone()
}

#[tokio::test(start_paused = true)]
async fn w10_each_new_template_is_recorded_once() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    assert_eq!(current(&world), "1");
    world.place("web", &["DFW", "ORD"]);
    quiet(5).await;
    assert_eq!(
        (current(&world), history(&world).as_object().unwrap().len()),
        (json!("1"), 1),
        "no new template"
    );
    world.patch("web", &json!({"spec": {"template": template("nginx:2")}}));
    quiet(5).await;
    assert_eq!(current(&world), "2");
    let history = history(&world);
    let second: Value = serde_json::from_str(history["2"].as_str().unwrap()).unwrap();
    assert_eq!((&second["rev"], &second["image"]), (&json!(2), &json!("nginx:2")));
    let owner = world.project.get("ConfigMap", SPACE, &revision_history("web").unwrap()).unwrap();
    assert_eq!(owner["metadata"]["ownerReferences"][0]["uid"], uid(&world.workload("web")).as_str());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w10_deployments_do_not_wait_for_a_history_that_cannot_be_written() {
    let world = World::new();
    let run = world.run();
    quiet(5).await;
    let fault = world.project.fault(Fault::Status(403).on("create", "configmaps"));
    world.put("web", &["DFW"]);
    quiet(5).await;
    assert_eq!(world.wds(), ["web-us-dfw"]);
    assert_eq!(world.said("web", "Available").1, "NoAvailablePlacements", "and the status is written");
    assert_eq!(history(&world), Value::Null);
    world.project.clear_fault(fault);
    until("it is recorded", || current(&world) == "1").await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w10_an_edit_of_the_annotation_is_put_right() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    world.patch("web", &json!({"metadata": {"annotations": {CURRENT_REVISION: "0"}}}));
    quiet(5).await;
    assert_eq!((current(&world), history(&world).as_object().unwrap().len()), (json!("1"), 1));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w10_a_history_that_stands_before_its_workload_is_continued() {
    let world = World::new();
    let entry = json!({"rev": 7, "spec": json!({"template": template("nginx:0")}).to_string()});
    let stands = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"namespace": SPACE, "name": revision_history("web").unwrap()},
        "data": {"7": entry.to_string()},
    });
    world.project.put(stands).unwrap();
    let run = world.run();
    quiet(5).await;
    world.put("web", &["DFW"]);
    quiet(5).await;
    assert_eq!(current(&world), "8");
    let history = history(&world);
    assert_eq!(history.as_object().unwrap().keys().collect::<Vec<_>>(), ["7", "8"]);
    assert_eq!(history["7"], entry.to_string(), "what it held stays");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w10_of_a_watch_that_lags_the_newest_template_is_recorded_and_no_other() {
    let world = World::new();
    let run = world.run();
    quiet(5).await;
    run.suspend(&plane_name("alpha"), true);
    world.put("web", &["DFW"]);
    quiet(5).await;
    world.project.fault(Fault::Hang.on("watch", "workloads"));
    world.patch("web", &json!({"spec": {"template": template("nginx:2")}}));
    run.suspend(&plane_name("alpha"), false);
    until("it is recorded", || !history(&world).is_null()).await;
    quiet(60).await;
    let history = history(&world);
    let entries: Vec<Value> = history
        .as_object()
        .unwrap()
        .values()
        .map(|it| serde_json::from_str(it.as_str().unwrap()).unwrap())
        .collect();
    let images: Vec<_> = entries.iter().map(|it| it["image"].clone()).collect();
    assert_eq!(images, ["nginx:2"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w10_i11_a_history_that_cannot_be_written_is_told_once_and_holds_nothing_up() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    // As of a ConfigMap that was made immutable.
    let fault = world.project.fault(Fault::Status(422).on("update", "configmaps"));
    world.patch("web", &json!({"spec": {"template": template("nginx:2")}}));
    quiet(1200).await;
    assert_eq!(world.wd("web-us-dfw").unwrap()["spec"]["template"], template("nginx:2"));
    let told = event_notes(&world.project, "RevisionNotRecorded");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("compute.datumapis.com-revision-history.web"), "{told:?}");
    let events = world.project.list("events.events.k8s.io");
    let event = events.iter().find(|it| it["reason"] == "RevisionNotRecorded").unwrap();
    assert_eq!(
        (&event["regarding"]["name"], event["series"]["count"].as_i64()),
        (&json!("web"), None),
        "once"
    );
    world.patch("web", &json!({"spec": {"template": template("nginx:3")}}));
    world.project.clear_fault(fault);
    until("it is recorded", || history(&world)["2"].as_str().is_some_and(|it| it.contains("nginx:3"))).await;
    run.stop().await;
}

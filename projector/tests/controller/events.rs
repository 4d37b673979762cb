//! U3: what a cell reports of an Instance becomes Events on its projection, each transition once.

use fedhub_fake_apiserver::Fault;
use serde_json::{Value, json};

use crate::controller::support::*;

/// The Events on the projections of `alpha`, each as often as it was recorded: object, type, reason and note.
fn recorded(world: &World) -> Vec<[String; 4]> {
    let text =
        |event: &Value, at: &str| event.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
    let all = world.alpha.list("events.events.k8s.io").into_iter();
    let recorded = |e: Value| {
        let count = usize::try_from(e["series"]["count"].as_u64().unwrap_or(1)).unwrap();
        let recorded = ["/regarding/name", "/type", "/reason", "/note"].map(|at| text(&e, at));
        std::iter::repeat_n(recorded, count)
    };
    all.flat_map(recorded).collect()
}

fn reasons(world: &World) -> Vec<String> {
    recorded(world).into_iter().map(|[_, _, reason, _]| reason).collect()
}

/// The cell says that of `wd-0`.
fn say(world: &World, status: &str, reason: &str, message: &str) {
    let ready = json!({
        "type": "Ready", "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-02T00:00:00Z",
    });
    world.hub.patch_status("Instance", NS_A, "wd-0", &json!({"conditions": [ready]})).unwrap();
}

fn shows(world: &World, message: &str) -> bool {
    let projection = world.projection("wd-0").unwrap_or_default();
    projection["status"]["conditions"][0]["message"] == message
}

#[tokio::test(start_paused = true)]
async fn u3_a_turn_in_the_cell_is_told_once_on_the_projection_and_not_after_a_restart() {
    let world = World::new();
    world.put_instance(NS_A, "wd-0");
    say(&world, "False", "PendingProgramming", "a stage");
    let run = world.run();
    until("the projection", || shows(&world, "a stage")).await;
    say(&world, "False", "ImageUnavailable", "no such image");
    until("the fault", || shows(&world, "no such image")).await;
    quiet(60).await;
    let fault = ["wd-0", "Warning", "ImageUnavailable", "no such image"].map(str::to_owned);
    assert_eq!(recorded(&world), std::slice::from_ref(&fault));
    // The provider tries it again, and says so in other words.
    for retry in 0..5 {
        let words = format!("no such image, after {retry} retries");
        say(&world, "False", "ImageUnavailable", &words);
        until("the words", || shows(&world, &words)).await;
    }
    world.gap();
    quiet(600).await;
    assert_eq!(recorded(&world), std::slice::from_ref(&fault), "never one for a retry, nor for a relist");
    run.stop().await;

    let from = position(&world.alpha);
    let run = world.run();
    quiet(600).await;
    assert_eq!(writes(&world.alpha, from), [""; 0], "not after a restart");
    say(&world, "True", "Available", "Instance is ready");
    until("its end", || reasons(&world).len() == 2).await;
    let over =
        ["wd-0", "Normal", "Available", "no longer ImageUnavailable. Instance is ready"].map(str::to_owned);
    assert!(recorded(&world).contains(&over), "{:?}", recorded(&world));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn u3_what_turned_while_nobody_looked_is_told_at_the_start() {
    let world = World::new();
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    until("the projection", || world.projection("wd-0").is_some()).await;
    run.stop_after(60).await;
    say(&world, "False", "InstanceCrashing", "exit code 1");
    let run = world.run();
    until("the fault", || shows(&world, "exit code 1")).await;
    quiet(60).await;
    assert_eq!(reasons(&world), ["InstanceCrashing"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn u3_that_all_goes_well_is_told_by_conditions_alone() {
    let world = World::new();
    world.put_instance(NS_A, "wd-0");
    say(&world, "False", "SchedulingGatesPresent", "gates");
    let run = world.run();
    for (status, reason) in [
        ("False", "PendingProgramming"),
        ("True", "Available"),
        ("False", "Terminating"),
        ("True", "Available"),
    ] {
        say(&world, status, reason, reason);
        until("the projection", || shows(&world, reason)).await;
    }
    quiet(60).await;
    assert_eq!(recorded(&world), [[""; 4]; 0]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn u3_an_event_that_the_plane_refuses_is_counted_and_holds_nothing_up() {
    let world = World::new();
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    until("the projection", || world.projection("wd-0").is_some()).await;
    let id = world.alpha.fault(Fault::Status(403).on("create", "events"));
    say(&world, "False", "ImageUnavailable", "no such image");
    until("the fault", || shows(&world, "no such image")).await;
    quiet(60).await;
    let dropped = |reason| run.metrics.events_not_stored.with_label_values(&[reason]).get();
    assert_eq!((dropped("forbidden"), dropped("queue_full")), (1, 0));
    world.alpha.clear_fault(id);
    say(&world, "False", "ImageUnavailable", "no such image at all");
    quiet(60).await;
    assert_eq!(recorded(&world), [[""; 4]; 0], "it is not recorded later: its condition says it");
    run.stop().await;
}

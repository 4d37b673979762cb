//! F9, I3: whatever holds a finalizer is shown where the user looks, with the words of who refuses.

use fedhub_api::conditions::{find, said};
use fedhub_fake_apiserver::{ApiServer, Fault};
use fedhub_planes::Settings;
use serde_json::{Value, json};

use crate::controller::support::*;

/// `alpha`'s WD, on which its cell has reported that all is well.
async fn applied(world: &World) -> Run {
    let run = world.federated().await;
    let mut status = reported(1);
    let conditions = status["conditions"].as_array_mut().unwrap();
    let mut ready = conditions[0].clone();
    ready["type"] = json!("ReplicasReady");
    conditions.push(ready);
    world.report(WD, &status);
    until("the condition", || federated(&world.wd(WD).unwrap()).is_some_and(|it| it.1 == "Applied")).await;
    run
}

fn condition(wd: &Value, kind: &str) -> (String, String, String) {
    let (status, reason, message) = said(find(&wd["status"], kind).unwrap());
    (status.to_owned(), reason.to_owned(), message.to_owned())
}

#[tokio::test(start_paused = true)]
async fn f9_i3_a_plane_that_refuses_is_named_with_its_answer_and_nothing_stands_as_true() {
    let on_hub = |verb| (verb, "hub_refuses", "on the hub", "look into the federation hub");
    let on_project = |verb| (verb, "project_refuses", "on the project alpha", "let fedhub write");
    for (code, (verb, label, plane, remedy)) in [
        (403, on_hub("delete")),
        (422, on_hub("update")),
        (403, on_project("patch")),
        (422, on_project("patch")),
        // So an API server answers for a webhook that fails.
        (500, on_project("patch")),
    ] {
        let world = World::new();
        let run = applied(&world).await;
        let server: &ApiServer = if label == "hub_refuses" { &world.hub } else { &world.alpha };
        let id = server.fault(Fault::Status(code).on(verb, "workloaddeployments"));
        world.delete(WD);
        quiet(60).await;
        let wd = world.wd(WD).expect("the finalizer stays");
        let (status, reason, message) = condition(&wd, "Available");
        assert_eq!((&*status, &*reason), ("False", "CleanupHeld"), "{code} {label}");
        assert!(message.contains(&format!("failed to {verb} workloaddeployments {plane}")), "{message}");
        assert!(message.contains(remedy), "{message}");
        for kind in ["ReplicasReady", "Federated"] {
            let (status, reason, _) = condition(&wd, kind);
            assert_eq!((&*status, &*reason), ("Unknown", "CleanupHeld"), "{code} {label} {kind}");
        }
        let notes = event_notes(&world.alpha, "CleanupHeld");
        assert!(notes.len() == 1 && notes[0].contains(plane), "told once: {notes:?}");
        assert_eq!(run.held(label), 1, "{code} {label}");
        server.clear_fault(id);
        until("the WD to go", || world.wd(WD).is_none()).await;
        assert_eq!((run.held(label), world.hub_wd(WD)), (0, None), "{code} {label}");
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn f9_i7_a_refusal_that_lasts_is_written_once() {
    let world = World::new();
    let run = applied(&world).await;
    world.alpha.fault(Fault::Status(403).on("patch", "workloaddeployments"));
    world.delete(WD);
    quiet(60).await;
    let from = world.positions();
    quiet(3600).await;
    let writes = world.writes(from)[1].clone();
    assert!(writes.iter().all(|write| write.starts_with("patch ")), "the tries alone: {writes:?}");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i3_a_conflict_or_a_plane_that_is_away_is_no_refusal() {
    for fault in [Fault::Status(409), Fault::Status(503), Fault::Status(429), Fault::Disconnect] {
        let world = World::new();
        let run = applied(&world).await;
        world.alpha.fault(fault.on("patch", "workloaddeployments"));
        world.delete(WD);
        quiet(600).await;
        assert_eq!(run.held("project_refuses"), 0, "{fault:?}");
        assert!(event_notes(&world.alpha, "CleanupHeld").is_empty(), "{fault:?}");
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn i8_an_event_that_a_plane_does_not_take_holds_no_worker() {
    let world = World::new();
    let run = world.run_sized(world.hub.client(), Settings { seed: 7, ..Settings::default() }, 1, 1);
    until("both WDs to be federated", || {
        world.hub_wd(WD).is_some() && world.hub_wd_of(&world.beta, WD).is_some()
    })
    .await;
    world.hub.fault(Fault::Status(403).on("delete", "workloaddeployments"));
    world.alpha.fault(Fault::Hang.on("create", "events"));
    world.delete(WD);
    until("the finalizer to be held", || run.held("hub_refuses") == 1).await;
    put_wd(&world.beta, "other", "DFW");
    quiet(2).await;
    assert!(world.hub_wd_of(&world.beta, "other").is_some(), "the only worker is free");
    run.stop().await;
}

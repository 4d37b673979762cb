//! U2, F10: the condition `Federated`, and the Events of its turns.

use std::time::Duration;

use fedhub_api::conditions::{find, said};
use fedhub_core::names::LOST;
use fedhub_core::object::Kind;
use fedhub_engine::Outcome;
use fedhub_fake_apiserver::Fault;
use fedhub_planes::Settings;
use fedhub_planes::transport::HeaderTimeoutLayer;
use fedhub_testing::HEADERS;
use serde_json::{Value, json};
use tower::{BoxError, Layer, ServiceExt, service_fn};

use crate::controller::support::*;

fn stands(wd: &Value) -> (String, String) {
    federated(wd).unwrap_or_default()
}

fn is(wd: &Value, status: &str, reason: &str) -> bool {
    stands(wd) == (status.to_owned(), reason.to_owned())
}

#[tokio::test(start_paused = true)]
async fn u2_where_all_goes_well_it_comes_with_the_status_and_costs_no_write() {
    let world = World::telling();
    let run = world.federated().await;
    let from = world.positions();
    world.report(WD, &reported(1));
    until("the status", || is(&world.wd(WD).unwrap(), "True", "Applied")).await;
    quiet(600).await;
    assert_eq!(world.writes(from)[1], ["update workloaddeployments/status/web"]);
    // A new generation that is applied within the time: one write, again.
    let from = world.positions();
    world.alpha.patch("WorkloadDeployment", SPACE, WD, &json!({"spec": {"placementName": "q"}})).unwrap();
    quiet(1).await;
    let mut status = reported(1);
    status["observedGeneration"] = json!(2);
    world.report(WD, &status);
    quiet(600).await;
    assert_eq!(world.writes(from)[1], ["update workloaddeployments/status/web"]);
    let wd = world.wd(WD).unwrap();
    let condition = wd["status"]["conditions"].as_array().unwrap().iter().find(|c| c["type"] == "Federated");
    assert_eq!(condition.unwrap()["observedGeneration"], 2);
    assert_eq!(event_notes(&world.alpha, "Federated"), ["federated to city DFW"], "F10");
    assert!(event_notes(&world.alpha, "FederationFailed").is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn u2_i7_what_has_no_status_is_told_once_after_five_seconds_and_not_after_a_restart() {
    let world = World::telling();
    let from = world.positions();
    let run = world.run();
    quiet(4).await;
    assert_eq!(federated(&world.wd(WD).unwrap()), None);
    until("the condition", || is(&world.wd(WD).unwrap(), "Unknown", "AwaitingCell")).await;
    quiet(240).await;
    let status = |writes: &[Vec<String>; 3]| writes[1].iter().filter(|w| w.contains("/status/")).count();
    assert_eq!(status(&world.writes(from)), 1);
    run.stop().await;
    let from = world.positions();
    let run = world.run();
    quiet(240).await;
    assert_eq!(world.writes(from), nothing());
    let read = world.asked(from).concat().into_iter().filter(|it| it.starts_with("get workloaddeployments"));
    assert_eq!(read.collect::<Vec<_>>(), [""; 0], "its digest says that it is in order");
    run.stop().await;
}

/// What is published at one moment is in the way of what users do then (I8).
#[tokio::test(start_paused = true)]
async fn u2_i8_what_came_one_after_the_other_is_told_one_after_the_other() {
    let world = World::telling();
    let run = world.federated().await;
    quiet(60).await;
    let names: Vec<_> = (0..20).map(|n| format!("spread-{n}")).collect();
    for name in &names {
        put_wd(&world.alpha, name, "DFW");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let told = || names.iter().filter(|name| federated(&world.wd(name).unwrap()).is_some()).count();
    let mut before = told();
    let mut most = 0;
    while before < names.len() {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let now = told();
        (before, most) = (now, most.max(now - before));
    }
    assert!(most <= 3, "{most} of 20 at one moment");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn u2_f10_while_the_hub_hangs_every_wd_that_waits_says_so_and_is_told_once() {
    for fault in [Fault::Hang, Fault::Disconnect, Fault::Status(503)] {
        let world = World::telling();
        // With fewer turns those who try the hub leave none to the others for long.
        let run = world.run_sized(client(&world.hub), Settings { seed: 7, ..Settings::default() }, 64, 16);
        until("both WDs to be federated", || {
            world.hub_wd(WD).is_some() && world.hub_wd_of(&world.beta, WD).is_some()
        })
        .await;
        world.report(WD, &reported(1));
        quiet(60).await;
        let rested = world.wd(WD).unwrap();
        let id = world.hub.fault(fault);
        let names: Vec<_> = (0..60).map(|n| format!("waits-{n}")).collect();
        for name in &names {
            put_wd(&world.alpha, name, "DFW");
        }
        quiet(60).await;
        for name in &names {
            let wd = world.wd(name).unwrap();
            assert!(is(&wd, "False", "HubUnreachable"), "{fault:?} {name}: {wd}");
        }
        assert_eq!(world.wd(WD).unwrap(), rested, "what is in its cell needs nothing of the hub");
        assert_eq!(event_notes(&world.alpha, "FederationFailed").len(), names.len(), "{fault:?}");
        quiet(600).await;
        assert_eq!(event_notes(&world.alpha, "FederationFailed").len(), names.len(), "never one for a retry");
        world.hub.clear_fault(id);
        until("all to recover", || {
            names.iter().all(|name| is(&world.wd(name).unwrap(), "Unknown", "AwaitingCell"))
        })
        .await;
        assert_eq!(event_notes(&world.alpha, "FederationRecovered").len(), names.len(), "{fault:?}");
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn u2_f10_what_is_no_trouble_is_told_after_the_work_and_of_every_wd() {
    let world = World::telling();
    let run = world.federated().await;
    quiet(60).await;
    let from = world.positions();
    let before = event_notes(&world.alpha, "Federated").len();
    let id = world.hub.fault(Fault::Slow(Duration::from_secs(1)).on("create", "workloaddeployments"));
    let names: Vec<_> = (0..60).map(|n| format!("many-{n}")).collect();
    for name in &names {
        put_wd(&world.alpha, name, "DFW");
    }
    quiet(15).await;
    let on_hub = names.iter().filter(|name| world.hub_wd(name).is_some()).count();
    assert!((5..55).contains(&on_hub), "{on_hub}");
    assert_eq!(event_notes(&world.alpha, "Federated").len(), before);
    let writes = world.writes(from);
    assert!(writes[1].iter().all(|write| write.starts_with("patch ")), "marks alone: {:?}", writes[1]);
    world.hub.clear_fault(id);
    until("all conditions", || {
        names.iter().all(|name| is(&world.wd(name).unwrap(), "Unknown", "AwaitingCell"))
    })
    .await;
    until("the Events", || event_notes(&world.alpha, "Federated").len() == before + names.len()).await;
    quiet(600).await;
    assert_eq!(event_notes(&world.alpha, "Federated").len(), before + names.len());
    run.stop().await;
}

/// More comes all the time, as much as is done.
#[tokio::test(start_paused = true)]
async fn u2_a_plane_that_is_always_behind_is_told_after_a_minute() {
    let world = World::telling();
    let run = world.run_sized(world.hub.client(), Settings::default(), 4, 1);
    until("the first", || world.hub_wd(WD).is_some()).await;
    quiet(60).await;
    world.hub.fault(Fault::Slow(Duration::from_secs(1)).on("create", "workloaddeployments"));
    for n in 0..20 {
        put_wd(&world.alpha, &format!("many-{n}"), "DFW");
    }
    let told = |all: usize| (0..all).any(|n| federated(&world.wd(&format!("many-{n}")).unwrap()).is_some());
    for n in 20..120 {
        put_wd(&world.alpha, &format!("many-{n}"), "DFW");
        quiet(1).await;
        if n == 70 {
            assert!(!told(n), "the work goes first");
        }
    }
    assert!(told(120));
    assert!(world.hub_wd("many-119").is_none(), "and that while others still wait for their turn");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn u2_what_is_no_trouble_waits_for_those_who_make_wds_too() {
    let world = World::telling();
    let run = world.federated().await;
    let key = run.planes.engaged(&plane_name("alpha")).unwrap().key(Kind::Workload, SPACE, WD);
    run.sources.add(key.clone(), &key.plane);
    quiet(50).await;
    assert_eq!(federated(&world.wd(WD).unwrap()), None);
    assert!(event_notes(&world.alpha, "Federated").is_empty());
    let beta = world.beta.get("WorkloadDeployment", SPACE, WD).unwrap();
    assert!(is(&beta, "Unknown", "AwaitingCell"), "another plane does not wait: {beta}");
    let job = run.sources.next().await.unwrap();
    run.sources.done(&job, Outcome::Unchanged);
    until("the condition", || is(&world.wd(WD).unwrap(), "Unknown", "AwaitingCell")).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn u2_what_is_forbidden_names_verb_resource_and_plane() {
    let world = World::telling();
    world.hub.fault(Fault::Status(403).on("create", "workloaddeployments"));
    let run = world.run();
    until("the condition", || is(&world.wd(WD).unwrap(), "False", "Forbidden")).await;
    let notes = event_notes(&world.alpha, "FederationFailed");
    assert_eq!(notes.len(), 1);
    assert!(notes[0].starts_with("forbidden: failed to create workloaddeployments on the hub"), "{notes:?}");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn u2_a_refusal_is_the_condition_too_in_the_same_write() {
    let world = World::telling();
    let run = world.federated().await;
    put_wd(&world.alpha, "bad", "New York");
    let from = world.positions();
    until("the answer", || is(&world.wd("bad").unwrap(), "False", "InvalidCityCode")).await;
    quiet(60).await;
    assert_eq!(world.writes(from)[1].iter().filter(|w| w.contains("/status/bad")).count(), 1);
    assert!(event_notes(&world.alpha, "FederationFailed")[0].starts_with("invalid: "));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn u2_c11_a_cell_that_karmada_does_not_reach_is_named_and_since_when() {
    let world = World::telling();
    let run = world.federated().await;
    world.report(WD, &reported(1));
    quiet(60).await;
    let ready = |status: &str| json!({"conditions": [{"type": "Ready", "status": status, "lastTransitionTime": "2026-01-05T00:00:00Z"}]});
    let from = world.positions();
    world.hub.patch_status("Cluster", "", "cell-1", &ready("False")).unwrap();
    quiet(2).await;
    world.hub.patch_status("Cluster", "", "cell-1", &ready("True")).unwrap();
    quiet(240).await;
    assert_eq!(world.writes(from), nothing(), "a short outage is not reported");
    world.hub.patch_status("Cluster", "", "cell-1", &ready("False")).unwrap();
    until("the condition", || is(&world.wd(WD).unwrap(), "False", "CellUnreachable")).await;
    assert!(
        event_notes(&world.alpha, "FederationFailed")[0]
            .contains("cell-1 has not been ready since 2026-01-05")
    );
    let available = || {
        let wd = world.wd(WD).unwrap();
        let (status, reason, _) = said(find(&wd["status"], "Available").unwrap());
        (status.to_owned(), reason.to_owned())
    };
    assert_eq!(available(), ("Unknown".to_owned(), "CellUnreachable".to_owned()));
    let from = world.positions();
    quiet(240).await;
    assert_eq!(world.writes(from), nothing(), "I7: it stands");
    world.hub.patch_status("Cluster", "", "cell-1", &ready("True")).unwrap();
    until("the condition", || is(&world.wd(WD).unwrap(), "True", "Applied")).await;
    assert_eq!(available().0, "True");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn u2_c11_a_cell_that_is_down_or_back_since_before_a_restart_is_told_of() {
    let world = World::telling();
    let run = world.federated().await;
    world.report(WD, &reported(1));
    quiet(60).await;
    run.stop().await;
    let ready = |status: &str| json!({"conditions": [{"type": "Ready", "status": status, "lastTransitionTime": "2026-01-05T00:00:00Z"}]});
    world.hub.patch_status("Cluster", "", "cell-1", &ready("Unknown")).unwrap();
    let run = world.run();
    until("the condition", || is(&world.wd(WD).unwrap(), "False", "CellUnreachable")).await;
    run.stop().await;
    world.hub.patch_status("Cluster", "", "cell-1", &ready("True")).unwrap();
    let run = world.run();
    until("the condition", || is(&world.wd(WD).unwrap(), "True", "Applied")).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c11_a_cell_that_is_declared_lost_is_told_of_with_whose_job_it_is() {
    let world = World::telling();
    let run = world.federated().await;
    world.report(WD, &reported(1));
    quiet(60).await;
    let declare = |value: &str| {
        let lost = json!({"metadata": {"annotations": {LOST: value}}});
        world.hub.patch("Cluster", "", "cell-1", &lost).unwrap();
    };
    let from = world.positions();
    declare("yesterday");
    quiet(240).await;
    assert_eq!(world.writes(from), nothing(), "no time is no declaration");
    declare("2025-12-30T00:00:00Z");
    until("the condition", || is(&world.wd(WD).unwrap(), "False", "CellUnreachable")).await;
    let failed = event_notes(&world.alpha, "FederationFailed");
    assert!(
        failed[0].contains("cell-1 is lost since 2025-12-30") && failed[0].contains("another city"),
        "{failed:?}"
    );
    run.stop().await;
}

/// A line to the hub on which creates of `alpha`'s WDs break off, and those of others take their time.
fn broken_for_alpha(world: &World) -> kube::Client {
    let hub = world.hub.service();
    let path = format!("/namespaces/{}/workloaddeployments", hub_space(&world.alpha));
    let service = service_fn(move |request: http::Request<kube::client::Body>| {
        let hub = hub.clone();
        let is_of_alpha = request.uri().path().ends_with(&path);
        async move {
            let is_create = request.method() == http::Method::POST;
            if is_create && is_of_alpha {
                return Err(BoxError::from("broken"));
            }
            if is_create && request.uri().path().ends_with("/workloaddeployments") {
                tokio::time::sleep(Duration::from_secs(8)).await;
            }
            hub.oneshot(request).await
        }
    });
    kube::Client::new(HeaderTimeoutLayer::new(HEADERS).layer(service), "default")
}

#[tokio::test(start_paused = true)]
async fn u2_i8_what_the_hub_fails_on_for_one_tenant_is_no_word_about_another() {
    let world = World::telling();
    let run = world.run_over(broken_for_alpha(&world));
    until("the condition", || is(&world.wd(WD).unwrap(), "False", "HubUnreachable")).await;
    let beta = || world.beta.get("WorkloadDeployment", SPACE, WD).unwrap();
    until("the other plane's", || is(&beta(), "Unknown", "AwaitingCell")).await;
    quiet(60).await;
    assert!(event_notes(&world.beta, "FederationFailed").is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn u2_f8_a_restart_before_the_first_condition_forgets_none() {
    let world = World::telling();
    world.federated().await.stop().await;
    assert_eq!(federated(&world.wd(WD).unwrap()), None);
    world.alpha.fault(Fault::Slow(Duration::from_secs(20)).on("list", "instances"));
    let run = world.run();
    until("the condition", || is(&world.wd(WD).unwrap(), "Unknown", "AwaitingCell")).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i3_a_deletion_that_waits_for_the_hub_says_so() {
    let world = World::telling();
    let run = world.run_over(client(&world.hub));
    until("the WD to be federated", || world.hub_wd(WD).is_some()).await;
    quiet(60).await;
    let id = world.hub.fault(Fault::Hang);
    world.delete(WD);
    until("the condition", || reason(&world.wd(WD).unwrap()).as_deref() == Some("CleanupHeld")).await;
    until("the other one", || is(&world.wd(WD).unwrap(), "False", "HubUnreachable")).await;
    assert_eq!(run.held("hub_unreachable"), 1);
    assert_eq!(event_notes(&world.alpha, "CleanupHeld").len(), 1);
    world.hub.clear_fault(id);
    until("the WD to go", || world.wd(WD).is_none()).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn u2_what_is_being_deleted_on_the_hub_is_told_where_it_does_not_go() {
    let held = json!({"metadata": {"finalizers": ["example.com/held"]}});
    let free = json!({"metadata": {"finalizers": null}});
    for (kind, words) in [
        ("Namespace", "the namespace of this WorkloadDeployment"),
        ("PropagationPolicy", "the PropagationPolicy of this city"),
        ("WorkloadDeployment", "the former WorkloadDeployment of this name"),
    ] {
        let world = World::telling();
        let run = world.federated().await;
        let space = hub_space(&world.alpha);
        let (namespace, name) = match kind {
            "Namespace" => ("", &*space),
            "PropagationPolicy" => (&*space, "city-dfw"),
            _ => (&*space, WD),
        };
        world.hub.patch(kind, namespace, name, &held).unwrap();
        quiet(60).await;
        world.hub.delete(kind, namespace, name).unwrap();
        let message = || {
            let wd = world.wd(WD).unwrap();
            let (status, reason, message) = said(find(&wd["status"], "Federated").unwrap());
            (status == "Unknown" && reason == "Pending").then(|| message.to_owned())
        };
        until("it to be told", || message().is_some_and(|it| it.contains(words))).await;
        assert!(message().unwrap().ends_with("by the platform operator if this lasts"), "{:?}", message());
        let from = world.positions();
        quiet(600).await;
        assert_eq!(world.writes(from)[1], Vec::<String>::new(), "{kind}: told once");
        world.hub.patch(kind, namespace, name, &free).unwrap();
        until("it to be federated again", || is(&world.wd(WD).unwrap(), "Unknown", "AwaitingCell")).await;
        assert!(event_notes(&world.alpha, "FederationFailed").is_empty(), "{kind}: nothing has failed");
        run.stop().await;
    }
}

//! The daily round without quota: an Instance comes to life and goes on; nothing is written twice.

use fedhub_core::names::SUSPENDED;
use fedhub_fake_apiserver::Fault;
use serde_json::json;

use crate::instance_controller::support::*;

#[tokio::test(start_paused = true)]
async fn c9_an_instance_without_quota_costs_one_write_for_each_turn_and_no_read() {
    let world = World::new();
    let run = world.run();
    quiet(5).await;
    let from = position(&world.cell);
    world.put_instance("wd-0", &[]);
    quiet(60).await;
    assert_eq!(asked(&world.cell, from), ["update instances/status/wd-0"], "all at once");
    assert_eq!(world.reason("wd-0", "QuotaGranted"), "QuotaDisabled");
    assert_eq!(world.says("wd-0", "QuotaGranted").0, "True");
    assert_eq!(world.reason("wd-0", "Ready"), "PendingProgramming");

    let from = position(&world.cell);
    world.run_an_instance("wd-0");
    quiet(60).await;
    assert_eq!(asked(&world.cell, from), ["update instances/status/wd-0"]);
    assert_eq!(world.says("wd-0", "Ready").0, "True");
    assert_eq!(events(&world.cell, from), [("Available".to_owned(), "Instance is ready".to_owned())]);

    let from = position(&world.cell);
    world.provide("wd-0", "Available", "False", "ImageUnavailable", "no such image");
    quiet(60).await;
    let (status, reason, message) = world.says("wd-0", "Ready");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "ImageUnavailable"));
    assert!(message.starts_with("no such image. Action required by the user: check the image"), "{message}");
    assert_eq!(events(&world.cell, from)[0].0, "ImageUnavailable");
    assert_eq!(events(&world.cell, from).len(), 1);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c9_an_instance_that_is_ready_in_a_moment_costs_one_status_write() {
    let world = World::new();
    let run = world.run();
    quiet(5).await;
    let from = position(&world.cell);
    world.put_instance("wd-0", &[]);
    world.provide("wd-0", "Programmed", "True", "Programmed", "");
    world.provide("wd-0", "Available", "False", "Starting", "it starts");
    quiet(1).await;
    assert!(asked(&world.cell, from).is_empty(), "{:?}", asked(&world.cell, from));
    world.provide("wd-0", "Available", "True", "Available", "");
    quiet(60).await;
    assert_eq!(world.says("wd-0", "Ready").0, "True");
    assert_eq!(asked(&world.cell, from), ["update instances/status/wd-0"]);
    assert_eq!(events(&world.cell, from).len(), 1);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c6_a_gate_goes_in_one_patch_once_the_status_that_opens_it_stands() {
    let world = World::new();
    let run = world.run();
    quiet(5).await;
    let from = position(&world.cell);
    world.put_instance("wd-0", &["Quota", "Odd"]);
    quiet(60).await;
    // Quota was on when it was made. The second patch would be one too many, and so would a second status.
    assert_eq!(asked(&world.cell, from), ["update instances/status/wd-0", "patch instances/wd-0"]);
    let instance = world.instance("wd-0");
    assert_eq!(gates(&instance), ["Odd"], "I9: a foreign gate stays");
    assert_eq!(instance["metadata"]["generation"], 2);
    let granted =
        instance["status"]["conditions"].as_array().unwrap().iter().find(|c| c["type"] == "QuotaGranted");
    assert_eq!(granted.unwrap()["observedGeneration"], 1, "that of which it was said");
    assert_eq!(world.says("wd-0", "Ready").2, "Scheduling gates present: Odd. No action required");

    world
        .cell
        .patch("Instance", NS, "wd-0", &json!({"spec": {"controller": {"schedulingGates": null}}}))
        .unwrap();
    quiet(5).await;
    let instance = world.instance("wd-0");
    let granted =
        instance["status"]["conditions"].as_array().unwrap().iter().find(|c| c["type"] == "QuotaGranted");
    assert_eq!(granted.unwrap()["observedGeneration"], 3, "along with the next news");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c6_a_gate_waits_for_a_verdict_on_the_generation_that_stands() {
    let world = World::new();
    world.put_instance("wd-0", &["Quota"]);
    let mut granted =
        condition("QuotaGranted", "True", "QuotaDisabled", "Quota is not enforced in this cell");
    granted["observedGeneration"] = json!(1);
    world.cell.patch_status("Instance", NS, "wd-0", &json!({"conditions": [granted]})).unwrap();
    world.cell.patch("Instance", NS, "wd-0", &json!({"spec": {"changed": true}})).unwrap();
    let from = position(&world.cell);
    let run = world.run();
    quiet(60).await;
    assert_eq!(asked(&world.cell, from), ["update instances/status/wd-0", "patch instances/wd-0"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_suspended_deployment_suspends_its_own_instances() {
    let world = World::new();
    world.put_wd("other");
    world.put_instance("wd-0", &[]);
    world.put_instance("other-0", &[]);
    // By its name it is `wd`'s, but it was made by an earlier one (C3).
    world.put_instance("wd-1", &[]);
    let earlier = json!({"metadata": {"ownerReferences": [{"apiVersion": API, "kind": "WorkloadDeployment", "name": "wd", "uid": "earlier", "controller": true}]}});
    world.cell.set_garbage_collection(false);
    world.cell.patch("Instance", NS, "wd-1", &earlier).unwrap();
    let run = world.run();
    quiet(5).await;
    let from = position(&world.cell);
    let annotate = |value| {
        let patch = json!({"metadata": {"annotations": {SUSPENDED: value}}});
        world.cell.patch("WorkloadDeployment", NS, "wd", &patch).unwrap();
    };
    annotate(json!("true"));
    quiet(60).await;
    assert_eq!(asked(&world.cell, from), ["update instances/status/wd-0"]);
    assert_eq!(world.reason("wd-0", "Ready"), "Suspended");
    assert_eq!(world.instance("wd-0")["status"]["suspended"], true);
    assert_eq!(events(&world.cell, from)[0].0, "Suspended");
    world.run_an_instance("wd-1");
    quiet(5).await;
    assert_eq!(world.says("wd-1", "Ready").0, "True", "C3: looked at, and not suspended");

    let from = position(&world.cell);
    world.cell.patch_status("WorkloadDeployment", NS, "wd", &json!({"replicas": 1})).unwrap();
    quiet(60).await;
    assert!(asked(&world.cell, from).is_empty(), "another change of the WD is no news");
    annotate(json!(null));
    quiet(60).await;
    assert_eq!(asked(&world.cell, from), ["update instances/status/wd-0"]);
    assert_eq!(world.instance("wd-0")["status"]["suspended"], false);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i9_what_others_say_of_an_instance_stays() {
    let world = World::new();
    world.put_instance("wd-0", &[]);
    world.run_an_instance("wd-0");
    world.provide("wd-0", "Odd", "True", "Odd", "foreign");
    let more =
        json!({"networkInterfaces": [{"assignments": {"networkIP": "10.0.0.1"}}], "unknown": {"kept": 1}});
    world.cell.patch_status("Instance", NS, "wd-0", &more).unwrap();
    let before = world.instance("wd-0");
    let run = world.run();
    quiet(60).await;
    let after = world.instance("wd-0");
    let theirs = |o: &serde_json::Value| {
        let mut status = o["status"].clone();
        status["conditions"]
            .as_array_mut()
            .unwrap()
            .retain(|c| c["type"] != "Ready" && c["type"] != "QuotaGranted");
        status
    };
    assert_eq!(theirs(&before), theirs(&after));
    assert_eq!(
        (&before["spec"], &before["metadata"]["ownerReferences"]),
        (&after["spec"], &after["metadata"]["ownerReferences"])
    );
    assert_eq!(world.says("wd-0", "Ready").0, "True");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i7_a_restart_on_an_unchanged_world_asks_and_writes_nothing() {
    let world = World::new();
    for n in 0..5 {
        world.put_instance(&format!("wd-{n}"), if n % 2 == 0 { &[] } else { &["Odd"] });
    }
    let run = world.run();
    quiet(5).await;
    world.run_an_instance("wd-0");
    // What waits for longer than it may has said so.
    quiet(900).await;
    run.stop().await;
    let before = world.cell.objects_hash();
    let from = position(&world.cell);
    let run = world.run();
    quiet(600).await;
    world.cell.compact();
    world.cell.break_watches();
    quiet(600).await;
    assert!(asked(&world.cell, from).is_empty(), "{:?}", asked(&world.cell, from));
    assert_eq!(before, world.cell.objects_hash());
    assert_eq!(run.queue.pending(), 0);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_write_that_fails_is_made_once_more_and_no_event_is_lost() {
    let world = World::new();
    world.put_instance("wd-0", &[]);
    let run = world.run();
    quiet(5).await;
    world.cell.fault(Fault::Status(503).on("update", "instances/status").times(2));
    let from = position(&world.cell);
    world.run_an_instance("wd-0");
    quiet(60).await;
    assert_eq!(world.says("wd-0", "Ready").0, "True");
    assert_eq!(asked(&world.cell, from).len(), 3);
    assert_eq!(events(&world.cell, from).len(), 1);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c9_a_network_that_somebody_has_to_mend_is_said_and_its_stages_are_not() {
    let world = World::new();
    let template = json!({"spec": {"networkInterfaces": [{"network": {"name": "default"}}]}});
    let wd = json!({"spec": {"template": template}});
    let wd = world.cell.patch("WorkloadDeployment", NS, "wd", &wd).unwrap();
    let owner = json!([{"apiVersion": API, "kind": "WorkloadDeployment", "name": "wd", "uid": uid(&wd), "controller": true}]);
    world
        .cell
        .put(json!({
            "apiVersion": "networking.datumapis.com/v1alpha", "kind": "NetworkBinding",
            "metadata": {"namespace": NS, "name": "wd-net-0", "ownerReferences": owner},
            "spec": {"network": {"name": "default"}, "location": {"name": "dfw-1"}},
        }))
        .unwrap();
    let run = world.run();
    quiet(5).await;
    let from = position(&world.cell);
    world.put_instance("wd-0", &["Network"]);
    quiet(5).await;
    assert_eq!(world.reason("wd-0", "Ready"), "NetworkProvisioning");
    let network = |reason: &str, status: &str| {
        let ready = condition("Ready", status, reason, "no such network");
        let status = json!({"conditions": [ready]});
        world.cell.patch_status("NetworkBinding", NS, "wd-net-0", &status).unwrap();
    };
    network("Pending", "False");
    quiet(5).await;
    assert_eq!(asked(&world.cell, from), ["update instances/status/wd-0"]);
    network("NetworkNotFound", "False");
    quiet(5).await;
    let (_, reason, message) = world.says("wd-0", "Ready");
    assert_eq!(reason, "NetworkNotFound");
    assert!(message.contains("Network \"default\"") && message.contains("no such network"), "{message}");

    // Its context and its subnet's claim are no WD's.
    world
        .cell
        .put(json!({
            "apiVersion": "networking.datumapis.com/v1alpha", "kind": "NetworkContext",
            "metadata": {"namespace": NS, "name": "default-dfw-1"},
            "status": {"conditions": [condition("Ready", "True", "Ready", "")]},
        }))
        .unwrap();
    world
        .cell
        .put(json!({
            "apiVersion": "networking.datumapis.com/v1alpha", "kind": "SubnetClaim",
            "metadata": {"namespace": NS, "name": "default-dfw-1-0"},
            "spec": {
                "subnetClass": "private", "ipFamily": "IPv6", "networkContext": {"name": "default-dfw-1"},
                "location": {"name": "dfw-1"},
            },
        }))
        .unwrap();
    let bound = json!({
        "networkContextRef": {"namespace": NS, "name": "default-dfw-1"},
        "conditions": [condition("Ready", "True", "NetworkContextReady", "")],
    });
    world.cell.patch_status("NetworkBinding", NS, "wd-net-0", &bound).unwrap();
    quiet(5).await;
    assert_eq!(world.reason("wd-0", "Ready"), "NetworkProvisioning");
    let context = |status: &str, reason: &str| {
        let status = json!({"conditions": [condition("Ready", status, reason, "no routes")]});
        world.cell.patch_status("NetworkContext", NS, "default-dfw-1", &status).unwrap();
    };
    context("False", "RoutesRefused");
    quiet(5).await;
    let (_, reason, message) = world.says("wd-0", "Ready");
    assert_eq!(reason, "NetworkFailedToCreate");
    assert!(message.contains("RoutesRefused: no routes") && message.contains("operator"), "{message}");
    context("True", "Ready");
    quiet(5).await;
    assert_eq!(world.reason("wd-0", "Ready"), "NetworkProvisioning");
    let full = json!({"conditions": [condition("Ready", "False", "NoAddresses", "all are in use")]});
    world.cell.patch_status("SubnetClaim", NS, "default-dfw-1-0", &full).unwrap();
    quiet(5).await;
    let (_, reason, message) = world.says("wd-0", "Ready");
    assert_eq!(reason, "NetworkFailedToCreate");
    assert!(
        message.contains("Subnet of network \"default\" (IPv6): NoAddresses: all are in use"),
        "{message}"
    );
    run.stop().await;
}

//! A WD comes to life, grows and shrinks.

use fedhub_cell::deployment_controller::DeploymentControllerConfig;
use fedhub_cell::domain::autoscaling::desired;
use fedhub_core::object::{Kind, bare};
use fedhub_fake_apiserver::until;
use serde_json::{Value, json};

use crate::deployment_controller::support::*;

#[tokio::test(start_paused = true)]
async fn c1_c2_instances_come_one_after_the_other_at_the_cost_of_the_necessary_requests() {
    let world = World::with_replicas(2);
    let run = world.run(ALONE);
    quiet(60).await;
    let status = "update workloaddeployments/status/web";
    assert_eq!(asked(&world.cell, 0), ["patch workloaddeployments/web", "create instances/web-0", status]);
    let first = world.instance("web-0");
    let metadata = &first["metadata"];
    assert_eq!(metadata["labels"]["app"], "web");
    assert_eq!(metadata["labels"]["compute.datumapis.com/workload-deployment-uid"], uid(&world.wd()));
    assert_eq!(metadata["ownerReferences"][0]["uid"], uid(&world.wd()));
    assert!(metadata["finalizers"].is_null() && first["spec"]["controller"]["schedulingGates"].is_null());

    let from = position(&world.cell);
    world.ready("web-0");
    quiet(60).await;
    assert_eq!(asked(&world.cell, from), ["create instances/web-1", status], "one step and one word of it");
    let from = position(&world.cell);
    world.ready("web-1");
    quiet(60).await;
    assert_eq!(asked(&world.cell, from), [status]);
    let wd = world.wd();
    assert_eq!(wd["metadata"]["finalizers"], json!(["compute.datumapis.com/workload-controller"]));
    for (field, value) in [
        ("replicas", json!(2)),
        ("readyReplicas", json!(2)),
        ("updatedReplicas", json!(2)),
        ("desiredReplicas", json!(2)),
        ("suspended", json!(false)),
        ("observedGeneration", wd["metadata"]["generation"].clone()),
    ] {
        assert_eq!(wd["status"][field], value, "{field}");
    }
    assert_eq!(condition(&wd, "Available")["status"], "True");

    // I7
    let from = position(&world.cell);
    quiet(600).await;
    assert!(asked(&world.cell, from).is_empty(), "{:?}", asked(&world.cell, from));
    rests_after_a_restart(&world, run, ALONE).await;
}

#[tokio::test(start_paused = true)]
async fn the_stages_of_an_instance_that_comes_up_are_reported_when_they_last() {
    let world = World::with_replicas(2);
    let run = world.run(ALONE);
    quiet(5).await;
    let status = "update workloaddeployments/status/web";
    let status_updates = |from| asked(&world.cell, from).into_iter().filter(|r| r == status).count();
    let begun = |name: &str| {
        let hash = world.instance(name)["spec"]["controller"]["templateHash"].clone();
        let programmed = json!({"type": "Programmed", "status": "True", "reason": "Programmed", "message": "",
            "lastTransitionTime": "2020-01-01T00:00:00Z"});
        let others = world.instance(name)["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let others = others.into_iter().filter(|c| c["type"] != "Programmed");
        let conditions: Vec<_> = others.chain([programmed]).collect();
        let status = json!({"controller": {"observedTemplateHash": hash}, "conditions": conditions});
        world.cell.patch_status("Instance", SPACE, name, &status).unwrap();
    };
    let from = position(&world.cell);
    world.ready("web-0");
    until("web-1", || world.names().len() == 2).await;
    begun("web-1");
    quiet(1).await;
    assert_eq!(status_updates(from), 1, "web-0 is Ready, and web-1 is there");
    world.ready("web-1");
    quiet(60).await;
    assert_eq!(status_updates(from), 2, "and web-1 is Ready");

    world.scale(3);
    until("web-2", || world.names().len() == 3).await;
    quiet(1).await;
    let from = position(&world.cell);
    begun("web-2");
    quiet(60).await;
    assert_eq!(status_updates(from), 1, "it lasts");
    assert_eq!(world.wd()["status"]["currentReplicas"], 3);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_others_wait_for_is_put_on_at_creation() {
    let world = World::with_replicas(1);
    let run = world.run(DeploymentControllerConfig {
        quota: true,
        networking: true,
        referenced_data: true,
        ..ALONE
    });
    quiet(5).await;
    let gates = |name| world.instance(name)["spec"]["controller"]["schedulingGates"].clone();
    assert_eq!(gates("web-0"), json!([{"name": "Network"}, {"name": "Quota"}]), "it refers to no data");
    let volumes = json!([{"name": "v", "configMap": {"name": "a"}}]);
    let mut refers = wd("data", 1);
    refers["spec"]["template"]["spec"]["volumes"] = volumes;
    world.cell.put(refers).unwrap();
    quiet(5).await;
    assert_eq!(gates("data-0"), json!([{"name": "Network"}, {"name": "Quota"}, {"name": "ReferencedData"}]));
    let mut suspended = wd("off", 2);
    suspended["metadata"]["annotations"] = json!({"compute.datumapis.com/suspended": "true"});
    world.cell.put(suspended).unwrap();
    quiet(5).await;
    assert_eq!(gates("off-0"), json!([{"name": "Network"}, {"name": "Quota"}, {"name": "Suspended"}]), "C6");
    assert!(world.instance("web-0")["metadata"]["finalizers"].is_null(), "C7: it waits for no hub");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c1_it_grows_and_shrinks() {
    let world = World::with_replicas(1);
    let run = world.run(ALONE);
    world.settle().await;
    world.scale(3);
    world.settle().await;
    assert_eq!(world.names(), ["web-0", "web-1", "web-2"]);
    let from = position(&world.cell);
    world.scale(1);
    world.settle().await;
    assert_eq!(world.names(), ["web-0"]);
    let deleted: Vec<_> = asked(&world.cell, from).into_iter().filter(|r| r.starts_with("delete")).collect();
    assert_eq!(deleted, ["delete instances/web-2", "delete instances/web-1"], "each once, the highest first");
    world.bend(json!({"spec": {"replicas": null, "scaleSettings": {"minReplicas": 2}}}));
    world.settle().await;
    assert_eq!(world.names(), ["web-0", "web-1"]);
    world.scale(0);
    world.settle().await;
    assert!(world.names().is_empty());
    assert_eq!(world.wd()["status"]["desiredReplicas"], 0);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c2_the_next_is_asked_to_go_when_the_last_is_gone() {
    let world = World::provided(4);
    let run = world.run(ALONE);
    world.settle().await;
    world.scale(1);
    for (names, ready) in [
        (&["web-0", "web-1", "web-2", "-web-3"][..], 3),
        (&["web-0", "web-1", "-web-2"], 2),
        (&["web-0", "-web-1"], 1),
        (&["web-0"], 1),
    ] {
        world.settle().await;
        assert_eq!(world.names(), names);
        // C12
        let wd = world.wd();
        let status = &wd["status"];
        for counter in ["replicas", "currentReplicas", "updatedReplicas", "readyReplicas"] {
            assert_eq!(status[counter], ready, "{counter} of {names:?}");
        }
        let from = position(&world.cell);
        quiet(600).await;
        assert!(asked(&world.cell, from).is_empty(), "I7: what does not go is not asked again and again");
        world.release_terminating();
    }
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c2_an_ordinal_that_is_on_its_way_out_is_made_anew_before_the_next_is_made() {
    let world = World::provided(3);
    let run = world.run(ALONE);
    world.settle().await;
    world.scale(2);
    world.settle().await;
    world.scale(5);
    world.settle().await;
    assert_eq!(world.names(), ["web-0", "web-1", "-web-2"]);
    world.release_terminating();
    quiet(5).await;
    assert_eq!(world.names(), ["web-0", "web-1", "web-2"]);
    world.settle().await;
    assert_eq!(world.names(), ["web-0", "web-1", "web-2", "web-3", "web-4"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c2_no_rollout_takes_one_while_one_too_many_is_on_its_way_out() {
    let world = World::provided(3);
    let run = world.run(ALONE);
    world.settle().await;
    let before = world.instance("web-1");
    world.bend(json!({"spec": {
        "replicas": 2, "template": {"metadata": {"annotations": {"release": "2"}}},
    }}));
    world.settle().await;
    assert_eq!(world.names(), ["web-0", "web-1", "-web-2"], "of three members two must stay");
    world.release_terminating();
    quiet(5).await;
    assert_eq!(world.names(), ["web-0", "-web-1"]);
    world.release_terminating();
    world.settle().await;
    assert_ne!(uid(&world.instance("web-1")), uid(&before));
    run.stop().await;
}

/// The Instance says itself that it is late; its WD names it.
#[tokio::test(start_paused = true)]
async fn c12_what_does_not_go_is_named_on_its_wd_and_on_one_that_is_being_deleted() {
    let world = World::provided(2);
    let run = world.run(ALONE);
    world.settle().await;
    world.scale(1);
    world.settle().await;
    world.say("web-1", "False", "TerminationDeadlineExceeded");
    quiet(5).await;
    let ready = condition(&world.wd(), "ReplicasReady");
    assert_eq!(ready["status"], "True");
    let message = ready["message"].as_str().unwrap();
    assert!(message.contains("1/1 replicas available. Instance \"web-1\": words"), "{message}");

    world.release_terminating();
    world.settle().await;
    let observed = world.wd()["status"]["observedGeneration"].clone();
    world.cell.delete("WorkloadDeployment", SPACE, WD).unwrap();
    // Karmada updates it for the WD that is created again under its name.
    world.release("another");
    quiet(5).await;
    let from = position(&world.cell);
    world.say("web-0", "False", "Terminating");
    quiet(5).await;
    assert!(asked(&world.cell, from).is_empty(), "nothing is reported yet");
    world.say("web-0", "False", "TerminationDeadlineExceeded");
    quiet(600).await;
    assert_eq!(asked(&world.cell, from), ["update workloaddeployments/status/web"]);
    let (reason, message) = world.lacks("Available");
    assert_eq!(reason, "TerminationDeadlineExceeded");
    assert!(message.contains("\"web-0\": words"), "{message}");
    assert_ne!(world.wd()["metadata"]["generation"], observed);
    assert_eq!(world.wd()["status"]["observedGeneration"], observed, "F8: no Instance ran the newer one");
    world.release_terminating();
    quiet(60).await;
    assert!(world.cell.get("WorkloadDeployment", SPACE, WD).is_none());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i9_labels_and_a_location_are_put_right_in_one_patch_and_others_left() {
    let world = World::with_replicas(1);
    let run = world.run(ALONE);
    world.settle().await;
    assert!(world.instance("web-0")["spec"]["location"].is_null(), "its location is unknown");
    run.stop().await;
    world.cell.put(location("dfw-1", "DFW")).unwrap();
    let labels = json!({"compute.datumapis.com/workload-name": "another", "mine": "yes"});
    world.cell.patch("Instance", SPACE, "web-0", &json!({"metadata": {"labels": labels}})).unwrap();

    let from = position(&world.cell);
    let run = world.run(NETWORKING);
    quiet(60).await;
    let patches: Vec<_> = asked(&world.cell, from).into_iter().filter(|r| r.starts_with("patch")).collect();
    assert_eq!(patches, ["patch instances/web-0"]);
    let instance = world.instance("web-0");
    assert_eq!(instance["spec"]["location"], json!({"name": "dfw-1"}));
    assert_eq!(instance["metadata"]["labels"]["compute.datumapis.com/workload-name"], "shop");
    assert_eq!(instance["metadata"]["labels"]["mine"], "yes");
    assert_eq!(world.wd()["status"]["location"], json!({"name": "dfw-1"}));
    run.stop().await;
}

pub fn location(name: &str, city: &str) -> Value {
    json!({
        "apiVersion": NET, "kind": "LocationBinding", "metadata": {"name": name},
        "spec": {"locationRef": {"name": name}, "topology": {"topology.datum.net/city-code": city}},
    })
}

/// Also where no admission stands before the project.
#[tokio::test(start_paused = true)]
async fn i11_c13_more_than_may_be_are_not_made_and_the_user_is_told() {
    let world = World::with_replicas(1_000_000);
    let run = world.run(ALONE);
    quiet(60).await;
    let status = &world.wd()["status"];
    assert_eq!(status["desiredReplicas"], 1000);
    let condition = fedhub_api::conditions::find(status, "Available").unwrap();
    assert_eq!(condition["reason"], "InvalidScaleSettings");
    let message = condition["message"].as_str().unwrap();
    assert!(message.starts_with("1000000 instances are asked for: no more than 1000"), "{message}");
    run.stop().await;
}

#[test]
fn replicas_are_wanted_before_the_least_number() {
    for (spec, wanted) in [
        (json!({"replicas": 3, "scaleSettings": {"minReplicas": 1}}), 3),
        (json!({"replicas": 0, "scaleSettings": {"minReplicas": 1}}), 0),
        (json!({"replicas": null, "scaleSettings": {"minReplicas": 2}}), 2),
        (json!({"replicas": -4}), 0),
        (json!({"replicas": 2_147_483_647}), 1000),
        (json!({"scaleSettings": {"minReplicas": 1001}}), 1000),
        (json!({"replicas": "x", "scaleSettings": {"minReplicas": 2}}), 2),
        (json!({}), 0),
    ] {
        let mut wd = bare(Kind::WorkloadDeployment, SPACE, WD);
        wd.data["spec"] = spec;
        assert_eq!(desired(&wd), wanted, "{wd:?}");
    }
}

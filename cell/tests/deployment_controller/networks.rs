//! Networking on: bindings, subnet claims, the gate.

use fedhub_fake_apiserver::Fault;
use serde_json::{Value, json};

use crate::deployment_controller::fabric::*;
use crate::deployment_controller::growth::location;
use crate::deployment_controller::support::*;

fn names(world: &World, kind: &str) -> Vec<String> {
    world.cell.names(kind).into_iter().map(|(_, name)| name).collect()
}

async fn in_dallas(replicas: u32) -> (World, Run<()>) {
    let world = World::with_replicas(replicas);
    world.cell.put(location("dfw-1", "DFW")).unwrap();
    let run = world.run(NETWORKING);
    quiet(60).await;
    (world, run)
}

#[tokio::test(start_paused = true)]
async fn a_network_is_bound_its_subnet_claimed_and_then_the_gate_opened() {
    let (world, run) = in_dallas(2).await;
    let status = "update workloaddeployments/status/web";
    let first = [
        "patch workloaddeployments/web",
        "create networkbindings/web-net-0",
        "create instances/web-0",
        status,
    ];
    assert_eq!(asked(&world.cell, 0), first);
    let made = binding(&world, "web-net-0");
    assert_eq!(
        made["spec"],
        json!({
            "network": {"name": "default"}, "location": {"name": "dfw-1"},
            "consumer": {"apiGroup": "compute.datumapis.com", "kind": "WorkloadDeployment", "name": "web"},
        })
    );
    assert_eq!(made["metadata"]["annotations"], json!({"other.example/hint": "slow"}), "hints travel");
    let labels =
        json!({"networking.datumapis.com/network": "default", "networking.datumapis.com/location": "dfw-1"});
    assert_eq!(made["metadata"]["labels"], labels);
    let owner = &made["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["uid"], &owner["controller"]), (&json!(uid(&world.wd())), &json!(true)));
    assert_eq!(gates(&world, "web-0"), json!([{"name": "Network"}]));
    assert_eq!(world.instance("web-0")["spec"]["location"], json!({"name": "dfw-1"}));
    assert_eq!(world.lacks("Available").0, "NetworkProvisioning");

    let from = position(&world.cell);
    bind(&world, "web-net-0");
    quiet(60).await;
    let others = |from| asked(&world.cell, from).into_iter().filter(|r| *r != status).collect::<Vec<_>>();
    assert_eq!(others(from), ["create subnetclaims/default-dfw-1-0"]);
    let claim = world.cell.get("SubnetClaim", SPACE, "default-dfw-1-0").unwrap();
    assert_eq!(
        claim["spec"],
        json!({
            "subnetClass": "private", "ipFamily": "IPv6", "networkContext": {"name": "default-dfw-1"},
            "location": {"name": "dfw-1"},
        })
    );
    let context = world.cell.get("NetworkContext", SPACE, "default-dfw-1").unwrap();
    let owner = &claim["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["uid"], &owner["controller"]), (&json!(uid(&context)), &Value::Null));
    assert_eq!(gates(&world, "web-0"), json!([{"name": "Network"}]), "not yet");

    let from = position(&world.cell);
    allot(&world, "default-dfw-1-0");
    quiet(60).await;
    assert_eq!(others(from), ["patch instances/web-0"]);
    assert!(gates(&world, "web-0").is_null());
    world.settle().await;
    assert!(world.names().contains(&"web-1".to_owned()));
    let patched = asked(&world.cell, from).into_iter().filter(|r| r.starts_with("patch")).count();
    assert_eq!(patched, 1, "what is made when its networks stand has no gate to be opened");

    rests_after_a_restart(&world, run, NETWORKING).await;
}

#[tokio::test(start_paused = true)]
async fn c9_what_the_network_service_says_is_said_on_the_wd() {
    let (world, run) = in_dallas(1).await;
    for (reason, said) in [
        ("NetworkNotFound", "NetworkNotFound"),
        ("LocationNotAvailable", "NetworkFailedToCreate"),
        ("NetworkContextNotReady", "NetworkProvisioning"),
    ] {
        let status = json!({"conditions": [says("False", reason, "in its own words")]});
        world.cell.patch_status("NetworkBinding", SPACE, "web-net-0", &status).unwrap();
        quiet(60).await;
        let (by, message) = world.lacks("Available");
        assert_eq!(by, said);
        assert!(message.contains("Network \"default\"") && message.contains("in its own words"), "{message}");
    }
    assert_eq!(gates(&world, "web-0"), json!([{"name": "Network"}]));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c9_a_refused_binding_is_said_and_holds_up_no_instance() {
    let world = World::with_replicas(1);
    world.cell.put(location("dfw-1", "DFW")).unwrap();
    let refusal = world.cell.fault(Fault::Status(403).on("create", "networkbindings"));
    let run = world.run(NETWORKING);
    quiet(600).await;
    let (reason, message) = world.lacks("Available");
    assert_eq!(reason, "NetworkFailedToCreate");
    assert!(message.contains("failed to create networkbindings"), "{message}");
    assert_eq!(world.names(), ["web-0"]);
    let written = asked(&world.cell, 0).into_iter().filter(|r| r.starts_with("update")).count();
    assert_eq!(written, 1, "I7: {:?}", asked(&world.cell, 0));
    world.cell.clear_fault(refusal);
    quiet(600).await;
    assert_eq!(names(&world, "NetworkBinding"), ["web-net-0"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_location_that_is_missing_or_elsewhere_is_said_and_noticed_when_it_changes() {
    let world = World::with_replicas(1);
    let run = world.run(NETWORKING);
    quiet(60).await;
    assert_eq!(world.lacks("Available").0, "NoMatchingLocation");
    world.cell.put(location("ord-1", "ORD")).unwrap();
    quiet(60).await;
    let (reason, message) = world.lacks("Available");
    assert_eq!(reason, "CityCodeMismatch");
    assert!(message.contains("ord-1") && message.contains("DFW"), "{message}");
    world.cell.put(location("dfw-1", "DFW")).unwrap();
    quiet(60).await;
    assert_eq!(world.lacks("Available").0, "AmbiguousServingLocation");
    assert!(names(&world, "NetworkBinding").is_empty(), "nothing is asked for in doubt");
    assert_eq!(gates(&world, "web-0"), json!([{"name": "Network"}]));
    assert!(
        world.wd()["status"]["location"].is_null() && world.instance("web-0")["spec"]["location"].is_null()
    );

    world.cell.delete("LocationBinding", "", "ord-1").unwrap();
    quiet(60).await;
    assert_eq!(names(&world, "NetworkBinding"), ["web-net-0"]);
    assert_eq!(world.instance("web-0")["spec"]["location"], json!({"name": "dfw-1"}));
    assert_eq!(world.wd()["status"]["location"], json!({"name": "dfw-1"}));
    bind(&world, "web-net-0");
    quiet(5).await;
    allot(&world, "default-dfw-1-0");
    world.settle().await;
    assert_eq!(condition(&world.wd(), "Available")["status"], "True");

    // A location that is gone takes nothing back, and what is made then is where the others are.
    world.cell.delete("LocationBinding", "", "dfw-1").unwrap();
    world.scale(2);
    world.settle().await;
    assert_eq!(world.instance("web-1")["spec"]["location"], json!({"name": "dfw-1"}));
    assert_eq!(world.wd()["status"]["location"], json!({"name": "dfw-1"}));
    assert_eq!(world.wd()["status"]["readyReplicas"], 2);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_network_that_is_not_needed_any_more_is_kept_until_no_instance_is_on_it() {
    let (world, run) = in_dallas(2).await;
    bind(&world, "web-net-0");
    quiet(5).await;
    allot(&world, "default-dfw-1-0");
    world.settle().await;
    let interfaces = json!([{"network": {"name": "other"}}]);
    world.bend(json!({"spec": {"template": {"spec": {"networkInterfaces": interfaces}}}}));
    quiet(60).await;
    let other = "web-net-0-072118227b14f983";
    assert_eq!(names(&world, "NetworkBinding"), ["web-net-0", other]);
    assert_eq!(gates(&world, "web-1"), json!([{"name": "Network"}]), "the first of the new ones");
    bind(&world, other);
    quiet(5).await;
    allot(&world, "other-dfw-1-0");
    quiet(60).await;
    assert_eq!(names(&world, "NetworkBinding"), ["web-net-0", other], "web-0 is on the old one still");
    world.settle().await;
    assert_eq!(world.wd()["status"]["readyReplicas"], 2);
    assert_eq!(names(&world, "NetworkBinding"), [other]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn two_wds_of_one_network_share_its_subnet_and_both_are_told() {
    let world = World::with_replicas(1);
    world.cell.put(wd("other", 1)).unwrap();
    world.cell.put(location("dfw-1", "DFW")).unwrap();
    let run = world.run(NETWORKING);
    quiet(60).await;
    bind(&world, "web-net-0");
    bind(&world, "other-net-0");
    quiet(60).await;
    assert_eq!(names(&world, "SubnetClaim"), ["default-dfw-1-0"]);
    allot(&world, "default-dfw-1-0");
    quiet(60).await;
    assert!(gates(&world, "web-0").is_null() && gates(&world, "other-0").is_null());
    run.stop().await;
}

/// What the network service gives a binding is anywhere, and may be another one later.
#[tokio::test(start_paused = true)]
async fn an_object_of_the_network_service_wakes_those_that_got_it_wherever_it_is() {
    let (world, run) = in_dallas(1).await;
    let made = |kind: &str, name: &str, ready: &str| {
        let status = json!({"conditions": [says(ready, "Programming", "")], "subnetRef": {"name": "s"}});
        let spec = json!({
            "networkContext": {"name": "b"}, "subnetClass": "private", "ipFamily": "IPv6",
            "location": {"name": "dfw-1"},
        });
        let metadata = json!({"namespace": "fabric", "name": name});
        let object = json!({"apiVersion": NET, "kind": kind, "metadata": metadata, "spec": spec});
        drop(world.cell.put(object).unwrap());
        drop(world.cell.patch_status(kind, "fabric", name, &status).unwrap());
    };
    let got = |context: &str| {
        let status = json!({
            "networkContextRef": {"namespace": "fabric", "name": context},
            "conditions": [says("True", "NetworkContextReady", "")],
        });
        drop(world.cell.patch_status("NetworkBinding", SPACE, "web-net-0", &status).unwrap());
    };
    for name in ["a", "b"] {
        made("NetworkContext", name, "False");
    }
    made("SubnetClaim", "c", "True");
    got("a");
    quiet(60).await;
    got("b");
    quiet(60).await;
    let reconciles = || {
        ["unchanged", "updated", "waiting"]
            .map(|outcome| run.metrics.reconciles.with_label_values(&["deployments", outcome]).get())
            .iter()
            .sum::<u64>()
    };
    let ready = json!({"conditions": [says("True", "Ready", "")]});
    let tell = |kind: &str, name: &str| drop(world.cell.patch_status(kind, "fabric", name, &ready).unwrap());
    let before = reconciles();
    tell("NetworkContext", "a");
    quiet(60).await;
    assert_eq!(reconciles(), before, "nothing got it any more");
    tell("NetworkContext", "b");
    quiet(60).await;
    assert!(reconciles() > before && !gates(&world, "web-0").is_null());
    made("Subnet", "s", "False");
    quiet(60).await;
    tell("Subnet", "s");
    quiet(60).await;
    assert!(gates(&world, "web-0").is_null());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_context_that_is_missing_is_waited_for() {
    let (world, run) = in_dallas(1).await;
    bind(&world, "web-net-0");
    world.cell.delete("NetworkContext", SPACE, "default-dfw-1").unwrap();
    quiet(60).await;
    assert!(names(&world, "SubnetClaim").is_empty());
    context(&world, "default-dfw-1", &says("True", "Ready", ""));
    quiet(60).await;
    assert_eq!(names(&world, "SubnetClaim"), ["default-dfw-1-0"]);
    run.stop().await;
}

/// C6: an Instance whose other gate is satisfied by then loses both in one patch; another's gate stays.
#[tokio::test(start_paused = true)]
async fn c6_i9_the_gate_goes_with_others_that_are_satisfied_and_foreign_ones_stay() {
    let (world, run) = in_dallas(1).await;
    let gates = json!([{"name": "Network"}, {"name": "Quota"}, {"name": "others/gate"}]);
    world
        .cell
        .patch("Instance", SPACE, "web-0", &json!({"spec": {"controller": {"schedulingGates": gates}}}))
        .unwrap();
    let generation = world.instance("web-0")["metadata"]["generation"].clone();
    let granted = json!({"type": "QuotaGranted", "status": "True", "observedGeneration": generation});
    world.cell.patch_status("Instance", SPACE, "web-0", &json!({"conditions": [granted]})).unwrap();
    bind(&world, "web-net-0");
    quiet(5).await;
    let from = position(&world.cell);
    allot(&world, "default-dfw-1-0");
    quiet(60).await;
    let patches: Vec<_> = asked(&world.cell, from).into_iter().filter(|r| r.starts_with("patch")).collect();
    assert_eq!(patches, ["patch instances/web-0"]);
    assert_eq!(
        crate::deployment_controller::fabric::gates(&world, "web-0"),
        json!([{"name": "others/gate"}])
    );
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_gate_from_before_networking_was_off_is_opened() {
    let (world, run) = in_dallas(1).await;
    run.stop().await;
    let run = world.run(ALONE);
    world.settle().await;
    assert!(gates(&world, "web-0").is_null());
    assert_eq!(world.wd()["status"]["readyReplicas"], 1);
    run.stop().await;
}

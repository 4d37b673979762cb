//! C15: a binding for each interface, and none goes before what takes its place is ready.

use serde_json::json;

use crate::deployment_controller::fabric::*;
use crate::deployment_controller::growth::location;
use crate::deployment_controller::support::*;

/// The binding that takes the place of `web-net-0` in dfw-2.
const SUBSTITUTE: &str = "web-net-0-a2e58282d326d355";

/// Names and locations of the bindings; those on their way out with a `-` before them.
fn bindings(world: &World) -> Vec<String> {
    world
        .cell
        .list("NetworkBinding")
        .iter()
        .map(|b| {
            let (name, place) = (&b["metadata"]["name"], &b["spec"]["location"]["name"]);
            let mark = if is_terminating(b) { "-" } else { "" };
            format!("{mark}{} in {}", name.as_str().unwrap(), place.as_str().unwrap())
        })
        .collect()
}

fn place(world: &World, instance: &str) -> String {
    world.instance(instance)["spec"]["location"]["name"].as_str().unwrap_or_default().to_owned()
}

/// The cell's one location is another one now.
fn moves(world: &World, from: &str, to: &str) {
    world.cell.put(location(to, "DFW")).unwrap();
    world.cell.delete("LocationBinding", "", from).unwrap();
}

/// `web` runs with two Instances in dfw-1, on a network that is ready.
async fn running() -> (World, Run<()>) {
    let world = World::with_replicas(2);
    world.cell.put(location("dfw-1", "DFW")).unwrap();
    let run = world.run(NETWORKING);
    serve(&world, |_| true).await;
    world.settle().await;
    assert_eq!(bindings(&world), ["web-net-0 in dfw-1"]);
    assert_eq!(world.wd()["status"]["readyReplicas"], 2);
    (world, run)
}

#[tokio::test(start_paused = true)]
async fn c15_a_binding_in_use_goes_when_the_new_one_is_ready_and_not_before() {
    let (world, run) = running().await;
    moves(&world, "dfw-1", "dfw-2");
    quiet(60).await;
    let both = ["web-net-0 in dfw-1".to_owned(), format!("{SUBSTITUTE} in dfw-2")];
    assert_eq!(bindings(&world), both, "the old one stays");
    assert_eq!(place(&world, "web-0"), "dfw-1", "nothing is moved to where no network is");

    // Its binding and its context are there, its subnet is not: that is not enough.
    bind(&world, SUBSTITUTE);
    quiet(60).await;
    assert_eq!(bindings(&world), both);
    let from = position(&world.cell);
    serve(&world, |_| true).await;
    assert_eq!((place(&world, "web-0"), place(&world, "web-1")), ("dfw-2".to_owned(), "dfw-2".to_owned()));
    assert_eq!(bindings(&world), [format!("{SUBSTITUTE} in dfw-2")], "one move");
    let written = asked(&world.cell, from);
    assert!(!written.iter().any(|r| r.starts_with("create networkbindings")), "{written:?}");
    let order = |request: &str| asked(&world.cell, from).iter().position(|r| r == request).unwrap();
    assert!(order("patch instances/web-1") < order("delete networkbindings/web-net-0"));
    assert_eq!(world.wd()["status"]["location"], json!({"name": "dfw-2"}));
    assert_eq!(world.wd()["status"]["readyReplicas"], 2, "nothing was restarted");
    assert!(!asked(&world.cell, from).iter().any(|r| r.starts_with("delete instances")));

    rests_after_a_restart(&world, run, NETWORKING).await;
}

#[tokio::test(start_paused = true)]
async fn c15_a_binding_that_does_not_go_is_not_waited_for() {
    let (world, run) = running().await;
    let held = json!({"metadata": {"finalizers": ["networking.example/detach"]}});
    world.cell.patch("NetworkBinding", SPACE, "web-net-0", &held).unwrap();
    moves(&world, "dfw-1", "dfw-2");
    serve(&world, |_| true).await;
    let stays = format!("{SUBSTITUTE} in dfw-2");
    assert_eq!(bindings(&world), ["-web-net-0 in dfw-1", &stays]);
    world.scale(3);
    world.settle().await;
    assert_eq!(world.wd()["status"]["readyReplicas"], 3);
    let gone = json!({"metadata": {"finalizers": null}});
    world.cell.patch("NetworkBinding", SPACE, "web-net-0", &gone).unwrap();
    serve(&world, |_| true).await;
    assert_eq!(bindings(&world), [stays]);
    // From there its name is free.
    moves(&world, "dfw-2", "dfw-3");
    serve(&world, |_| true).await;
    assert_eq!(bindings(&world), ["web-net-0 in dfw-3"]);
    assert_eq!(world.wd()["status"]["readyReplicas"], 3);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c15_there_and_back_again_leaves_what_was_there() {
    let (world, run) = running().await;
    let uid_before = uid(&binding(&world, "web-net-0"));
    moves(&world, "dfw-1", "dfw-2");
    quiet(60).await;
    moves(&world, "dfw-2", "dfw-1");
    serve(&world, |_| true).await;
    assert_eq!(bindings(&world), ["web-net-0 in dfw-1"]);
    assert_eq!(uid(&binding(&world, "web-net-0")), uid_before);
    run.stop().await;
}

/// Earlier versions made one for each network, under the first number that was free.
#[tokio::test(start_paused = true)]
async fn c15_a_binding_of_an_earlier_version_serves_on() {
    let (world, run) = running().await;
    run.stop().await;
    let mut old = binding(&world, "web-net-0");
    world.cell.delete("NetworkBinding", SPACE, "web-net-0").unwrap();
    old["metadata"] = json!({"namespace": SPACE, "name": "web-net-1", "ownerReferences": old["metadata"]["ownerReferences"]});
    world.cell.put(old.clone()).unwrap();
    // Another owner's, with a name like ours.
    old["metadata"] = json!({"namespace": SPACE, "name": "web-net-2"});
    world.cell.put(old).unwrap();
    let run = world.run(NETWORKING);
    let from = position(&world.cell);
    world.scale(3);
    world.settle().await;
    assert_eq!(bindings(&world), ["web-net-1 in dfw-1", "web-net-2 in dfw-1"]);
    assert_eq!(world.wd()["status"]["readyReplicas"], 3);
    assert!(!asked(&world.cell, from).iter().any(|r| r.contains(" networkbindings/")));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c15_each_interface_has_its_binding_and_each_family_its_subnet() {
    let world = World::with_replicas(1);
    world.cell.put(location("dfw-1", "DFW")).unwrap();
    let interfaces = json!([
        {"name": "eth0", "network": {"name": "default"}, "ipFamilies": ["IPv4", "IPv6"]},
        {"name": "eth1", "network": {"name": "default"}, "ipFamilies": ["IPv6"]},
    ]);
    world.bend(json!({"spec": {"template": {"spec": {"networkInterfaces": interfaces}}}}));
    let run = world.run(NETWORKING);
    quiet(60).await;
    assert_eq!(bindings(&world), ["web-net-0 in dfw-1", "web-net-1 in dfw-1"]);
    bind(&world, "web-net-0");
    bind(&world, "web-net-1");
    quiet(60).await;
    let claims = world.cell.list("SubnetClaim");
    let families: Vec<_> = claims.iter().map(|c| c["spec"]["ipFamily"].as_str().unwrap()).collect();
    assert_eq!(families, ["IPv4", "IPv6"], "of one context they are shared");
    allot(&world, "default-dfw-1-0");
    quiet(60).await;
    assert_eq!(
        world.instance("web-0")["spec"]["controller"]["schedulingGates"],
        json!([{"name": "Network"}])
    );
    allot(&world, "default-dfw-1-1");
    quiet(60).await;
    assert!(world.instance("web-0")["spec"]["controller"]["schedulingGates"].is_null());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c15_the_gate_waits_for_the_context_and_for_the_subnet() {
    let world = World::with_replicas(1);
    world.cell.put(location("dfw-1", "DFW")).unwrap();
    let run = world.run(NETWORKING);
    quiet(60).await;
    let gated = || !world.instance("web-0")["spec"]["controller"]["schedulingGates"].is_null();
    let said = |words: &str| {
        let (_, message) = world.lacks("Available");
        assert!(message.contains(words), "{message}");
    };
    bind_to_context(&world, "web-net-0");
    quiet(60).await;
    said("Context of network \"default\": waiting for it to be created");
    context(&world, "default-dfw-1", &says("False", "ProgrammingInProgress", "routes are on the way"));
    quiet(60).await;
    said("Context of network \"default\": ProgrammingInProgress: routes are on the way");
    assert!(world.cell.list("SubnetClaim").is_empty(), "nothing is asked of a context that is not there");
    context(&world, "default-dfw-1", &says("False", "FabricRefused", "no room"));
    quiet(60).await;
    let (reason, message) = world.lacks("Available");
    assert_eq!(reason, "NetworkFailedToCreate");
    assert!(message.contains("operator"), "C9: who has to act: {message}");
    context(&world, "default-dfw-1", &says("True", "Ready", ""));
    quiet(60).await;
    allot_subnet(&world, "default-dfw-1-0");
    quiet(60).await;
    said("Subnet of network \"default\" (IPv6): waiting for it to be created");
    subnet(&world, "default-dfw-1-0", &says("False", "NotProgrammed", "later"));
    quiet(60).await;
    assert!(gated());
    said("NotProgrammed: later");
    subnet(&world, "default-dfw-1-0", &says("True", "Ready", ""));
    quiet(60).await;
    assert!(!gated());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c15_a_family_that_the_network_does_not_carry_is_the_users_to_change() {
    let world = World::with_replicas(1);
    world.cell.put(location("dfw-1", "DFW")).unwrap();
    let interface = json!([{"network": {"name": "default"}, "ipFamilies": ["IPv4"]}]);
    world.bend(json!({"spec": {"template": {"spec": {"networkInterfaces": interface}}}}));
    let run = world.run(NETWORKING);
    quiet(60).await;
    context(&world, "default-dfw-1", &says("Unknown", "Pending", ""));
    let spec = json!({"spec": {"ipFamilies": ["IPv6"]}});
    world.cell.patch("NetworkContext", SPACE, "default-dfw-1", &spec).unwrap();
    bind(&world, "web-net-0");
    quiet(60).await;
    let (reason, message) = world.lacks("Available");
    assert_eq!(reason, "AddressFamilyNotCarried");
    assert!(message.contains("IPv4") && message.contains("in the workload's template"), "{message}");
    assert!(world.cell.list("SubnetClaim").is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c15_an_instance_is_told_its_location_without_networking_too() {
    let world = World::with_replicas(1);
    world.cell.put(location("dfw-1", "DFW")).unwrap();
    let run = world.run(ALONE);
    world.settle().await;
    assert_eq!(place(&world, "web-0"), "dfw-1");
    assert_eq!(world.wd()["status"]["location"], json!({"name": "dfw-1"}));
    moves(&world, "dfw-1", "dfw-2");
    world.settle().await;
    assert_eq!(place(&world, "web-0"), "dfw-2", "it is where its cell is");
    // Networking is off: what is in doubt blocks nothing, and takes nothing back.
    world.cell.put(location("ord-1", "ORD")).unwrap();
    world.scale(2);
    world.settle().await;
    assert_eq!(place(&world, "web-1"), "dfw-2");
    assert_eq!(world.wd()["status"]["readyReplicas"], 2);
    assert!(world.cell.list("NetworkBinding").is_empty());
    run.stop().await;
}

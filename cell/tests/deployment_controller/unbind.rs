//! C6: networking is switched off and on again.

use fedhub_fake_apiserver::Fault;
use serde_json::{Value, json};

use crate::deployment_controller::fabric::gates;
use crate::deployment_controller::growth::location;
use crate::deployment_controller::support::*;

fn bindings(world: &World) -> Vec<String> {
    world.cell.names("NetworkBinding").into_iter().map(|(_, name)| name).collect()
}

/// `web` waits for its network, on an earlier template too.
async fn waiting() -> World {
    let world = World::with_replicas(1);
    world.cell.put(location("dfw-1", "DFW")).unwrap();
    let run = world.run(NETWORKING);
    quiet(60).await;
    assert_eq!(
        (bindings(&world), gates(&world, "web-0")),
        (vec!["web-net-0".to_owned()], json!([{"name": "Network"}]))
    );
    run.stop().await;
    world
}

#[tokio::test(start_paused = true)]
async fn c6_networking_that_is_switched_off_opens_its_gate_and_gives_its_bindings_back() {
    let world = waiting().await;
    // Another owner's, and one whose WD is gone: the cell's garbage collector deletes that.
    let theirs = |name: &str, owners: Value| {
        let metadata = json!({"namespace": SPACE, "name": name, "ownerReferences": owners});
        world.cell.put(json!({"apiVersion": NET, "kind": "NetworkBinding", "metadata": metadata})).unwrap();
    };
    world.cell.set_garbage_collection(false);
    theirs("theirs", Value::Null);
    theirs(
        "web-net-9",
        json!([{"apiVersion": API, "kind": "WorkloadDeployment", "name": "web", "uid": "gone", "controller": true}]),
    );
    theirs(
        "named",
        json!([{"apiVersion": API, "kind": "WorkloadDeployment", "name": "web", "uid": uid(&world.wd())}]),
    );
    let run = world.run(ALONE);
    quiet(60).await;
    assert!(gates(&world, "web-0").is_null());
    assert_eq!(bindings(&world), ["named", "theirs", "web-net-9"]);
    run.stop().await;

    let run = world.run(NETWORKING);
    quiet(60).await;
    assert!(bindings(&world).contains(&"web-net-0".to_owned()), "it works again");
    run.stop().await;
}

/// What has not booted must not boot while its WD is suspended.
#[tokio::test(start_paused = true)]
async fn c6_networking_that_is_switched_off_opens_no_gate_of_a_suspended_wd() {
    let world = waiting().await;
    world.suspend(true);
    let run = world.run(ALONE);
    quiet(60).await;
    assert_eq!((bindings(&world), gates(&world, "web-0")), (vec![], json!([{"name": "Network"}])));
    world.suspend(false);
    quiet(60).await;
    assert!(gates(&world, "web-0").is_null());
    run.stop().await;
}

/// Its turn to be replaced may take long to come.
#[tokio::test(start_paused = true)]
async fn c6_networking_that_is_switched_off_opens_the_gate_of_an_outdated_instance_too() {
    let world = World::with_replicas(1);
    world.cell.put(location("dfw-1", "DFW")).unwrap();
    let run = world.run(ALONE);
    world.settle().await;
    run.stop().await;
    world.scale(2);
    let run = world.run(NETWORKING);
    quiet(60).await;
    let outdated = world.instance("web-1");
    assert_eq!(gates(&world, "web-1"), json!([{"name": "Network"}]));
    run.stop().await;

    world.release("2");
    world.say("web-0", "False", "Crashing");
    let run = world.run(ALONE);
    quiet(60).await;
    assert_eq!(uid(&world.instance("web-1")), uid(&outdated), "the new web-0 is not ready");
    assert!(gates(&world, "web-1").is_null());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c6_bindings_are_given_back_when_the_cell_lets_them_be_listed() {
    let world = waiting().await;
    let fault = world.cell.fault(Fault::Status(503).on("list", "networkbindings"));
    let run = world.run(ALONE);
    quiet(60).await;
    assert!(gates(&world, "web-0").is_null(), "nothing waits for that");
    world.cell.clear_fault(fault);
    quiet(600).await;
    assert!(bindings(&world).is_empty());
    run.stop().await;
}

/// Networking was never on: neither the kind nor the right to read it may be there.
#[tokio::test(start_paused = true)]
async fn c6_a_cell_without_a_network_service_has_nothing_to_give_back() {
    for code in [403, 404] {
        let world = World::with_replicas(1);
        world.cell.fault(Fault::Status(code).on("list", "networkbindings"));
        let run = world.run(ALONE);
        quiet(600).await;
        let audit = world.cell.audit();
        let lists = audit.iter().filter(|e| e.resource == "networkbindings" && e.verb == "list");
        assert_eq!(lists.count(), 1, "{code}: asked once");
        assert_eq!(world.names(), ["web-0"], "{code}");
        run.stop().await;
    }
}

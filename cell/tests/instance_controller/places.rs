//! C15: an Instance names its location, its network contexts and its addresses.

use serde_json::{Value, json};

use crate::instance_controller::support::*;

fn bind(world: &World, name: &str, network: &str, place: &str, owner: &Value) {
    let context = format!("{network}-{place}");
    let controller = json!([{"apiVersion": API, "kind": "WorkloadDeployment", "name": "wd", "uid": uid(owner), "controller": true}]);
    world
        .cell
        .put(json!({
            "apiVersion": "networking.datumapis.com/v1alpha", "kind": "NetworkBinding",
            "metadata": {"namespace": NS, "name": name, "ownerReferences": controller},
            "spec": {"network": {"name": network}, "location": {"name": place}},
            "status": {"networkContextRef": {"namespace": NS, "name": context}},
        }))
        .unwrap();
}

/// `wd-0` on the network `default`, with the location dfw-1.
fn placed(world: &World, gates: &[&str]) {
    world.put_instance("wd-0", gates);
    let interface = json!([{"name": "eth0", "network": {"name": "default"}}]);
    let spec = json!({"spec": {"networkInterfaces": interface, "location": {"name": "dfw-1"}}});
    world.cell.patch("Instance", NS, "wd-0", &spec).unwrap();
}

fn contexts(world: &World) -> Value {
    world.instance("wd-0")["status"]["networkContexts"].clone()
}

#[tokio::test(start_paused = true)]
async fn c15_an_instance_names_its_location_its_contexts_and_its_addresses() {
    let world = World::new();
    let wd = world.cell.get("WorkloadDeployment", NS, "wd").unwrap();
    bind(&world, "wd-net-0", "default", "dfw-1", &wd);
    bind(&world, "theirs", "default", "dfw-1", &json!({"metadata": {"uid": "another"}}));
    placed(&world, &["Network"]);
    let run = world.run();
    quiet(60).await;
    assert_eq!(world.instance("wd-0")["status"]["location"], json!({"name": "dfw-1"}));
    assert!(contexts(&world).is_null(), "it is attached to nothing yet");
    world
        .cell
        .patch("Instance", NS, "wd-0", &json!({"spec": {"controller": {"schedulingGates": null}}}))
        .unwrap();
    let address = json!([{"name": "eth0", "assignments": {"networkIP": "10.0.0.7"}}]);
    world.cell.patch_status("Instance", NS, "wd-0", &json!({"networkInterfaces": address})).unwrap();
    world.run_an_instance("wd-0");
    quiet(60).await;
    let here = json!([{"interface": "eth0", "namespace": NS, "name": "default-dfw-1"}]);
    assert_eq!(contexts(&world), here);
    let instance = world.instance("wd-0");
    assert_eq!(instance["status"]["networkInterfaces"], address, "I9: the provider's");

    // It moves.
    bind(&world, "wd-net-0-0", "default", "dfw-2", &wd);
    quiet(60).await;
    assert_eq!(contexts(&world), here);
    world.cell.patch("Instance", NS, "wd-0", &json!({"spec": {"location": {"name": "dfw-2"}}})).unwrap();
    quiet(60).await;
    assert_eq!(world.instance("wd-0")["status"]["location"], json!({"name": "dfw-2"}));
    assert_eq!(contexts(&world), json!([{"interface": "eth0", "namespace": NS, "name": "default-dfw-2"}]));

    // What is not known any more is not taken back, also where bindings are not watched.
    for name in ["wd-net-0", "wd-net-0-0"] {
        world.cell.delete("NetworkBinding", NS, name).unwrap();
    }
    let from = position(&world.cell);
    quiet(60).await;
    run.stop().await;
    let run = world.run();
    quiet(600).await;
    assert_eq!(asked(&world.cell, from), Vec::<String>::new(), "I7");
    assert_eq!(contexts(&world)[0]["name"], "default-dfw-2");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c15_without_networking_an_instance_names_its_location_and_addresses() {
    let world = World::new();
    placed(&world, &[]);
    let run = world.run();
    quiet(2).await;
    let address = json!([{"name": "eth0", "assignments": {"networkIP": "10.0.0.7"}}]);
    world.cell.patch_status("Instance", NS, "wd-0", &json!({"networkInterfaces": address})).unwrap();
    world.run_an_instance("wd-0");
    quiet(60).await;
    let status = world.instance("wd-0")["status"].clone();
    assert_eq!(status["location"], json!({"name": "dfw-1"}));
    assert_eq!(status["networkInterfaces"], address);
    assert!(status.get("networkContexts").is_none());
    run.stop().await;
}

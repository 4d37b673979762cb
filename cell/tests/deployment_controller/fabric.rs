//! The network service of the tests: what it makes of bindings and claims, one by one or all at once.

use serde_json::{Value, json};

use crate::deployment_controller::support::*;

pub fn binding(world: &World, name: &str) -> Value {
    world.cell.get("NetworkBinding", SPACE, name).unwrap_or_else(|| panic!("no binding {name}"))
}

pub fn gates(world: &World, instance: &str) -> Value {
    world.instance(instance)["spec"]["controller"]["schedulingGates"].clone()
}

pub fn says(status: &str, reason: &str, message: &str) -> Value {
    json!({"type": "Ready", "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-01T00:00:00Z"})
}

/// The name of the context that a binding or a claim is about.
fn context_of(binding: &Value) -> String {
    let text = |field: &str| binding["spec"][field]["name"].as_str().unwrap().to_owned();
    format!("{}-{}", text("network"), text("location"))
}

/// The context of that name, and what it says of itself.
pub fn context(world: &World, name: &str, ready: &Value) {
    let object =
        json!({"apiVersion": NET, "kind": "NetworkContext", "metadata": {"namespace": SPACE, "name": name}});
    if world.cell.get("NetworkContext", SPACE, name).is_none() {
        world.cell.put(object).unwrap();
    }
    world.cell.patch_status("NetworkContext", SPACE, name, &json!({"conditions": [ready]})).unwrap();
}

/// The binding is Ready and names its context.
pub fn bind_to_context(world: &World, name: &str) {
    let context = context_of(&binding(world, name));
    let status = json!({
        "networkContextRef": {"namespace": SPACE, "name": context},
        "conditions": [says("True", "NetworkContextReady", "")],
    });
    world.cell.patch_status("NetworkBinding", SPACE, name, &status).unwrap();
}

/// The network service makes the context of a binding, and says that both are Ready.
pub fn bind(world: &World, name: &str) {
    context(world, &context_of(&binding(world, name)), &says("True", "Ready", ""));
    bind_to_context(world, name);
}

/// The subnet of that name, and what it says of itself.
pub fn subnet(world: &World, name: &str, ready: &Value) {
    let object = json!({"apiVersion": NET, "kind": "Subnet", "metadata": {"namespace": SPACE, "name": name}});
    if world.cell.get("Subnet", SPACE, name).is_none() {
        world.cell.put(object).unwrap();
    }
    world.cell.patch_status("Subnet", SPACE, name, &json!({"conditions": [ready]})).unwrap();
}

/// The claim is Ready and names its subnet, which has its name.
pub fn allot_subnet(world: &World, claim: &str) {
    let status = json!({"subnetRef": {"name": claim}, "conditions": [says("True", "Ready", "")]});
    world.cell.patch_status("SubnetClaim", SPACE, claim, &status).unwrap();
}

/// The network service makes the subnet of a claim, and says that both are Ready.
pub fn allot(world: &World, claim: &str) {
    subnet(world, claim, &says("True", "Ready", ""));
    allot_subnet(world, claim);
}

/// Gives the bindings that are chosen, and all claims, what they ask for, until nothing more is asked for.
pub async fn serve(world: &World, chosen: impl Fn(&str) -> bool) {
    for _ in 0..20 {
        quiet(5).await;
        let revision = world.cell.revision();
        let lacks = |o: &Value| condition(o, "Ready")["status"] != "True" && !is_terminating(o);
        let name = |o: &Value| o["metadata"]["name"].as_str().unwrap().to_owned();
        for it in world.cell.list("NetworkBinding").iter().filter(|b| lacks(b) && chosen(&name(b))) {
            bind(world, &name(it));
        }
        for it in world.cell.list("SubnetClaim").iter().filter(|c| lacks(c)) {
            allot(world, &name(it));
        }
        quiet(5).await;
        if world.cell.revision() == revision {
            return;
        }
    }
    panic!("the network service never comes to rest");
}

//! An Instance that is made while its WD is suspended.

use fedhub_core::names::SUSPENDED;
use serde_json::{Value, json};

use crate::instance_controller::support::*;

fn suspend(world: &World, value: Value) {
    let patch = json!({"metadata": {"annotations": {SUSPENDED: value}}});
    world.cell.patch("WorkloadDeployment", NS, "wd", &patch).unwrap();
}

#[tokio::test(start_paused = true)]
async fn c6_the_gate_suspended_stays_until_the_wd_is_resumed() {
    let world = World::new();
    suspend(&world, json!("true"));
    world.put_instance("wd-0", &["Quota", "Suspended"]);
    let run = world.run_with_quota();
    quiet(5).await;
    world.grant();
    quiet(600).await;
    let instance = world.instance("wd-0");
    let suspended = &instance["status"]["suspended"];
    assert_eq!((gates(&instance), suspended), (vec!["Quota", "Suspended"], &json!(true)), "granted or not");
    for kind in ["Ready", "Available"] {
        assert_eq!(
            (world.says("wd-0", kind).0.as_str(), world.reason("wd-0", kind).as_str()),
            ("False", "Suspended")
        );
    }
    let from = position(&world.cell);
    suspend(&world, json!(null));
    quiet(60).await;
    assert_eq!(asked(&world.cell, from), ["update instances/status/wd-0", "patch instances/wd-0"]);
    let instance = world.instance("wd-0");
    assert_eq!((gates(&instance), &instance["status"]["suspended"]), (vec![], &json!(false)));
    assert_eq!(world.reason("wd-0", "Available"), "Pending", "the provider's word again");
    run.stop().await;
}

/// It is unknown whether it is suspended, so it does not boot.
#[tokio::test(start_paused = true)]
async fn c6_the_gate_suspended_stays_where_the_wd_is_not_there() {
    let world = World::new();
    world.cell.set_garbage_collection(false);
    world.put_instance("wd-0", &["Suspended"]);
    world.cell.delete("WorkloadDeployment", NS, "wd").unwrap();
    let run = world.run();
    quiet(60).await;
    assert_eq!(gates(&world.instance("wd-0")), ["Suspended"]);
    run.stop().await;
}

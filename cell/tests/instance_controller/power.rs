//! An Instance that its user stops and starts.

use fedhub_core::names::INSTANCE_POWER;
use serde_json::{Value, json};

use crate::instance_controller::support::*;

fn order(world: &World, value: Value) {
    let patch = json!({"metadata": {"annotations": {INSTANCE_POWER: value}}});
    world.cell.patch("WorkloadDeployment", NS, "wd", &patch).unwrap();
}

/// Only the Instance that is named is written, once for each step.
#[tokio::test(start_paused = true)]
async fn v9_what_the_wd_asks_of_an_instance_is_said_at_once() {
    let world = World::new();
    for name in ["wd-0", "wd-1"] {
        world.put_instance(name, &[]);
        world.provide(name, "Programmed", "True", "Programmed", "");
        world.provide(name, "Available", "True", "Available", "");
    }
    let run = world.run();
    quiet(60).await;
    assert_eq!(world.says("wd-0", "Ready").0, "True");
    let from = position(&world.cell);
    order(&world, json!(r#"{"wd-0": {"state": "Stopped"}, "other": {"state": "Stopped"}}"#));
    quiet(60).await;
    assert_eq!(world.reason("wd-0", "Ready"), "Stopping");
    assert_eq!(world.says("wd-1", "Ready").0, "True");
    assert_eq!(asked(&world.cell, from), ["update instances/status/wd-0"]);
    world.provide("wd-0", "Available", "False", "Stopped", "The server is powered off");
    quiet(60).await;
    assert_eq!(world.reason("wd-0", "Ready"), "Stopped");
    let from = position(&world.cell);
    quiet(3600).await;
    assert_eq!(asked(&world.cell, from), Vec::<String>::new(), "at rest");
    order(&world, Value::Null);
    quiet(60).await;
    assert_eq!(world.reason("wd-0", "Ready"), "Starting");
    world.provide("wd-0", "Available", "True", "Available", "");
    quiet(60).await;
    assert_eq!(world.says("wd-0", "Ready").0, "True");
    run.stop().await;
}

/// A restart of the process finds all as it was said, and writes nothing.
#[tokio::test(start_paused = true)]
async fn v9_what_cannot_be_read_stops_nothing() {
    let world = World::new();
    world.put_instance("wd-0", &[]);
    world.provide("wd-0", "Programmed", "True", "Programmed", "");
    world.provide("wd-0", "Available", "True", "Available", "");
    let run = world.run();
    for text in ["Stopped", r#"{"wd-0": "Stopped"}"#, r#"{"wd-0": {"state": "Paused"}}"#] {
        order(&world, json!(text));
        quiet(60).await;
        assert_eq!(world.says("wd-0", "Ready").0, "True", "{text}");
    }
    run.stop().await;
}

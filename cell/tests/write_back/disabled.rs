//! C14: a cell that writes nothing back, as its operator meant it.

use std::sync::Arc;

use fedhub_cell::write_back::WriteBackDisabled;
use fedhub_core::names::INSTANCE_FINALIZER;
use fedhub_core::object::{Kind, PlaneId};
use fedhub_fake_apiserver::{ApiServer, Fault};
use fedhub_planes::{Planes, Settings, watched};
use fedhub_testing::{Process, client};
use serde_json::json;

use crate::write_back::support::*;

/// A process of that cell without the write-back.
fn run(server: &ApiServer) -> fedhub_testing::Run<Arc<Planes>> {
    let settings = Settings {
        seed: 7,
        anchor: PlaneId::Cell,
        anchor_kinds: watched::all(&[Kind::Namespace, Kind::WorkloadDeployment, Kind::Instance]),
        project_kinds: Vec::new(),
        ..Settings::default()
    };
    let mut process = Process::on(server);
    let cell = process.planes(client(server), settings);
    let queue = process.queue(9);
    let off = WriteBackDisabled::new(cell.clone(), queue.clone());
    cell.listen(off.clone());
    cell.start();
    process.work(&off, &queue, 4);
    process.running(cell)
}

fn finalizers(cell: &ApiServer, name: &str) -> serde_json::Value {
    cell.get(INSTANCE, NS_A, name).unwrap()["metadata"]["finalizers"].clone()
}

#[tokio::test(start_paused = true)]
async fn c14_the_finalizer_goes_and_no_deletion_waits_for_a_copy() {
    let world = World::with_copies(3).await;
    let other = json!({"metadata": {"finalizers": [INSTANCE_FINALIZER, "other.example/theirs"]}});
    world.patch_instance("wd-1", &other);
    // It waits for the hub since before the restart.
    world.cell.delete(INSTANCE, NS_A, "wd-2").unwrap();
    let hub = position(&world.hub);
    let off = run(&world.cell);
    quiet(60).await;
    assert!(finalizers(&world.cell, "wd-0").is_null());
    assert_eq!(finalizers(&world.cell, "wd-1"), json!(["other.example/theirs"]), "I9");
    assert!(world.cell.get(INSTANCE, NS_A, "wd-2").is_none(), "gone");
    assert_eq!(off.metrics.writeback_enabled.with_label_values::<&str>(&[]).get(), 0);

    // One that comes with it later, as from a replica that did not have the flag yet.
    world.put_instance(NS_A, "wd-3");
    quiet(5).await;
    world.cell.delete(INSTANCE, NS_A, "wd-3").unwrap();
    quiet(5).await;
    assert!(world.cell.get(INSTANCE, NS_A, "wd-3").is_none());
    assert!(asked(&world.hub, hub).is_empty());
    assert_eq!(world.hub.list(INSTANCE).len(), 3, "what was written stays");
    let from = position(&world.cell);
    quiet(600).await;
    assert!(asked(&world.cell, from).is_empty(), "I7");
    off.stop().await;

    // Switched on again, each has its finalizer, and what is gone has no copy.
    let run = world.run();
    quiet(300).await;
    assert_eq!(finalizers(&world.cell, "wd-0"), json!([INSTANCE_FINALIZER]));
    assert!(world.copy("wd-0").is_some() && world.copy("wd-2").is_none());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c14_a_cell_that_refuses_is_tried_again() {
    let world = World::with_copies(1).await;
    let fault = world.cell.fault(Fault::Status(500).on("patch", "instances"));
    let off = run(&world.cell);
    quiet(60).await;
    world.cell.clear_fault(fault);
    quiet(300).await;
    assert!(finalizers(&world.cell, "wd-0").is_null());
    off.stop().await;
}

//! An Instance that is being deleted: how far that is, and who is late.

use fedhub_core::names::INSTANCE_FINALIZER;
use fedhub_fake_apiserver::Fault;
use serde_json::json;

use crate::instance_controller::support::*;

/// The planes with `wd-0`, which runs and which a foreign finalizer holds.
fn held() -> World {
    let world = World::new();
    world.put_instance("wd-0", &[]);
    world.run_an_instance("wd-0");
    put_finalizers(&world, &["vm.example/provider"]);
    world
}

fn put_finalizers(world: &World, finalizers: &[&str]) {
    world.cell.patch("Instance", NS, "wd-0", &json!({"metadata": {"finalizers": finalizers}})).unwrap();
}

#[tokio::test(start_paused = true)]
async fn c7_a_deletion_that_lasts_is_told_with_what_holds_it_and_nothing_else_is_asked() {
    let world = held();
    let run = world.run_with_quota();
    quiet(5).await;
    world.grant();
    quiet(5).await;
    assert_eq!(world.says("wd-0", "Ready").0, "True");
    let from = position(&world.cell);
    let alpha = position(&world.alpha);
    world.cell.delete("Instance", NS, "wd-0").unwrap();
    quiet(1).await;
    assert!(asked(&world.cell, from).is_empty(), "it may be over in a moment");
    quiet(60).await;
    let (status, reason, message) = world.says("wd-0", "Ready");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "Terminating"));
    assert!(message.contains("waiting for its finalizers: vm.example/provider"), "{message}");
    assert_eq!(asked(&world.cell, from), ["update instances/status/wd-0"]);
    assert_eq!(events(&world.cell, from)[0].0, "Terminating");

    world.provide("wd-0", "Available", "False", "Stopped", "Instance is torn down");
    quiet(60).await;
    let (_, reason, message) = world.says("wd-0", "Ready");
    assert_eq!(reason, "Terminating");
    assert!(
        message.contains("provider. The provider reports: Stopped: Instance is torn down. No action"),
        "{message}"
    );
    assert_eq!(events(&world.cell, from).len(), 1);
    assert!(asked(&world.alpha, alpha).is_empty(), "C8: its claim stays, and no other is made");

    put_finalizers(&world, &[]);
    quiet(60).await;
    assert!(world.cell.get("Instance", NS, "wd-0").is_none() && world.claim().is_none());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c12_one_that_does_not_go_in_its_time_is_named_with_its_finalizers_also_over_a_restart() {
    let world = held();
    let run = world.run();
    quiet(5).await;
    world.cell.delete("Instance", NS, "wd-0").unwrap();
    quiet(DEADLINE.as_secs() - 5).await;
    assert_eq!(world.reason("wd-0", "Ready"), "Terminating");
    run.stop().await;
    let from = position(&world.cell);
    let run = world.run();
    quiet(60).await;
    let (status, reason, message) = world.says("wd-0", "Ready");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "TerminationDeadlineExceeded"));
    assert!(message.contains("vm.example/provider") && message.contains("operator"), "{message}");
    assert_eq!(asked(&world.cell, from), ["update instances/status/wd-0"]);
    let said = events(&world.cell, from);
    assert_eq!((said.len(), said[0].0.as_str()), (1, "TerminationDeadlineExceeded"));
    // I7, and after a restart too.
    quiet(3600).await;
    run.stop().await;
    let run = world.run();
    quiet(3600).await;
    assert_eq!(asked(&world.cell, from).len(), 1);
    assert_eq!((run.queue.pending(), events(&world.cell, from).len()), (0, 1));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_goes_while_that_is_told_is_no_failure() {
    let world = held();
    let run = world.run();
    quiet(5).await;
    world.cell.fault(Fault::Hang.on("watch", "instances"));
    world.cell.delete("Instance", NS, "wd-0").unwrap();
    quiet(1).await;
    let from = position(&world.cell);
    world.cell.fault(Fault::Status(404).on("update", "instances/status"));
    quiet(60).await;
    assert!(asked(&world.cell, from).len() <= 1, "{:?}", asked(&world.cell, from));
    run.stop().await;
}

/// Earlier versions, and the Go manager, had an Instance wait for its copy on the hub.
#[tokio::test(start_paused = true)]
async fn c7_the_finalizer_of_an_earlier_version_is_taken_off_wherever_it_stands() {
    let provider = ["vm.example/provider"];
    for (others, deleted) in
        [(&provider[..0], false), (&provider, false), (&provider[..0], true), (&provider, true)]
    {
        let world = World::new();
        world.put_instance("wd-0", &[]);
        world.run_an_instance("wd-0");
        let both: Vec<&str> = std::iter::once(INSTANCE_FINALIZER).chain(others.iter().copied()).collect();
        put_finalizers(&world, &both);
        if deleted {
            world.cell.delete("Instance", NS, "wd-0").unwrap();
        }
        // Neither a project plane that is away nor a cell that refuses for a while ends it.
        world.alpha.fault(Fault::Disconnect);
        let refused = world.cell.fault(Fault::Status(500).on("patch", "instances"));
        let run = world.run_with_quota();
        quiet(60).await;
        world.cell.clear_fault(refused);
        quiet(300).await;
        let left = world.cell.get("Instance", NS, "wd-0");
        assert_eq!(left.is_none(), deleted && others.is_empty(), "{others:?} {deleted}");
        let finalizers = left.map(|instance| instance["metadata"]["finalizers"].clone()).unwrap_or_default();
        assert_eq!(finalizers.as_array().cloned().unwrap_or_default(), others, "I9");
        run.stop().await;
        let run = world.run();
        quiet(60).await;
        if !deleted {
            // A replica of that version puts it on again, and nothing else is to be done.
            let from = position(&world.cell);
            put_finalizers(&world, &both);
            quiet(60).await;
            assert_eq!(asked(&world.cell, from), ["patch instances/wd-0"]);
        }
        run.stop().await;
    }
}

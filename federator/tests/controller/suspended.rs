//! A project that is suspended and resumed: no write, no error and no retry meanwhile (section 2).

use fedhub_core::names::SUSPENDED;
use fedhub_fake_apiserver::Fault;
use fedhub_planes::Health;
use serde_json::Value;

use crate::controller::support::*;

/// A suspended project's plane refuses every write.
fn suspend(world: &World, run: &Run) {
    for verb in ["create", "update", "patch"] {
        world.alpha.fault(Fault::Status(403).on(verb, "*"));
    }
    run.planes.suspend(&plane_name("alpha"), true);
}

fn resume(world: &World, run: &Run) {
    world.alpha.clear_faults();
    run.planes.suspend(&plane_name("alpha"), false);
}

fn suspended(wd: Option<Value>) -> Value {
    wd.unwrap()["metadata"]["annotations"][SUSPENDED].clone()
}

fn passes(run: &Run) -> Vec<(&'static str, u64)> {
    ["failed", "forbidden", "transient", "conflict", "bug", "invalid"]
        .map(|outcome| (outcome, run.metrics.reconciles.with_label_values(&["federator", outcome]).get()))
        .to_vec()
}

#[tokio::test(start_paused = true)]
async fn a_suspended_project_is_read_and_not_written_until_it_is_resumed() {
    let world = World::new();
    let run = world.federated().await;
    let before = world.positions();
    let failed = passes(&run);
    suspend(&world, &run);
    until("the hub WD to be suspended", || suspended(world.hub_wd(WD)) == "true").await;
    assert_eq!(run.planes.project(&plane_name("alpha")).unwrap().health(), Health::Suspended);
    world.report(WD, &reported(3));
    put_wd(&world.alpha, "late", "DFW");
    quiet(600).await;
    let [hub, alpha, _] = world.asked(before);
    assert!(alpha.iter().all(|request| request.starts_with("get ")), "{alpha:?}");
    assert_eq!(hub.iter().filter(|request| !request.starts_with("get ")).count(), 1, "{hub:?}");
    assert!(world.hub_wd("late").is_none(), "it is not marked");
    assert_eq!(suspended(world.hub_wd_of(&world.beta, WD)), Value::Null);
    assert_eq!(passes(&run), failed);
    assert_eq!(run.queue.depth(), 0);

    resume(&world, &run);
    until("the hub WD to be resumed", || suspended(world.hub_wd(WD)).is_null()).await;
    until("the status", || world.wd(WD).unwrap()["status"]["replicas"] == 3).await;
    until("the new one", || world.hub_wd("late").is_some()).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i3_what_is_deleted_in_a_suspended_project_is_let_go_of_where_its_plane_takes_that() {
    for refused in [false, true] {
        let world = World::new();
        let run = world.federated().await;
        let failed = passes(&run);
        if refused {
            suspend(&world, &run);
        } else {
            run.planes.suspend(&plane_name("alpha"), true);
        }
        world.delete(WD);
        until("the hub WD to go", || world.hub_wd(WD).is_none()).await;
        quiet(600).await;
        assert_eq!(world.wd(WD).is_some(), refused);
        let patches = world.alpha.audit().iter().filter(|e| e.verb == "patch").count();
        assert!(patches <= 6, "{patches} patches: tried by events, and not by time");
        assert_eq!(passes(&run), failed);
        resume(&world, &run);
        until("it to go", || world.wd(WD).is_none()).await;
        run.stop().await;
    }
}

//! The end of a WD, and what is not its own.

use serde_json::json;

use crate::deployment_controller::support::*;

#[tokio::test(start_paused = true)]
async fn i3_the_finalizer_goes_when_the_last_instance_is_gone() {
    let world = World::provided(3);
    let run = world.run(ALONE);
    world.settle().await;
    let others = json!(["others/hold", "compute.datumapis.com/workload-controller"]);
    world.bend(json!({"metadata": {"finalizers": others}}));
    let from = position(&world.cell);
    world.cell.delete("WorkloadDeployment", SPACE, WD).unwrap();
    quiet(60).await;
    assert_eq!(world.names(), ["-web-0", "-web-1", "-web-2"], "all at once");
    assert_eq!(
        asked(&world.cell, from),
        ["delete instances/web-0", "delete instances/web-1", "delete instances/web-2"]
    );
    for entry in &world.cell.audit()[from..] {
        if entry.verb == "delete" {
            let sent = &entry.body.as_ref().unwrap()["preconditions"]["uid"];
            assert_eq!(
                *sent,
                uid(&world.instance(entry.name.as_ref().unwrap())),
                "only the one that was meant"
            );
        }
    }
    assert_eq!(world.wd()["metadata"]["finalizers"], others, "held");

    world.release_terminating();
    quiet(60).await;
    // I9: another's finalizer is left.
    assert_eq!(world.wd()["metadata"]["finalizers"], json!(["others/hold"]));
    assert_eq!(asked(&world.cell, from).len(), 4, "{:?}", asked(&world.cell, from));
    quiet(600).await;
    assert_eq!(asked(&world.cell, from).len(), 4);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_wd_that_dies_while_the_process_is_away_ends_all_the_same() {
    let world = World::with_replicas(2);
    let run = world.run(ALONE);
    world.settle().await;
    run.stop().await;
    world.cell.delete("WorkloadDeployment", SPACE, WD).unwrap();
    assert_eq!(world.names().len(), 2);
    let run = world.run(ALONE);
    quiet(60).await;
    assert!(world.names().is_empty());
    assert!(world.cell.get("WorkloadDeployment", SPACE, WD).is_none());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c3_c9_a_name_that_is_taken_is_said_and_left_alone_and_its_end_noticed() {
    let world = World::with_replicas(1);
    let foreign =
        json!({"apiVersion": API, "kind": "Instance", "metadata": {"namespace": SPACE, "name": "web-0"}});
    let foreign = world.cell.put(foreign).unwrap();
    let run = world.run(ALONE);
    quiet(60).await;
    let (reason, message) = world.lacks("Available");
    assert_eq!(reason, "InstanceNameTaken");
    assert!(message.contains("web-0 exists and does not belong"), "{message}");
    assert!(message.contains("Action required by the platform operator: "), "no user sees it: {message}");
    assert_eq!(world.instance("web-0"), foreign);
    assert_eq!(world.wd()["status"]["replicas"], 0);
    world.cell.delete("Instance", SPACE, "web-0").unwrap();
    world.settle().await;
    assert_ne!(uid(&world.instance("web-0")), uid(&foreign));
    assert_eq!(condition(&world.wd(), "Available")["status"], "True");

    world
        .cell
        .put(
            json!({"apiVersion": API, "kind": "Instance", "metadata": {"namespace": SPACE, "name": "web-1"}}),
        )
        .unwrap();
    world.cell.delete("WorkloadDeployment", SPACE, WD).unwrap();
    quiet(60).await;
    assert_eq!(world.names(), ["web-1"], "C3: not ours, not deleted");
    assert!(world.cell.get("WorkloadDeployment", SPACE, WD).is_none());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c3_an_instance_deleted_by_hand_is_made_anew() {
    let world = World::with_replicas(2);
    let run = world.run(ALONE);
    world.settle().await;
    // Whoever takes the owner off leaves the name of it.
    let from = position(&world.cell);
    world.cell.delete("Instance", SPACE, "web-0").unwrap();
    world.settle().await;
    assert_eq!(world.names(), ["web-0", "web-1"]);
    assert_eq!(asked(&world.cell, from)[0], "create instances/web-0");
    run.stop().await;
}

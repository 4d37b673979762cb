//! What the cell refuses fedhub, and waits that last, as the WD says it (C9, C12).

use fedhub_fake_apiserver::Fault;
use serde_json::Value;

use crate::deployment_controller::support::*;

const OVERDUE: &str = "TerminationOverdue";

fn said(world: &World, kind: &str) -> (String, String) {
    let wd = world.wd();
    let conditions = wd["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let condition = conditions.into_iter().find(|it| it["type"] == kind).unwrap_or_default();
    let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    (text("reason"), text("message"))
}

/// By rights or by admission: it is the operator's, whether all Instances that are wanted are ready or none
/// is.
#[tokio::test(start_paused = true)]
async fn c12_an_instance_that_the_cell_does_not_let_go_is_named_with_who_acts() {
    let world = World::with_replicas(2);
    let run = world.run(ALONE);
    world.settle().await;
    for deleted in [false, true] {
        let refusal = world.cell.fault(Fault::Status(403).on("delete", "instances"));
        if deleted {
            world.cell.delete("WorkloadDeployment", SPACE, WD).unwrap();
        } else {
            world.scale(1);
        }
        quiet(60).await;
        let (reason, message) = said(&world, OVERDUE);
        let name = if deleted { "web-0" } else { "web-1" };
        assert_eq!(reason, "DeletionRefused", "{deleted}");
        assert!(
            message.starts_with(&format!("Instance \"{name}\": failed to delete instances")),
            "{message}"
        );
        assert!(
            message.ends_with("let fedhub delete instances in the cell, see what refuses it"),
            "{message}"
        );
        let (_, available) = said(&world, "Available");
        assert!(available.contains("failed to delete instances"), "{available}");
        let told = world.events().into_iter().filter(|(reason, _)| reason == "DeletionRefused");
        assert_eq!(told.map(|(_, times)| times).sum::<u64>(), if deleted { 2 } else { 1 }, "U3");
        let from = position(&world.cell);
        quiet(3600).await;
        let written = asked(&world.cell, from).into_iter().filter(|it| it.contains("/status")).count();
        assert_eq!(written, 0, "I7");
        world.cell.clear_fault(refusal);
        quiet(400).await;
        if !deleted {
            world.settle().await;
            assert_eq!(said(&world, OVERDUE), (String::new(), String::new()), "it is over");
        }
    }
    assert!(world.cell.get("WorkloadDeployment", SPACE, WD).is_none(), "nothing is held any more");
    run.stop().await;
}

/// Flags ask for networks, and the component with their rights was not applied.
#[tokio::test(start_paused = true)]
async fn c9_a_cell_that_lacks_the_rights_of_a_component_says_so_on_its_wds() {
    let world = World::with_replicas(1);
    let run = world.run(ALONE);
    world.settle().await;
    run.stop().await;
    world.cell.put(wd("other", 1)).unwrap();
    world.cell.fault(Fault::Status(403).on("list", "subnetclaims"));
    let run = world.run(NETWORKING);
    quiet(20).await;
    let of =
        |name: &str, kind: &str| condition(&world.cell.get("WorkloadDeployment", SPACE, name).unwrap(), kind);
    assert_ne!(of("other", "Available")["reason"], "CellMisconfigured", "it may have just started");
    quiet(60).await;
    let available = of("other", "Available");
    assert_eq!(available["reason"], "CellMisconfigured");
    let message = available["message"].as_str().unwrap();
    assert!(
        message.starts_with("fedhub in the cell cannot read subnetclaims.networking.datumapis.com."),
        "{message}"
    );
    assert!(
        message.contains("Action required by the platform operator: give fedhub in the cell"),
        "{message}"
    );
    assert_eq!(of(WD, "Available")["status"], "True", "what runs is left as it was known last");
    assert_eq!(
        world.cell.get("WorkloadDeployment", SPACE, "other").unwrap()["status"]["observedGeneration"],
        Value::Null
    );
    let from = position(&world.cell);
    quiet(3600).await;
    let written = asked(&world.cell, from).into_iter().filter(|it| it.contains("/status")).count();
    assert_eq!(written, 0, "I7");
    world.cell.clear_faults();
    quiet(600).await;
    assert_ne!(of("other", "Available")["reason"], "CellMisconfigured");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c9_i7_a_wait_that_lasts_is_told_once_and_no_more_called_nobodys() {
    let world = World::with_replicas(1);
    let run = world.run(ALONE);
    quiet(500).await;
    let (reason, message) = said(&world, "Available");
    assert_eq!(reason, "InstancesProvisioning");
    assert!(message.ends_with("No action required"), "{message}");
    let from = position(&world.cell);
    quiet(3600).await;
    let late = "Available has not been True for more than 10 minutes, and what holds it is not known. \
        Action required by the platform operator if this lasts";
    let (reason, message) = said(&world, "Available");
    assert!(reason == "InstancesProvisioning" && message.ends_with(late), "{message}");
    let written = asked(&world.cell, from).into_iter().filter(|it| it.contains("/status")).count();
    assert_eq!(written, 1);
    run.stop().await;
    let from = position(&world.cell);
    let run = world.run(ALONE);
    quiet(3600).await;
    let written = asked(&world.cell, from).into_iter().filter(|it| it.contains("/status")).count();
    assert_eq!(written, 0, "not after a restart");
    run.stop().await;
}

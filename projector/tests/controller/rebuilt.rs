//! A hub whose namespaces were lost and made again (I4, P5): what proves that an Instance has gone meanwhile.

use serde_json::json;

use crate::controller::relist::with_instances;
use crate::controller::support::*;

/// Planes whose hub has lost `alpha`'s namespace with so many Instances, and has it again with a WD that its
/// cell reports with `replicas`.
async fn rebuilt(count: usize, replicas: usize) -> World {
    let world = with_instances(count).await;
    let mut space = world.hub.get("Namespace", "", NS_A).unwrap();
    world.hub.delete("Namespace", "", NS_A).unwrap();
    assert!(world.hub.get("Instance", NS_A, "wd-0").is_none());
    space["metadata"]["uid"] = json!("another");
    world.hub.put(space).unwrap();
    world.put_hub_wd(NS_A, "wd");
    let status = json!({"replicas": replicas, "updatedReplicas": replicas});
    world.hub.patch_status("WorkloadDeployment", NS_A, "wd", &status).unwrap();
    world
}

#[tokio::test(start_paused = true)]
async fn i4_the_hub_namespace_of_another_life_proves_nothing_before_the_cell_has_written_back() {
    let world = rebuilt(3, 2).await;
    let from = position(&world.alpha);
    let run = world.run();
    quiet(600).await;
    assert!(writes(&world.alpha, from).is_empty());
    assert!(run.withheld("namespace_lost") >= 3);
    world.put_instance(NS_A, "wd-0");
    quiet(600).await;
    assert_eq!(writes(&world.alpha, from), ["update instances/wd-0"], "the other one may be to come");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p5_once_all_that_the_cell_has_is_written_back_what_went_meanwhile_goes_within_the_rate() {
    let world = rebuilt(30, 2).await;
    let run = world.run();
    world.put_instance(NS_A, "wd-0");
    quiet(120).await;
    let left = || world.alpha.list("Instance").len();
    assert_eq!(left(), 30);
    world.put_instance(NS_A, "wd-7");
    until("the first to go", || left() < 30).await;
    quiet(1).await;
    assert!(left() >= 9, "at most twenty at once: {} are left", left());
    until("all of them to go", || left() == 2).await;
    assert!(world.projection("wd-0").is_some() && world.projection("wd-7").is_some());
    quiet(600).await;
    assert_eq!(left(), 2);
    run.stop().await;
}

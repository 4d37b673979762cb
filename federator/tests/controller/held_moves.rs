//! U2: a move to a cell that does not take the WD.

use serde_json::json;

use crate::controller::moves::{BINDING, arrives, go_to, says, text, two_in_dfw};
use crate::controller::support::*;

#[tokio::test(start_paused = true)]
async fn u2_a_wd_that_moves_to_a_cell_that_refuses_it_says_so_and_one_that_takes_long_does_too() {
    let world = World::telling();
    let (run, karmada) = two_in_dfw(&world).await;
    let hub_uid = uid(&world.hub_wd(WD).unwrap());
    go_to(&world, WD, "ORD");
    karmada.until("the other cell", || karmada.bound(&world, WD) == ["cell-2"]).await;
    let message = || {
        let wd = world.wd(WD).unwrap();
        let conditions = wd["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let available = conditions.iter().find(|it| it["type"] == "Available").cloned().unwrap_or_default();
        text(&available, "/message").to_owned()
    };
    quiet(60).await;
    assert!(message().ends_with("No action required"), "{}", message());
    quiet(330).await;
    assert!(message().contains("what holds it is not known. Action required by the"), "{}", message());
    let space = hub_space(&world.alpha);
    let name = format!("{WD}-workloaddeployment");
    let item = json!({"clusterName": "cell-2", "appliedMessage":
        "resource(kind=WorkloadDeployment, x/web) already exists in the cluster cell-2 and the x strategy value is empty"});
    let status = json!({"aggregatedStatus": [item]});
    world.hub.patch_status(BINDING, &space, &name, &status).unwrap();
    until("the refusal", || {
        says(&world, WD) == "RefusedByCell" && federated(&world.wd(WD).unwrap()).unwrap().1 == "RefusedByCell"
    })
    .await;
    assert!(message().contains("an object of this name that the federation hub did not create"));
    arrives(&world, &karmada, &hub_uid).await;
    run.stop().await;
}

//! I1, I2, I7, F8: the way down and back, counted request by request; then rest.

use std::time::Duration;

use fedhub_core::names::{FEDERATION_NAMESPACE, HUB_NAMESPACE_UID};
use fedhub_fake_apiserver::Fault;
use fedhub_planes::Settings;
use serde_json::json;

use crate::controller::support::*;

/// The requests for a WD that is known by its digest only, as after a list or when it was in sync.
const READ: &str = "get workloaddeployments/web";
const PATCH: &str = "patch workloaddeployments/web";

#[tokio::test(start_paused = true)]
async fn i2_the_first_wd_of_a_namespace_request_by_request() {
    let world = World::new();
    let from = world.positions();
    let run = world.federated().await;
    let [hub, alpha, beta] = world.asked(from);
    assert_eq!(alpha, ["get namespaces/shop", READ, PATCH, PATCH]);
    assert_eq!(beta, alpha);
    let of_alpha: Vec<_> =
        hub.iter().filter(|r| r.contains("namespaces") && r.contains(&hub_space(&world.alpha))).collect();
    assert_eq!(of_alpha.len(), 1, "{hub:?}");
    assert_eq!(hub.len(), 6, "namespace, policy and WD of each plane: {hub:?}");

    let wd = world.wd(WD).unwrap();
    let made = world.hub_wd(WD).unwrap();
    let namespace = world.hub.get("Namespace", "", &hub_space(&world.alpha)).unwrap();
    assert!(has_our_finalizer(&wd));
    assert_eq!(wd["metadata"]["annotations"][FEDERATION_NAMESPACE], hub_space(&world.alpha));
    assert_eq!(wd["metadata"]["annotations"][HUB_NAMESPACE_UID], uid(&namespace));
    assert_eq!(made["spec"], wd["spec"]);
    assert!(world.policy("city-dfw").is_some());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i2_every_further_wd_is_one_patch_and_one_create() {
    let world = World::new();
    let run = world.federated().await;
    let from = world.positions();
    put_wd(&world.alpha, "web-2", "DFW");
    until("the second WD", || world.hub_wd("web-2").is_some()).await;
    quiet(60).await;
    let [hub, alpha, beta] = world.asked(from);
    assert_eq!(alpha, ["patch workloaddeployments/web-2"]);
    assert_eq!(hub, ["create workloaddeployments/web-2"]);
    assert!(beta.is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i2_nothing_is_written_to_the_hub_while_the_mark_cannot_be_stored() {
    let world = World::new();
    let id = world.alpha.fault(Fault::Status(500).on("patch", "workloaddeployments"));
    let run = world.run();
    quiet(3600).await;
    let space = hub_space(&world.alpha);
    assert!(world.hub_wd(WD).is_none() && world.hub.get("Namespace", "", &space).is_none());
    world.alpha.clear_fault(id);
    until("the hub WD", || world.hub_wd(WD).is_some()).await;
    // The same for the UID of the namespace, which goes into a patch of its own.
    world.delete(WD);
    until("the WD to go", || world.wd(WD).is_none()).await;
    world.hub.delete("Namespace", "", &space).unwrap();
    quiet(60).await;
    let from = world.positions();
    let refused = world.alpha.fault(Fault::Status(500).on("patch", "workloaddeployments"));
    put_wd(&world.alpha, WD, "DFW");
    quiet(3600).await;
    assert!(world.writes(from)[0].is_empty(), "{:?}", world.writes(from)[0]);
    world.alpha.clear_fault(refused);
    until("the hub WD", || world.hub_wd(WD).is_some()).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i7_f8_a_status_comes_back_whole_in_one_write() {
    let world = World::new();
    let run = world.federated().await;
    for replicas in [1, 2, 3] {
        let from = world.positions();
        world.report(WD, &reported(replicas));
        until("the status", || world.wd(WD).unwrap()["status"]["replicas"] == replicas).await;
        quiet(60).await;
        assert_eq!(plain(&world.wd(WD).unwrap()), reported(replicas));
        assert_eq!(
            world.asked(from),
            [vec![], vec![READ.to_owned(), "update workloaddeployments/status/web".to_owned()], vec![]]
        );
    }
    assert!(is_unreported(&world.beta.get("WorkloadDeployment", SPACE, WD).unwrap()));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i7_nothing_is_written_at_rest_nor_after_a_restart() {
    let world = World::new();
    let run = world.federated().await;
    world.report(WD, &reported(1));
    quiet(5).await;
    let from = world.positions();
    quiet(3600).await;
    assert_eq!(world.asked(from), nothing(), "an hour of peace");
    run.stop().await;
    let from = world.positions();
    let run = world.run();
    quiet(600).await;
    assert_eq!(world.writes(from), nothing());
    let [hub, alpha, beta] = world.asked(from);
    assert!(hub.is_empty(), "no dry run, as nothing differs: {hub:?}");
    assert!(alpha.len() <= 1 && beta.len() <= 1, "the namespace's UID and no more: {alpha:?}");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i7_a_change_of_spec_is_one_write() {
    let world = World::new();
    let run = world.federated().await;
    let from = world.positions();
    world.alpha.patch("WorkloadDeployment", SPACE, WD, &json!({"spec": {"placementName": "q"}})).unwrap();
    until("the change", || world.hub_wd(WD).unwrap()["spec"]["placementName"] == "q").await;
    quiet(60).await;
    assert_eq!(
        world.asked(from),
        [vec![READ.to_owned(), "update workloaddeployments/web".to_owned()], vec![], vec![]]
    );
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i7_refusals_are_said_once() {
    let world = World::new();
    let run = world.federated().await;
    let from = world.positions();
    put_wd(&world.alpha, "bad", "New York");
    until("the answer", || reason(&world.wd("bad").unwrap()).as_deref() == Some("InvalidCityCode")).await;
    quiet(600).await;
    assert_eq!(world.asked(from), [vec![], vec!["update workloaddeployments/status/bad".to_owned()], vec![]]);
    run.stop().await;
    let from = world.positions();
    let run = world.run();
    quiet(600).await;
    assert_eq!(world.writes(from), nothing());
    world.delete("bad");
    assert!(world.wd("bad").is_none(), "nothing of ours holds what was never taken");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i11_a_city_code_of_any_length_is_answered() {
    let world = World::new();
    let run = world.federated().await;
    for city in ["C".repeat(64), "\u{1}".repeat(40_000), "ü".repeat(40_000)] {
        put_wd(&world.alpha, "bad", &city);
        until("the answer", || reason(&world.wd("bad").unwrap()).as_deref() == Some("InvalidCityCode")).await;
        let wd = world.wd("bad").unwrap();
        let message = wd["status"]["conditions"][0]["message"].as_str().unwrap();
        assert!(message.len() <= 1024 && message.contains("1 to 63"), "{message}");
        world.delete("bad");
    }
    put_wd(&world.alpha, "bad", "");
    until("the answer", || reason(&world.wd("bad").unwrap()).as_deref() == Some("InvalidCityCode")).await;
    world.alpha.patch("WorkloadDeployment", SPACE, "bad", &json!({"spec": {"cityCode": "DFW"}})).unwrap();
    until("the corrected one", || world.hub_wd("bad").is_some()).await;
    until("no refusal", || reason(&world.wd("bad").unwrap()).is_none()).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i10_cells_come_and_go() {
    let world = World::new();
    world.hub.delete("Cluster", "", "cell-1").unwrap();
    let run = world.federated().await;
    until("the refusal", || reason(&world.wd(WD).unwrap()).as_deref() == Some("NoCellForCity")).await;
    world.put_cell("cell-1", "DFW");
    until("no refusal", || reason(&world.wd(WD).unwrap()).is_none()).await;
    world.put_cell("cell-3", "DFW");
    put_wd(&world.alpha, "late", "DFW");
    for name in [WD, "late"] {
        until("ambiguity", || reason(&world.wd(name).unwrap()).as_deref() == Some("AmbiguousCity")).await;
    }
    quiet(60).await;
    assert!(world.hub_wd("late").is_none() && world.hub_wd(WD).is_some());
    world.hub.delete("Cluster", "", "cell-3").unwrap();
    until("the late one", || world.hub_wd("late").is_some()).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i8_wds_that_come_together_into_a_new_namespace_set_it_up_once() {
    let world = World::new();
    let run = world.run_sized(world.hub.client(), Settings { seed: 7, ..Settings::default() }, 64, 16);
    until("the first WD to be federated", || world.hub_wd(WD).is_some()).await;
    quiet(60).await;
    // Answers take their time, so that passes over several WDs are under way at once.
    for server in [&world.hub, &world.alpha] {
        server.fault(Fault::Slow(Duration::from_millis(20)).on("*", "*"));
    }
    let from = world.positions();
    let names: Vec<_> = (0..8).map(|n| format!("job-{n}")).collect();
    for name in &names {
        put_wd_in(&world.alpha, "depot", name, "ORD");
    }
    let space = format!("ns-{}", uid(&world.alpha.get("Namespace", "", "depot").unwrap()));
    until("all to be federated", || {
        names.iter().all(|name| world.hub.get("WorkloadDeployment", &space, name).is_some())
    })
    .await;
    quiet(60).await;
    let [hub, alpha, _] = world.asked(from);
    let of = |asked: &[String], what: &str| asked.iter().filter(|r| r.contains(what)).count();
    assert_eq!(of(&alpha, "get namespaces/"), 1, "{alpha:?}");
    assert_eq!(
        of(&alpha, "patch "),
        names.len() + 1,
        "the first is marked before its namespace is made: {alpha:?}"
    );
    assert_eq!(of(&hub, "namespaces/"), 1, "{hub:?}");
    assert_eq!(of(&hub, "propagationpolicies/"), 1, "{hub:?}");
    assert_eq!(hub.len(), names.len() + 2, "{hub:?}");
    run.stop().await;
}

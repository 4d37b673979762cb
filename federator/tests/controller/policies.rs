//! F5, F7: policies come before the WDs that they carry and go ten seconds after the last of them.

use std::time::Duration;

use serde_json::json;

use crate::controller::support::*;

#[tokio::test(start_paused = true)]
async fn f7_two_siblings_deleted_in_either_order_and_at_once() {
    for order in [&[WD, "web-2"][..], &["web-2", WD]] {
        let world = World::new();
        put_wd(&world.alpha, "web-2", "DFW");
        let run = world.federated().await;
        world.delete(order[0]);
        quiet(60).await;
        assert!(world.policy("city-dfw").is_some(), "a sibling stands");
        assert!(world.hub_wd(order[1]).is_some());
        world.delete(order[1]);
        quiet(9).await;
        assert!(world.policy("city-dfw").is_some(), "not before ten seconds");
        until("the policy to go", || world.policy("city-dfw").is_none()).await;
        run.stop().await;
    }
    let world = World::new();
    put_wd(&world.alpha, "web-2", "DFW");
    let run = world.federated().await;
    world.delete(WD);
    world.delete("web-2");
    until("the policy to go", || world.policy("city-dfw").is_none()).await;
    assert!(world.wd(WD).is_none() && world.wd("web-2").is_none());
    assert_eq!(world.hub.list("PropagationPolicy").len(), 1, "beta's stays");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f7_a_sibling_that_comes_at_any_moment_has_a_policy() {
    for millis in [5000, 9_900, 9_980, 9_990, 10_000, 10_010, 10_020, 10_030, 10_100, 11_000] {
        for held in [false, true] {
            let world = World::new();
            let run = world.federated().await;
            if held {
                let patch = json!({"metadata": {"finalizers": ["karmada.io/policy"]}});
                world.hub.patch("PropagationPolicy", &hub_space(&world.alpha), "city-dfw", &patch).unwrap();
            }
            world.delete(WD);
            tokio::time::sleep(Duration::from_millis(millis)).await;
            put_wd(&world.alpha, "sibling", "DFW");
            quiet(5).await;
            if held {
                let patch = json!({"metadata": {"finalizers": null}});
                world.hub.patch("PropagationPolicy", &hub_space(&world.alpha), "city-dfw", &patch).unwrap();
            }
            until("the sibling", || world.hub_wd("sibling").is_some()).await;
            quiet(60).await;
            let policy = world.policy("city-dfw").expect("a policy for the sibling");
            assert!(policy["metadata"]["deletionTimestamp"].is_null(), "after {millis} ms");
            run.stop().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn f7_an_unused_policy_goes_after_a_restart_too() {
    let world = World::new();
    let run = world.federated().await;
    world.delete(WD);
    until("the WD to go", || world.wd(WD).is_none()).await;
    run.stop().await;
    assert!(world.policy("city-dfw").is_some());
    let run = world.run();
    until("the policy to go", || world.policy("city-dfw").is_none()).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f5_a_policy_that_is_edited_or_deleted_by_hand_is_restored() {
    let world = World::new();
    let run = world.federated().await;
    let space = hub_space(&world.alpha);
    let spec = world.policy("city-dfw").unwrap()["spec"].clone();
    let from = world.positions();
    let edit = json!({"spec": {"propagateDeps": false, "suspension": {"dispatching": true}}});
    world.hub.patch("PropagationPolicy", &space, "city-dfw", &edit).unwrap();
    until("the edit to be undone", || world.policy("city-dfw").unwrap()["spec"] == spec).await;
    world.hub.patch("PropagationPolicy", &space, "city-dfw", &json!({"metadata": {"labels": null}})).unwrap();
    until("the label", || world.policy("city-dfw").unwrap()["metadata"]["labels"].is_object()).await;
    world.hub.delete("PropagationPolicy", &space, "city-dfw").unwrap();
    until("a new policy", || world.policy("city-dfw").is_some()).await;
    quiet(600).await;
    let [hub, alpha, _] = world.writes(from);
    assert_eq!(
        hub,
        [
            "update propagationpolicies/city-dfw",
            "update propagationpolicies/city-dfw",
            "create propagationpolicies/city-dfw"
        ]
    );
    assert!(alpha.is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn f5_each_city_has_a_policy_of_its_own() {
    let world = World::new();
    world.put_cell("cell-3", "dfw");
    put_wd(&world.alpha, "b", "ORD");
    put_wd(&world.alpha, "c", "dfw");
    let run = world.federated().await;
    until("all of them", || world.hub_wd("b").is_some() && world.hub_wd("c").is_some()).await;
    let of_alpha = world.hub.list("PropagationPolicy").into_iter();
    let of_alpha: Vec<_> =
        of_alpha.filter(|p| p["metadata"]["namespace"] == hub_space(&world.alpha)).collect();
    assert_eq!(of_alpha.len(), 3);
    let from = world.positions();
    quiet(600).await;
    assert_eq!(world.asked(from), nothing());
    run.stop().await;
}

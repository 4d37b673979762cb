//! W9: companions of a project whose service is withdrawn.

use fedhub_testing::{entitle, serve_entitlements, withdraw};
use serde_json::json;

use crate::referenced_data::support::*;

#[tokio::test(start_paused = true)]
async fn w9_the_companions_go_with_the_last_deployment_and_come_back_with_the_service() {
    let world = World { entitled: true, ..World::with_web() };
    serve_entitlements(&world.alpha);
    entitle(&world.alpha, &json!({"phase": "Active"}));
    // Shared with another one.
    world.put_wd("two", &json!([{"secret": {"secretName": "db"}}]));
    let run = world.ready().await;
    let companions = || world.hub.list("secrets").len() + world.hub.list("configmaps").len();
    until("both companions", || companions() == 2 && world.is_ready("two")).await;
    withdraw(&world.alpha);
    until("them to go", || companions() == 0).await;
    let free = |name: &str| world.wd(name).unwrap()["metadata"]["finalizers"].is_null();
    until("both WDs to be free", || free("web") && free("two")).await;
    quiet(30).await;
    let from = [position(&world.hub), position(&world.alpha)];
    quiet(600).await;
    assert_eq!(companions(), 0);
    assert_eq!([writes(&world.hub, from[0]), writes(&world.alpha, from[1])], [vec![""; 0], vec![""; 0]]);
    assert!(world.alpha.get("Secret", SPACE, "db").is_some(), "the project's own stay");
    entitle(&world.alpha, &json!({"phase": "Active"}));
    until("them to be back", || companions() == 2 && world.is_ready("web")).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w9_a_deployment_that_was_released_keeps_no_companion_of_one_that_is_deleted_after_it() {
    let world = World { entitled: true, ..World::with_web() };
    serve_entitlements(&world.alpha);
    entitle(&world.alpha, &json!({"phase": "Active"}));
    world.put_wd("two", &json!([{"secret": {"secretName": "db"}}]));
    let run = world.ready().await;
    let counted = || world.counted("Secret", "db");
    until("both to be counted", || counted() == ["shop/two", "shop/web"] && world.is_ready("two")).await;
    // The cell takes its time with one of them, whose user deletes it meanwhile.
    let hold = |held: serde_json::Value| {
        let finalizers = json!({"metadata": {"finalizers": held}});
        world.hub.patch("WorkloadDeployment", &world.hub_space(), "web", &finalizers).unwrap();
    };
    hold(json!(["example.com/slow"]));
    withdraw(&world.alpha);
    until("the other to be free", || world.wd("two").unwrap()["metadata"]["finalizers"].is_null()).await;
    assert_eq!(counted(), ["shop/web"]);
    world.alpha.delete("WorkloadDeployment", SPACE, "web").unwrap();
    quiet(30).await;
    assert_eq!(counted(), ["shop/web"], "its Instances may need it yet");
    hold(json!(null));
    until("it to go", || world.wd("web").is_none()).await;
    quiet(30).await;
    assert_eq!((world.companion("Secret", "db"), world.companion("ConfigMap", "app")), (None, None));
    run.stop().await;
}

//! Sources that cannot be copied, and what is said of them.

use fedhub_core::names::{
    EXPECTED_REFERENCED_DATA, FEDERATION_NAMESPACE, REFERENCED_DATA_ERROR, REFERENCED_DATA_FINALIZER,
};
use fedhub_fake_apiserver::Fault;
use serde_json::{Value, json};

use crate::referenced_data::support::{SPACE, World, quiet, until};

fn text(bytes: usize) -> Value {
    json!({"k": "x".repeat(bytes - 1)})
}

#[tokio::test(start_paused = true)]
async fn w5_a_source_that_is_missing_is_named_until_it_is_there() {
    let world = World::with_web();
    world.alpha.delete("Secret", SPACE, "db").unwrap();
    let run = world.run();
    until("the error", || world.fails_with("web", "SourceNotFound")).await;
    assert!(
        world
            .annotation("web", REFERENCED_DATA_ERROR)
            .unwrap()
            .contains("Secret db does not exist in namespace shop")
    );
    assert!(world.annotation("web", EXPECTED_REFERENCED_DATA).is_none());
    // The error goes to the cell with the WD.
    let hub = || world.hub.get("WorkloadDeployment", &world.hub_space(), "web");
    until("the cell's annotation", || {
        hub().is_some_and(|wd| wd["metadata"]["annotations"][REFERENCED_DATA_ERROR].is_string())
    })
    .await;
    let from = world.positions();
    quiet(600).await;
    assert_eq!(world.writes(from), [vec![], vec![]] as [Vec<String>; 2], "said once");
    world.put_source("Secret", "db", &json!({"password": "YQ=="}));
    until("the data", || world.is_ready("web")).await;
    assert!(world.annotation("web", REFERENCED_DATA_ERROR).is_none());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w5_an_error_is_told_also_before_the_wd_is_federated() {
    let world = World::new();
    let volumes = json!([{"configMap": {"name": "app"}}]);
    world.put_wd("web", &volumes);
    world
        .alpha
        .patch("WorkloadDeployment", SPACE, "web", &json!({"spec": {"cityCode": "New York"}}))
        .unwrap();
    let run = world.run();
    until("the error", || world.fails_with("web", "SourceNotFound")).await;
    world.alpha.delete("WorkloadDeployment", SPACE, "web").unwrap();
    until("the WD to go", || world.wd("web").is_none()).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w5_optional_sources_are_skipped_where_they_are_missing_and_copied_where_not() {
    let world = World::with_web();
    let volumes = json!([
        {"configMap": {"name": "app", "optional": true}}, {"secret": {"secretName": "later", "optional": true}},
    ]);
    world.edit_wd("web", &volumes);
    let run = world.ready().await;
    assert_eq!(world.expected("web")["expected"], json!(["ConfigMap/app"]));
    world.put_source("Secret", "later", &json!({"k": "YQ=="}));
    until("the other", || world.expected("web")["expected"] == json!(["ConfigMap/app", "Secret/later"]))
        .await;
    world.alpha.delete("ConfigMap", SPACE, "app").unwrap();
    until("its companion to go", || world.companion("ConfigMap", "app").is_none()).await;
    assert_eq!(world.expected("web")["expected"], json!(["Secret/later"]));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w5_what_is_too_large_is_not_copied() {
    let limit = 256 << 10;
    for (bytes, fits) in [(limit, true), (limit + 1, false)] {
        let world = World::with_web();
        world.put_source("ConfigMap", "app", &text(bytes));
        let run = world.run();
        if fits {
            until("the data", || world.is_ready("web")).await;
        } else {
            until("the error", || world.fails_with("web", "SourceTooLarge")).await;
            quiet(5).await;
            assert!(world.companion("ConfigMap", "app").is_none());
            assert!(world.companion("Secret", "db").is_some(), "one does not hold up the other");
            let from = world.positions();
            quiet(600).await;
            assert_eq!(world.data_requests(from), Vec::<String>::new(), "read once");
            world.put_source("ConfigMap", "app", &text(10));
            until("the data", || world.is_ready("web")).await;
            assert_eq!(run.data.remembered(), 0);
        }
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn w5_all_sources_of_a_wd_have_a_limit_together() {
    let world = World::new();
    let names: Vec<String> = (0..5).map(|n| format!("part-{n}")).collect();
    for name in &names {
        world.put_source("ConfigMap", name, &text(220 << 10));
    }
    let volumes: Vec<Value> = names.iter().map(|name| json!({"configMap": {"name": name}})).collect();
    world.put_wd("web", &json!(volumes));
    let run = world.run();
    until("the error", || world.fails_with("web", "SourceTooLarge")).await;
    quiet(5).await;
    let from = world.positions();
    quiet(600).await;
    assert_eq!(world.data_requests(from), Vec::<String>::new());
    assert!(world.annotation("web", REFERENCED_DATA_ERROR).unwrap().contains("1048576"));
    world.edit_wd("web", &json!(volumes[..4]));
    until("the data", || world.is_ready("web")).await;
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w5_what_grows_over_the_limit_of_all_is_told_and_read_once() {
    let world = World::new();
    let names = ["a", "b", "c", "d", "e"];
    for name in names {
        world.put_source("ConfigMap", name, &text(if name == "a" { 100 } else { 220 << 10 }));
    }
    let volumes: Vec<Value> = names.iter().map(|name| json!({"configMap": {"name": name}})).collect();
    world.put_wd("web", &json!(volumes[1..]));
    let run = world.run();
    until("the data", || world.is_ready("web")).await;
    for grows in [false, true] {
        if grows {
            world.put_source("ConfigMap", "a", &text(100));
            until("the data", || world.is_ready("web")).await;
            world.put_source("ConfigMap", "a", &text(221 << 10));
        } else {
            world.put_source("ConfigMap", "a", &text(220 << 10));
            world.edit_wd("web", &json!(volumes));
        }
        until("the error", || world.fails_with("web", "SourceTooLarge")).await;
        assert!(world.annotation("web", REFERENCED_DATA_ERROR).unwrap().contains("with ConfigMap a"));
        quiet(5).await;
        let from = world.positions();
        quiet(600).await;
        assert_eq!(world.data_requests(from), Vec::<String>::new(), "grows: {grows}");
    }
    assert_eq!(run.failed("referenced_data"), 0);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i4_c6_what_may_be_read_no_more_stays_in_the_cell() {
    for optional in [false, true] {
        let world = World::with_web();
        world.edit_wd("web", &json!([{"secret": {"secretName": "db", "optional": optional}}]));
        world.ready().await.stop().await;
        let refused = world.alpha.fault(Fault::Status(403).on("list", "secrets"));
        let run = world.run();
        quiet(600).await;
        assert_eq!(world.counted("Secret", "db"), ["shop/web"]);
        assert_eq!(world.expected("web")["expected"], json!(["Secret/db"]));
        assert!(world.is_ready("web"));
        world.alpha.clear_fault(refused);
        world.put_source("Secret", "db", &json!({"password": "bmV3"}));
        until("the copy", || world.companion("Secret", "db").unwrap()["data"]["password"] == "bmV3").await;
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn i11_w5_a_copy_that_the_hub_refuses_is_told_and_holds_up_no_other() {
    for code in [403, 422] {
        let world = World::with_web();
        let refused = world.hub.fault(Fault::Status(code).on("create", "configmaps"));
        let run = world.run();
        until("the error", || world.fails_with("web", "SourceRefused")).await;
        assert!(world.annotation("web", REFERENCED_DATA_ERROR).unwrap().contains(&code.to_string()));
        until("the other", || world.companion("Secret", "db").is_some()).await;
        assert_eq!(run.failed("referenced_data"), 0);
        world.hub.clear_fault(refused);
        until("the data", || world.is_ready("web")).await;
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn i11_w5_what_no_cell_can_have_a_copy_of_is_told() {
    let world = World::new();
    let token = json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": {"namespace": SPACE, "name": "token"}, "data": {"token": "YQ=="}});
    world.alpha.put(token).unwrap();
    world.put_source("ConfigMap", "kube-root-ca.crt", &json!({"ca.crt": "x"}));
    let long = "x".repeat(244);
    world.put_source("ConfigMap", &long, &json!({"k": "v"}));
    world.put_source("ConfigMap", "app", &json!({"k": "v"}));
    let run = world.run();
    for (n, other) in [
        json!({"secret": {"secretName": "token"}}),
        json!({"configMap": {"name": "kube-root-ca.crt"}}),
        json!({"configMap": {"name": long}}),
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("web-{n}");
        world.put_wd(&name, &json!([{"configMap": {"name": "app"}}, other]));
        until("the error", || world.fails_with(&name, "SourceUnsupported")).await;
        until("the other", || world.counted("ConfigMap", "app").contains(&format!("shop/{name}"))).await;
    }
    quiet(5).await;
    let from = world.positions();
    quiet(600).await;
    assert_eq!(world.data_requests(from), Vec::<String>::new(), "read once");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w5_what_may_not_be_read_is_told_until_it_may() {
    for verb in ["list", "get"] {
        let world = World::with_web();
        let refused = world.alpha.fault(Fault::Status(403).on(verb, "secrets"));
        let run = world.run();
        until("the error", || world.fails_with("web", "SourceUnauthorized")).await;
        quiet(600).await;
        assert_eq!(
            run.planes.engaged(&crate::referenced_data::support::plane_name("alpha")).unwrap().state(),
            "engaged",
            "{verb}"
        );
        world.alpha.clear_fault(refused);
        until("the data", || world.is_ready("web")).await;
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn i6_what_a_tenant_writes_into_the_annotation_becomes_no_request_of_the_hub() {
    let world = World::new();
    // It is not federated, so that nothing puts its annotation right.
    let template = json!({"spec": {"volumes": [{"configMap": {"name": "app"}}]}});
    let wd = json!({
        "apiVersion": "compute.datumapis.com/v1alpha", "kind": "WorkloadDeployment",
        "metadata": {"namespace": SPACE, "name": "web"},
        "spec": {"cityCode": "New York", "placementName": "p", "template": template},
    });
    let run = world.run();
    for name in ["ns-a b", "ns-a/secrets/db", "ns-..", "ns-a?watch=true", "kube-system", "NS-A"] {
        world.alpha.put(wd.clone()).unwrap();
        until("its finalizer", || {
            world.wd("web").unwrap()["metadata"]["finalizers"].to_string().contains(REFERENCED_DATA_FINALIZER)
        })
        .await;
        let annotation = json!({"metadata": {"annotations": {FEDERATION_NAMESPACE: name}}});
        world.alpha.patch("WorkloadDeployment", SPACE, "web", &annotation).unwrap();
        quiet(5).await;
        let from = world.positions();
        world.alpha.delete("WorkloadDeployment", SPACE, "web").unwrap();
        until("the WD to go", || world.wd("web").is_none()).await;
        let asked = fedhub_testing::asked(&world.hub, from[0]);
        assert!(asked.is_empty(), "{name}: {asked:?}");
    }
    run.stop().await;
}

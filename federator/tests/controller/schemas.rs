//! I1, I7: planes whose schemas prune and default what they are sent.

use fedhub_fake_apiserver::{ApiServer, Resource, resource};
use serde_json::{Value, json};

use crate::controller::support::*;

/// A server whose WDs lose `spec.unknown` and `status.unknown`, and get a default.
fn strict(name: &str, resources: Vec<Resource>) -> ApiServer {
    let wd =
        Resource::custom("compute.datumapis.com", "v1alpha", "WorkloadDeployment", "workloaddeployments")
            .with_status()
            .pruning(|wd: &mut Value| {
                for part in ["spec", "status"] {
                    if let Some(map) = wd[part].as_object_mut() {
                        map.remove("unknown");
                    }
                }
            })
            .defaulting(|wd: &mut Value| {
                if let Some(spec) = wd["spec"].as_object_mut() {
                    spec.entry("defaulted").or_insert(json!(1));
                }
            });
    ApiServer::builder(name).resources(resources).resource(wd).build()
}

#[tokio::test(start_paused = true)]
async fn i1_what_the_hub_prunes_is_said_once_and_written_once() {
    let world = World::over(strict("hub", resource::hub()), ApiServer::project_plane("alpha"));
    world.beta.delete("WorkloadDeployment", SPACE, WD).unwrap();
    let from = world.positions();
    let run = world.run();
    until("the hub WD", || world.hub_wd(WD).is_some()).await;
    quiet(600).await;
    let hub_wd = world.hub_wd(WD).unwrap();
    assert_eq!(hub_wd["spec"]["unknown"], Value::Null);
    assert_eq!(hub_wd["spec"]["defaulted"], 1);
    let [hub, _, _] = world.asked(from);
    assert_eq!(hub.iter().filter(|r| r.contains("workloaddeployments")).count(), 1, "{hub:?}");
    assert_eq!(run.metrics.fields_pruned.get(), 1);
    run.stop().await;

    let from = world.positions();
    let run = world.run();
    quiet(600).await;
    assert_eq!(world.writes(from), nothing());
    assert_eq!(
        world.asked(from)[0],
        ["get workloaddeployments/web", "update workloaddeployments/web (dry)"],
        "asked once what would change"
    );
    // The next change goes through, once.
    let from = world.positions();
    world.alpha.patch("WorkloadDeployment", SPACE, WD, &json!({"spec": {"placementName": "q"}})).unwrap();
    until("the change", || world.hub_wd(WD).unwrap()["spec"]["placementName"] == "q").await;
    quiet(600).await;
    assert_eq!(world.asked(from)[0], ["get workloaddeployments/web", "update workloaddeployments/web"]);
    assert_eq!(run.metrics.fields_pruned.get(), 2, "each thing that was not kept, once");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i1_what_the_project_plane_prunes_is_said_once_and_written_once() {
    let world = World::over(ApiServer::hub("hub"), strict("alpha", resource::project_plane()));
    let run = world.federated().await;
    let from = world.positions();
    world.report(WD, &reported(2));
    until("the status", || world.wd(WD).unwrap()["status"]["replicas"] == 2).await;
    quiet(600).await;
    assert_eq!(world.wd(WD).unwrap()["status"]["unknown"], Value::Null);
    assert_eq!(
        world.asked(from)[1],
        ["get workloaddeployments/web", "update workloaddeployments/status/web"]
    );
    assert_eq!(run.metrics.fields_pruned.get(), 1);
    run.stop().await;
    let from = world.positions();
    let run = world.run();
    quiet(600).await;
    assert_eq!(world.writes(from), nothing());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i1_unknown_fields_travel_both_ways() {
    let world = World::new();
    let run = world.federated().await;
    assert_eq!(world.hub_wd(WD).unwrap()["spec"]["unknown"], json!({"kept": [1, null]}));
    world.report(WD, &reported(1));
    until("the status", || world.wd(WD).unwrap()["status"]["unknown"] == json!({"kept": [null, 0, ""]}))
        .await;
    assert_eq!(run.metrics.fields_pruned.get(), 0);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i7_karmadas_webhook_and_the_federator_do_not_fight() {
    let webhook =
        Resource::custom("policy.karmada.io", "v1alpha1", "PropagationPolicy", "propagationpolicies")
            .defaulting(|policy: &mut Value| {
                policy["metadata"]["labels"]["propagationpolicy.karmada.io/permanent-id"] = json!("id");
                if let Some(spec) = policy["spec"].as_object_mut() {
                    spec.entry("later").or_insert(json!("Karmada"));
                }
            });
    let hub = ApiServer::builder("hub").resources(resource::hub()).resource(webhook).build();
    let world = World::over(hub, ApiServer::project_plane("alpha"));
    let run = world.federated().await;
    let from = world.positions();
    quiet(600).await;
    assert_eq!(world.asked(from), nothing());
    run.stop().await;
    let from = world.positions();
    let run = world.run();
    quiet(600).await;
    assert_eq!(world.writes(from), nothing());
    let [hub, _, _] = world.asked(from);
    let (dry, reads): (Vec<_>, Vec<_>) = hub.iter().partition(|r| r.ends_with("(dry)"));
    assert!(dry.len() <= 2 && reads.iter().all(|r| **r == "get workloaddeployments/web"), "{hub:?}");
    run.stop().await;
}

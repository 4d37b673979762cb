//! What a Workload says of a type that is not Active any more (W8).

use fedhub_fake_apiserver::ApiServer;
use fedhub_fake_apiserver::resource;
use serde_json::json;

use crate::workload_controller::support::*;

fn put_type(source: &ApiServer, phase: &str) {
    let lifecycle = json!({"phase": phase, "replacementInstanceType": "d2"});
    source
        .put(json!({
            "apiVersion": API, "kind": "InstanceType", "metadata": {"name": "d1-standard-2"},
            "spec": {"resources": {"cpu": "1", "memory": "2Gi"}, "lifecycle": lifecycle},
        }))
        .unwrap();
}

fn said(world: &World) -> [(String, String, String); 2] {
    ["InstanceTypeDeprecated", "InstanceTypeDisabled"].map(|kind| world.said("web", kind))
}

fn words(condition: &str, message: &str) -> (String, String, String) {
    ("True".to_owned(), condition.to_owned(), message.to_owned())
}

#[tokio::test(start_paused = true)]
async fn w8_a_workload_says_that_its_type_has_left_active() {
    let world = World::new();
    let source =
        ApiServer::builder("source").resources(resource::base()).resource(resource::instance_types()).build();
    put_type(&source, "Active");
    world.put("web", &["DFW"]);
    let run = world.run_with(Some(&source));
    quiet(5).await;
    world.report("web-us-dfw", 1, ("True", "StableInstanceFound", "1/1 instances are ready"));
    quiet(5).await;
    let nothing = (String::new(), String::new(), String::new());
    assert_eq!(said(&world), [nothing.clone(), nothing.clone()]);

    put_type(&source, "Deprecated");
    quiet(5).await;
    let name = "Instance type \"datumcloud/d1-standard-2\"";
    let deprecated = words("InstanceTypeDeprecated", &format!("{name} is deprecated: use \"d2\" instead"));
    assert_eq!(said(&world), [deprecated, nothing.clone()]);
    put_type(&source, "Disabled");
    quiet(5).await;
    let message = format!("{name} is disabled, and new templates cannot have it: use \"d2\" instead");
    let disabled = words("InstanceTypeDisabled", &message);
    assert_eq!(said(&world), [nothing.clone(), disabled.clone()]);

    // I7: neither at rest nor after a restart.
    let from = position(&world.project);
    quiet(600).await;
    run.stop().await;
    let run = world.run_with(Some(&source));
    quiet(60).await;
    assert_eq!(asked(&world.project, from), Vec::<String>::new());
    run.stop().await;
    // Without a catalogue the condition is not fedhub's (I9).
    let run = world.run();
    quiet(60).await;
    assert_eq!((asked(&world.project, from), said(&world)[1].clone()), (vec![], disabled));
    run.stop().await;

    source.delete("InstanceType", "", "d1-standard-2").unwrap();
    let run = world.run_with(Some(&source));
    quiet(60).await;
    assert_eq!(said(&world), [nothing.clone(), nothing]);
    run.stop().await;
}

//! W7: where new WDs can be placed.

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn w7_without_location_bindings_a_city_with_a_cell_is_placeable() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["DFW", "LHR"]);
    quiet(5).await;
    assert_eq!(world.wds(), ["web-us-dfw"]);
    let (_, reason, message) = world.said("web", "Available");
    assert_eq!(reason, "NoMatchingLocations");
    assert!(message.starts_with("No new deployment in \"LHR\": no cell serves it."), "{message}");
    world.report("web-us-dfw", 1, ("True", "StableInstanceFound", "1/1 instances are ready"));
    quiet(5).await;
    let (status, _, message) = world.said("web", "Available");
    assert!(status == "True" && message.contains("\"LHR\""), "{message}");
    put_cluster(&world.hub, "LHR");
    quiet(5).await;
    assert_eq!(world.wds(), ["web-us-dfw", "web-us-lhr"]);
    assert!(!world.said("web", "Available").2.contains("LHR"));
    // A city that stops being served keeps its WD.
    world.hub.delete("Cluster", "", "cell-lhr").unwrap();
    quiet(5).await;
    assert_eq!(world.wds(), ["web-us-dfw", "web-us-lhr"]);
    // And it is kept as the Workload says.
    world.patch("web", &serde_json::json!({"spec": {"template": template("nginx:2")}}));
    quiet(5).await;
    assert_eq!(world.wd("web-us-lhr").unwrap()["spec"]["template"], template("nginx:2"));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w7_where_location_bindings_are_served_only_a_ready_one_counts() {
    let world = World::new();
    world.project.register(location_bindings());
    put_location(&world.project, "DFW", "True");
    put_location(&world.project, "ORD", "False");
    let run = world.run();
    world.put("web", &["DFW", "ORD"]);
    quiet(5).await;
    assert_eq!(world.wds(), ["web-us-dfw"]);
    let (_, reason, message) = world.said("web", "Available");
    assert_eq!(reason, "NoMatchingLocations");
    assert!(message.contains("\"ORD\": the project has no ready LocationBinding there"), "{message}");
    put_location(&world.project, "ORD", "True");
    quiet(5).await;
    assert_eq!(world.wds(), ["web-us-dfw", "web-us-ord"]);
    let before = world.wd("web-us-dfw").unwrap();
    world.project.delete("LocationBinding", "", "dfw").unwrap();
    quiet(5).await;
    assert_eq!(
        uid(&world.wd("web-us-dfw").unwrap()),
        uid(&before),
        "an existing WD is never deleted for that"
    );
    run.stop().await;
}

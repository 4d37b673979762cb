//! W7: where new WDs can be placed.

use fedhub_core::object::Kind;
use serde_json::json;

use crate::workload_controller::support::*;

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
    // Nobody can tell how it is, so that it is left as it is (R5), and caught up when it is served again.
    world.patch("web", &serde_json::json!({"spec": {"template": template("nginx:2")}}));
    quiet(5).await;
    world.report("web-us-dfw", 1, ("True", "StableInstanceFound", "1/1 instances are ready"));
    quiet(5).await;
    assert_eq!(world.wd("web-us-lhr").unwrap()["spec"]["template"], template("nginx:1"));
    put_cluster(&world.hub, "LHR");
    quiet(5).await;
    assert_eq!(world.wd("web-us-lhr").unwrap()["spec"]["template"], template("nginx:2"));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w7_several_cities_without_a_cell_are_told_in_the_plural() {
    let world = World::new();
    let run = world.run();
    world.put("web", &["LHR", "NRT"]);
    quiet(5).await;
    let (_, _, message) = world.said("web", "Available");
    assert!(message.starts_with("No new deployment in \"LHR\", \"NRT\": no cell serves them."), "{message}");
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

#[tokio::test(start_paused = true)]
async fn w7_location_bindings_that_are_served_no_more_decide_nothing() {
    let world = World::new();
    world.project.register(location_bindings());
    let run = world.run();
    world.put("web", &["DFW"]);
    quiet(5).await;
    assert_eq!((world.wds(), world.said("web", "Available").1.as_str()), (vec![], "NoMatchingLocations"));
    // Their CRD is removed, of which no binding tells: there was none.
    world.project.unregister("locationbindings.networking.datumapis.com");
    until("its WD, by the cells", || world.wds() == ["web-us-dfw"]).await;
    assert_eq!(run.engaged(&plane_name("alpha")).unwrap().state(), "engaged");
    world.project.register(location_bindings());
    quiet(1200).await;
    world.put("api", &["DFW"]);
    quiet(5).await;
    let (_, reason, message) = world.said("api", "Available");
    assert_eq!((world.wds(), reason.as_str()), (vec!["web-us-dfw".to_owned()], "NoMatchingLocations"));
    assert!(message.contains("LocationBinding"), "they decide again: {message}");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i8_w7_a_binding_costs_the_workloads_that_name_its_city_and_no_memory() {
    let world = World::new();
    world.project.register(location_bindings());
    let run = world.run();
    world.put("web", &["DFW"]);
    world.put("api", &["ORD"]);
    quiet(5).await;
    let reconciled = || run.metrics.reconciles.with_label_values(&["workloads", "unchanged"]).get();
    let from = position(&world.project);
    let before = reconciled();
    for n in 0..20 {
        let mut binding = location_binding("LHR", "True");
        binding["metadata"]["name"] = json!(format!("lhr-{n}"));
        binding["spec"]["note"] = json!("x".repeat(50_000));
        world.project.put(binding).unwrap();
    }
    quiet(5).await;
    assert_eq!((asked(&world.project, from), reconciled()), (Vec::new(), before));
    let alpha = run.engaged(&plane_name("alpha")).unwrap();
    assert_eq!(alpha.store(Kind::LocationBinding).len(), 20);
    assert!(run.budget().held() < 100_000, "{}", run.budget().held());
    assert!(alpha.store(Kind::LocationBinding).object("", "lhr-1").is_none(), "digests are enough");
    put_location(&world.project, "DFW", "True");
    quiet(5).await;
    assert_eq!(world.wds(), ["web-us-dfw"]);
    run.stop().await;
}

//! How long a generation takes to come back (U5).

use fedhub_core::metrics::Metrics;
use serde_json::{Value, json};

use crate::controller::support::*;

/// Returns, for a city, how many generations were measured and how many seconds they took together, rounded:
/// as a whole, and within Karmada.
fn measured(metrics: &Metrics, city: &str) -> [(u64, u64); 2] {
    [&metrics.convergence, &metrics.convergence_karmada].map(|histogram| {
        let of_city = histogram.with_label_values(&[city]);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        (of_city.get_sample_count(), of_city.get_sample_sum().round() as u64)
    })
}

fn observed(generation: u64) -> Value {
    json!({"replicas": 1, "observedGeneration": generation})
}

fn generation(world: &World, name: &str) -> u64 {
    world.wd(name).unwrap()["metadata"]["generation"].as_u64().unwrap()
}

async fn converge(world: &World, name: &str, after: u64) {
    quiet(after).await;
    let newest = generation(world, name);
    world.report(name, &observed(newest));
    until("its status", || world.wd(name).unwrap()["status"]["observedGeneration"] == newest).await;
    quiet(1).await;
}

#[tokio::test(start_paused = true)]
async fn u5_a_generation_is_measured_until_its_status_is_back_and_once() {
    let world = World::new();
    let run = world.federated().await;
    put_wd(&world.alpha, "new", "ORD");
    converge(&world, "new", 20).await;
    assert_eq!(measured(&run.metrics, "ORD"), [(1, 20), (1, 20)]);
    // Nor a status of the same generation, nor an event.
    let newest = generation(&world, "new");
    world.report("new", &json!({"replicas": 2, "observedGeneration": newest}));
    quiet(10).await;
    assert_eq!(measured(&run.metrics, "ORD"), [(1, 20), (1, 20)]);
    let spec = json!({"spec": {"placementName": "q"}});
    world.alpha.patch("WorkloadDeployment", SPACE, "new", &spec).unwrap();
    converge(&world, "new", 30).await;
    assert_eq!(measured(&run.metrics, "ORD"), [(2, 50), (2, 50)]);
    world.delete("new");
    until("it to go", || world.wd("new").is_none()).await;
    quiet(10).await;
    assert_eq!(measured(&run.metrics, "ORD")[0].0, 2, "a deletion is no change that comes back");
    run.stop().await;
}

/// The acknowledgement is enough: the event of it may be late.
#[tokio::test(start_paused = true)]
async fn u5_a_generation_has_converged_when_the_write_of_its_status_is_acknowledged() {
    let world = World::new();
    let run = world.federated().await;
    put_wd(&world.alpha, "new", "ORD");
    quiet(5).await;
    world.alpha.fault(fedhub_fake_apiserver::Fault::Hang.on("watch", "*"));
    world.alpha.break_watches();
    converge(&world, "new", 10).await;
    assert_eq!(measured(&run.metrics, "ORD"), [(1, 15), (1, 15)]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn u5_what_keeps_the_hub_is_in_the_whole_and_not_in_karmadas_share() {
    let world = World::new();
    let run = world.federated().await;
    let stuck =
        world.hub.fault(fedhub_fake_apiserver::Fault::Status(503).on("create", "workloaddeployments"));
    put_wd(&world.alpha, "new", "ORD");
    quiet(40).await;
    world.hub.clear_fault(stuck);
    let waited = until("it to be federated", || world.hub_wd("new").is_some()).await.as_secs();
    converge(&world, "new", 10).await;
    let [(whole, took), karmada] = measured(&run.metrics, "ORD");
    assert!(whole == 1 && took.abs_diff(50 + waited) <= 1, "{took} {waited}");
    assert_eq!(karmada, (1, 10));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn u5_what_was_on_its_way_at_the_start_is_not_measured_and_users_make_no_series() {
    let world = World::new();
    let first = world.federated().await;
    first.stop().await;
    let run = world.run();
    quiet(10).await;
    converge(&world, WD, 10).await;
    assert_eq!(measured(&run.metrics, "DFW"), [(0, 0), (0, 0)]);
    put_wd(&world.alpha, "new", "ORD");
    quiet(10).await;
    world.hub.delete("Cluster", "", "cell-2").unwrap();
    quiet(10).await;
    converge(&world, "new", 0).await;
    assert_eq!((measured(&run.metrics, "ORD")[0], measured(&run.metrics, "other")[0]), ((0, 0), (1, 20)));
    run.stop().await;
}

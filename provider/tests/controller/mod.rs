//! The controller over the watches of a cell: what is written there, what is asked of the provider, and when.

use std::sync::Arc;
use std::time::Duration;

use fedhub_api::conditions::{find, is_true};
use fedhub_core::names::{INSTANCE_POWER, PROVIDER_FINALIZER};
use fedhub_core::object::PlaneId;
use fedhub_fake_apiserver::ApiServer;
use fedhub_planes::{Settings, watched};
use fedhub_provider::{Phase, ProviderController, ProviderSettings, kinds};
use fedhub_testing::{Process, Run, cell, client, position, put_hub_namespace, quiet, uid, writes};
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;

use crate::model::{Faults, Region};

const API: &str = "compute.datumapis.com/v1alpha";
const NS: &str = "ns-a";

struct World {
    cell: ApiServer,
    region: Arc<Region>,
}

impl World {
    /// A cell with the WD `wd` of the project `alpha`, and a region without faults.
    fn new() -> Self {
        let cell = cell("cell");
        put_hub_namespace(&cell, NS, "alpha", "shop");
        let metadata = json!({"namespace": NS, "name": "wd"});
        let wd = json!({"apiVersion": API, "kind": "WorkloadDeployment", "metadata": metadata, "spec": {"cityCode": "DFW"}});
        cell.put(wd).unwrap();
        let clock = fedhub_core::clock::Clock::from_tokio(cell.clock().now());
        let region = Arc::new(Region::new(1, Faults::default(), true, clock));
        let runs = region.clone();
        tokio::spawn(async move { runs.run().await });
        Self { cell, region }
    }

    fn put_instance(&self, name: &str, gates: Value) {
        let wd = self.cell.get("WorkloadDeployment", NS, "wd").unwrap();
        let owner = json!([{"apiVersion": API, "kind": "WorkloadDeployment", "name": "wd", "uid": uid(&wd), "controller": true}]);
        let instance = json!({
            "apiVersion": API, "kind": "Instance",
            "metadata": {"namespace": NS, "name": name, "ownerReferences": owner},
            "spec": {
                "network": "n1", "image": "i1", "flavor": "f1",
                "controller": {"templateHash": "h", "schedulingGates": gates},
            },
        });
        self.cell.put(instance).unwrap();
    }

    fn instance(&self, name: &str) -> Option<Value> {
        self.cell.get("Instance", NS, name)
    }

    fn run(&self) -> Run<()> {
        let mut process = Process::on(&self.cell);
        let settings = Settings {
            seed: 7,
            anchor: PlaneId::Cell,
            anchor_kinds: watched::all(&kinds()),
            project_kinds: Vec::new(),
            ..Settings::default()
        };
        let planes = process.planes(client(&self.cell), settings);
        let queue = process.queue(1);
        let controller = ProviderController::new(
            planes.clone(),
            queue.clone(),
            self.region.clone(),
            ProviderSettings::default(),
            TaskTracker::new(),
            &process.stopping,
        );
        planes.listen(controller.clone());
        process.work(&controller, &queue, 8);
        planes.start();
        process.running(())
    }

    fn calls(&self, call: &str) -> u32 {
        self.region.with(|inner| inner.calls.get(call).copied().unwrap_or_default())
    }

    fn phases(&self) -> Vec<Phase> {
        self.region.with(|inner| inner.now.servers.values().map(|server| server.phase).collect())
    }
}

#[tokio::test(start_paused = true)]
async fn v1_an_instance_gets_one_server_and_a_restart_of_the_process_changes_nothing() {
    let world = World::new();
    let run = world.run();
    world.put_instance("wd-0", json!([]));
    quiet(60).await;
    let instance = world.instance("wd-0").unwrap();
    let status = &instance["status"];
    assert!(is_true(status, "Programmed") && is_true(status, "Available"), "{status}");
    assert_eq!(status["controller"]["observedTemplateHash"], "h");
    assert_eq!(status["provider"]["project"], "alpha");
    assert_eq!(instance["metadata"]["finalizers"], json!([PROVIDER_FINALIZER]));
    run.stop().await;

    let from = position(&world.cell);
    let run = world.run();
    quiet(300).await;
    assert_eq!(writes(&world.cell, from), Vec::<String>::new());
    assert_eq!((world.calls("create"), world.calls("get")), (1, 0));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn v9_nothing_is_asked_for_an_instance_that_waits() {
    let world = World::new();
    let run = world.run();
    world.put_instance("wd-0", json!([{"name": "Network"}]));
    quiet(60).await;
    assert_eq!(world.region.with(|inner| inner.calls.len()), 0);
    let instance = world.instance("wd-0").unwrap();
    assert!(instance["metadata"]["finalizers"].is_null());
    let open = json!({"spec": {"controller": {"schedulingGates": null}}});
    world.cell.patch("Instance", NS, "wd-0", &open).unwrap();
    quiet(60).await;
    assert_eq!(world.phases(), [Phase::Running]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn v4_a_deleted_instance_leaves_nothing() {
    let world = World::new();
    let run = world.run();
    world.put_instance("wd-0", json!([]));
    quiet(120).await;
    world.region.with(|inner| inner.faults.deletion = 20);
    world.cell.delete("Instance", NS, "wd-0").unwrap();
    quiet(120).await;
    assert!(world.instance("wd-0").is_none(), "{:?}", world.instance("wd-0"));
    let left = world.region.with(|inner| (inner.now.servers.len(), inner.now.allocations.len()));
    assert_eq!(left, (0, 0));
    assert_eq!(world.region.with(|inner| inner.violations.clone()), Vec::<String>::new());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn v9_a_suspended_or_stopped_instance_has_no_running_server() {
    let world = World::new();
    let run = world.run();
    world.put_instance("wd-0", json!([]));
    quiet(60).await;
    for (annotations, phase) in [
        (json!({"compute.datumapis.com/suspended": "true"}), Phase::Stopped),
        (json!({"compute.datumapis.com/suspended": null}), Phase::Running),
        (json!({INSTANCE_POWER: "{\"wd-0\": {\"state\": \"Stopped\"}}"}), Phase::Stopped),
        (json!({INSTANCE_POWER: "no JSON"}), Phase::Running),
    ] {
        let patch = json!({"metadata": {"annotations": annotations}});
        world.cell.patch("WorkloadDeployment", NS, "wd", &patch).unwrap();
        quiet(90).await;
        assert_eq!(world.phases(), [phase], "{annotations}");
    }
    let before = world.calls("power");
    let at = json!({"wd-0": {"restartedAt": "2031-01-01T00:00:00.5Z"}}).to_string();
    let patch = json!({"metadata": {"annotations": {INSTANCE_POWER: at}}});
    world.cell.patch("WorkloadDeployment", NS, "wd", &patch).unwrap();
    quiet(300).await;
    assert_eq!(world.calls("power") - before, 1, "one restart");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn v5_a_rebuild_is_announced_and_over_when_the_new_server_runs() {
    let world = World::new();
    let run = world.run();
    world.put_instance("wd-0", json!([]));
    quiet(60).await;
    let change = json!({"spec": {"image": "i2", "controller": {"templateHash": "h2"}}});
    world.cell.patch("Instance", NS, "wd-0", &change).unwrap();
    quiet(1).await;
    let status = world.instance("wd-0").unwrap()["status"].take();
    assert!(is_true(&status, "Rebuilding"), "{status}");
    quiet(120).await;
    let status = world.instance("wd-0").unwrap()["status"].take();
    assert!(find(&status, "Rebuilding").is_none() && is_true(&status, "Available"), "{status}");
    assert_eq!(status["controller"]["observedTemplateHash"], "h2");
    assert_eq!(world.calls("create"), 1);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn v5_what_changes_beside_the_template_leaves_standing_servers_alone() {
    let world = World::new();
    let run = world.run();
    world.put_instance("wd-0", json!([]));
    quiet(60).await;
    let from = position(&world.cell);
    // As another configuration of the provider would have it: the template stays the same.
    let change = json!({"spec": {"image": "i2", "flavor": "f2", "network": "n2"}});
    world.cell.patch("Instance", NS, "wd-0", &change).unwrap();
    quiet(300).await;
    assert_eq!((world.calls("create"), world.calls("update"), world.calls("delete")), (1, 0, 0));
    let status = world.instance("wd-0").unwrap()["status"].take();
    assert!(is_true(&status, "Programmed") && is_true(&status, "Available"), "{status}");
    assert_eq!(writes(&world.cell, from), Vec::<String>::new());
    let change = json!({"spec": {"controller": {"templateHash": "h2"}, "disruption": "Allow"}});
    world.cell.patch("Instance", NS, "wd-0", &change).unwrap();
    quiet(300).await;
    assert_eq!((world.calls("create"), world.calls("delete")), (2, 1), "with the next template");
    let status = world.instance("wd-0").unwrap()["status"].take();
    assert_eq!(status["controller"]["observedTemplateHash"], "h2", "{status}");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn v8_what_a_provider_accepts_without_effect_is_seldom_repeated() {
    let world = World::new();
    let run = world.run();
    world.put_instance("wd-0", json!([]));
    quiet(60).await;
    world.region.with(|inner| {
        inner.faults.idle = true;
        inner.now.servers.values_mut().for_each(|server| server.tag = None);
    });
    quiet(600).await;
    let asked = world.calls("update");
    assert!((8..=16).contains(&asked), "{asked} in ten minutes");
    world.region.with(|inner| inner.faults.idle = false);
    quiet(120).await;
    assert!(world.region.with(|inner| inner.now.servers.values().all(|server| server.tag.is_some())));
    let asked = world.calls("update");
    quiet(300).await;
    assert_eq!(world.calls("update"), asked);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn v8_at_rest_one_list_a_minute_serves_all_instances_of_a_place() {
    let world = World::new();
    let run = world.run();
    for index in 0..100 {
        world.put_instance(&format!("wd-{index}"), json!([]));
    }
    quiet(600).await;
    assert!(world.phases().len() == 100 && world.phases().iter().all(|phase| *phase == Phase::Running));
    let from = position(&world.cell);
    let before = world.region.with(|inner| inner.calls.clone());
    quiet(600).await;
    let after = world.region.with(|inner| inner.calls.clone());
    let more: Vec<_> = after.iter().filter(|(call, count)| before.get(*call) != Some(*count)).collect();
    assert!(more.len() == 1 && after["list"] - before["list"] <= 11, "{before:?} {after:?}");
    assert_eq!(writes(&world.cell, from), Vec::<String>::new());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn v6_a_region_that_is_away_changes_no_status() {
    let world = World::new();
    let run = world.run();
    world.put_instance("wd-0", json!([]));
    quiet(120).await;
    world.region.with(|inner| inner.faults.refused = 100);
    let from = position(&world.cell);
    quiet(600).await;
    assert_eq!(writes(&world.cell, from), Vec::<String>::new());
    world.region.with(|inner| {
        inner.faults.refused = 0;
        inner.now.servers.values_mut().for_each(|server| server.phase = Phase::Unknown);
    });
    tokio::time::sleep(Duration::from_mins(2)).await;
    let status = world.instance("wd-0").unwrap()["status"].take();
    assert_eq!(find(&status, "Available").unwrap()["status"], "Unknown", "{status}");
    run.stop().await;
}

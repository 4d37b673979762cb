//! V5: new templates for machines with disks, denied, allowed, and carried out in place.

use fedhub_cell::deployment_controller::DeploymentControllerConfig;
use serde_json::{Value, json};

use crate::deployment_controller::support::*;

/// A cell whose provider can make boot disks anew.
const REBUILDING: DeploymentControllerConfig = DeploymentControllerConfig { rebuilds: true, ..ALONE };

fn volumes(image: &str) -> Value {
    let boot = json!({"spec": {"type": "pd-standard", "populator": {"image": {"name": image}}}});
    let data = json!({"spec": {"type": "pd-standard"}});
    json!([{"name": "boot", "disk": {"template": boot}}, {"name": "data", "disk": {"template": data}}])
}

/// A cell with so many machines, which all run.
async fn machines(replicas: u32, config: DeploymentControllerConfig) -> (World, Run<()>) {
    let world = World::with_replicas(replicas);
    let attached = json!([{"name": "boot"}, {"name": "data"}]);
    world.bend(json!({"spec": {"template": {"spec": {
        "runtime": {"virtualMachine": {"volumeAttachments": attached}}, "volumes": volumes("a"),
    }}}}));
    let run = world.run(config);
    world.settle().await;
    (world, run)
}

fn image(world: &World, image: &str) {
    world.bend(json!({"spec": {"template": {"spec": {"volumes": volumes(image)}}}}));
}

fn disruption(world: &World, value: Value) {
    world.bend(json!({"spec": {"template": {"spec": {"disruption": value}}}}));
}

/// UID and image of each Instance.
fn machines_of(world: &World) -> Vec<(String, String)> {
    let image = |i: &Value| {
        let boot = &i["spec"]["volumes"][0]["disk"]["template"]["spec"];
        boot["populator"]["image"]["name"].as_str().unwrap().to_owned()
    };
    world.cell.list("Instance").iter().map(|i| (uid(i), image(i))).collect()
}

/// The requests for Instances since then, without those for statuses.
fn steps(world: &World, from: usize) -> Vec<String> {
    let all = asked(&world.cell, from).into_iter();
    all.filter(|r| r.contains(" instances/") && !r.contains("status")).collect()
}

#[tokio::test(start_paused = true)]
async fn v5_without_consent_machines_keep_their_template() {
    let (world, run) = machines(2, ALONE).await;
    let before = machines_of(&world);
    image(&world, "b");
    quiet(600).await;
    assert_eq!(machines_of(&world), before);
    let (reason, message) = world.lacks("ReplicasReady");
    assert_eq!(reason, "DisruptionDenied");
    let expected = "2/2 replicas available. Instances web-0, web-1 keep the earlier template: the new one would \
                    destroy disks boot, data. Action required by the user: set disruption: Allow in the workload's \
                    template, or restore the earlier template";
    assert_eq!(message, expected);
    let status = &world.wd()["status"];
    assert_eq!((&status["updatedReplicas"], &status["readyReplicas"]), (&json!(0), &json!(2)), "R4");
    assert_eq!(condition(&world.wd(), "Available")["status"], "True", "they serve");
    assert!(world.events().contains(&("DisruptionDenied".to_owned(), 1)), "{:?}", world.events());
    rests_after_a_restart(&world, run, ALONE).await;
}

#[tokio::test(start_paused = true)]
async fn v5_consent_alone_opens_the_door_for_the_pending_change() {
    let (world, run) = machines(2, ALONE).await;
    let before = machines_of(&world);
    disruption(&world, json!("Deny"));
    world.settle().await;
    assert_eq!(machines_of(&world), before, "it rolls nothing by itself");
    assert_eq!(world.instance("web-1")["spec"]["disruption"], "Deny", "their provider reads it there");
    image(&world, "b");
    quiet(60).await;
    let from = position(&world.cell);
    disruption(&world, json!("Allow"));
    world.settle().await;
    let each = |n| [format!("delete instances/web-{n}"), format!("create instances/web-{n}")];
    let steps: Vec<_> = steps(&world, from).into_iter().filter(|step| !step.starts_with("patch")).collect();
    assert_eq!(steps, [each(1), each(0)].concat());
    assert_eq!(condition(&world.wd(), "ReplicasReady")["status"], "True");
    disruption(&world, Value::Null);
    world.settle().await;
    assert!(world.instance("web-1")["spec"]["disruption"].is_null());
    rests_after_a_restart(&world, run, ALONE).await;
}

#[tokio::test(start_paused = true)]
async fn v5_the_earlier_template_ends_what_was_denied() {
    let (world, run) = machines(1, ALONE).await;
    let before = machines_of(&world);
    image(&world, "b");
    quiet(60).await;
    assert_eq!(world.lacks("ReplicasReady").0, "DisruptionDenied");
    image(&world, "a");
    world.settle().await;
    assert_eq!(machines_of(&world), before);
    assert_eq!(condition(&world.wd(), "ReplicasReady")["status"], "True");
    rests_after_a_restart(&world, run, ALONE).await;
}

#[tokio::test(start_paused = true)]
async fn v5_with_consent_a_new_image_is_carried_out_in_place() {
    let (world, run) = machines(3, REBUILDING).await;
    disruption(&world, json!("Allow"));
    world.settle().await;
    let before = machines_of(&world);
    let from = position(&world.cell);
    image(&world, "b");
    for (n, done) in [(2, 1), (1, 2), (0, 3)] {
        quiet(60).await;
        let all = machines_of(&world);
        let images: Vec<_> = all.iter().filter(|(_, image)| image == "b").collect();
        assert_eq!(images.len(), done, "one at a time, whatever Ready says of the earlier template");
        assert_eq!(world.wd()["status"]["updatedReplicas"], done - 1);
        let name = format!("web-{n}");
        let told =
            world.cell.list("events.events.k8s.io").into_iter().find(|event| {
                event["regarding"]["kind"] == "Instance" && event["regarding"]["name"] == *name
            });
        let told = told.unwrap_or_else(|| panic!("no Event on {name}"));
        assert_eq!((&told["reason"], &told["type"]), (&json!("Rebuilding"), &json!("Normal")));
        assert!(told["note"].as_str().unwrap().contains("disk boot is destroyed"), "{told:#}");
        world.say(&name, "False", "Rebuilding");
        quiet(60).await;
        let images = machines_of(&world).into_iter().filter(|(_, image)| image == "b").count();
        assert_eq!(images, done, "it is to be Ready as well");
        world.ready(&name);
    }
    quiet(60).await;
    let uids = |all: Vec<(String, String)>| all.into_iter().map(|(uid, _)| uid).collect::<Vec<_>>();
    assert_eq!(uids(machines_of(&world)), uids(before), "they are the same");
    assert_eq!(
        steps(&world, from),
        ["patch instances/web-2", "patch instances/web-1", "patch instances/web-0"]
    );
    assert_eq!(condition(&world.wd(), "ReplicasReady")["status"], "True");
    rests_after_a_restart(&world, run, REBUILDING).await;
}

#[tokio::test(start_paused = true)]
async fn v5_c4_a_rebuild_that_fails_stops_and_another_image_mends_it() {
    let (world, run) = machines(2, REBUILDING).await;
    disruption(&world, json!("Allow"));
    world.settle().await;
    image(&world, "bad");
    quiet(60).await;
    world.say("web-1", "False", "ImageUnavailable");
    quiet(60).await;
    assert_eq!(world.lacks("ReplicasReady").0, "ImageUnavailable");
    assert_eq!(machines_of(&world)[0].1, "a", "it costs one");
    image(&world, "good");
    world.settle().await;
    assert!(machines_of(&world).iter().all(|(_, image)| image == "good"));
    run.stop().await;
}

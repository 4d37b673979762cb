//! A WD that scales has an autoscaler, which owns its number, and any other has none (C13).

use fedhub_fake_apiserver::{ApiServer, Fault, Resource, resource};
use serde_json::{Value, json};

use crate::deployment_controller::support::*;

const HPA: &str = "HorizontalPodAutoscaler";

/// Between one and five, by CPU.
fn scaled() -> Value {
    let cpu = json!({"resource": {"name": "cpu", "target": {"averageUtilization": 70}}});
    json!({"spec": {"scaleSettings": {"minReplicas": 1, "maxReplicas": 5, "metrics": [cpu]}}})
}

impl World {
    fn autoscaler(&self) -> Option<Value> {
        self.cell.get(HPA, SPACE, WD)
    }

    /// The cell's autoscaler says so of itself.
    fn autoscaler_says(&self, kind: &str, status: &str, reason: &str, message: &str) {
        let condition = json!({"type": kind, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": "2026-01-01T00:00:00Z"});
        self.cell.patch_status(HPA, SPACE, WD, &json!({"conditions": [condition]})).unwrap();
    }

    /// Status and reason of `ScalingActive`; empty where nothing is said.
    fn scaling(&self) -> String {
        let condition = condition(&self.wd(), "ScalingActive");
        let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
        if condition.is_null() { String::new() } else { format!("{}/{}", text("status"), text("reason")) }
    }

    /// Writes to autoscalers, and to what a WD wants, since then.
    fn scaling_writes(&self, from: usize) -> Vec<String> {
        let mut asked = asked(&self.cell, from);
        asked.retain(|r| r.contains("horizontal") || r.starts_with("patch workloaddeployments/"));
        asked
    }
}

#[tokio::test(start_paused = true)]
async fn c13_a_wd_that_scales_has_an_autoscaler_that_goes_when_it_does_not() {
    let world = World::with_replicas(2);
    let run = world.run(ALONE);
    world.settle().await;
    assert_eq!((world.autoscaler(), world.scaling()), (None, String::new()));
    let from = position(&world.cell);
    world.bend(scaled());
    world.settle().await;
    assert_eq!(world.scaling_writes(from), [format!("create horizontalpodautoscalers/{WD}")]);
    let made = world.autoscaler().unwrap();
    assert_eq!(
        made["spec"],
        json!({
            "scaleTargetRef": {"apiVersion": API, "kind": "WorkloadDeployment", "name": WD},
            "minReplicas": 1, "maxReplicas": 5,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 70}}}],
        })
    );
    let owner = &made["metadata"]["ownerReferences"][0];
    assert_eq!((&owner["uid"], &owner["controller"]), (&json!(uid(&world.wd())), &json!(true)));
    assert_eq!(world.names().len(), 2, "the number that it begins with is the project's");

    // It owns the number.
    world.scale(4);
    world.settle().await;
    assert_eq!(world.names().len(), 4);
    // Bounds that change: the autoscaler is updated, and the cell keeps to them before it has reacted.
    let from = position(&world.cell);
    world.bend(json!({"spec": {"scaleSettings": {"maxReplicas": 3}}}));
    world.settle().await;
    assert_eq!(world.scaling_writes(from), [format!("patch horizontalpodautoscalers/{WD}")]);
    assert_eq!(world.autoscaler().unwrap()["spec"]["maxReplicas"], 3);
    assert_eq!((world.names().len(), &world.wd()["status"]["desiredReplicas"]), (3, &json!(3)));

    // Neither a look nor a restart writes anything (I7).
    // What waits for longer than it may has said so.
    quiet(700).await;
    let from = position(&world.cell);
    world.bend(json!({"metadata": {"labels": {"mine": "yes"}}}));
    quiet(600).await;
    run.stop().await;
    let run = world.run(ALONE);
    quiet(600).await;
    assert!(asked(&world.cell, from).is_empty(), "{:?}", asked(&world.cell, from));

    // Switched off: what it held is given back (C6).
    world.bend(json!({"spec": {"replicas": null, "scaleSettings": {"maxReplicas": null, "metrics": null}}}));
    world.settle().await;
    assert_eq!((world.autoscaler(), world.names().len(), world.scaling()), (None, 1, String::new()));
    let from = position(&world.cell);
    quiet(600).await;
    assert!(asked(&world.cell, from).is_empty(), "{:?}", asked(&world.cell, from));
    run.stop().await;
}

/// By its number or by its least one, and back again.
#[tokio::test(start_paused = true)]
async fn c13_w11_what_scales_is_stopped_by_a_zero() {
    let world = World::with_replicas(1);
    world.bend(scaled());
    let run = world.run(ALONE);
    world.settle().await;
    world.scale(3);
    world.settle().await;
    assert_eq!((world.names().len(), world.autoscaler().is_some()), (3, true));
    let least = |least: i64| json!({"spec": {"scaleSettings": {"minReplicas": least}}});
    let number = |number: Value| json!({"spec": {"replicas": number}});
    for (stop, resume, back) in [
        (number(json!(0)), number(json!(2)), 2),
        (number(json!(0)), number(Value::Null), 1),
        (least(0), least(2), 2),
    ] {
        world.bend(stop.clone());
        world.settle().await;
        assert_eq!((world.names().len(), world.autoscaler()), (0, None), "{stop}");
        assert_eq!(world.lacks("ScalingActive").0, "ScalingDisabled", "{stop}");
        let from = position(&world.cell);
        quiet(600).await;
        assert!(asked(&world.cell, from).is_empty(), "{stop}: {:?}", asked(&world.cell, from));
        world.bend(resume.clone());
        world.settle().await;
        assert_eq!((world.names().len(), world.autoscaler().is_some()), (back, true), "{resume}");
    }
    run.stop().await;
}

/// The scale subresource cannot be read without a number.
#[tokio::test(start_paused = true)]
async fn c13_an_autoscaler_finds_a_number_to_begin_with() {
    for (replicas, begins) in [(Value::Null, 2), (json!(4), 4), (json!(9), 9), (json!(1), 1)] {
        let world = World::with_replicas(1);
        let mut settings = scaled();
        settings["spec"]["scaleSettings"]["minReplicas"] = json!(2);
        settings["spec"]["replicas"] = replicas.clone();
        world.bend(settings);
        let run = world.run(ALONE);
        world.settle().await;
        assert_eq!(world.wd()["spec"]["replicas"], begins, "{replicas}");
        assert_eq!(world.names().len(), begins.clamp(2, 5), "{replicas}");
        run.stop().await;
    }
}

/// Ours is only what our WD controls: not what it merely owns, and not what another controls.
#[tokio::test(start_paused = true)]
async fn c13_an_autoscaler_of_another_is_neither_touched_nor_adopted_and_that_is_told() {
    let owner = |wd: &Value, controller: bool| {
        json!([{"apiVersion": API, "kind": "WorkloadDeployment", "name": wd["metadata"]["name"], "uid": uid(wd),
            "controller": controller}])
    };
    for (of, controller) in [(None, false), (Some(WD), false), (Some("other"), true)] {
        let world = World::with_replicas(1);
        world.cell.put(wd("other", 0)).unwrap();
        let of = of.and_then(|name| world.cell.get("WorkloadDeployment", SPACE, name));
        let owners = of.map_or(Value::Null, |wd| owner(&wd, controller));
        let foreign = json!({"apiVersion": "autoscaling/v2", "kind": HPA,
            "metadata": {"namespace": SPACE, "name": WD, "ownerReferences": owners}, "spec": {"maxReplicas": 9}});
        world.cell.put(foreign).unwrap();
        let before = world.autoscaler();
        let run = world.run(ALONE);
        world.bend(scaled());
        world.settle().await;
        assert_eq!(world.scaling(), "False/AutoscalerNameTaken", "{owners}");
        assert!(world.lacks("ScalingActive").1.contains("\"web\" in the cell belongs to another"));
        world.bend(json!({"spec": {"scaleSettings": {"metrics": null}}}));
        world.settle().await;
        assert_eq!((world.autoscaler(), world.scaling()), (before, String::new()), "{owners}");
        world.bend(scaled());
        world.settle().await;
        world.cell.delete(HPA, SPACE, WD).unwrap();
        world.settle().await;
        let ours = world.autoscaler().unwrap();
        assert_eq!(ours["metadata"]["ownerReferences"][0]["uid"], uid(&world.wd()));
        assert_eq!(world.scaling(), "Unknown/Pending");
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn c13_i9_what_is_edited_by_hand_is_put_right_and_what_is_not_ours_is_left() {
    let world = World::with_replicas(1);
    world.bend(scaled());
    let run = world.run(ALONE);
    world.settle().await;
    let metadata = json!({"labels": {"mine": "yes", "compute.datumapis.com/workload-deployment-name": null}});
    let edit = json!({"metadata": metadata, "spec": {"minReplicas": 3, "metrics": [], "behavior": {"scaleDown": {}}}});
    world.cell.patch(HPA, SPACE, WD, &edit).unwrap();
    world.settle().await;
    let stands = world.autoscaler().unwrap();
    assert_eq!(
        (&stands["spec"]["minReplicas"], &stands["metadata"]["labels"]["mine"]),
        (&json!(1), &json!("yes"))
    );
    assert_eq!(stands["metadata"]["labels"]["compute.datumapis.com/workload-deployment-name"], WD);
    assert_eq!(stands["spec"]["metrics"].as_array().unwrap().len(), 1);
    assert_eq!(stands["spec"]["behavior"], json!({"scaleDown": {}}));
    world.cell.delete(HPA, SPACE, WD).unwrap();
    world.settle().await;
    assert!(world.autoscaler().is_some(), "what was deleted by hand is made again");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c13_what_cannot_be_scaled_by_is_told_and_holds_nothing_else_up() {
    let world = World::with_replicas(2);
    world.bend(scaled());
    let run = world.run(ALONE);
    world.settle().await;
    world.autoscaler_says("ScalingActive", "True", "ValidMetricFound", "from cpu");
    quiet(5).await;
    assert_eq!(world.scaling(), "True/ValidMetricFound");
    let message = &condition(&world.wd(), "ScalingActive")["message"];
    assert_eq!(message, "The number of instances is kept between 1 and 5");
    let from = position(&world.cell);
    world.autoscaler_says("ScalingActive", "True", "ValidMetricFound", "from memory");
    world.cell.patch_status(HPA, SPACE, WD, &json!({"currentReplicas": 2})).unwrap();
    quiet(5).await;
    assert!(
        asked(&world.cell, from).is_empty(),
        "what it measures is no news: {:?}",
        asked(&world.cell, from)
    );
    world.autoscaler_says("ScalingActive", "False", "AmbiguousSelector", "b and a");
    quiet(5).await;
    let from = position(&world.cell);
    world.autoscaler_says("ScalingActive", "False", "AmbiguousSelector", "a and b");
    quiet(5).await;
    assert!(asked(&world.cell, from).is_empty(), "nor is their order: {:?}", asked(&world.cell, from));
    world.autoscaler_says("AbleToScale", "False", "FailedGetScale", "words of its own");
    quiet(5).await;
    let (reason, message) = world.lacks("ScalingActive");
    assert_eq!(reason, "FailedGetScale");
    assert!(
        message.starts_with("words of its own. ") && message.ends_with("operator if this lasts"),
        "{message}"
    );

    let external = json!([{"external": {"metric": {"name": "queue"}}}, {"resource": {"name": "gpu"}}]);
    world.bend(json!({"spec": {"scaleSettings": {"metrics": external}}}));
    world.settle().await;
    let (reason, message) = world.lacks("ScalingActive");
    assert_eq!((reason.as_str(), world.autoscaler()), ("InvalidScaleSettings", None));
    assert!(message.contains("metrics[0]: ") && message.contains("metrics[1]: \"gpu\""), "{message}");
    assert_eq!(world.names().len(), 2, "the number stays");

    world.cell.fault(Fault::Status(422).on("create", "horizontalpodautoscalers"));
    world.bend(scaled());
    world.scale(3);
    quiet(60).await;
    world.settle().await;
    assert_eq!(world.lacks("ScalingActive").0, "AutoscalerRefused");
    assert_eq!(world.names().len(), 3);
    world.cell.clear_faults();
    quiet(600).await;
    assert_eq!(world.scaling(), "Unknown/Pending");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c13_a_cell_that_may_not_touch_autoscalers_says_so_of_what_scales_and_works_on() {
    let world = World::with_replicas(2);
    world.cell.put(wd("other", 1)).unwrap();
    world.bend(scaled());
    for verb in ["list", "watch", "get", "create"] {
        world.cell.fault(Fault::Status(403).on(verb, "horizontalpodautoscalers"));
    }
    let run = world.run(ALONE);
    quiet(60).await;
    world.settle().await;
    assert_eq!(world.names(), ["other-0", "web-0", "web-1"]);
    let (reason, message) = world.lacks("ScalingActive");
    assert_eq!(reason, "AutoscalerRefused");
    assert!(message.contains("Action required by the platform operator: let fedhub write"), "C9: {message}");
    // The ClusterRole follows.
    world.cell.clear_faults();
    quiet(900).await;
    assert!(world.autoscaler().is_some());
    assert_eq!(world.scaling(), "Unknown/Pending");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c13_a_wd_that_is_being_deleted_scales_no_more() {
    let world = World::provided(2);
    world.bend(scaled());
    let run = world.run(ALONE);
    world.settle().await;
    assert!(world.autoscaler().is_some());
    world.cell.delete("WorkloadDeployment", SPACE, WD).unwrap();
    quiet(5).await;
    assert_eq!(world.autoscaler(), None);
    assert_eq!(world.names(), ["-web-0", "-web-1"]);
    world.release_terminating();
    quiet(60).await;
    assert!(world.cell.get("WorkloadDeployment", SPACE, WD).is_none());
    run.stop().await;
}

/// A server writes quantities its own way, and defaults absent fields.
#[tokio::test(start_paused = true)]
async fn c13_i7_what_the_server_makes_of_an_autoscaler_is_not_written_again() {
    let own_way = Resource::builtin("autoscaling", "v2", HPA, "horizontalpodautoscalers").with_status();
    let own_way = own_way.defaulting(|hpa| {
        hpa["spec"]["behavior"] = json!({"scaleUp": {"selectPolicy": "Max"}});
        let value = &mut hpa["spec"]["metrics"][0]["resource"]["target"]["averageValue"];
        if *value == json!("0.5") {
            *value = json!("500m");
        }
    });
    let world = World {
        cell: ApiServer::builder("cell").resources(resource::cell()).resource(own_way).build(),
        provided: false,
    };
    let mut deployment = wd(WD, 1);
    deployment["spec"]["scaleSettings"] = scaled()["spec"]["scaleSettings"].clone();
    deployment["spec"]["scaleSettings"]["metrics"][0]["resource"]["target"] = json!({"averageValue": "0.5"});
    world.cell.put(deployment).unwrap();
    let run = world.run(ALONE);
    world.settle().await;
    let target = &world.autoscaler().unwrap()["spec"]["metrics"][0]["resource"]["target"];
    assert_eq!(*target, json!({"type": "AverageValue", "averageValue": "500m"}));
    // What waits for longer than it may has said so.
    quiet(700).await;
    let from = position(&world.cell);
    world.bend(json!({"metadata": {"labels": {"mine": "yes"}}}));
    quiet(600).await;
    run.stop().await;
    let run = world.run(ALONE);
    quiet(600).await;
    assert!(asked(&world.cell, from).is_empty(), "{:?}", asked(&world.cell, from));
    run.stop().await;
}

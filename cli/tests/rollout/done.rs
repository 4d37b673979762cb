//! A rollout is done only when all of it is.

use fedhub_cli::rollout::judge::{Phase, Verdict};
use serde_json::json;

use crate::rollout::fixtures::*;

/// A change of a world in which all is done, with two cities.
type Edit = (&'static str, fn(&mut World));

fn edited(edit: fn(&mut World)) -> World {
    let mut world = World::done(&["DFW", "ORD"], "web:1");
    edit(&mut world);
    world
}

fn check(edits: &[Edit], phase: Phase) {
    for (what, edit) in edits {
        let world = edited(*edit);
        let judgement = world.judge();
        assert_eq!(judgement.verdict, Verdict::Progressing, "{what}: {judgement:#?}");
        assert_eq!(world.row("DFW").phase, phase, "{what}: {judgement:#?}");
    }
}

#[test]
fn u1_all_done_is_done() {
    let world = edited(|_| {});
    let judgement = world.judge();
    assert_eq!(judgement.verdict, Verdict::Done, "{judgement:#?}");
    assert!(judgement.rows.iter().all(|row| row.phase == Phase::Done && row.old == 0));
    // Another plane's schema has defaulted or pruned: that says nothing.
    let world = edited(|world| {
        world.workload.data["spec"]["template"]["spec"]["unknown"] = json!(1);
        world.instances[0].data["spec"]["defaulted"] = json!(true);
        let scale = &mut world.deployments[0].data["spec"]["scaleSettings"];
        scale["defaulted"] = json!(1);
    });
    assert_eq!(world.judge().verdict, Verdict::Done);
    // One city was restarted alone, later than all.
    let world = edited(|world| {
        let at = |time: &str| json!({"annotations": {"compute.datumapis.com/restartedAt": time}});
        world.workload.data["spec"]["template"]["metadata"] = at("2026-01-01T00:00:00Z");
        for deployment in &mut world.deployments {
            deployment.data["spec"]["template"]["metadata"] = at("2026-01-01T00:00:00Z");
        }
        world.deployments[0].data["spec"]["template"]["metadata"] = at("2026-01-02T00:00:00Z");
    });
    assert_eq!(world.judge().verdict, Verdict::Done);
}

#[test]
fn u1_a_fresh_deployment_without_a_desired_count_is_not_done() {
    check(
        &[
            ("no status", |world| world.deployments[0].data["status"] = json!(null)),
            ("the schema's status", |world| {
                world.deployments[0].data["status"] = fedhub_api::deployment::unreported();
                world.instances.retain(|instance| !instance.metadata.name.as_ref().unwrap().contains("dfw"));
            }),
            ("the schema's numbers beside a real one", |world| {
                let mut status = fedhub_api::deployment::unreported();
                status["desiredReplicas"] = json!(0);
                world.deployments[0].data["status"] = status;
            }),
            ("no desired count", |world| {
                let status = world.deployments[0].data["status"].as_object_mut().unwrap();
                status.remove("desiredReplicas");
            }),
        ],
        Phase::Pending,
    );
    check(
        &[("zero of zero, where two are wanted", |world| {
            for counter in ["replicas", "desiredReplicas", "updatedReplicas", "readyReplicas"] {
                world.deployments[0].data["status"][counter] = json!(0);
            }
            world.instances.retain(|instance| !instance.metadata.name.as_ref().unwrap().contains("dfw"));
        })],
        Phase::Updating,
    );
}

#[test]
fn w3_a_generation_that_was_not_observed_is_not_done() {
    check(
        &[
            ("the workload's status is older", |world| world.workload.metadata.generation = Some(2)),
            ("the workload has no status", |world| world.workload.data["status"] = json!(null)),
            ("the deployment's status is older", |world| world.deployments[0].metadata.generation = Some(2)),
            ("the deployment is older than the workload", |world| {
                world.deployments[0].data["spec"]["template"] = template("web:0");
            }),
            ("its scale is older", |world| {
                world.deployments[0].data["spec"]["scaleSettings"]["minReplicas"] = json!(1);
            }),
            ("it may be missing fewer", |world| {
                world.workload.data["spec"]["placements"][0]["scaleSettings"]["rollingUpdate"] =
                    json!({"maxUnavailable": 0, "maxSurge": 1});
                world.deployments[0].data["spec"]["scaleSettings"]["rollingUpdate"] =
                    json!({"maxUnavailable": 1, "maxSurge": 1});
            }),
            ("the workload restarts", |world| {
                let restart =
                    json!({"annotations": {"compute.datumapis.com/restartedAt": "2026-01-01T00:00:00Z"}});
                world.workload.data["spec"]["template"]["metadata"] = restart;
            }),
            ("the deployment is being deleted", |world| {
                world.deployments[0].metadata.deletion_timestamp =
                    serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
            }),
            ("no deployment", |world| drop(world.deployments.remove(0))),
            ("the deployment of an earlier workload of that name", |world| {
                world.deployments[0].data["spec"]["workloadRef"]["uid"] = json!("uid-before");
            }),
        ],
        Phase::Pending,
    );
    // Nothing but the controller's word is missing.
    for condition in [
        of(1, condition("Progressing", "True", "RolloutInProgress", "")),
        of(0, condition("Progressing", "False", "RolloutComplete", "")),
    ] {
        let mut world = edited(|_| {});
        say(&mut world.workload, condition.clone());
        assert_eq!(world.judge().verdict, Verdict::Progressing, "{condition}");
    }
}

#[test]
fn c2_every_desired_instance_is_ready_and_up_to_date() {
    check(
        &[
            ("one is not updated", |world| world.deployments[0].data["status"]["updatedReplicas"] = json!(1)),
            ("one is not ready", |world| world.deployments[0].data["status"]["readyReplicas"] = json!(1)),
            ("one is not there", |world| world.deployments[0].data["status"]["replicas"] = json!(1)),
            ("one is not seen", |world| drop(world.instances.remove(0))),
            ("one is seen unready", |world| {
                say(&mut world.instances[0], condition("Ready", "False", "Starting", "it starts"));
            }),
            ("one has not taken the template on", |world| {
                world.instances[0].data["status"]["controller"]["observedTemplateHash"] = json!("v2-old");
            }),
            ("more are wanted than were", |world| world.deployments[0].data["spec"]["replicas"] = json!(3)),
        ],
        Phase::Updating,
    );
}

#[test]
fn c2_stale_instances_that_drain_are_not_done() {
    check(
        &[
            ("one is surplus", |world| {
                let surplus = instance(&world.deployments[0], 2);
                world.instances.push(surplus);
            }),
            ("one is terminating in its cell", |world| {
                say(&mut world.instances[0], condition("Ready", "False", "Terminating", "it goes"));
            }),
            ("one is terminating here", |world| {
                world.instances[0].metadata.deletion_timestamp =
                    serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap();
            }),
            ("one has the old image", |world| {
                let runtime = &mut world.instances[0].data["spec"]["runtime"];
                runtime["sandbox"]["containers"][0]["image"] = json!("web:0");
            }),
            ("one has a variable more", |world| {
                let container = &mut world.instances[0].data["spec"]["runtime"]["sandbox"]["containers"][0];
                container["env"].as_array_mut().unwrap().push(json!({"name": "B", "value": "2"}));
            }),
        ],
        Phase::Draining,
    );
    let mixed = edited(|world| {
        for (instance, hash) in world.instances.iter_mut().zip(["v2-old", "v2-new"]) {
            instance.data["spec"]["controller"]["templateHash"] = json!(hash);
            instance.data["status"]["controller"]["observedTemplateHash"] = json!(hash);
        }
    });
    assert_eq!(mixed.judge().verdict, Verdict::Progressing, "two templates at once");
    let left = edited(|world| world.add("us", "LHR"));
    assert_eq!((left.judge().verdict, left.row("LHR").phase), (Verdict::Progressing, Phase::Draining));
    let stray = edited(|world| {
        let gone = deployment("us", "AMS", &template("web:1"));
        world.instances.push(instance(&gone, 0));
    });
    assert_eq!((stray.judge().verdict, stray.judge().strays), (Verdict::Progressing, 1));
}

#[test]
fn c2_what_a_rollout_added_keeps_it_from_being_done() {
    // As the cell counts them: the added Instance serves, and is no updated one.
    for (what, ready, updated, replicas) in
        [("one is replaced", 2, 1, 2), ("one is starting", 2, 1, 3), ("the added one is left", 3, 2, 3)]
    {
        let mut world = edited(|_| {});
        let added = instance(&world.deployments[0], 2);
        let status = &mut world.deployments[0].data["status"];
        status["readyReplicas"] = json!(ready);
        status["updatedReplicas"] = json!(updated);
        status["replicas"] = json!(replicas);
        world.instances.push(added);
        if replicas == 2 {
            world.instances.remove(0);
        }
        assert_eq!(
            (world.judge().verdict, world.row("DFW").phase),
            (Verdict::Progressing, Phase::Updating),
            "{what}"
        );
    }
}

#[test]
fn c13_an_autoscaler_chooses_the_number_within_its_bounds() {
    let mut world = World::done(&["DFW"], "web:1");
    let scale = json!({"minReplicas": 1, "maxReplicas": 5, "metrics": [{"resource": {"name": "cpu"}}]});
    world.workload.data["spec"]["placements"][0]["scaleSettings"] = scale.clone();
    world.deployments[0].data["spec"]["scaleSettings"] = scale;
    assert_eq!(world.judge().verdict, Verdict::Done, "two, of one to five");
    for object in [&mut world.workload.data["spec"]["placements"][0], &mut world.deployments[0].data["spec"]]
    {
        object["scaleSettings"]["minReplicas"] = json!(3);
    }
    assert_eq!(world.judge().verdict, Verdict::Progressing, "the least is three now");
}

#[test]
fn rows_are_kept_by_placement_and_city() {
    let mut world = World::done(&["DFW"], "web:1");
    let other = json!({"name": "eu", "cityCodes": ["DFW"], "scaleSettings":
        {"minReplicas": 2, "instanceManagementPolicy": "OrderedReady"}});
    world.workload.data["spec"]["placements"].as_array_mut().unwrap().push(other);
    world.add("eu", "DFW");
    world.deployments[1].data["status"]["readyReplicas"] = json!(0);
    let judgement = world.judge();
    let rows: Vec<_> = judgement.rows.iter().map(|row| (&*row.placement, &*row.city, row.phase)).collect();
    assert_eq!(rows, [("us", "DFW", Phase::Done), ("eu", "DFW", Phase::Updating)]);
    assert_eq!(judgement.verdict, Verdict::Progressing);
}

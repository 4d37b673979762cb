//! Whose an Instance is (I6), and that one plane's trouble stays its own (I8).

use fedhub_core::names::{
    FEDERATION_NAMESPACE, PROJECTED_FROM, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE, WORKLOAD_DEPLOYMENT_NAME,
};
use fedhub_fake_apiserver::Fault;
use serde_json::{Value, json};

use crate::controller::support::*;

#[tokio::test(start_paused = true)]
async fn i6_two_tenants_with_one_name_get_each_their_own() {
    let world = World::new();
    let a = world.put_instance(NS_A, "wd-0");
    let b = world.put_instance(NS_B, "wd-0");
    let run = world.run();
    quiet(5).await;
    for (plane, source) in [(&world.alpha, &a), (&world.beta, &b)] {
        let instances = plane.list("Instance");
        assert_eq!(instances.len(), 1);
        assert!(mark_of(&instances[0]).ends_with(&uid(source)));
    }
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i6_labels_that_a_cell_wrote_lead_nowhere_else() {
    let world = World::new();
    let run = world.run();
    quiet(5).await;
    let spoofs = [
        json!({UPSTREAM_CLUSTER: "cluster-beta"}),
        json!({UPSTREAM_CLUSTER: "cluster-org_beta"}),
        json!({UPSTREAM_CLUSTER: "nonsense"}),
        json!({UPSTREAM_NAMESPACE: "other"}),
        json!({UPSTREAM_CLUSTER: "cluster-beta", UPSTREAM_NAMESPACE: SPACE}),
    ];
    for (n, spoof) in spoofs.into_iter().enumerate() {
        world.put_instance(NS_A, &format!("wd-{n}"));
        let name = format!("wd-{n}");
        quiet(5).await;
        let alpha = position(&world.alpha);
        let beta = position(&world.beta);
        let right = world.hub.get("Instance", NS_A, &name).unwrap();
        let patch = json!({"metadata": {"labels": spoof}, "spec": {"size": "spoofed"}});
        world.hub.patch("Instance", NS_A, &name, &patch).unwrap();
        quiet(60).await;
        assert_eq!(run.quarantined("contradictory"), 1, "{patch}");
        assert!(asked(&world.alpha, alpha).is_empty(), "{patch}");
        assert!(asked(&world.beta, beta).is_empty(), "{patch}");
        world.hub.put(right).unwrap();
        quiet(60).await;
        assert_eq!(run.quarantined("contradictory"), 0, "reconsidered");
    }
    assert!(world.beta.list("Instance").is_empty());
    // P7: operators get one Event for each.
    let notes = event_notes(&world.management, "Quarantined");
    assert_eq!(notes.len(), 5, "{notes:?}");
    assert!((0..5).all(|n| notes.iter().any(|note| note.contains(&format!("{NS_A}/wd-{n} ")))), "{notes:?}");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_forbidden_is_told_to_operators_once_with_verb_resource_and_plane() {
    let world = World::new();
    world.alpha.fault(fedhub_fake_apiserver::Fault::Status(403).on("create", "instances"));
    let run = world.run();
    world.put_instance(NS_A, "wd-0");
    world.put_instance(NS_A, "wd-1");
    quiet(600).await;
    let notes = event_notes(&world.management, "Forbidden");
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("create instances on the project alpha"), "{notes:?}");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i6_a_wd_label_that_names_another_wd_of_the_tenant_stays_in_the_tenant() {
    let world = World::new();
    world.put_instance(NS_A, "wd-0");
    let label = json!({"metadata": {"labels": {WORKLOAD_DEPLOYMENT_NAME: "absent"}}});
    world.hub.patch("Instance", NS_A, "wd-0", &label).unwrap();
    let run = world.run();
    quiet(60).await;
    assert!(writes(&world.alpha, 0).is_empty() && writes(&world.beta, 0).is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i6_a_tenant_that_points_its_wd_at_anothers_hub_namespace_gets_nothing() {
    let world = World::new();
    let point = json!({"metadata": {"annotations": {FEDERATION_NAMESPACE: NS_B}}});
    world.alpha.patch("WorkloadDeployment", SPACE, "wd", &point).unwrap();
    world.put_instance(NS_A, "wd-0");
    world.put_instance(NS_B, "wd-0");
    let run = world.run();
    quiet(60).await;
    assert!(writes(&world.alpha, 0).is_empty());
    assert_eq!(run.quarantined("stale_namespace"), 1);
    assert_eq!(world.beta.list("Instance").len(), 1, "the other tenant has its own");

    // The federator puts the annotation back.
    let right = json!({"metadata": {"annotations": {FEDERATION_NAMESPACE: NS_A}}});
    world.alpha.patch("WorkloadDeployment", SPACE, "wd", &right).unwrap();
    quiet(5).await;
    assert!(world.projection("wd-0").is_some());
    assert_eq!(run.quarantined("stale_namespace"), 0);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i6_a_mark_that_a_tenant_forged_touches_nobody_elses_object() {
    let world = World::new();
    let other = world.put_instance(NS_B, "wd-7");
    let run = world.run();
    quiet(5).await;
    let space = uid(&world.hub.get("Namespace", "", NS_B).unwrap());
    let hub = position(&world.hub);
    let beta = position(&world.beta);
    world
        .alpha
        .put(json!({
            "apiVersion": API, "kind": "Instance",
            "metadata": {"namespace": SPACE, "name": "wd-7", "annotations": {
                PROJECTED_FROM: format!("{NS_B}/{space}/{}", uid(&other)),
            }},
        }))
        .unwrap();
    quiet(60).await;
    run.stop().await;
    let run = world.run();
    quiet(60).await;
    assert!(writes(&world.hub, hub).is_empty() && writes(&world.beta, beta).is_empty());
    assert!(world.projection("wd-7").is_some(), "not proven to be gone from the hub: not deleted");
    assert_eq!(mark_of(&world.beta.get("Instance", SPACE, "wd-7").unwrap()).split('/').next(), Some(NS_B));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p7_a_hub_namespace_without_readable_labels_quarantines_until_they_are_put_right() {
    let world = World::new();
    world.put_instance(NS_A, "wd-0");
    let run = world.run();
    quiet(5).await;
    for broken in
        [json!({UPSTREAM_CLUSTER: null}), json!({UPSTREAM_CLUSTER: "x"}), json!({UPSTREAM_NAMESPACE: null})]
    {
        let hub = position(&world.hub);
        let alpha = position(&world.alpha);
        let right = world.hub.get("Namespace", "", NS_A).unwrap();
        world.hub.patch("Namespace", "", NS_A, &json!({"metadata": {"labels": broken}})).unwrap();
        quiet(60).await;
        assert_eq!(run.quarantined("unidentifiable"), 1);
        world.hub.put(right).unwrap();
        quiet(60).await;
        assert_eq!(run.quarantined("unidentifiable"), 0);
        assert!(asked(&world.alpha, alpha).is_empty() && asked(&world.hub, hub).is_empty());
    }
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p1_an_instance_that_names_no_wd_is_unnamed_until_a_label_does() {
    let world = World::new();
    let mut nameless = world.put_instance(NS_A, "wd-0");
    world.hub.delete("Instance", NS_A, "wd-0").unwrap();
    nameless["metadata"]["name"] = json!("odd");
    nameless["metadata"]["uid"] = Value::Null;
    nameless["metadata"]["labels"].as_object_mut().unwrap().remove(WORKLOAD_DEPLOYMENT_NAME);
    world.hub.put(nameless).unwrap();
    let run = world.run();
    quiet(60).await;
    assert_eq!(run.quarantined("unnamed"), 1);
    assert!(writes(&world.alpha, 0).is_empty());
    let label = json!({"metadata": {"labels": {WORKLOAD_DEPLOYMENT_NAME: "wd"}}});
    world.hub.patch("Instance", NS_A, "odd", &label).unwrap();
    quiet(5).await;
    assert!(world.projection("odd").is_some());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i8_a_plane_that_refuses_everything_does_not_slow_the_other() {
    let world = World::new();
    let run = world.run();
    quiet(5).await;
    for fault in [Fault::Status(500), Fault::Status(429), Fault::Garbage, Fault::Disconnect] {
        world.alpha.fault(fault);
        for n in 0..20 {
            world.put_instance(NS_A, &format!("wd-{n}"));
        }
        let other = world.put_instance(NS_B, "wd-0");
        quiet(2).await;
        let there = world.beta.get("Instance", SPACE, "wd-0").unwrap();
        assert_eq!(there["status"], other["status"], "{fault:?}");
        world.hub.delete("Instance", NS_B, "wd-0").unwrap();
        quiet(2).await;
        assert!(world.beta.get("Instance", SPACE, "wd-0").is_none(), "{fault:?}");
        world.alpha.clear_faults();
        until("alpha to catch up", || world.alpha.list("Instance").len() == 20).await;
        for n in 0..20 {
            world.hub.delete("Instance", NS_A, &format!("wd-{n}")).unwrap();
        }
        until("alpha to be empty again", || world.alpha.list("Instance").is_empty()).await;
    }
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn p7_with_its_plane_gone_an_instance_is_neither_parked_nor_quarantined() {
    let world = World::new();
    world.put_instance(NS_A, "wd-0");
    let label = json!({"metadata": {"labels": {UPSTREAM_NAMESPACE: "other"}}});
    world.hub.patch("Instance", NS_A, "wd-0", &label).unwrap();
    let run = world.run();
    quiet(5).await;
    assert_eq!(run.quarantined("contradictory"), 1);
    run.planes.disengage(&plane_name("alpha"));
    quiet(5).await;
    assert_eq!(run.quarantined("contradictory"), 0);
    run.planes.engage(&plane_name("alpha"), client(&world.alpha));
    quiet(5).await;
    assert_eq!(run.quarantined("contradictory"), 1, "reconsidered");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i8_a_plane_that_never_answers_does_not_slow_the_other() {
    let world = World::new();
    world.alpha.fault(Fault::Hang);
    let run = world.run();
    for n in 0..50 {
        world.put_instance(NS_A, &format!("wd-{n}"));
    }
    quiet(1).await;
    world.put_instance(NS_B, "wd-0");
    quiet(1).await;
    assert!(world.beta.get("Instance", SPACE, "wd-0").is_some());
    world.alpha.clear_faults();
    until("alpha to catch up", || world.alpha.list("Instance").len() == 50).await;
    run.stop().await;
}

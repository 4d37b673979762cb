//! Whose a claim is, by its mark (C10, I9).

use fedhub_core::names::{CELL_SOURCE, INSTANCE_NAMESPACE, SOURCE_CLUSTER};
use fedhub_fake_apiserver::Fault;
use serde_json::{Value, json};

use crate::instance_controller::claims::DELETED;
use crate::instance_controller::support::*;

fn claim_of(name: &str, labels: &Value, mark: &Value) -> Value {
    json!({
        "apiVersion": "quota.miloapis.com/v1alpha1", "kind": "ResourceClaim",
        "metadata": {"namespace": SPACE, "name": name, "labels": labels, "annotations": {CELL_SOURCE: mark}},
    })
}

#[tokio::test(start_paused = true)]
async fn i9_claims_that_are_not_certainly_this_cells_stay() {
    let world = World::new();
    let ours = json!({SOURCE_CLUSTER: CELL, INSTANCE_NAMESPACE: NS});
    let of = |cell: &str| json!({SOURCE_CLUSTER: cell, INSTANCE_NAMESPACE: NS});
    let marked = world.mark_of(&json!({"metadata": {"uid": "1"}}));
    let kept = [
        claim_of("instance-a-0", &of("ord"), &json!("ord/1")),
        claim_of("instance-b-0", &ours, &json!("ord/1")),
        claim_of("b-0", &ours, &json!(marked)),
        claim_of("instance-c-0", &json!({SOURCE_CLUSTER: CELL}), &json!(marked)),
        // C10: by the name alone, for an Instance that this cell never had; and another cluster's of this name.
        claim_of("instance-f-0", &ours, &json!("dfw/1")),
        claim_of("instance-g-0", &ours, &json!("dfw/twin/1")),
    ];
    for claim in kept {
        world.alpha.put(claim).unwrap();
    }
    // From before there were marks: no cell can prove that it made it.
    let mut unmarked = claim_of("instance-e-0", &ours, &Value::Null);
    unmarked["metadata"]["annotations"] = Value::Null;
    world.alpha.put(unmarked).unwrap();
    // And this one is.
    world.alpha.put(claim_of("instance-d-0", &ours, &json!(marked))).unwrap();
    let run = world.run_with_quota();
    quiet(600).await;
    let names: Vec<_> = world.alpha.names("ResourceClaim").into_iter().map(|(_, name)| name).collect();
    let left = ["a-0", "b-0", "c-0", "e-0", "f-0", "g-0"].map(|name| format!("instance-{name}"));
    assert_eq!(names, [&["b-0".to_owned()][..], &left].concat());
    assert_eq!(run.faults(), ["name_taken"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c10_a_claim_of_another_cluster_under_this_cells_name_is_left_alone_and_said() {
    let world = World::new();
    let labels = json!({SOURCE_CLUSTER: CELL, INSTANCE_NAMESPACE: NS});
    let twin = world.alpha.put(claim_of(CLAIM, &labels, &json!("dfw/twin/1"))).unwrap();
    world.grant();
    let run = world.run_with_quota();
    quiet(5).await;
    assert_eq!(run.faults(), ["name_taken"]);
    world.put_instance("wd-0", &["Quota"]);
    quiet(60).await;
    let (status, reason, message) = world.says("wd-0", "QuotaGranted");
    assert_eq!((status.as_str(), reason.as_str()), ("Unknown", "PendingEvaluation"), "its grant is not ours");
    assert!(message.contains("another cluster") && message.contains("operator"), "C9: {message}");
    world.cell.delete("Instance", NS, "wd-0").unwrap();
    quiet(600).await;
    assert_eq!(world.claim().map(|claim| uid(&claim)), Some(uid(&twin)), "neither updated nor deleted");
    world.alpha.delete("ResourceClaim", SPACE, CLAIM).unwrap();
    quiet(5).await;
    assert!(run.faults().is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c10_a_claim_marked_by_name_alone_is_that_of_the_cell_with_the_instance() {
    let world = World::new();
    let instance = world.put_instance("wd-0", &["Quota"]);
    let labels = json!({SOURCE_CLUSTER: CELL, INSTANCE_NAMESPACE: NS});
    world.alpha.put(claim_of(CLAIM, &labels, &json!(format!("{CELL}/{}", uid(&instance))))).unwrap();
    world.grant();
    let run = world.run_with_quota();
    quiet(5).await;
    assert!(gates(&world.instance("wd-0")).is_empty(), "it is its own");
    let alpha = position(&world.alpha);
    world.cell.delete("Instance", NS, "wd-0").unwrap();
    quiet(5).await;
    assert!(world.claim().is_none(), "C8: it had the Instance");
    assert_eq!(asked(&world.alpha, alpha), DELETED);
    run.stop().await;
}

/// As an older version marked it.
fn by_name(instance: &Value) -> Value {
    let labels = json!({SOURCE_CLUSTER: CELL, INSTANCE_NAMESPACE: NS});
    claim_of(CLAIM, &labels, &json!(format!("{CELL}/{}", uid(instance))))
}

const MARKED: &str = "patch resourceclaims/instance-wd-0";

#[tokio::test(start_paused = true)]
async fn c8_a_claim_of_the_version_before_does_not_wedge_the_instance_after_its_own() {
    let world = World::new();
    let first = world.put_instance("wd-0", &["Quota"]);
    world.alpha.put(by_name(&first)).unwrap();
    world.grant();
    let run = world.run_with_quota();
    let alpha = position(&world.alpha);
    quiet(5).await;
    let claim = world.claim().unwrap();
    assert_eq!(
        claim["metadata"]["annotations"][CELL_SOURCE],
        world.mark_of(&first),
        "C10: by UID from now on"
    );
    assert_eq!(claim["metadata"]["labels"][SOURCE_CLUSTER], CELL);
    assert_eq!(asked(&world.alpha, alpha), [MARKED]);
    quiet(600).await;
    assert_eq!(asked(&world.alpha, alpha), [MARKED], "I7");
    // The process ends before the claim is released, and knows nothing of that Instance after.
    run.stop().await;
    world.cell.delete("Instance", NS, "wd-0").unwrap();
    let next = world.put_instance("wd-0", &["Quota"]);
    let run = world.run_with_quota();
    quiet(30).await;
    let mark = &world.claim().unwrap()["metadata"]["annotations"][CELL_SOURCE];
    assert_eq!(*mark, world.mark_of(&next), "{:?}", world.says("wd-0", "QuotaGranted"));
    world.grant();
    quiet(5).await;
    assert!(gates(&world.instance("wd-0")).is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c8_a_claim_that_cannot_be_marked_is_the_instances_all_the_same() {
    let world = World::new();
    let instance = world.put_instance("wd-0", &["Quota"]);
    world.alpha.put(by_name(&instance)).unwrap();
    world.grant();
    // The rights of the version before.
    let fault = world.alpha.fault(Fault::Status(403).on("patch", "resourceclaims"));
    let run = world.run_with_quota();
    quiet(60).await;
    assert!(gates(&world.instance("wd-0")).is_empty());
    assert_eq!(world.says("wd-0", "QuotaGranted").1, "QuotaAvailable");
    world.alpha.clear_fault(fault);
    quiet(600).await;
    assert_eq!(world.claim().unwrap()["metadata"]["annotations"][CELL_SOURCE], world.mark_of(&instance));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c10_a_cell_under_another_name_is_the_same_and_wedges_no_instance() {
    const RENAMED: &str = "dfw-2";
    let world = World::new();
    let run = world.run_with_quota();
    for name in ["wd-0", "wd-1"] {
        world.put_instance(name, &["Quota"]);
    }
    quiet(5).await;
    world.grant();
    world.answer("instance-wd-1", "True", "QuotaAvailable", "");
    quiet(5).await;
    run.stop().await;
    // One runs on, the other is created again.
    world.cell.delete("Instance", NS, "wd-1").unwrap();
    let next = world.put_instance("wd-1", &["Quota"]);
    let (cell, alpha) = (position(&world.cell), position(&world.alpha));
    let id = &world.cell.get("Namespace", "", "kube-system").unwrap()["metadata"]["uid"];
    let cluster = json!({
        "apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
        "metadata": {"name": RENAMED}, "spec": {"id": id, "syncMode": "Push"},
    });
    world.hub.put(cluster).unwrap();
    let renamed = || {
        let run = world.process(Some(RENAMED));
        run.engage("alpha", &world.alpha);
        run
    };
    let run = renamed();
    quiet(5).await;
    let mut asked_of = [Vec::new(), Vec::new()];
    for request in asked(&world.alpha, alpha) {
        asked_of[usize::from(request.ends_with('1'))].push(request);
    }
    let requests = |verbs: &[&str], name: &str| -> Vec<String> {
        verbs.iter().map(|verb| format!("{verb} resourceclaims/instance-{name}")).collect()
    };
    assert_eq!(asked_of[0], requests(&["create", "get", "patch"], "wd-0"));
    assert_eq!(asked_of[1], requests(&["create", "get", "delete", "create"], "wd-1"));
    assert!(!asked(&world.cell, cell).iter().any(|a| a.ends_with("status/wd-0")), "what was granted stands");
    let of = |instance: &Value| world.mark_of(instance).replacen(CELL, RENAMED, 1);
    for (name, instance) in [("wd-0", world.instance("wd-0")), ("wd-1", next)] {
        let claim = world.alpha.get("ResourceClaim", SPACE, &format!("instance-{name}")).unwrap();
        assert_eq!(claim["metadata"]["labels"][SOURCE_CLUSTER], RENAMED);
        assert_eq!(claim["metadata"]["annotations"][CELL_SOURCE], of(&instance));
    }
    world.answer("instance-wd-1", "True", "QuotaAvailable", "");
    quiet(60).await;
    assert!(gates(&world.instance("wd-1")).is_empty());
    run.stop().await;

    let (cell, alpha) = (position(&world.cell), position(&world.alpha));
    let run = renamed();
    quiet(60).await;
    assert!(asked(&world.cell, cell).is_empty() && asked(&world.alpha, alpha).is_empty(), "I7");
    world.cell.delete("Instance", NS, "wd-0").unwrap();
    quiet(5).await;
    assert!(world.claim().is_none(), "C8: it is released under the new name");
    assert!(run.faults().is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c10_a_cell_that_does_not_show_who_it_is_claims_nothing() {
    let world = World::new();
    let kube_system = world.cell.get("Namespace", "", "kube-system").unwrap();
    world.cell.delete("Namespace", "", "kube-system").unwrap();
    let run = world.run_with_quota();
    world.put_instance("wd-0", &["Quota"]);
    quiet(60).await;
    assert!(world.claim().is_none() && run.faults() == ["unidentified"]);
    world.cell.put(kube_system).unwrap();
    quiet(5).await;
    assert!(world.claim().is_some() && run.faults().is_empty());
    run.stop().await;
}

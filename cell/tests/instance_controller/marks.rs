//! Whose a claim is, by its mark (C10, I9).

use fedhub_core::names::{CELL_SOURCE, INSTANCE_NAMESPACE, SOURCE_CLUSTER};
use serde_json::{Value, json};

use crate::instance_controller::support::*;

/// A claim of that name; without a mark where that is null.
fn claim_of(name: &str, labels: &Value, mark: &Value) -> Value {
    let annotations = if mark.is_null() { Value::Null } else { json!({CELL_SOURCE: mark}) };
    json!({
        "apiVersion": "quota.miloapis.com/v1alpha1", "kind": "ResourceClaim",
        "metadata": {"namespace": SPACE, "name": name, "labels": labels, "annotations": annotations},
    })
}

#[tokio::test(start_paused = true)]
async fn i9_claims_that_are_not_certainly_this_cells_stay() {
    let world = World::new();
    let ours = json!({SOURCE_CLUSTER: CELL, INSTANCE_NAMESPACE: NS});
    let marked = mark_of(&json!({"metadata": {"uid": "1"}}));
    let kept = [
        claim_of("b-0-k", &ours, &json!(marked)),
        // C10: under the name of another cell's claim, or of none.
        claim_of("instance-a-0-l", &ours, &json!(marked)),
        claim_of("instance-b-0", &ours, &json!(marked)),
        claim_of("instance-c-0-k", &json!({SOURCE_CLUSTER: CELL}), &json!(marked)),
        // Without a mark of this cell.
        claim_of("instance-e-0-k", &ours, &Value::Null),
        claim_of("instance-f-0-k", &ours, &json!("dfw/1")),
        claim_of("instance-g-0-k", &ours, &json!("dfw/twin/1")),
        claim_of("instance-h-0-k", &ours, &json!("odd")),
    ];
    let left: Vec<_> = kept.iter().map(|claim| claim["metadata"]["name"].clone()).collect();
    for claim in kept {
        world.alpha.put(claim).unwrap();
    }
    // And this one is.
    world.alpha.put(claim_of("instance-d-0-k", &ours, &json!(marked))).unwrap();
    let run = world.run_with_quota();
    quiet(600).await;
    let names: Vec<_> = world.alpha.names("ResourceClaim").into_iter().map(|(_, name)| json!(name)).collect();
    assert_eq!(names, left);
    assert_eq!(run.faults(), ["name_taken"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c10_the_claim_of_another_cell_or_cluster_of_the_name_is_in_nobodys_way() {
    for (cell, mark, faults) in [("ord", "ord/other/1", &[][..]), (CELL, "dfw/other/1", &["name_taken"][..])]
    {
        let world = World::new();
        let labels = json!({SOURCE_CLUSTER: cell, INSTANCE_NAMESPACE: NS});
        let theirs = world.alpha.put(claim_of("instance-wd-0-other", &labels, &json!(mark))).unwrap();
        let run = world.run_with_quota();
        quiet(5).await;
        assert_eq!(run.faults(), faults);
        world.put_instance("wd-0", &["Quota"]);
        until("claimed", || world.claim().is_some()).await;
        world.grant();
        quiet(5).await;
        assert!(gates(&world.instance("wd-0")).is_empty());
        world.cell.delete("Instance", NS, "wd-0").unwrap();
        quiet(600).await;
        assert!(world.claim().is_none());
        let left = world.alpha.get("ResourceClaim", SPACE, "instance-wd-0-other");
        assert_eq!(left, Some(theirs), "neither updated nor deleted");
        world.alpha.delete("ResourceClaim", SPACE, "instance-wd-0-other").unwrap();
        quiet(5).await;
        assert!(run.faults().is_empty());
        run.stop().await;
    }
}

/// Whoever may create claims in the project puts one there before the cell does.
#[tokio::test(start_paused = true)]
async fn c6_a_claim_without_this_cells_mark_opens_no_gate_and_says_who_acts() {
    let ours = json!({SOURCE_CLUSTER: CELL, INSTANCE_NAMESPACE: NS});
    for (labels, mark) in [
        (&ours, Value::Null),
        (&ours, json!("dfw/1")),
        (&Value::Null, Value::Null),
        // The namespace of another Instance of the name.
        (&json!({SOURCE_CLUSTER: CELL, INSTANCE_NAMESPACE: "ns-b"}), Value::Null),
    ] {
        let world = World::new();
        let theirs = world.alpha.put(claim_of(CLAIM, labels, &mark)).unwrap();
        world.grant();
        let run = world.run_with_quota();
        world.put_instance("wd-0", &["Quota"]);
        quiet(300).await;
        let (status, reason, message) = world.says("wd-0", "QuotaGranted");
        assert_eq!((status.as_str(), reason.as_str()), ("Unknown", "QuotaClaimTaken"), "{labels} {mark}");
        assert!(message.contains(CLAIM) && message.contains("Action required by the user"), "C9: {message}");
        assert!(world.says("wd-0", "Ready").2.contains("Action required by the user"), "C9");
        assert_eq!(gates(&world.instance("wd-0")), ["Quota"]);
        assert_eq!(world.claim().map(|claim| uid(&claim)), Some(uid(&theirs)), "I9");
        world.alpha.delete("ResourceClaim", SPACE, CLAIM).unwrap();
        quiet(120).await;
        world.grant();
        quiet(5).await;
        assert!(gates(&world.instance("wd-0")).is_empty(), "{labels} {mark}");
        run.stop().await;
    }
}

/// The cell's mark shows on its earlier claims, so that it can be forged.
#[tokio::test(start_paused = true)]
async fn c6_a_claim_of_less_than_the_instance_needs_opens_no_gate_and_is_made_anew() {
    let world = World::new();
    let instance = world.put_instance("wd-0", &["Quota"]);
    let labels = json!({SOURCE_CLUSTER: CELL, INSTANCE_NAMESPACE: NS});
    let mut cheap = claim_of(CLAIM, &labels, &json!(mark_of(&instance)));
    cheap["spec"] = json!({
        "consumerRef": {"apiGroup": "resourcemanager.miloapis.com", "kind": "Project", "name": "alpha"},
        "resourceRef": {"apiGroup": "compute.datumapis.com", "kind": "Instance", "name": "wd-0", "namespace": SPACE},
        "requests": [{"resourceType": "compute.datumapis.com/instances", "amount": 1}],
    });
    let cheap = world.alpha.put(cheap).unwrap();
    world.grant();
    let run = world.run_with_quota();
    quiet(3).await;
    let (status, _, message) = world.says("wd-0", "QuotaGranted");
    assert_eq!(status, "Unknown", "its grant is not what the Instance needs");
    assert!(message.contains("something else"), "C9: {message}");
    quiet(10).await;
    let claim = world.claim().unwrap();
    assert_ne!(uid(&claim), uid(&cheap));
    assert_eq!(claim["spec"]["requests"].as_array().map(Vec::len), Some(3));
    assert_eq!(gates(&world.instance("wd-0")), ["Quota"]);
    world.grant();
    quiet(5).await;
    assert!(gates(&world.instance("wd-0")).is_empty());
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
    world.answer("instance-wd-1-k", "True", "QuotaAvailable", "");
    quiet(5).await;
    run.stop().await;
    // One runs on, the other is created again.
    world.cell.delete("Instance", NS, "wd-1").unwrap();
    let next = world.put_instance("wd-1", &["Quota"]);
    let cell = position(&world.cell);
    let alpha = position(&world.alpha);
    let renamed = || {
        let run = world.process(Some(RENAMED));
        run.engage("alpha", &world.alpha);
        run
    };
    let run = renamed();
    quiet(5).await;
    let mut asked_of = [Vec::new(), Vec::new()];
    for request in asked(&world.alpha, alpha) {
        asked_of[usize::from(request.contains("wd-1"))].push(request);
    }
    let requests = |verbs: &[&str], name: &str| -> Vec<String> {
        verbs.iter().map(|verb| format!("{verb} resourceclaims/instance-{name}-k")).collect()
    };
    assert_eq!(asked_of[0], requests(&["create", "get", "patch"], "wd-0"));
    assert_eq!(asked_of[1], requests(&["create", "get", "delete", "create"], "wd-1"));
    assert!(!asked(&world.cell, cell).iter().any(|a| a.ends_with("status/wd-0")), "what was granted stands");
    let of = |instance: &Value| mark_of(instance).replacen(CELL, RENAMED, 1);
    for (name, instance) in [("wd-0", world.instance("wd-0")), ("wd-1", next)] {
        let claim = world.alpha.get("ResourceClaim", SPACE, &format!("instance-{name}-k")).unwrap();
        assert_eq!(claim["metadata"]["labels"][SOURCE_CLUSTER], RENAMED);
        assert_eq!(claim["metadata"]["annotations"][CELL_SOURCE], of(&instance));
    }
    world.answer("instance-wd-1-k", "True", "QuotaAvailable", "");
    quiet(60).await;
    assert!(gates(&world.instance("wd-1")).is_empty());
    run.stop().await;

    let cell = position(&world.cell);
    let alpha = position(&world.alpha);
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

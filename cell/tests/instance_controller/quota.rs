//! Asking for quota, and what its answers mean.

use fedhub_core::names::CELL_SOURCE;
use fedhub_fake_apiserver::Fault;
use serde_json::json;

use crate::instance_controller::support::*;

#[tokio::test(start_paused = true)]
async fn a_granted_instance_costs_a_claim_a_status_and_a_patch() {
    let world = World::new();
    let run = world.run_with_quota();
    quiet(5).await;
    let cell = position(&world.cell);
    let alpha = position(&world.alpha);
    let instance = world.put_instance("wd-0", &["Quota"]);
    until("claimed", || world.claim().is_some()).await;
    world.grant();
    quiet(60).await;
    assert_eq!(asked(&world.alpha, alpha), ["create resourceclaims/instance-wd-0-k"]);
    assert_eq!(asked(&world.cell, cell), ["update instances/status/wd-0", "patch instances/wd-0"]);
    assert!(gates(&world.instance("wd-0")).is_empty());
    assert_eq!(world.says("wd-0", "QuotaGranted").1, "QuotaAvailable");
    assert_eq!(world.reason("wd-0", "Ready"), "PendingProgramming", "what it waits for after the gate");
    let claim = world.claim().unwrap();
    assert_eq!(claim["metadata"]["annotations"][CELL_SOURCE], mark_of(&instance));
    let amount = |n: usize| &claim["spec"]["requests"][n]["amount"];
    assert_eq!((amount(0), amount(1), amount(2)), (&json!(1), &json!(1000), &json!(2048)));

    let cell = position(&world.cell);
    world.run_an_instance("wd-0");
    quiet(600).await;
    assert_eq!(asked(&world.cell, cell), ["update instances/status/wd-0"]);
    assert_eq!(world.says("wd-0", "Ready").0, "True");
    assert_eq!(run.queue.pending(), 0, "nothing is looked at again");
    run.stop().await;
}

/// A claim is never changed: the type counts as it was when quota was claimed (W8, C8).
#[tokio::test(start_paused = true)]
async fn w8_an_instance_counts_for_what_its_type_had_when_quota_was_claimed() {
    let world = World::new();
    let put = |cpu: &str| {
        let spec = json!({"resources": {"cpu": cpu, "memory": "4Gi"}, "lifecycle": {"phase": "Active"}});
        let metadata = json!({"name": "datumcloud-d1-standard-2"});
        let api = "compute.datumapis.com/v1alpha";
        let kind = "InstanceType";
        world.cell.put(json!({"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec})).unwrap();
    };
    put("2");
    let run = world.run_with_quota();
    quiet(5).await;
    world.put_instance("wd-0", &["Quota"]);
    until("claimed", || world.claim().is_some()).await;
    world.grant();
    quiet(5).await;
    let requests = || {
        let claim = world.claim().unwrap();
        [1, 2].map(|n: usize| claim["spec"]["requests"][n]["amount"].as_i64().unwrap())
    };
    assert_eq!(requests(), [2000, 4096]);
    let from = [position(&world.cell), position(&world.alpha)];
    put("8");
    world.cell.delete("InstanceType", "", "datumcloud-d1-standard-2").unwrap();
    quiet(60).await;
    assert_eq!(requests(), [2000, 4096]);
    let asked = [asked(&world.cell, from[0]), asked(&world.alpha, from[1])].concat();
    assert_eq!(asked, Vec::<String>::new());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c9_an_instance_that_waits_for_longer_says_so_and_why() {
    let world = World::new();
    let run = world.run_with_quota();
    quiet(5).await;
    let cell = position(&world.cell);
    world.put_instance("wd-0", &["Quota"]);
    quiet(5).await;
    assert_eq!(asked(&world.cell, cell), ["update instances/status/wd-0"]);
    assert_eq!(
        world.says("wd-0", "Ready").2,
        "Scheduling gates present: Quota. Quota: Waiting for quota evaluation. No action required"
    );
    // Milo's default, from when it was made.
    world.answer(CLAIM, "False", "PendingEvaluation", "Awaiting capacity evaluation");
    quiet(20).await;
    assert_eq!(world.reason("wd-0", "QuotaGranted"), "QuotaNoBudget");

    let from = position(&world.cell);
    world.answer(CLAIM, "False", "QuotaExceeded", "40 of 40 are used");
    quiet(5).await;
    assert_eq!(world.reason("wd-0", "Ready"), "PendingQuota");
    assert!(
        world
            .says("wd-0", "Ready")
            .2
            .starts_with("40 of 40 are used. Action required by the user: ask for more")
    );
    assert_eq!(events(&world.cell, from)[0].0, "QuotaExceeded", "U3: by the name that users know");
    assert_eq!(gates(&world.instance("wd-0")), ["Quota"]);

    world.grant();
    quiet(5).await;
    assert!(gates(&world.instance("wd-0")).is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i7_a_restart_asks_and_writes_nothing_whatever_the_verdict() {
    let world = World::new();
    let run = world.run_with_quota();
    world.put_instance("wd-0", &["Quota"]);
    // It has passed its gate, as when quota was off.
    world.put_instance("wd-1", &[]);
    world.put_instance("wd-2", &["Quota"]);
    quiet(5).await;
    world.grant();
    world.answer("instance-wd-1-k", "False", "QuotaExceeded", "used up");
    // What waits for longer than it may has said so.
    quiet(900).await;
    run.stop().await;
    let cell = position(&world.cell);
    let alpha = position(&world.alpha);
    let run = world.process(Some(CELL));
    quiet(20).await; // It takes a while until the plane is found.
    run.engage("alpha", &world.alpha);
    quiet(600).await;
    assert!(asked(&world.cell, cell).is_empty(), "{:?}", asked(&world.cell, cell));
    assert!(asked(&world.alpha, alpha).is_empty(), "{:?}", asked(&world.alpha, alpha));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_whose_answer_was_lost_is_read_and_not_made_twice() {
    let world = World::new();
    let run = world.run_with_quota();
    quiet(5).await;
    world.alpha.fault(Fault::LostAnswer.on("create", "resourceclaims").times(1));
    // The watch is silent, so that only a read can show it.
    let silent = world.alpha.fault(Fault::Hang.on("watch", "resourceclaims"));
    let alpha = position(&world.alpha);
    world.put_instance("wd-0", &["Quota"]);
    quiet(8).await;
    let create = "create resourceclaims/instance-wd-0-k";
    assert_eq!(asked(&world.alpha, alpha), [create, create, "get resourceclaims/instance-wd-0-k"]);
    world.alpha.clear_fault(silent);
    world.grant();
    quiet(60).await;
    assert!(gates(&world.instance("wd-0")).is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn w8_a_type_that_is_not_in_the_cell_yet_is_waited_for() {
    let world = World::new();
    world.put_instance("wd-0", &["Quota"]);
    let unknown = json!({"spec": {"runtime": {"resources": {"instanceType": "d9"}}}});
    world.cell.patch("Instance", NS, "wd-0", &unknown).unwrap();
    world.put_instance("wd-1", &[]);
    world.cell.patch("Instance", NS, "wd-1", &unknown).unwrap();
    let run = world.run_with_quota();
    quiet(60).await;
    assert!(world.alpha.list("ResourceClaim").is_empty());
    for name in ["wd-0", "wd-1"] {
        let (status, reason, message) = world.says(name, "QuotaGranted");
        assert_eq!((status.as_str(), reason.as_str()), ("Unknown", "InstanceTypeUnavailable"), "{name}");
        assert!(message.contains("\"d9\"") && message.contains("platform operator"), "C9: {message}");
    }
    assert_eq!(gates(&world.instance("wd-0")), ["Quota"]);
    let spec = json!({"resources": {"cpu": "3", "memory": "1Gi"}, "lifecycle": {"phase": "Active"}});
    let metadata = json!({"name": "d9"});
    world
        .cell
        .put(json!({"apiVersion": API, "kind": "InstanceType", "metadata": metadata, "spec": spec}))
        .unwrap();
    quiet(1).await;
    let claim = world.claim().unwrap();
    assert_eq!(claim["spec"]["requests"][1]["amount"], 3000);
    world.grant();
    quiet(5).await;
    assert!(gates(&world.instance("wd-0")).is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c9_each_refusal_has_its_words_and_is_asked_again() {
    for (code, reason) in [
        (404, "QuotaNamespaceNotFound"),
        (403, "QuotaMisconfigured"),
        (422, "QuotaMisconfigured"),
        (500, "QuotaBackendUnavailable"),
    ] {
        let world = World::new();
        let run = world.run_with_quota();
        quiet(5).await;
        let fault = world.alpha.fault(Fault::Status(code).on("create", "resourceclaims"));
        let cell = position(&world.cell);
        let alpha = position(&world.alpha);
        world.put_instance("wd-0", &["Quota"]);
        quiet(30).await;
        let (status, said, message) = world.says("wd-0", "QuotaGranted");
        assert_eq!((status.as_str(), said.as_str()), ("False", reason), "{code}");
        assert!(!message.is_empty() && world.reason("wd-0", "Ready") == "PendingQuota");
        assert_eq!(asked(&world.cell, cell), ["update instances/status/wd-0"], "{code}: said once (I7)");
        assert_eq!(events(&world.cell, cell).len(), 1);
        let asked = asked(&world.alpha, alpha).len();
        assert!((3..=32).contains(&asked), "{code}: asked {asked} times");

        world.alpha.clear_fault(fault);
        quiet(60).await;
        assert!(world.claim().is_some(), "{code}");
        world.grant();
        quiet(60).await;
        assert!(gates(&world.instance("wd-0")).is_empty());
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn c9_a_namespace_that_names_no_project_is_said_and_taken_up_when_it_does() {
    let world = World::new();
    let bare = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns-b"}});
    world.cell.put(bare).unwrap();
    let run = world.run_with_quota();
    world.put_instance_in("ns-b", "wd-0", &["Quota"]);
    quiet(5).await;
    let instance = world.cell.get("Instance", "ns-b", "wd-0").unwrap();
    let granted =
        instance["status"]["conditions"].as_array().unwrap().iter().find(|c| c["type"] == "QuotaGranted");
    assert_eq!(granted.unwrap()["reason"], "QuotaProjectIDUnresolvable");
    assert!(world.claim().is_none());
    world.put_namespace("ns-b", "alpha");
    quiet(1).await;
    assert!(world.claim().is_some());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_the_provider_says_is_no_reason_to_ask_again_before_its_time() {
    let world = World::new();
    let run = world.run_with_quota();
    quiet(5).await;
    world.alpha.fault(Fault::Status(403).on("create", "resourceclaims"));
    world.put_instance("wd-0", &["Quota"]);
    quiet(400).await;
    let alpha = position(&world.alpha);
    for n in 0..20 {
        world.provide("wd-0", "Odd", "True", "Odd", &n.to_string());
        quiet(1).await;
    }
    assert!(asked(&world.alpha, alpha).len() <= 1, "once a minute by now");
    run.stop().await;
}

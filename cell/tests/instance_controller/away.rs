//! Project planes that come, go and fail.

use fedhub_fake_apiserver::{ApiServer, Fault, resource};

use crate::instance_controller::support::*;

#[tokio::test(start_paused = true)]
async fn c9_a_plane_that_is_not_there_is_said_and_asked_as_soon_as_it_is() {
    let world = World::new();
    let run = world.process(Some(CELL));
    world.put_instance("wd-0", &["Quota"]);
    quiet(20).await;
    assert_eq!(world.reason("wd-0", "QuotaGranted"), "PendingEvaluation", "it may be about to be found");
    quiet(20).await;
    assert_eq!(world.reason("wd-0", "QuotaGranted"), "QuotaBackendUnavailable");
    assert!(world.says("wd-0", "Ready").2.contains("project alpha"));
    quiet(900).await;
    run.engage("alpha", &world.alpha);
    quiet(1).await;
    assert!(world.claim().is_some(), "woken, and not by the time");
    world.grant();
    quiet(5).await;
    assert!(gates(&world.instance("wd-0")).is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c6_a_plane_that_goes_takes_no_grant_back() {
    let world = World::new();
    let run = world.run_with_quota();
    world.put_instance("wd-0", &["Quota"]);
    world.put_instance("wd-1", &["Quota"]);
    quiet(5).await;
    world.grant();
    world.answer("instance-wd-1-k", "False", "PendingEvaluation", "no budget");
    quiet(60).await;
    let before = world.instance("wd-0");
    let alpha = position(&world.alpha);
    run.disengage("alpha");
    quiet(60).await;
    assert_eq!(world.instance("wd-0"), before);
    assert_eq!(world.reason("wd-1", "QuotaGranted"), "QuotaBackendUnavailable");
    run.engage("alpha", &world.alpha);
    quiet(60).await;
    assert_eq!(world.instance("wd-0"), before);
    assert_eq!(world.reason("wd-1", "QuotaGranted"), "QuotaNoBudget");
    assert!(asked(&world.alpha, alpha).is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn i8_a_plane_that_hangs_holds_up_neither_another_nor_its_own_instances_readiness() {
    let world = World::new();
    let beta = ApiServer::builder("beta")
        .resources(resource::project_plane())
        .resource(resource::resource_claim())
        .build();
    beta.put(serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}))
        .unwrap();
    world.put_namespace("ns-b", "beta");
    let run = world.run_with_quota();
    run.engage("beta", &beta);
    world.put_instance("wd-0", &["Quota"]);
    quiet(5).await;
    world.grant();
    quiet(5).await;
    world.alpha.fault(Fault::Hang.on("create", "resourceclaims"));
    for n in 1..100 {
        world.put_instance(&format!("wd-{n}"), &["Quota"]);
    }
    quiet(15).await;
    let cell = position(&world.cell);
    let alpha = position(&world.alpha);
    world.put_instance_in("ns-b", "wd-0", &["Quota"]);
    world.run_an_instance("wd-0");
    quiet(1).await;
    assert!(beta.get("ResourceClaim", SPACE, CLAIM).is_some(), "the other project's");
    assert_eq!(world.says("wd-0", "Ready").0, "True", "its own, which needs no quota any more");
    assert!(!asked(&world.cell, cell).is_empty());
    quiet(120).await;
    let tried = asked(&world.alpha, alpha).len();
    assert!(tried < 12, "one at a time tries: {tried}");
    run.stop().await;
}

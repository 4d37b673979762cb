//! C8: a claim goes after its Instance, and only then.

use std::sync::Arc;

use fedhub_core::names::CELL_SOURCE;
use fedhub_core::object::{Kind, ObjectRef};
use fedhub_fake_apiserver::Fault;
use serde_json::json;

use crate::instance_controller::support::*;

async fn granted(world: &World) -> Run {
    let run = world.run_with_quota();
    world.put_instance("wd-0", &["Quota"]);
    until("claimed", || world.claim().is_some()).await;
    world.grant();
    quiet(5).await;
    run
}

const PROVEN: [&str; 1] = ["get instances/wd-0"];
const DELETED: [&str; 1] = ["delete resourceclaims/instance-wd-0-k"];

#[tokio::test(start_paused = true)]
async fn c8_a_claim_goes_once_the_cell_itself_says_that_its_instance_is_gone() {
    let world = World::new();
    let run = granted(&world).await;
    let hold = json!({"metadata": {"finalizers": ["test/hold"]}});
    world.cell.patch("Instance", NS, "wd-0", &hold).unwrap();
    world.cell.delete("Instance", NS, "wd-0").unwrap();
    let alpha = position(&world.alpha);
    quiet(DEADLINE.as_secs() + 60).await;
    assert!(world.claim().is_some(), "it is on its way out, and not gone");
    assert!(asked(&world.alpha, alpha).is_empty());
    let cell = position(&world.cell);
    world.cell.patch("Instance", NS, "wd-0", &json!({"metadata": {"finalizers": null}})).unwrap();
    quiet(5).await;
    assert!(world.claim().is_none());
    assert_eq!(asked(&world.cell, cell), PROVEN);
    assert_eq!(asked(&world.alpha, alpha), DELETED);
    let sent = world.alpha.audit().into_iter().rfind(|e| e.verb == "delete").unwrap().body.unwrap();
    assert!(sent["preconditions"]["uid"].is_string(), "I4: {sent}");
    assert_eq!(run.queue.pending(), 0);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c8_a_cell_that_cannot_be_asked_keeps_every_claim() {
    let world = World::new();
    let run = granted(&world).await;
    let fault = world.cell.fault(Fault::Status(503).on("get", "instances"));
    world.cell.delete("Instance", NS, "wd-0").unwrap();
    quiet(600).await;
    assert!(world.claim().is_some());
    world.cell.clear_fault(fault);
    quiet(600).await;
    assert!(world.claim().is_none());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c8_a_list_that_lost_an_instance_proves_nothing() {
    let world = World::new();
    let run = granted(&world).await;
    let alpha = position(&world.alpha);
    let fault = world.cell.fault(Fault::EmptyList.on("list", "instances"));
    world.cell.compact();
    world.cell.break_watches();
    quiet(60).await;
    assert!(run.cell.anchor().store(Kind::Instance).is_empty(), "the list was believed");
    assert!(asked(&world.alpha, alpha).is_empty(), "and the claim was not deleted for it");
    world.cell.clear_fault(fault);
    world.cell.compact();
    world.cell.break_watches();
    quiet(600).await;
    assert!(asked(&world.alpha, alpha).is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c8_what_went_while_nobody_looked_is_made_up_for_after_a_restart() {
    let world = World::new();
    granted(&world).await.stop().await;
    world.cell.delete("Instance", NS, "wd-0").unwrap();
    let cell = position(&world.cell);
    let alpha = position(&world.alpha);
    // The cell is not in sync for a while: its empty store means nothing.
    let fault = world.cell.fault(Fault::Status(503).on("list", "*"));
    let run = world.run_with_quota();
    quiet(120).await;
    assert!(asked(&world.alpha, alpha).is_empty() && asked(&world.cell, cell).is_empty());
    world.cell.clear_fault(fault);
    quiet(120).await;
    assert!(world.claim().is_none());
    assert_eq!(
        (asked(&world.cell, cell), asked(&world.alpha, alpha)),
        (PROVEN.map(str::to_owned).to_vec(), DELETED.map(str::to_owned).to_vec())
    );
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c8_what_went_while_the_plane_was_away_is_made_up_for_when_it_is_back() {
    let world = World::new();
    let run = granted(&world).await;
    run.disengage("alpha");
    world.cell.delete("Instance", NS, "wd-0").unwrap();
    quiet(60).await;
    assert!(world.claim().is_some());
    run.engage("alpha", &world.alpha);
    quiet(5).await;
    assert!(world.claim().is_none());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c8_a_replaced_instance_gets_a_claim_of_its_own() {
    let world = World::new();
    let run = granted(&world).await;
    let first = uid(&world.claim().unwrap());
    let alpha = position(&world.alpha);
    world.cell.delete("Instance", NS, "wd-0").unwrap();
    let next = world.put_instance("wd-0", &["Quota"]);
    quiet(5).await;
    let claim = world.claim().unwrap();
    assert_ne!(uid(&claim), first);
    assert_eq!(claim["metadata"]["annotations"][CELL_SOURCE], mark_of(&next));
    assert_eq!(gates(&world.instance("wd-0")), ["Quota"], "the grant of the earlier one is not its own");
    let asked = asked(&world.alpha, alpha);
    assert_eq!(asked, [DELETED[0], "create resourceclaims/instance-wd-0-k"]);
    world.grant();
    quiet(5).await;
    assert!(gates(&world.instance("wd-0")).is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c8_an_instance_whose_predecessor_nobody_saw_go_gets_a_claim_of_its_own() {
    let world = World::new();
    let run = granted(&world).await;
    world.cell.delete("Instance", NS, "wd-0").unwrap();
    let next = world.put_instance("wd-0", &["Quota"]);
    // As the answer to a write of this process, which is faster than the watch.
    let made: ObjectRef = Arc::new(serde_json::from_value(next.clone()).unwrap());
    run.cell.anchor().store(Kind::Instance).own(&made);
    quiet(30).await;
    let mark = &world.claim().unwrap()["metadata"]["annotations"][CELL_SOURCE];
    assert_eq!(*mark, mark_of(&next));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c8_an_earlier_claim_that_somebody_holds_is_waited_for() {
    let world = World::new();
    let run = granted(&world).await;
    let hold = json!({"metadata": {"finalizers": ["quota/hold"]}});
    world.alpha.patch("ResourceClaim", SPACE, CLAIM, &hold).unwrap();
    world.cell.delete("Instance", NS, "wd-0").unwrap();
    let alpha = position(&world.alpha);
    world.put_instance("wd-0", &["Quota"]);
    quiet(60).await;
    assert!(world.says("wd-0", "QuotaGranted").2.contains("an earlier quota claim"));
    assert_eq!(asked(&world.alpha, alpha), DELETED);
    world.alpha.patch("ResourceClaim", SPACE, CLAIM, &json!({"metadata": {"finalizers": null}})).unwrap();
    quiet(1).await;
    assert!(world.claim().is_some_and(|c| c["metadata"]["deletionTimestamp"].is_null()));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c8_a_namespace_that_goes_first_leaves_no_claim_behind() {
    let world = World::new();
    let run = granted(&world).await;
    // Its labels are lost before its Instance is.
    let bare = json!({"metadata": {"labels": null}});
    world.cell.patch("Namespace", "", NS, &bare).unwrap();
    quiet(5).await;
    world.cell.delete("Instance", NS, "wd-0").unwrap();
    quiet(5).await;
    assert!(world.claim().is_none());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_somebody_deletes_is_made_anew() {
    let world = World::new();
    let run = granted(&world).await;
    world.alpha.delete("ResourceClaim", SPACE, CLAIM).unwrap();
    quiet(5).await;
    assert!(world.claim().is_some());
    world.grant();
    quiet(5).await;
    assert_eq!(world.reason("wd-0", "QuotaGranted"), "QuotaAvailable");
    run.stop().await;
}

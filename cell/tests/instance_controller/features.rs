//! C6: quota and referenced data are switched off and on again, and credentials fail.

use fedhub_core::names::{CELL_SOURCE, EXPECTED_REFERENCED_DATA, INSTANCE_NAMESPACE, SOURCE_CLUSTER};
use fedhub_fake_apiserver::Fault;
use serde_json::json;

use crate::instance_controller::support::*;

const ON: Features = Features { quota: true, referenced_data: true };
const QUOTA_OFF: Features = Features { quota: false, referenced_data: true };
const DATA_OFF: Features = Features { quota: true, referenced_data: false };

impl World {
    /// A process with that of quota, which knows the project `alpha`.
    fn with_alpha(&self, features: &Features) -> Run {
        let run = self.process_with(Some(CELL), features);
        run.engage("alpha", &self.alpha);
        run
    }

    /// `wd-0` runs with its quota granted.
    async fn running() -> (Self, Run) {
        let world = Self::new();
        let run = world.with_alpha(&ON);
        world.put_instance("wd-0", &["Quota"]);
        until("claimed", || world.claim().is_some()).await;
        world.grant();
        world.run_an_instance("wd-0");
        quiet(60).await;
        assert_eq!(world.says("wd-0", "Ready").0, "True");
        (world, run)
    }

    fn quota(&self, name: &str) -> String {
        let (status, reason, _) = self.says(name, "QuotaGranted");
        format!("{status} {reason}")
    }

    /// How often `wd-0` was said not to be ready since then.
    fn unready(&self, from: usize) -> usize {
        let not_ready = |e: &fedhub_fake_apiserver::AuditEntry| {
            let status =
                e.body.as_ref().filter(|_| e.name.as_deref() == Some("wd-0"))?.get("status")?.clone();
            let ready = fedhub_api::conditions::find(&status, "Ready")?.clone();
            (ready["status"] != "True").then_some(())
        };
        self.cell.audit()[from..].iter().filter_map(not_ready).count()
    }
}

#[tokio::test(start_paused = true)]
async fn c6_quota_that_is_switched_off_opens_its_gate_and_gives_its_claims_back() {
    let (world, run) = World::running().await;
    world.put_instance("wd-1", &["Quota"]);
    quiet(5).await;
    world.answer("instance-wd-1-k", "False", "QuotaExceeded", "used up");
    quiet(60).await;
    run.stop().await;
    // Another cell's, and one of this cell's name with another cell's mark.
    for (name, cell, mark) in [("instance-x-0", "ord", "ord/1"), ("instance-wd-9-k", CELL, "ord/1")] {
        let labels = json!({SOURCE_CLUSTER: cell, INSTANCE_NAMESPACE: NS});
        let metadata =
            json!({"namespace": SPACE, "name": name, "labels": labels, "annotations": {CELL_SOURCE: mark}});
        let kind = json!({"apiVersion": "quota.miloapis.com/v1alpha1", "kind": "ResourceClaim", "metadata": metadata});
        world.alpha.put(kind).unwrap();
    }

    let from = position(&world.cell);
    let run = world.with_alpha(&QUOTA_OFF);
    quiet(60).await;
    assert!(gates(&world.instance("wd-1")).is_empty());
    assert_eq!(
        (world.quota("wd-0"), world.quota("wd-1")),
        ("True QuotaDisabled".into(), "True QuotaDisabled".into())
    );
    let left: Vec<_> = world.alpha.names("ResourceClaim").into_iter().map(|(_, name)| name).collect();
    assert_eq!(left, ["instance-wd-9-k", "instance-x-0"]);
    // What waits for longer than it may has said so.
    quiet(700).await;
    let settled = (position(&world.cell), position(&world.alpha));
    quiet(600).await;
    assert!(asked(&world.cell, settled.0).is_empty() && asked(&world.alpha, settled.1).is_empty(), "I7");
    run.stop().await;

    let run = world.with_alpha(&ON);
    until("claimed again", || world.claim().is_some()).await;
    world.put_instance("wd-2", &["Quota"]);
    quiet(5).await;
    assert_eq!(gates(&world.instance("wd-2")), ["Quota"], "it works again");
    world.grant();
    world.answer("instance-wd-2-k", "True", "QuotaAvailable", "");
    quiet(60).await;
    assert!(gates(&world.instance("wd-2")).is_empty());
    assert_eq!(world.quota("wd-0"), "True QuotaAvailable");
    assert_eq!(world.unready(from), 0, "all the while it ran");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c6_a_denial_turns_nothing_unready_that_runs() {
    let (world, run) = World::running().await;
    let from = position(&world.cell);
    // Another deletes its claim, and by then the quota is gone to others.
    world.alpha.delete("ResourceClaim", SPACE, CLAIM).unwrap();
    until("claimed again", || world.claim().is_some()).await;
    world.answer(CLAIM, "False", "QuotaExceeded", "used up");
    let denied = uid(&world.claim().unwrap());
    quiet(600).await;
    assert_eq!(world.quota("wd-0"), "False QuotaExceeded");
    assert_eq!(uid(&world.claim().unwrap()), denied, "C8: it goes with its Instance");
    let ready = ["Programmed", "Available", "Ready"].map(|kind| world.says("wd-0", kind).0);
    assert_eq!(ready, ["True", "True", "True"]);
    assert_eq!(world.unready(from), 0);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c6_without_the_credential_gates_open_and_claims_stay() {
    let (world, run) = World::running().await;
    world.put_instance("wd-1", &["Quota"]);
    quiet(5).await;
    run.stop().await;
    let run = world.process(None);
    quiet(60).await;
    assert!(gates(&world.instance("wd-1")).is_empty());
    assert_eq!(world.quota("wd-0"), "True QuotaDisabled");
    assert_eq!(world.alpha.list("ResourceClaim").len(), 2);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c6_a_credential_that_fails_turns_nothing_unready_that_runs() {
    for (code, reason) in
        [(403, "QuotaMisconfigured"), (401, "QuotaBackendUnavailable"), (500, "QuotaBackendUnavailable")]
    {
        let (world, run) = World::running().await;
        run.stop().await;
        let run = world.with_alpha(&QUOTA_OFF);
        quiet(60).await;
        run.stop().await;
        assert!(world.claim().is_none());
        let from = position(&world.cell);
        let fault = world.alpha.fault(Fault::Status(code).on("create", "resourceclaims"));
        let run = world.with_alpha(&ON);
        quiet(900).await;
        assert_eq!(world.quota("wd-0"), format!("True {reason}"), "{code}: what was granted stays");
        let (_, _, message) = world.says("wd-0", "QuotaGranted");
        assert!(message.contains("; the instance keeps running"), "{code}: it is reported: {message}");
        assert_eq!(asked(&world.cell, from), ["update instances/status/wd-0"], "{code}: once");
        // What is new waits, as it always did.
        world.put_instance("wd-1", &["Quota"]);
        quiet(600).await;
        assert_eq!(world.quota("wd-1"), format!("False {reason}"));
        assert_eq!(gates(&world.instance("wd-1")), ["Quota"]);

        world.alpha.clear_fault(fault);
        quiet(900).await;
        world.grant();
        quiet(60).await;
        assert_eq!(world.quota("wd-0"), "True QuotaAvailable", "{code}");
        assert_eq!(world.unready(from), 0, "{code}");
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn c6_a_claim_that_was_lost_is_asked_for_until_it_is_there() {
    let (world, run) = World::running().await;
    let before = world.instance("wd-0");
    let fault = world.alpha.fault(Fault::Status(403).on("create", "resourceclaims"));
    world.alpha.delete("ResourceClaim", SPACE, CLAIM).unwrap();
    quiet(900).await;
    assert_eq!(world.instance("wd-0"), before, "what was granted stays");
    world.alpha.clear_fault(fault);
    quiet(900).await;
    assert!(world.claim().is_some());
    world.grant();
    quiet(60).await;
    assert_eq!(world.quota("wd-0"), "True QuotaAvailable");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c6_referenced_data_that_is_switched_off_opens_its_gate() {
    let world = World::new();
    let run = world.with_alpha(&ON);
    world.put_instance("wd-0", &["ReferencedData"]);
    let expected = json!({"metadata": {"annotations": {EXPECTED_REFERENCED_DATA: r#"["Secret/db"]"#}}});
    world.cell.patch("WorkloadDeployment", NS, "wd", &expected).unwrap();
    quiet(60).await;
    assert_eq!(gates(&world.instance("wd-0")), ["ReferencedData"]);
    run.stop().await;

    let run = world.with_alpha(&DATA_OFF);
    quiet(60).await;
    assert!(gates(&world.instance("wd-0")).is_empty());
    let (status, reason, _) = world.says("wd-0", "ReferencedDataReady");
    assert_eq!((status.as_str(), reason.as_str()), ("True", "ReferencedDataDisabled"));
    // What waits for longer than it may has said so.
    quiet(700).await;
    let from = position(&world.cell);
    quiet(600).await;
    assert!(asked(&world.cell, from).iter().all(|asked| !asked.contains("instances")), "I7");
    run.stop().await;

    // Switched on again, what is new waits again, and what runs goes on.
    world.run_an_instance("wd-0");
    let run = world.with_alpha(&ON);
    world.put_instance("wd-1", &["ReferencedData"]);
    quiet(60).await;
    assert_eq!(gates(&world.instance("wd-1")), ["ReferencedData"]);
    assert_eq!(world.says("wd-0", "Ready").0, "True");
    run.stop().await;
}

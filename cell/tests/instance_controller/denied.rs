//! C6: a denied claim of an Instance that waits is made anew.

use fedhub_fake_apiserver::Fault;

use crate::instance_controller::support::*;

impl World {
    /// `wd-0` waits, and its claim is denied.
    async fn denied() -> (Self, Run) {
        let world = Self::new();
        let run = world.run_with_quota();
        world.put_instance("wd-0", &["Quota"]);
        until("claimed", || world.claim().is_some()).await;
        world.deny();
        until("published", || world.reason("wd-0", "QuotaGranted") == "QuotaExceeded").await;
        (world, run)
    }

    fn deny(&self) {
        self.answer(CLAIM, "False", "QuotaExceeded", "40 of 40 are used");
    }

    /// The quota service denies each claim for so many seconds. Returns when claims were made anew.
    async fn deny_for(&self, seconds: u64) -> Vec<u64> {
        let mut last = self.claim_uid();
        let mut remade = Vec::new();
        for second in 0..seconds {
            quiet(1).await;
            let now = self.claim_uid();
            if now != last {
                remade.push(second);
                last = now;
                self.deny();
            }
        }
        remade
    }

    fn claim_uid(&self) -> String {
        self.claim().map(|claim| uid(&claim)).unwrap_or_default()
    }
}

#[tokio::test(start_paused = true)]
async fn c6_quota_that_is_there_later_is_found_although_a_denial_is_final() {
    let (world, run) = World::denied().await;
    let first = world.claim_uid();
    let from = position(&world.alpha);
    quiet(6).await;
    assert_ne!(world.claim_uid(), first);
    let claim = format!("resourceclaims/{CLAIM}");
    assert_eq!(asked(&world.alpha, from), [format!("delete {claim}"), format!("create {claim}")]);
    let sent = world.alpha.audit().into_iter().rfind(|e| e.verb == "delete").unwrap().body.unwrap();
    let precondition = |field: &str| sent["preconditions"][field].is_string();
    assert!(precondition("uid") && precondition("resourceVersion"), "an answer meanwhile is kept: {sent}");
    assert_eq!(world.reason("wd-0", "QuotaGranted"), "QuotaExceeded", "until it is answered");
    world.grant();
    quiet(1).await;
    assert!(gates(&world.instance("wd-0")).is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c6_a_denial_that_lasts_is_asked_about_less_and_less_and_told_once() {
    let (world, run) = World::denied().await;
    let from = position(&world.cell);
    let remade = world.deny_for(3600).await;
    assert!((15..=30).contains(&remade.len()), "{remade:?}");
    let pauses: Vec<_> = remade.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(pauses.iter().all(|pause| (5..=310).contains(pause)), "{pauses:?}");
    assert!(pauses.iter().rev().take(5).all(|pause| *pause >= 300), "{pauses:?}");
    assert_eq!(asked(&world.cell, from), Vec::<String>::new(), "I7: nothing new to say");
    assert!(events(&world.cell, from).is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c6_a_claim_that_is_granted_meanwhile_is_not_deleted() {
    let (world, run) = World::denied().await;
    let silent = world.alpha.fault(Fault::Hang.on("watch", "resourceclaims"));
    world.grant();
    let granted = world.claim_uid();
    quiet(8).await;
    assert_eq!(world.claim_uid(), granted, "its version is not the one that was seen");
    world.alpha.clear_fault(silent);
    quiet(60).await;
    assert_eq!(world.claim_uid(), granted);
    assert!(gates(&world.instance("wd-0")).is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c6_a_restart_makes_no_denied_claim_anew_before_its_time() {
    let (world, run) = World::denied().await;
    world.deny_for(600).await;
    run.stop().await;
    let claim = world.claim_uid();
    let from = position(&world.alpha);
    let run = world.run_with_quota();
    quiet(30).await;
    assert_eq!(world.claim_uid(), claim);
    assert!(asked(&world.alpha, from).is_empty(), "{:?}", asked(&world.alpha, from));
    quiet(600).await;
    assert_ne!(world.claim_uid(), claim);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn c6_a_denied_claim_that_cannot_be_made_anew_says_why() {
    let (world, run) = World::denied().await;
    let fault = world.alpha.fault(Fault::Status(403).on("delete", "resourceclaims"));
    let from = position(&world.alpha);
    quiet(30).await;
    let (status, reason, message) = world.says("wd-0", "QuotaGranted");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "QuotaMisconfigured"), "{message}");
    assert!(asked(&world.alpha, from).len() <= 32);
    world.alpha.clear_fault(fault);
    quiet(30).await;
    world.grant();
    quiet(5).await;
    assert!(gates(&world.instance("wd-0")).is_empty());
    run.stop().await;
}

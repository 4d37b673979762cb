//! The election decided by hand, from given clocks.

use std::time::Duration;

use fedhub_lease::{Claimed, Election, ElectionStep, LeaseConfig, LeaseSource, Record};
use tokio::time::Instant;

use crate::support::*;

fn record(version: u64, holder: &str, epoch: i32, seconds: u64) -> Record {
    Record {
        version: version.to_string(),
        holder: holder.to_owned(),
        duration: Duration::from_secs(seconds),
        epoch,
        renewed: None,
    }
}

fn renewed(version: u64, holder: &str, epoch: i32) -> Record {
    Record {
        renewed: Some(jiff::Timestamp::from_second(i64::try_from(version).unwrap()).unwrap()),
        ..record(version, holder, epoch, 15)
    }
}

fn claim(version: Option<u64>, epoch: i32) -> ElectionStep {
    ElectionStep::Claim { version: version.map(|v| v.to_string()), epoch }
}

struct Hand {
    election: Election,
    zero: Instant,
}

impl Hand {
    fn new() -> Self {
        Self::cold(Duration::ZERO)
    }

    fn cold(warm_up: Duration) -> Self {
        let zero = Instant::now();
        Self { election: Election::new(LeaseConfig { warm_up, ..config("me") }, zero), zero }
    }

    fn at(&self, millis: u64) -> Instant {
        self.zero + Duration::from_millis(millis)
    }

    fn plan(&mut self, millis: u64) -> ElectionStep {
        let now = self.at(millis);
        self.election.expire(now);
        self.election.plan(now)
    }

    fn see(&mut self, millis: u64, record: Option<Record>) {
        self.election.observe(record, LeaseSource::Watch, self.at(millis));
    }

    fn claimed(&mut self, sent: u64, answered: u64, epoch: i32, answer: Claimed) {
        self.election.claims(epoch);
        self.election.answered(answer, epoch, self.at(sent), self.at(answered));
    }

    fn leads(&mut self, millis: u64) -> bool {
        let now = self.at(millis);
        self.election.expire(now);
        self.election.term().is_some_and(|term| now < term.until)
    }
}

/// A leader since 0, in epoch 3, of a Lease at version 7.
fn leader() -> Hand {
    let mut hand = Hand::new();
    hand.see(0, Some(record(6, "", 2, 1)));
    hand.claimed(0, 40, 3, Claimed::Done(renewed(7, "me", 3)));
    hand
}

#[test]
fn what_comes_next_for_one_who_does_not_lead() {
    let mut hand = Hand::new();
    assert_eq!(hand.plan(0), ElectionStep::Read);
    for (what, seen, after, expected) in [
        ("there is none", None, 0, claim(None, 0)),
        ("it was released", Some(record(4, "", 8, 1)), 0, claim(Some(4), 9)),
        ("emptied by hand: its leader may not know", Some(record(4, "", 8, 15)), 14_999, ElectionStep::Read),
        ("emptied by hand, and long enough ago", Some(record(4, "", 8, 15)), 15_000, claim(Some(4), 9)),
        ("held", Some(record(4, "other", 8, 15)), 7_000, ElectionStep::Wait(Instant::now())),
        ("held, and no news", Some(record(4, "other", 8, 15)), 7_500, ElectionStep::Read),
        ("not renewed", Some(record(4, "other", 8, 15)), 15_000, claim(Some(4), 9)),
        (
            "not renewed, and a longer one than ours",
            Some(record(4, "other", 8, 60)),
            59_999,
            ElectionStep::Read,
        ),
        (
            "not renewed, and a shorter one than ours",
            Some(record(4, "other", 8, 2)),
            14_999,
            ElectionStep::Read,
        ),
        ("ours, edited by hand", Some(record(4, "me", 8, 15)), 14_999, ElectionStep::Read),
    ] {
        let mut hand = Hand::new();
        hand.see(0, seen);
        let step = match hand.plan(after) {
            ElectionStep::Wait(_) => ElectionStep::Wait(Instant::now()),
            step => step,
        };
        match (step, expected) {
            (ElectionStep::Wait(_), ElectionStep::Wait(_)) => {}
            // A process that received nothing for so long reads before the time is over.
            (step, expected) => assert_eq!(step, expected, "{what}"),
        }
    }
}

#[test]
fn expiry_is_counted_from_the_change_that_was_seen_not_from_what_its_clock_said() {
    let mut hand = Hand::new();
    for (at, version) in [(0, 10), (5_000, 11), (10_000, 12)] {
        hand.see(at, Some(renewed(version, "other", 1)));
    }
    // Labelled by hand, and seen again by a list: no sign of life.
    hand.see(20_000, Some(Record { version: "13".to_owned(), ..renewed(12, "other", 1) }));
    hand.see(24_900, Some(Record { version: "13".to_owned(), ..renewed(12, "other", 1) }));
    assert!(matches!(hand.plan(24_999), ElectionStep::Wait(_)));
    assert_eq!(hand.plan(25_000), claim(Some(13), 2));
}

#[test]
fn a_leader_renews_in_time_and_its_lease_counts_from_when_it_was_sent() {
    let mut hand = leader();
    assert!(hand.leads(40));
    assert!(matches!(hand.plan(4_999), ElectionStep::Wait(_)));
    assert_eq!(hand.plan(5_000), claim(Some(7), 3));
    hand.claimed(5_000, 7_000, 3, Claimed::Done(renewed(8, "me", 3)));
    assert!(hand.leads(16_999), "5 s + 15 s - 3 s");
    assert!(!hand.leads(17_000), "not 7 s + 15 s - 3 s");
}

#[test]
fn a_leader_that_cannot_renew_stops_before_its_lease_ends_and_comes_back_in_a_new_epoch() {
    let mut hand = leader();
    hand.claimed(5_000, 7_500, 3, Claimed::Failed);
    assert_eq!(hand.plan(7_500), claim(Some(7), 3), "silence took its time");
    hand.claimed(7_500, 7_510, 3, Claimed::Failed);
    assert!(matches!(hand.plan(8_499), ElectionStep::Wait(_)), "a refusal is tried again after a second");
    assert_eq!(hand.plan(8_500), claim(Some(7), 3));
    assert!(hand.leads(11_999) && !hand.leads(12_000));
    hand.see(30_000, Some(renewed(7, "me", 3)));
    assert_eq!(hand.plan(30_000), claim(Some(7), 4), "no other process has taken it");
}

#[test]
fn a_renewal_that_is_answered_too_late_does_not_mend_the_term() {
    let mut hand = leader();
    hand.claimed(11_900, 12_100, 3, Claimed::Done(renewed(8, "me", 3)));
    assert!(!hand.leads(12_100));
    assert_eq!(hand.plan(12_100), claim(Some(8), 4), "a new one begins at once");
}

#[test]
fn what_ends_a_term_at_once() {
    for (what, seen) in [
        ("another holds it", record(9, "other", 4, 15)),
        ("it was emptied", record(9, "", 3, 15)),
        ("another epoch", record(9, "me", 4, 15)),
    ] {
        let mut hand = leader();
        hand.see(100, Some(seen));
        assert!(!hand.leads(100), "{what}");
        assert!(!matches!(hand.plan(100), ElectionStep::Claim { .. }), "{what}");
    }
}

#[test]
fn what_does_not_end_a_term() {
    let mut hand = leader();
    hand.see(100, Some(record(5, "other", 2, 15)));
    assert!(hand.leads(100), "older than our own write");
    hand.see(200, None);
    assert!(hand.leads(200));
    assert_eq!(hand.plan(200), claim(None, 3), "deleted by hand: put back");
    hand.claimed(200, 210, 3, Claimed::Conflict);
    assert_eq!(hand.plan(230), ElectionStep::Read);
}

#[test]
fn what_was_deleted_by_hand_may_have_been_anothers_until_then() {
    let mut hand = leader();
    hand.claimed(5_000, 5_010, 3, Claimed::Conflict);
    assert!(!hand.leads(60_000));
    // Another process took it meanwhile, and no process here has seen that.
    hand.see(60_000, None);
    hand.see(70_000, None);
    assert!(!matches!(hand.plan(74_999), ElectionStep::Claim { .. }), "whoever took it may not know yet");
    assert_eq!(hand.plan(75_000), claim(None, 4));
}

#[test]
fn a_claim_without_an_answer_is_completed_by_a_second_one() {
    let mut hand = Hand::new();
    hand.see(0, Some(record(6, "", 2, 1)));
    hand.claimed(0, 2_500, 3, Claimed::Failed);
    assert!(!hand.leads(2_500));
    hand.see(2_600, Some(renewed(7, "me", 3)));
    assert!(!hand.leads(2_600), "a response of its own is needed: it is unknown when this one was sent");
    assert_eq!(hand.plan(2_600), claim(Some(7), 4));
}

#[test]
fn who_will_end_does_not_begin_to_lead() {
    let mut hand = Hand::new();
    hand.election.retire();
    for seen in [None, Some(record(4, "", 8, 1))] {
        hand.see(0, seen);
        assert!(!matches!(hand.plan(100), ElectionStep::Claim { .. }));
    }
    let mut hand = leader();
    hand.election.retire();
    assert_eq!(hand.plan(5_000), claim(Some(7), 3), "what is under way needs the lease");
    assert_eq!(hand.election.step_down().unwrap().version, "7");
    assert!(!hand.leads(5_000));
    assert!(!matches!(hand.plan(5_000), ElectionStep::Claim { .. }));
}

#[test]
fn who_is_not_in_sync_leaves_a_free_lease_to_others_for_a_while() {
    let mut hand = Hand::cold(Duration::from_secs(10));
    hand.see(0, Some(record(4, "", 8, 1)));
    assert!(matches!(hand.plan(9_999), ElectionStep::Wait(_)), "a process that is in sync may take it");
    assert_eq!(hand.plan(10_000), claim(Some(4), 9), "no other process did");
    let mut hand = Hand::cold(Duration::from_secs(10));
    hand.see(0, Some(record(4, "", 8, 1)));
    hand.election.warm(hand.at(3_000));
    assert_eq!(hand.plan(3_000), claim(Some(4), 9), "it is in sync");
    hand.claimed(3_000, 3_010, 9, Claimed::Done(record(5, "me", 9, 15)));
    assert!(hand.leads(3_010));
}

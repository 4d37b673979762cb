//! What is said of a WD that waits in the rollout of its Workload.

use super::super::super::cause::Cause;
use super::super::super::chain::Read;
use super::super::super::output::verdict;
use super::super::diagnose;
use super::causes::chain_of;

#[test]
fn u4_a_wait_names_the_wave_what_is_waited_for_and_who_acts() {
    let chain = chain_of(Cause::AwaitingTurn);
    let diagnosis = diagnose(&chain);
    let waits = "the WD carries revision 6 of 7, in the wave \"rest\": it waits until \"ORD\" is healthy on the new revision";
    assert_eq!(diagnosis.evidence, waits);
    let lines = verdict(&chain, &diagnosis);
    assert!(lines.contains(&("Who acts", "nobody: it goes on by itself".to_owned())), "{lines:?}");
    let chain = chain_of(Cause::AwaitingApproval);
    let lines = verdict(&chain, &diagnose(&chain));
    assert!(lines.contains(&("Who acts", "the user".to_owned())), "{lines:?}");
    assert!(lines.iter().any(|(label, text)| *label == "What to do" && text.contains("rollout approve")));
}

/// Nothing goes on by itself where no fedhub runs.
#[test]
fn u4_a_wait_is_fedhubs_where_no_process_leads() {
    let mut chain = chain_of(Cause::AwaitingTurn);
    chain.management.lease = Read::Absent;
    assert_eq!(diagnose(&chain).cause, Cause::FedhubNotRunning);
}

/// What is wrong with the WD itself comes first, and its turn is told beside it.
#[test]
fn u4_a_wd_that_is_blocked_says_what_it_waits_for_too() {
    let mut chain = chain_of(Cause::ImageUnavailable);
    chain.rollout = chain_of(Cause::AwaitingTurn).rollout;
    let diagnosis = diagnose(&chain);
    assert_eq!(diagnosis.cause, Cause::ImageUnavailable);
    let lines = verdict(&chain, &diagnosis);
    assert!(lines.iter().any(|(label, text)| *label == "Rollout" && text.contains("\"ORD\"")), "{lines:?}");
}

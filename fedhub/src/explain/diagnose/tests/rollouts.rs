//! Chains in sync whose WD waits in the rollout of its Workload.

use std::sync::Arc;

use fedhub_api::rollout_turns::RolloutTurns;
use serde_json::{Value, json};

use super::super::super::cause::Cause;
use super::super::super::chain::{Chain, Read};
use super::super::super::output::verdict;
use super::super::super::rollout::Rollout;
use super::super::{State, diagnose};
use super::causes::{Case, chain_of};
use super::fixtures::MADE;

/// A rollout whose conditions have that reason, in the second wave of which is the WD.
fn rollout(chain: &mut Chain, reason: &str, more: &Value) {
    let city = |deployment: &str, city: &str, wave: &str, state: &str, revision: u64| {
        let named = json!({"deployment": deployment, "city": city, "wave": wave});
        let mut city = json!({"state": state, "revision": revision, "since": MADE});
        json_patch::merge(&mut city, &named);
        city
    };
    let wave = |name: &str, deployment: &str| json!({"name": name, "deployments": [deployment]});
    let mut status = json!({
        "targetRevision": 7, "direction": "Forward",
        "plan": [wave("canary", "web-us-ord"), wave("rest", "web")],
        "cities": [
            city("web-us-ord", "ORD", "canary", "Updating", 7), city("web", "DFW", "rest", "Waiting", 6),
        ],
        "conditions": [{"type": "Progressing", "status": "False", "reason": reason, "message": "in words"}],
    });
    json_patch::merge(&mut status, more);
    chain.rollout = Some(Arc::new(Rollout {
        newest: 7,
        turns: RolloutTurns::read(&json!({}), &status),
        behind: [("web".to_owned(), 6)].into(),
        is_governed: true,
    }));
}

pub const ROLLOUTS: &[Case] = &[
    (Cause::AwaitingTurn, State::OnItsWay, |c| rollout(c, "WaveInProgress", &json!({}))),
    (Cause::RolloutBehind, State::Stuck, |c| {
        let begun =
            json!({"deployment": "web", "city": "DFW", "wave": "rest", "state": "Updating", "revision": 7});
        let mut status = json!({"cities": [begun]});
        status["cities"][0]["since"] = json!(MADE);
        rollout(c, "WaveInProgress", &status);
    }),
    (Cause::AwaitingApproval, State::Blocked, |c| {
        let awaiting = json!({"awaiting": {"wave": "canary", "gate": "After"}});
        rollout(c, "RolloutAwaitingApproval", &awaiting);
    }),
    (Cause::RolloutPaused, State::Blocked, |c| rollout(c, "RolloutPaused", &json!({}))),
    (Cause::RolloutStalled, State::Blocked, |c| rollout(c, "CityFailed", &json!({}))),
    (Cause::RolloutRolledBack, State::Blocked, |c| {
        rollout(c, "RolloutRolledBack", &json!({"direction": "Back"}));
    }),
    (Cause::RolloutAborted, State::Blocked, |c| rollout(c, "RolloutAborted", &json!({"direction": "Abort"}))),
    (Cause::RolloutInvalid, State::Blocked, |c| rollout(c, "InvalidRollout", &json!({}))),
];

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

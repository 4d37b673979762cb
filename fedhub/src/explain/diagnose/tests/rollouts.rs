//! Chains in sync whose WD waits in the rollout of its Workload.

use std::sync::Arc;

use fedhub_api::rollout_turns::RolloutTurns;
use serde_json::{Value, json};

use super::super::super::cause::Cause;
use super::super::super::chain::Chain;
use super::super::super::rollout::Rollout;
use super::super::State;
use super::fixtures::{Case, MADE};

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

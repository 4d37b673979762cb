//! The last step of the decision: what is in sync may carry an earlier revision of its Workload's template.

use super::super::cause::Cause;
use super::super::chain::Chain;
use super::super::rollout::Turn;
use super::diagnosis::{Diagnosis, State};

/// What the WD waits for before it gets the newest revision.
pub fn waits(chain: &Chain) -> Option<Diagnosis> {
    let Turn { wait, since, evidence } = chain.turn()?;
    let cause = wait.as_ref().map_or(Cause::RolloutBehind, |wait| Cause::of_reason(Some(wait.reason())));
    if !matches!(cause, Cause::AwaitingTurn | Cause::RolloutBehind) {
        return Some(Diagnosis::blocked(cause, since, evidence));
    }
    let begun = since.or(Some(chain.now));
    let diagnosis = Diagnosis::fedhub_behind(chain, cause, cause.hop(), begun, evidence);
    if diagnosis.cause != Cause::AwaitingTurn {
        return Some(diagnosis);
    }
    // How long it takes until it is its turn, the cities before it decide.
    Some(Diagnosis { state: State::OnItsWay, since, limits: None, ..diagnosis })
}

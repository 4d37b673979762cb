//! What a rollout comes to in this pass.

use std::time::Duration;

use super::rollout::Rollout;
use super::unit::Unit;
use super::{Assignment, Cause, CityState, Decision, Direction, Status, Verdict, gates};

/// The decision that a rollout has come to.
pub(crate) fn conclude(mut rollout: Rollout<'_>) -> Decision {
    let verdict = verdict(&rollout);
    if verdict == Verdict::Complete && rollout.direction != Direction::Back {
        for unit in rollout.units.iter_mut().filter(|unit| unit.entry.state == CityState::Complete) {
            unit.entry.last_good = Some(rollout.target);
        }
    }
    let mut assignments = vec![Assignment::Keep; rollout.world.cities.len()];
    for unit in &rollout.units {
        assignments[unit.place] = unit.assignment(rollout.skips(unit));
    }
    let next = rollout.units.iter().filter_map(|unit| wakes(&rollout, unit)).min();
    let status = Status {
        target: Some(rollout.target),
        direction: rollout.direction,
        strategy: Some(rollout.world.policy.strategy),
        plan: rollout.waves,
        cities: rollout.units.into_iter().map(|unit| unit.entry).collect(),
        approvals: rollout.approvals,
    };
    Decision { assignments, status, verdict, next }
}

fn verdict(rollout: &Rollout<'_>) -> Verdict {
    let aborts = rollout.direction == Direction::Abort;
    if !aborts && gates::exceeded(rollout) {
        return stalled(rollout);
    }
    let rest = Rest::count(rollout);
    if rest.is_nothing() {
        let went_back = rollout.direction == Direction::Back && !rollout.units.is_empty();
        return if went_back { rolled_back(rollout) } else { Verdict::Complete };
    }
    if rollout.world.policy.paused && !aborts {
        return Verdict::Paused;
    }
    if rest.moving == 0 && rest.waiting == 0 && rest.failed > 0 {
        return stalled(rollout);
    }
    match gates::awaited(rollout) {
        Some((wave, gate)) if rest.moving == 0 && rest.waiting > 0 => {
            Verdict::AwaitingApproval { wave: rollout.waves[wave].name.clone(), gate }
        }
        _ => Verdict::Progressing,
    }
}

/// What is still to come of a rollout.
#[derive(Default)]
struct Rest {
    waiting: usize,
    moving: usize,
    failed: usize,
    held: usize,
}

impl Rest {
    fn count(rollout: &Rollout<'_>) -> Self {
        let mut rest = Self::default();
        for unit in rollout.units.iter().filter(|unit| !rollout.is_aside(unit)) {
            match unit.entry.state {
                CityState::Waiting => rest.waiting += 1,
                CityState::Updating | CityState::Soaking => rest.moving += 1,
                CityState::Failed => rest.failed += 1,
                CityState::Skipped if rollout.holds() => rest.held += 1,
                CityState::Skipped | CityState::Complete => {}
            }
        }
        rest
    }

    fn is_nothing(&self) -> bool {
        self.waiting + self.moving + self.failed + self.held == 0
    }
}

/// The verdict with the city that failed first.
fn stalled(rollout: &Rollout<'_>) -> Verdict {
    let failed = rollout.units.iter().filter(|unit| gates::has_failed(rollout, unit));
    let (deployment, cause) = named(failed.min_by_key(|unit| unit.entry.since));
    Verdict::Stalled { deployment, cause }
}

/// The verdict after the way back, with the failure that was its reason.
fn rolled_back(rollout: &Rollout<'_>) -> Verdict {
    let failed = rollout.units.iter().find(|unit| unit.entry.cause.is_some());
    let (deployment, cause) = named(failed.or(rollout.units.first()));
    Verdict::RolledBack { deployment, cause }
}

fn named(unit: Option<&Unit<'_>>) -> (Box<str>, Cause) {
    let cause = unit.and_then(|unit| unit.entry.cause.clone()).unwrap_or_else(|| Cause {
        reason: "RolledBack".into(),
        message: "the city that failed is no longer part of the Workload".into(),
    });
    (unit.map(|unit| unit.entry.deployment.clone()).unwrap_or_default(), cause)
}

/// When time alone changes the state of a deployment.
fn wakes(rollout: &Rollout<'_>, unit: &Unit<'_>) -> Option<Duration> {
    let clock = rollout.clock(unit.wave);
    match unit.entry.state {
        CityState::Updating => Some(clock.left(unit.entry.since, clock.deadline)),
        CityState::Soaking => Some(clock.left(unit.entry.since, clock.soak)),
        _ => None,
    }
}

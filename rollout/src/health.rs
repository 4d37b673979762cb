//! How far a deployment is on the revision that it was assigned.
//!
//! Decides R4. A deployment is complete only if it was healthy on this revision for the whole soak time.
//!
//! A failure stands until the deployment is healthy, also when its cell cannot be reached any more: one
//! that crashes and starts in turns makes no progress, and would otherwise let others follow in between. A
//! deployment that becomes unhealthy while it soaks, or after that, is in flight again, with a deadline of
//! its own.

use super::clock::Clock;
use super::unit::Unit;
use super::{Cause, CityState, Health};

/// The reason of a city that was not healthy in time.
pub const DEADLINE_EXCEEDED: &str = "ProgressDeadlineExceeded";

/// Judges a deployment that was assigned its revision; `failure` is why it had failed, if it had.
pub(crate) fn judge(unit: &mut Unit<'_>, failure: Option<Cause>, clock: &Clock) {
    match observed(unit) {
        Health::Healthy => unit.enter(proven(unit, clock), None, clock),
        Health::Unreachable if unit.before == Some(CityState::Failed) => {
            unit.enter(CityState::Failed, failure, clock);
        }
        // It may be this very revision that took its cell down: no other city follows before it answers.
        Health::Unreachable if unit.before.is_some_and(is_in_flight) => overdue(unit, clock),
        Health::Unreachable => unit.enter(CityState::Skipped, None, clock),
        Health::Stuck(cause) => unit.enter(CityState::Failed, Some(cause), clock),
        Health::Progressing => match unit.before {
            Some(CityState::Failed) => unit.enter(CityState::Failed, failure, clock),
            _ => overdue(unit, clock),
        },
    }
}

fn is_in_flight(state: CityState) -> bool {
    matches!(state, CityState::Updating | CityState::Soaking)
}

/// The state of a deployment that is not healthy: it is on its way until its deadline.
fn overdue(unit: &mut Unit<'_>, clock: &Clock) {
    let is_late = clock.left(unit.entry.since, clock.deadline).is_zero();
    if unit.before == Some(CityState::Updating) && is_late {
        unit.enter(CityState::Failed, Some(exceeded(clock)), clock);
    } else {
        unit.enter(CityState::Updating, None, clock);
    }
}

/// The health on the assigned revision: one that is not carried yet is on its way.
fn observed(unit: &Unit<'_>) -> Health {
    if unit.city.is_away() {
        return Health::Unreachable;
    }
    match unit.city.carried() {
        Some(carried) if Some(carried) == unit.entry.revision => unit.city.health.clone(),
        _ => Health::Progressing,
    }
}

/// The state of a healthy deployment.
fn proven(unit: &Unit<'_>, clock: &Clock) -> CityState {
    let left = match unit.before {
        Some(CityState::Complete) => return CityState::Complete,
        Some(CityState::Soaking) => clock.left(unit.entry.since, clock.soak),
        _ => clock.soak,
    };
    if left.is_zero() { CityState::Complete } else { CityState::Soaking }
}

fn exceeded(clock: &Clock) -> Cause {
    Cause {
        reason: DEADLINE_EXCEEDED.into(),
        message: format!("not healthy within {} s", clock.deadline.as_secs()).into(),
    }
}

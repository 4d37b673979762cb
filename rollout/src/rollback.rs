//! The turn back.
//!
//! Decides R6. A failure is a city that is stuck, or that was not healthy within the progress deadline.
//! Above `max_failures` of its wave nothing new starts; that ends by itself when the city becomes healthy.
//! With [`OnFailure::RollBack`](super::OnFailure) each city that has the target returns to its last good
//! revision, and the target is not tried again: the rollout ends there, until a newer one starts.

use super::rollout::Rollout;
use super::{CityState, Direction, gates};

/// Turns a rollout back in which too many cities failed, if there is a city that can go back.
pub(crate) fn turn(rollout: &mut Rollout<'_>) {
    let target = rollout.target;
    let is_due = rollout.direction == Direction::Forward && gates::exceeded(rollout);
    if !is_due || !rollout.units.iter().any(|unit| unit.has_way_back(target)) {
        return;
    }
    rollout.direction = Direction::Back;
    for place in 0..rollout.units.len() {
        let unit = &rollout.units[place];
        let skips = rollout.skips(unit);
        let clock = rollout.clock(unit.wave);
        let state = match (unit.has_way_back(target), unit.entry.revision == Some(target)) {
            (true, _) if skips => CityState::Skipped,
            (true, _) => CityState::Waiting,
            // It stays where it is, in whatever state.
            (false, true) => continue,
            // Its turn had not come.
            (false, false) => CityState::Complete,
        };
        let unit = &mut rollout.units[place];
        let cause = unit.entry.cause.take();
        unit.enter(state, cause, &clock);
    }
}

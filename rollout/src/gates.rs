//! Which deployments begin now.
//!
//! Decides R3 and R5. A wave begins when it is approved and those before it have passed: each city is
//! complete, skipped, or one of the failures that its wave may have, and the wave is approved. Approvals are
//! required whatever has become of a wave's cities. A city is in flight that was assigned the revision and
//! is neither complete nor failed. A skipped city takes no slot and holds nobody, and begins in its own wave
//! when it is back; with [`Unreachable::Hold`](super::Unreachable) it keeps its slot.
//!
//! Within a wave a city goes first that an earlier rollout, which a newer template replaced, left
//! unhealthy: were a healthy one to follow in its place, two would be down where one may be.
//!
//! The way back goes by the same waves, slots and soak times. It needs no approval, since the approvals
//! that are missing were never asked for, and a city that is unhealthy does not wait for the waves before
//! its own: it has nothing to lose.

use std::ops::Range;

use super::rollout::Rollout;
use super::unit::Unit;
use super::{Approval, CityState, Direction, Gate, Wave};

/// Begins as many deployments as may begin.
pub(crate) fn begin(rollout: &mut Rollout<'_>) {
    if exceeded(rollout) {
        return;
    }
    let ranges = rollout.ranges();
    if rollout.direction == Direction::Back {
        for range in &ranges {
            begin_in(rollout, range, |unit| !unit.city.is_healthy());
        }
    }
    let oldest = rollout.units.iter().filter_map(|unit| unit.city.marked()).min();
    for (wave, range) in ranges.iter().enumerate() {
        if !is_approved(rollout, wave, Gate::Before) {
            return;
        }
        begin_in(rollout, range, |unit| !unit.city.is_healthy() && unit.city.marked() > oldest);
        begin_in(rollout, range, |_| true);
        if !has_passed(rollout, range) || !is_approved(rollout, wave, Gate::After) {
            return;
        }
    }
}

/// Begins those of a wave for which there is a slot, in its order.
fn begin_in(rollout: &mut Rollout<'_>, range: &Range<usize>, is_chosen: impl Fn(&Unit<'_>) -> bool) {
    let Some(wave) = rollout.units.get(range.start).map(|unit| unit.wave) else { return };
    let in_flight = rollout.units[range.clone()].iter().filter(|unit| is_in_flight(rollout, unit)).count();
    let mut slots = rollout.waves[wave].max_concurrent.saturating_sub(in_flight);
    for place in range.clone() {
        if slots == 0 {
            return;
        }
        let unit = &rollout.units[place];
        let is_held = unit.entry.state == CityState::Skipped && !rollout.has_begun(unit) && rollout.holds();
        let begins = unit.entry.state == CityState::Waiting && is_chosen(unit);
        if begins {
            rollout.begin(place);
        }
        if is_held || begins {
            slots -= 1;
        }
    }
}

fn is_in_flight(rollout: &Rollout<'_>, unit: &Unit<'_>) -> bool {
    let is_moving = match unit.entry.state {
        CityState::Updating | CityState::Soaking => true,
        CityState::Skipped => rollout.has_begun(unit) && rollout.holds(),
        CityState::Waiting | CityState::Complete | CityState::Failed => false,
    };
    is_moving && !rollout.is_aside(unit)
}

/// Whether more cities of a wave failed than may.
pub(crate) fn exceeded(rollout: &Rollout<'_>) -> bool {
    let mut failed = vec![0; rollout.waves.len()];
    for unit in rollout.units.iter().filter(|unit| has_failed(rollout, unit)) {
        failed[unit.wave] += 1;
    }
    failed.iter().zip(&rollout.waves).any(|(failed, wave)| *failed > wave.max_failures)
}

/// Whether a city failed in this direction.
pub(crate) fn has_failed(rollout: &Rollout<'_>, unit: &Unit<'_>) -> bool {
    unit.entry.state == CityState::Failed && !rollout.is_aside(unit)
}

/// The approval that is missing before anything can begin: the wave, and which side of it.
pub(crate) fn awaited(rollout: &Rollout<'_>) -> Option<(usize, Gate)> {
    for (wave, range) in rollout.ranges().iter().enumerate() {
        if !is_approved(rollout, wave, Gate::Before) {
            return Some((wave, Gate::Before));
        }
        if !has_passed(rollout, range) {
            return None;
        }
        if !is_approved(rollout, wave, Gate::After) {
            return Some((wave, Gate::After));
        }
    }
    None
}

/// Whether nothing of a wave is still to come.
fn has_passed(rollout: &Rollout<'_>, range: &Range<usize>) -> bool {
    rollout.units[range.clone()].iter().all(|unit| match unit.entry.state {
        CityState::Complete | CityState::Failed => true,
        CityState::Skipped => !rollout.holds(),
        CityState::Waiting | CityState::Updating | CityState::Soaking => rollout.is_aside(unit),
    })
}

/// Whether this side of a wave has the approval that it requires. It is required whatever has become of the
/// wave's cities: where all of them are skipped or gone, nothing has been tried that the approval is about.
fn is_approved(rollout: &Rollout<'_>, wave: usize, gate: Gate) -> bool {
    let Wave { name, approval, .. } = &rollout.waves[wave];
    let is_required = match gate {
        Gate::Before => *approval == Approval::Before,
        Gate::After => *approval == Approval::After,
    };
    let mut approvals = rollout.approvals.iter();
    !is_required
        || rollout.direction == Direction::Back
        || approvals.any(|approved| approved.gate == gate && approved.wave == *name)
}

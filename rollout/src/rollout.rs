//! A rollout while it is decided.

use std::collections::HashMap;
use std::ops::Range;
use std::time::Duration;

use super::clock::Clock;
use super::unit::{Unit, base, last_good};
use super::{Approved, CityState, Direction, Revision, Strategy, Unreachable, Wave, World, health, plan};

/// A rollout while it is decided: its plan, and its deployments in the order of that.
pub(crate) struct Rollout<'a> {
    /// What is seen.
    pub world: &'a World<'a>,
    /// The revision that it goes to; on the way back the one that failed.
    pub target: Revision,
    /// Where it goes.
    pub direction: Direction,
    /// The frozen plan.
    pub waves: Vec<Wave>,
    /// The deployments, in the order of the plan.
    pub units: Vec<Unit<'a>>,
    /// The approvals of this target.
    pub approvals: Vec<Approved>,
}

impl<'a> Rollout<'a> {
    /// The rollout that is under way, with the deployments that the world has now, or a new one to the
    /// newest revision.
    pub fn open(world: &'a World<'a>) -> Self {
        let is_new = plan::is_new(world);
        let direction = match (world.policy.abort, is_new) {
            (true, _) => Direction::Abort,
            (false, true) => Direction::Forward,
            (false, false) => world.status.direction,
        };
        let mut rollout = Self {
            world,
            target: world.newest,
            direction,
            waves: plan::frozen(world, is_new),
            units: Vec::with_capacity(world.cities.len()),
            approvals: plan::approvals(world, is_new),
        };
        rollout.join(is_new);
        rollout
    }

    /// Joins what is seen of each deployment with what was decided of it.
    fn join(&mut self, is_new: bool) {
        let world = self.world;
        let places: HashMap<_, _> =
            world.cities.iter().enumerate().map(|(place, city)| (&*city.deployment, place)).collect();
        let kept: HashMap<_, _> =
            world.status.cities.iter().map(|entry| (&*entry.deployment, entry)).collect();
        for (wave, name) in self
            .waves
            .iter()
            .enumerate()
            .flat_map(|(at, wave)| wave.deployments.iter().map(move |name| (at, name)))
        {
            let Some(&place) = places.get(&**name) else { continue };
            let city = &world.cities[place];
            let before = kept.get(&**name).copied();
            let mut unit = Unit::new(city, place, wave, &self.waves[wave].name, world.now);
            unit.entry.revision = self.allowed(&unit, before.and_then(|entry| entry.revision), is_new);
            unit.entry.last_good = last_good(world, city, before, is_new);
            if let Some(before) = before.filter(|entry| !is_new && entry.revision == unit.entry.revision) {
                unit.before = Some(before.state);
                unit.entry.state = before.state;
                // A clock that was set back would make this wait for ever.
                unit.entry.since = before.since.min(world.now);
                unit.entry.cause.clone_from(&before.cause);
            }
            self.units.push(unit);
        }
        let base = base(&self.units, self.target, self.direction, world.held);
        for unit in self.units.iter_mut().filter(|unit| unit.city.is_missing()) {
            unit.entry.revision = unit.entry.revision.or(base);
        }
    }

    /// The revision that a deployment is allowed: `kept` of it from the last pass, else the one that it
    /// carries.
    fn allowed(&self, unit: &Unit<'_>, kept: Option<Revision>, is_new: bool) -> Option<Revision> {
        let seen = unit.city.carried();
        // A new plan starts from where each city is. What was assigned in a pass whose status was lost is
        // assigned.
        let stands = is_new || (self.direction == Direction::Forward && seen == Some(self.target));
        if seen.is_some() && (stands || self.skips(unit)) {
            return seen;
        }
        kept.or(unit.city.marked())
    }

    /// Judges each deployment by what is seen of it.
    pub fn observe(&mut self) {
        for place in 0..self.units.len() {
            self.judge(place);
        }
    }

    /// Judges one deployment.
    pub fn judge(&mut self, place: usize) {
        let has_begun = self.has_begun(&self.units[place]);
        let skips = self.skips(&self.units[place]);
        let clock = self.clock(self.units[place].wave);
        let is_settled = self.is_settled(&self.units[place]);
        let keeps_cause = self.direction == Direction::Back;
        let unit = &mut self.units[place];
        let failure = unit.entry.cause.take();
        match (has_begun, skips) {
            _ if is_settled => unit.enter(CityState::Complete, None, &clock),
            (true, _) => health::judge(unit, failure.clone(), &clock),
            (false, true) => unit.enter(CityState::Skipped, None, &clock),
            (false, false) => unit.enter(CityState::Waiting, None, &clock),
        }
        if keeps_cause && unit.entry.cause.is_none() {
            unit.entry.cause = failure;
        }
    }

    /// Lets a deployment have its next revision.
    pub fn begin(&mut self, place: usize) {
        let unit = &mut self.units[place];
        let entry = &mut unit.entry;
        match self.direction {
            Direction::Forward => {
                entry.last_good = entry.last_good.or(unit.city.good());
                entry.revision = Some(self.target);
            }
            Direction::Back => entry.revision = entry.last_good,
            Direction::Abort => entry.revision = Some(self.target),
        }
        unit.before = None;
        self.judge(place);
    }

    /// Whether a deployment was assigned what this direction has for it.
    pub fn has_begun(&self, unit: &Unit<'_>) -> bool {
        match self.direction {
            Direction::Forward | Direction::Abort => unit.entry.revision == Some(self.target),
            Direction::Back => !unit.has_way_back(self.target),
        }
    }

    /// Whether a deployment is left as it is since its cell cannot be reached.
    pub fn skips(&self, unit: &Unit<'_>) -> bool {
        unit.city.is_away() && self.world.policy.strategy != Strategy::AllAtOnce
    }

    /// Whether a deployment does not take part: it carries the revision that the others leave, and has none
    /// to go to.
    pub fn is_aside(&self, unit: &Unit<'_>) -> bool {
        self.direction == Direction::Back
            && unit.entry.revision == Some(self.target)
            && !unit.has_way_back(self.target)
    }

    /// Whether a deployment is complete whatever its health: the rollout that brought its revision has
    /// ended, so that what happens to it now is no fault of a rollout.
    fn is_settled(&self, unit: &Unit<'_>) -> bool {
        let has_ended = match self.direction {
            Direction::Back => true,
            Direction::Forward | Direction::Abort => unit.entry.last_good == Some(self.target),
        };
        unit.before == Some(CityState::Complete) && self.has_begun(unit) && has_ended
    }

    /// Whether an unreachable city holds the rollout.
    pub fn holds(&self) -> bool {
        self.world.policy.unreachable == Unreachable::Hold
    }

    /// The deployments of each wave, as ranges of places.
    pub fn ranges(&self) -> Vec<Range<usize>> {
        let mut ranges = Vec::with_capacity(self.waves.len());
        let mut start = 0;
        for wave in 0..self.waves.len() {
            let end = start + self.units[start..].iter().take_while(|unit| unit.wave == wave).count();
            ranges.push(start..end);
            start = end;
        }
        ranges
    }

    /// What bounds the deployments of a wave in time.
    pub fn clock(&self, wave: usize) -> Clock {
        let soak = match self.direction {
            Direction::Forward | Direction::Back => self.waves[wave].soak,
            Direction::Abort => Duration::ZERO,
        };
        Clock { now: self.world.now, soak, deadline: self.world.policy.progress_deadline }
    }
}

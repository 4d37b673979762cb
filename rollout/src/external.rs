//! Assignments that another controller makes.
//!
//! Decides R9. What a deployment carries stands and is shown; one that is missing or edited by hand is put
//! back, and a new one is created at the newest revision. Waves, pause and abort are that controller's.

use std::collections::HashMap;
use std::time::Duration;

use super::clock::Clock;
use super::unit::Unit;
use super::{
    Assignment, Carries, CityState, Decision, Direction, Health, Revision, Status, Strategy, Verdict, World,
    plan,
};

/// Shows what is seen.
pub(crate) fn mirror(world: &World<'_>) -> Decision {
    let waves = plan::frozen(world, false);
    let places: HashMap<_, _> =
        world.cities.iter().enumerate().map(|(place, city)| (&*city.deployment, place)).collect();
    let kept: HashMap<_, _> = world.status.cities.iter().map(|entry| (&*entry.deployment, entry)).collect();
    let clock = Clock { now: world.now, soak: Duration::ZERO, deadline: world.policy.progress_deadline };
    let mut assignments = vec![Assignment::Keep; world.cities.len()];
    let mut cities = Vec::with_capacity(world.cities.len());
    for (at, wave) in waves.iter().enumerate() {
        for &place in wave.deployments.iter().filter_map(|name| places.get(&**name)) {
            let city = &world.cities[place];
            let before = kept.get(&*city.deployment).copied();
            let mut unit = Unit::new(city, place, at, &wave.name, world.now);
            if let Some(before) = before {
                unit.before = Some(before.state);
                unit.entry.since = before.since.min(world.now);
            }
            assignments[place] = match city.carries {
                Carries::Known(_) | Carries::Unknown => Assignment::Keep,
                Carries::Edited(revision) => Assignment::Carry(revision),
                Carries::Nothing => {
                    Assignment::Carry(before.and_then(|before| before.revision).unwrap_or(world.newest))
                }
            };
            unit.entry.revision = match assignments[place] {
                Assignment::Carry(revision) => Some(revision),
                Assignment::Keep | Assignment::Withhold => unit.city.carried(),
            };
            unit.entry.last_good = unit.city.good().or(before.and_then(|before| before.last_good));
            show(&mut unit, world.newest, &clock);
            cities.push(unit.entry);
        }
    }
    let is_complete =
        cities.iter().all(|entry| matches!(entry.state, CityState::Complete | CityState::Skipped));
    let verdict = if is_complete { Verdict::Complete } else { Verdict::Progressing };
    let status = Status {
        target: Some(world.newest),
        direction: Direction::Forward,
        strategy: Some(Strategy::External),
        plan: waves,
        cities,
        approvals: world.status.approvals.clone(),
    };
    Decision { assignments, status, verdict, next: None }
}

/// Enters the state that a deployment is seen in.
fn show(unit: &mut Unit<'_>, newest: Revision, clock: &Clock) {
    if unit.city.is_away() {
        return unit.enter(CityState::Skipped, None, clock);
    }
    if unit.entry.revision != Some(newest) {
        return unit.enter(CityState::Waiting, None, clock);
    }
    if unit.city.carried().is_none() {
        return unit.enter(CityState::Updating, None, clock);
    }
    match &unit.city.health {
        Health::Healthy => unit.enter(CityState::Complete, None, clock),
        Health::Stuck(cause) => unit.enter(CityState::Failed, Some(cause.clone()), clock),
        Health::Progressing | Health::Unreachable => unit.enter(CityState::Updating, None, clock),
    }
}

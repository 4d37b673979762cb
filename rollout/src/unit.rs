//! A deployment while its rollout is decided.
//!
//! Decides R2. What a deployment is allowed is kept in the status, and read from its mark where nothing is
//! kept; what was deleted or edited by hand is put back at it.

use jiff::Timestamp;

use super::clock::Clock;
use super::{Assignment, Carries, Cause, City, CityState, CityStatus, Direction, Revision, World};

/// A deployment while its rollout is decided.
pub(crate) struct Unit<'a> {
    /// What is seen of it.
    pub city: &'a City,
    /// Its place in the world.
    pub place: usize,
    /// Its wave, by its place in the plan.
    pub wave: usize,
    /// Its state in the last pass, on the revision that it is allowed now.
    pub before: Option<CityState>,
    /// What is to be kept of it. Its `revision` is what it is allowed, and `None` only where it carries a
    /// template of no known revision.
    pub entry: CityStatus,
}

impl<'a> Unit<'a> {
    /// A deployment of which nothing is known yet.
    pub fn new(city: &'a City, place: usize, wave: usize, wave_name: &str, now: Timestamp) -> Self {
        let entry = CityStatus {
            deployment: city.deployment.clone(),
            city: city.city.clone(),
            wave: wave_name.into(),
            state: CityState::Waiting,
            revision: None,
            last_good: None,
            since: now,
            cause: None,
        };
        Self { city, place, wave, before: None, entry }
    }

    /// Whether it has to leave this revision, and has another one to go to.
    pub fn has_way_back(&self, from: Revision) -> bool {
        self.entry.revision == Some(from) && self.entry.last_good.is_some_and(|good| good != from)
    }

    /// Enters a state, or stays in it since when it is.
    pub fn enter(&mut self, state: CityState, cause: Option<Cause>, clock: &Clock) {
        if self.before != Some(state) {
            self.entry.since = clock.now;
        }
        self.before = Some(state);
        self.entry.state = state;
        self.entry.cause = cause;
    }

    /// What is to be written. What a deployment that is skipped carries stands, an edit by hand does not.
    pub fn assignment(&self, is_skipped: bool) -> Assignment {
        match (self.entry.revision, self.city.carries) {
            (None, _) => Assignment::Keep,
            (Some(_), Carries::Known(_) | Carries::Unknown) if is_skipped => Assignment::Keep,
            (Some(allowed), _) => Assignment::Carry(allowed),
        }
    }
}

/// The revision at which a deployment is created of which nothing is kept: the target, or while a rollout
/// is under way, the newest one that another deployment has whose turn has not come.
pub(crate) fn base(
    units: &[Unit<'_>],
    target: Revision,
    direction: Direction,
    held: Option<Revision>,
) -> Option<Revision> {
    let older =
        units.iter().filter_map(|unit| unit.entry.revision).filter(|&revision| revision < target).max();
    let good = units.iter().filter_map(|unit| unit.entry.last_good).filter(|&good| good < target).max();
    match direction {
        Direction::Forward => older.or(held.filter(|held| *held < target)).or(Some(target)),
        Direction::Back => older.or(good).or(Some(target)),
        Direction::Abort => None,
    }
}

/// The revision on which a deployment was last complete before this rollout.
pub(crate) fn last_good(
    world: &World<'_>,
    city: &City,
    before: Option<&CityStatus>,
    is_new: bool,
) -> Option<Revision> {
    let starts = is_new && !world.policy.abort;
    if let Some(before) = before {
        // On the way back, cities are complete at a revision without ever having been healthy on it.
        let is_proven = before.state == CityState::Complete
            && before.revision == world.status.target
            && world.status.direction != Direction::Back;
        if starts && is_proven {
            return before.revision;
        }
        if before.last_good.is_some() {
            return before.last_good;
        }
    }
    if is_new { city.good().filter(|good| *good != world.newest) } else { None }
}

//! The end of a rollout by the user.
//!
//! Decides R7. All deployments end in one revision: the last good one of most deployments, the newer of two
//! that are as frequent; where none is known, the one that most carry. So the target is left, unless its
//! rollout had ended.
//!
//! It is chosen once, and is the target of the status as long as `abort` stands, whatever templates come.
//! Neither waves nor health, soak, approvals or a pause hold it up: it is the way out of all of these. Only
//! a city that cannot be reached is left until it can be. When `abort` is taken back, a new rollout to the
//! newest revision starts.

use std::collections::BTreeMap;

use super::rollout::Rollout;
use super::{Direction, Revision};

/// Assigns the one revision to every deployment that can be reached.
pub(crate) fn give_up(rollout: &mut Rollout<'_>) {
    let status = rollout.world.status;
    rollout.target = match (status.direction, status.target) {
        (Direction::Abort, Some(chosen)) => chosen,
        _ => choose(rollout),
    };
    for place in 0..rollout.units.len() {
        let unit = &rollout.units[place];
        if rollout.has_begun(unit) || rollout.skips(unit) {
            rollout.judge(place);
        } else {
            rollout.begin(place);
        }
    }
}

fn choose(rollout: &Rollout<'_>) -> Revision {
    let good = most(rollout.units.iter().filter_map(|unit| unit.entry.last_good));
    let carried = most(rollout.units.iter().filter_map(|unit| unit.entry.revision));
    good.or(carried).unwrap_or(rollout.world.newest)
}

/// The most frequent revision, the newest of several.
fn most(revisions: impl Iterator<Item = Revision>) -> Option<Revision> {
    let mut counts = BTreeMap::<Revision, usize>::new();
    for revision in revisions {
        *counts.entry(revision).or_default() += 1;
    }
    counts.into_iter().max_by_key(|&(revision, count)| (count, revision)).map(|(revision, _)| revision)
}

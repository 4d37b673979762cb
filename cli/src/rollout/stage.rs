//! How far one city of a rollout can be.

use crate::model::Obstacle;

/// How far a city has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
pub enum Phase {
    /// The city has not observed the newest generation.
    Pending,
    /// The city keeps its template until the cities before it are done.
    Waiting,
    /// Instances are being made or replaced.
    Updating,
    /// All wanted instances run, and old ones are still there.
    Draining,
    /// The city needs the user or the operator to act.
    Blocked,
    /// A pause of the rollout holds back what is to be done.
    Paused,
    /// The city is done.
    Done,
}

/// How far a city is, what keeps it from going on, and what it waits for.
pub(super) type Stage = (Phase, Option<Obstacle>, Option<String>);

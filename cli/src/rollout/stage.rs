//! How far one city of a rollout can be.

use crate::model::Obstacle;

/// How far a city has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::Display)]
pub enum Phase {
    /// It has not taken the newest generation on.
    Pending,
    /// Instances are being made or replaced.
    Updating,
    /// All that is wanted runs, and old Instances are still there.
    Draining,
    /// It needs an action of the user or the operator.
    Blocked,
    /// A pause of the rollout holds back what is to be done.
    Paused,
    /// It is done.
    Done,
}

/// How far a city is, what keeps it from going on, and what it waits for.
pub(super) type Stage = (Phase, Option<Obstacle>, Option<String>);

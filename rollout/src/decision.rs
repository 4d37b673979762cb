//! What follows for the deployments.

use std::time::Duration;

use super::{Cause, Gate, Revision, Status};

/// The revision that a deployment is to carry now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// What it carries stands.
    Keep,
    /// This one, written where it carries another one, where it was edited, and where it does not exist.
    Carry(Revision),
    /// It does not exist, and is not created yet.
    Withhold,
}

/// The state of a rollout as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every deployment that can be reached carries the target, and is complete.
    Complete,
    /// It goes on by itself.
    Progressing,
    /// It waits for an approval.
    AwaitingApproval {
        /// The name of the wave.
        wave: Box<str>,
        /// Which side of it.
        gate: Gate,
    },
    /// It is paused by the user.
    Paused,
    /// Too many cities failed, and each city that can be reached is on its last good revision again. It stays
    /// so until there is a newer revision.
    RolledBack {
        /// The deployment that failed first.
        deployment: Box<str>,
        /// Why.
        cause: Cause,
    },
    /// Too many cities failed: nothing new starts until somebody acts.
    Stalled {
        /// The deployment that failed first.
        deployment: Box<str>,
        /// Why.
        cause: Cause,
    },
}

/// The decision about a rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// For each deployment of the world, in its order.
    pub assignments: Vec<Assignment>,
    /// What is to be kept of it.
    pub status: Status,
    /// The state of the whole.
    pub verdict: Verdict,
    /// When to decide again although nothing has changed.
    pub next: Option<Duration>,
}

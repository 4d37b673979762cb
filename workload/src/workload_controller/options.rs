//! What an operator chooses for all Workloads.

use std::time::Duration;

use fedhub_rollout::Strategy;

/// The choices of an operator.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How long a city that takes the place of another has to become available, before the other one is
    /// removed anyway (W1).
    pub move_deadline: Duration,
    /// The way in which cities get a new template where the Workload does not say (R1).
    pub default_rollout: Strategy,
}

//! The decision: the first blocked hop of a chain, and its cause. A pure function, which always yields a
//! cause.
//!
//! Decides U4.

mod carried;
mod deletion;
mod diagnosis;
mod federation;
mod plane;
mod returned;
mod turn;

use super::chain::{Chain, Failure};

pub use diagnosis::{Diagnosis, State};

/// A step of the decision: the hops in their order.
type Step = fn(&Chain) -> Option<Diagnosis>;

/// Each has what those before it leave.
const STEPS: &[Step] = &[
    plane::source,
    plane::project,
    plane::identity,
    deletion::absent,
    plane::paused,
    deletion::terminating,
    plane::input,
    plane::namespace,
    plane::hub,
    carried::inactive,
    carried::suspended,
    federation::kept_back,
    carried::refused,
    federation::federated,
    carried::cell,
    carried::binding,
    carried::work,
    returned::cell_wd,
    returned::status,
    returned::conditions,
    returned::copies,
    returned::projections,
    returned::leftovers,
    turn::waits,
];

/// The first blocked hop of the chain, and its cause.
pub fn diagnose(chain: &Chain) -> Diagnosis {
    STEPS.iter().find_map(|step| step(chain)).unwrap_or_else(Diagnosis::in_sync)
}

/// Whether nothing could be diagnosed, because what it takes could not be read at all.
pub fn is_unreadable(chain: &Chain) -> bool {
    let source = chain.management.source.failure();
    source.is_some_and(|error| error.failure != Failure::Invalid)
}

#[cfg(test)]
pub(super) mod tests;

//! What a pass over one WD does: a pure function from its [`Snapshot`] to what is to be done.

use fedhub_planes::{ServiceState, WriteState};

use crate::federate::follow;
pub use crate::federate::{FederationPlan, NextStep, StatusIntent};
use crate::finalize;
use crate::snapshot::Snapshot;

/// Decides. See the specification, section 4, for the rules by their numbers.
pub fn plan(seen: &Snapshot) -> FederationPlan {
    if seen.writes == WriteState::Paused {
        return FederationPlan::await_resume();
    }
    if seen.project.terminating {
        return finalize::plan(seen);
    }
    let plan = match seen.service {
        ServiceState::Active | ServiceState::Suspended => follow(seen),
        ServiceState::Withdrawn => finalize::withdraw(seen),
        ServiceState::Unknown => FederationPlan { then: NextStep::AwaitChange, ..FederationPlan::default() },
    };
    if seen.is_read_only() { reading_only(plan) } else { plan }
}

/// What remains of a plan while the project plane takes no writes: what concerns the hub, if the WD is marked
/// (I2).
fn reading_only(plan: FederationPlan) -> FederationPlan {
    match plan.mark {
        Some(_) => FederationPlan { then: NextStep::AwaitChange, ..FederationPlan::default() },
        None => FederationPlan { status: None, moved: None, release: false, ..plan },
    }
}

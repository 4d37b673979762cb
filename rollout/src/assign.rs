//! The decision, top to bottom.
//!
//! Decides R1 and R10. A change of template reaches a deployment only where [`gates`] begins it; everything
//! else is put at the revision that its deployment is allowed. All of it follows from the world and the
//! status, so that one more pass over an unchanged world decides the same.

use super::rollout::Rollout;
use super::{Decision, OnFailure, Strategy, World, abort, external, gates, rollback, verdict};

/// Decides which revision each deployment is to carry now.
///
/// The status of the decision is to be stored before its assignments are written: after a restart between
/// the two, what was not written is decided again. Without a stored status the decision follows from the
/// world alone; soak times, deadlines, approvals and the way back need one.
pub fn assign(world: &World<'_>) -> Decision {
    if world.policy.strategy == Strategy::External {
        return external::mirror(world);
    }
    let mut rollout = Rollout::open(world);
    if world.policy.abort {
        abort::give_up(&mut rollout);
    } else {
        rollout.observe();
        if !world.policy.paused {
            if world.policy.on_failure == OnFailure::RollBack {
                rollback::turn(&mut rollout);
            }
            gates::begin(&mut rollout);
        }
    }
    verdict::conclude(rollout)
}

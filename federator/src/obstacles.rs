//! What keeps a WD that is not being deleted from the hub: a refusal, or what has to be gone from there
//! first. Plan and progress read the same answers.

use std::fmt;

use fedhub_api::cells::Hold;
use fedhub_core::object::ObjectView;
use fedhub_planes::ServiceState;

use crate::desired;
use crate::moving::under_way;
use crate::origin::conflict;
use crate::refusal::Refusal;
use crate::snapshot::Snapshot;

/// What is being deleted on the hub in the place of what a WD needs there: it has to be gone first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remnant {
    /// The hub namespace.
    Namespace,
    /// The PropagationPolicy of the WD's city.
    Policy,
    /// The hub WD.
    Deployment,
}

impl fmt::Display for Remnant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Namespace => "the namespace of this WorkloadDeployment on the federation hub",
            Self::Policy => "the PropagationPolicy of this city on the federation hub",
            Self::Deployment => "the former WorkloadDeployment of this name on the federation hub",
        })
    }
}

/// Why a WD that is not being deleted is not on the hub as it is, or does not run there.
pub fn refusal(seen: &Snapshot) -> Option<Refusal> {
    let suspended = || (seen.service == ServiceState::Suspended).then_some(Refusal::ServiceSuspended);
    Refusal::of(seen)
        .or_else(|| conflict(seen))
        .or_else(|| Refusal::of_cells(seen.city(), seen.cells))
        .or_else(|| moving(seen))
        .or_else(suspended)
}

/// What is being deleted on the hub, and has to be gone before the WD can be there.
pub fn remnant(seen: &Snapshot) -> Option<Remnant> {
    let namespace = seen.hub_namespace.as_ref()?;
    if namespace.is_terminating() {
        // It cannot be used before it is gone and made again, under the same name.
        return Some(Remnant::Namespace);
    }
    // F7: a policy that is terminating counts as absent, and no other can be made under its name.
    let policy = desired::carrier(seen.city(), &seen.policies);
    if policy.is_some_and(|policy| policy.object.is_terminating()) {
        return Some(Remnant::Policy);
    }
    seen.hub.as_ref().is_some_and(|hub| hub.terminating).then_some(Remnant::Deployment)
}

/// Returns the refusal of a WD that moves, with what is in its way (F6, U2).
fn moving(seen: &Snapshot) -> Option<Refusal> {
    let from = under_way(seen)?.from;
    let to = seen.city().to_owned();
    Some(match (&seen.cell_down, &seen.held) {
        (Some(down), _) => Refusal::CellUnreachable(from, to, down.clone()),
        (None, Some(Hold::Refused(refusal))) => Refusal::RefusedByCell(from, to, refusal.clone()),
        (None, hold) => Refusal::Moving(from, to, hold.is_some()),
    })
}

//! The cell role: from a `WorkloadDeployment` (WD) in a cell to Instances that are written back to the hub
//! (specification, C1 to C15).
//!
//! Three controllers, each with `triggers` (which event enqueues which key), `plan` (pure, on a snapshot of what the
//! caches say), `apply` and `reconcile`:
//!
//! - [`deployment_controller`] reconciles a WD: its Instances, networks, autoscaler and status.
//! - [`instance_controller`] reconciles an Instance: its status, gates and quota claim.
//! - [`write_back`] copies an Instance to the hub, and releases it once the copy is gone; it runs in the engine's loop.
//!
//! [`domain`] holds the pure functions that they decide by; [`identity`] is the cell's identity.

pub mod deployment_controller;
pub mod domain;
pub mod identity;
pub mod instance_controller;
mod network_snapshot;
mod trace;
pub mod write_back;

use fedhub_core::names::CELL_MANAGER;
use fedhub_planes::{PlaneWriter, Planes};

/// Writes to the plane that a registry is around, as the cell's controllers.
fn writer(planes: &Planes) -> PlaneWriter<'_> {
    PlaneWriter { plane: planes.anchor(), manager: CELL_MANAGER, metrics: planes.metrics() }
}

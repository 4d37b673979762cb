//! The cell role: from a `WorkloadDeployment` (WD) in a cell to Instances that are written back to the hub
//! (specification, C1 to C15).
//!
//! Three controllers, each with `triggers` (which event enqueues which key), `plan` (pure, on a snapshot of
//! what the caches say), `apply` and `reconcile`:
//!
//! - [`deployment_controller`] reconciles a WD: its Instances, networks, autoscaler and status.
//! - [`instance_controller`] reconciles an Instance: its status, gates and quota claim.
//! - [`write_back`] copies an Instance to the hub, in the engine's loop.
//!
//! [`domain`] holds the pure functions that they decide by; [`identity`] is the cell's identity.

pub mod deployment_controller;
pub mod domain;
pub mod identity;
pub mod instance_controller;
mod network_index;
mod network_snapshot;
mod trace;
pub mod write_back;

use fedhub_core::names::CELL_MANAGER;
use fedhub_core::object::{Kind, Object, ObjectRef, ObjectView};
use fedhub_planes::{Pass, Plane, PlaneWriter, Planes};

/// Writes to the plane that a registry is around, as the cell's controllers.
fn writer<'a>(planes: &'a Planes, pass: &'a Pass) -> PlaneWriter<'a> {
    PlaneWriter { plane: planes.anchor(), pass, manager: CELL_MANAGER, metrics: planes.metrics() }
}

/// The WD of the cell that made an Instance, by the UID of its controller (C3).
fn maker(cell: &Plane, instance: &Object) -> Option<ObjectRef> {
    let mut owners = instance.metadata.owner_references.iter().flatten();
    let controller = owners.find(|owner| owner.controller == Some(true))?;
    let wd = cell.store(Kind::WorkloadDeployment).object(instance.namespace(), &controller.name)?;
    (wd.uid() == controller.uid).then_some(wd)
}

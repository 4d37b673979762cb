//! The cell role: from a `WorkloadDeployment` (WD) in a cell to Instances that are written back to the hub (specification,
//! C1 to C15).
//!
//! # The way through
//!
//! Three controllers:
//!
//! - [`deployments`] reconciles a WD: its Instances, networks, autoscaler and status.
//! - [`readiness`] reconciles an Instance: its status, gates and quota claim.
//! - [`write_back`] copies an Instance to the hub, and releases it once the copy is gone.
//!
//! What they decide is in pure functions over values:
//!
//! - [`instances`]: which Instances a WD has, and in which order they come and go.
//! - [`status`]: what WDs and Instances say of themselves; gates; termination.
//! - [`network`], [`quota`], [`autoscaling`], [`data`]: what the features of a cell need.
//!
//! [`identity`] tells who the cell is, and whether the hub knows it as that.

pub mod autoscaling;
pub mod data;
pub mod deployments;
pub mod identity;
pub mod instances;
pub mod network;
pub mod quota;
pub mod readiness;
pub mod status;
pub mod write_back;

//! The cell side: from a `WorkloadDeployment` in a cell to Instances that are written back to the hub.

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

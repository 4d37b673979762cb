//! `WorkloadRollout`s between their JSON and the values that `fedhub_rollout` decides on (specification, R1
//! to R10).
//!
//! - [`spec`] reads what the user asks for, and what of it cannot be done. Admission and the Workload
//!   controller judge by it, so that each rule is there once.
//! - [`approvals`] reads which waves a user approves, and of whom that is.
//! - [`status`] keeps what was decided, and says it in conditions.
//!
//! Nothing in here asks anything.

pub mod approvals;
mod selection;
pub mod spec;
pub mod status;

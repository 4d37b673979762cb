//! The workload side, on project planes: what users write is a `Workload` (specification, W1 to W10).
//!
//! - [`workload_controller`] makes a `WorkloadDeployment` (WD) of each placement and city, and rolls their status up.
//! - [`referenced_data`] brings the `ConfigMap`s and Secrets that templates refer to beside the hub's WDs.
//! - [`admission`] refuses what cannot work before it is stored.

pub mod admission;
pub mod referenced_data;
pub mod workload_controller;

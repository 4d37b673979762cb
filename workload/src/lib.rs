//! The workload side, on project planes: what users write is a `Workload` (specification, W1 to W10).
//!
//! - [`workload_controller`] makes a `WorkloadDeployment` (WD) of each placement and city, and rolls their status up.
//! - [`locations`] are the cities that WDs can be placed in.
//! - [`networks`] are those that a template names and its namespace may not have.
//! - [`referenced_data`] brings the `ConfigMap`s and Secrets that templates refer to beside the hub's WDs.
//! - [`instance_types`] brings the catalogue of instance types to the hub and to all cells.
//! - [`admission`] refuses what cannot work before it is stored.

pub mod admission;
pub mod instance_types;
pub mod locations;
pub mod networks;
pub mod referenced_data;
pub mod workload_controller;

use fedhub_core::object::Kind;
use fedhub_planes::Watched;

/// What the workload side watches on project planes, beside WDs. A plane need not serve any of it.
pub fn watched() -> Vec<Watched> {
    [Kind::Workload, Kind::LocationBinding, Kind::Network].map(|kind| Watched::all(kind).if_served()).into()
}

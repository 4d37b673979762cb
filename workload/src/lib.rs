//! The workload side, on project planes: what users write is a `Workload` (specification, W1 to W10, R1 to
//! R10).
//!
//! - [`workload_controller`] makes a `WorkloadDeployment` (WD) of each placement and city, and rolls their
//!   status up.
//! - [`locations`] are the cities that WDs can be placed in.
//! - [`networks`] are those that a template names and its namespace may not have.
//! - [`referenced_data`] brings the `ConfigMap`s and Secrets that templates refer to beside the hub's WDs.
//! - [`instance_types`] brings the catalogue of instance types to the hub and to all cells.
//! - [`rollouts`] reads `WorkloadRollout`s and writes their status.
//! - [`admission`] refuses what cannot work before it is stored.

pub mod admission;
pub mod instance_types;
pub mod locations;
pub mod networks;
pub mod referenced_data;
pub mod rollouts;
pub mod workload_controller;

use fedhub_core::names::UPSTREAM_NAMESPACE;
use fedhub_core::object::Kind;
use fedhub_planes::{DATA_KINDS, PROJECT_KINDS, Watched, watched};

/// What the management role watches on project planes: of the workload side what a plane serves, and what WDs
/// refer to only where one does. Where the cell is one of them, the WDs that Karmada brings there are the
/// cell's: each has the label that the federator gave it on the hub. Behind a Milo, what entitles the project
/// to the service (W9).
pub fn on_projects(single_cluster: bool, milo: bool) -> Vec<Watched> {
    let mut kinds = watched::all(&PROJECT_KINDS);
    if single_cluster {
        kinds.retain(|watched| watched.kind != Kind::WorkloadDeployment);
        kinds.push(Watched::without(Kind::WorkloadDeployment, UPSTREAM_NAMESPACE));
    }
    kinds.extend(
        [Kind::Workload, Kind::WorkloadRollout, Kind::LocationBinding, Kind::Network]
            .map(|it| Watched::all(it).if_served()),
    );
    kinds.extend(DATA_KINDS.map(|kind| Watched::all(kind).on_demand()));
    kinds.extend(milo.then(|| Watched::all(Kind::ServiceEntitlement).if_served()));
    kinds
}

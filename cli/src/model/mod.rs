//! The objects of a project: Workloads, their deployments by city, and Instances.
//!
//! # The way through
//!
//! 1. [`list()`] reads the objects of one kind, and [`Project`] those of all three at once. A kind that could
//!    not be read is an error beside the others: unknown is never shown as none.
//! 2. [`Index`] joins them. A deployment belongs to the Workload that it names by name and UID, which are of
//!    the same plane; an Instance belongs to the deployment that it names by its label. UIDs of other planes
//!    are in labels, too, and are never compared.
//! 3. [`Workload`] and [`Site`] are what the commands look at; [`status`] reads one object's own words.
//!
//! All but the reads is pure.

mod index;
mod paused;
mod project;
pub mod status;

pub use index::{Index, Site, Workload};
pub use paused::Paused;
pub use project::{Listed, MANAGER, Project, absent, api, get, list, pages, patch_params, selector};
pub use status::{Counts, Health, Obstacle};

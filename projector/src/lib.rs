//! Projector: Instances that cells wrote back to the hub, mirrored into the project planes (specification, P1
//! to P8).
//!
//! # The way through
//!
//! 1. `triggers` maps an event to the keys of the hub Instances that it concerns.
//! 2. `reconcile` is the reconcile of one key, for the engine's loop; [`controller`] is what is remembered
//!    between two.
//! 3. [`snapshot`] is what the caches say of one Instance and its surroundings.
//! 4. [`plan`] decides by that, as a pure function, what is done; [`prune`] decides on a projection whose
//!    Instance is not there.
//! 5. The engine's applier fetches what is to be written, has it rendered ([`render`]) and writes it.
//!
//! [`mod@unreachable`] renders the status of a projection whose cell does not answer; [`quarantine`]
//! remembers what is not projected; [`lost`] removes what a lost cell left behind.

pub mod controller;
pub mod lost;
pub mod plan;
pub mod prune;
pub mod quarantine;
mod rate_limits;
mod reconcile;
pub mod render;
pub mod snapshot;
mod triggers;
pub mod unreachable;
pub mod verdict;

pub use controller::Projector;
pub use lost::LostCells;

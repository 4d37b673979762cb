//! What both controllers stand on: API types, wire names, the registry of planes, the engine.
//!
//! Nothing here knows of federation or projection: a controller is a [`engine::Controller`] with a queue, fed by
//! the watches of the planes it cares for.

pub mod admin;
pub mod engine;
pub mod lease;
pub mod telemetry;
pub mod verdicts;

pub use fedhub_api as api;
pub use fedhub_api::{cells, conditions, responsibility, turns};
pub use fedhub_cache::digest;
pub use fedhub_core::{bucket, clock, errors, fence, hash, message, metrics, names, object};
pub use fedhub_planes as planes;
pub use fedhub_planes::events;

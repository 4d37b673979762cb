//! What both controllers stand on: API types, wire names, the registry of planes, the engine.
//!
//! Nothing here knows of federation or projection: a controller is a [`engine::Controller`] with a queue, fed by
//! the watches of the planes it cares for.

pub mod admin;
pub mod api;
pub mod bucket;
pub mod cells;
pub mod clock;
pub mod conditions;
pub mod digest;
pub mod engine;
pub mod errors;
pub mod events;
pub mod hash;
pub mod lease;
pub mod message;
pub mod metrics;
pub mod names;
pub mod object;
pub mod planes;
pub mod responsibility;
pub mod telemetry;
pub mod turns;
pub mod verdicts;

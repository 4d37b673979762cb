//! What every crate of fedhub stands on: objects and their keys, names of the wire contract, errors, clock, hashes,
//! metrics, logs, and the fence of leadership. Nothing in here speaks to a server.

pub mod bucket;
pub mod clock;
pub mod errors;
pub mod fence;
pub mod hash;
pub mod message;
pub mod metrics;
pub mod names;
pub mod object;
pub mod telemetry;

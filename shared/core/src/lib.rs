//! The base of every crate of fedhub: objects and their keys, names of the wire contract, errors, clock,
//! hashes, metrics, logs, and the fence of leadership. Nothing in here speaks to a server.
//!
//! # The way through
//!
//! 1. [`object`] is an object as it travels: metadata typed, everything else the JSON that a plane sent.
//!    [`names`] has the labels, annotations and finalizers of the wire contract, [`finalizers`] the patches
//!    of the latter.
//! 2. [`errors`] and [`message`] describe what goes wrong; [`metrics`], [`telemetry`] and [`trace`] report
//!    it.
//! 3. [`fence`] says whether a write may still leave; [`clock`] is the time that tests give, [`hash`]
//!    compares values, [`quantity`] reads those of Kubernetes, [`rate_limit`] is a limit on rates.

pub mod clock;
pub mod errors;
pub mod fence;
pub mod finalizers;
pub mod hash;
pub mod message;
pub mod metrics;
pub mod names;
pub mod object;
pub mod quantity;
pub mod rate_limit;
pub mod telemetry;
pub mod trace;

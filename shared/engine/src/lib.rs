//! The engine: fair queues, and the workers that take keys from them.
//!
//! A listener of a registry puts keys on its [`Queue`]; workers take them in fair turns over planes and hand them to the
//! [`Controller`]. Keys of a plane that fails wait for its [`circuit`], so one plane's trouble stays its own (I8).
//!
//! # The way through
//!
//! 1. [`queue`] holds keys, and gives turns over planes.
//! 2. [`worker`] takes a key, hands it to the controller and counts the outcome.
//! 3. [`circuit`] holds back the keys of a plane that fails as a whole.
//! 4. [`verdicts`] remembers the objects that no retry puts right, for gauges.

pub mod circuit;
pub mod queue;
pub mod verdicts;
pub mod worker;

pub use queue::{Job, Outcome, Queue, QueueConfig};
pub use worker::{Controller, run_workers};

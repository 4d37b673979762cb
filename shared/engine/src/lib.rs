//! The engine: fair queues, and the workers that take keys from them.
//!
//! A listener of a registry puts keys on its [`Queue`]; workers take them in fair turns over planes and hand
//! them to the [`Controller`]. Keys of a plane that fails wait for its [`circuit`] breaker, so that it does
//! not slow others (I8).
//!
//! # The way through
//!
//! 1. [`queue`] holds keys, and gives turns over planes.
//! 2. [`worker`] takes a key, has the controller reconcile it and records the outcome.
//! 3. [`mod@reconcile`] is the loop of a controller: snapshot, plan, apply.
//! 4. [`intent`] is what plans of controllers say, and [`mod@apply`] performs it.
//! 5. [`circuit`] holds back the keys of a plane that fails as a whole.
//! 6. [`object_states`] remembers the objects that no retry brings in sync, for gauges.

pub mod apply;
pub mod circuit;
pub mod intent;
pub mod object_states;
pub mod queue;
pub mod reconcile;
pub mod worker;

pub use apply::{Answer, Effects, apply};
pub use intent::{Bodies, Draft, DraftPart, Intent, Plan, Subject};
pub use queue::{Job, LaneStatus, Outcome, Queue, QueueConfig};
pub use reconcile::{Reconciler, Step, reconcile};
pub use worker::{Controller, run_workers};

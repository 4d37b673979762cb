//! The provider against the simulated region, and against services that answer badly.

#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

mod calls;
mod hostile;
mod support;
mod tokens;

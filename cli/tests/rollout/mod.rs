//! Rollouts: judging, waiting, what is shown, revisions, undo, scale and restart.

#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

mod blocked;
mod done;
pub mod fixtures;
mod flags;
mod gates;
mod loss;
mod pausing;
mod restarts;
mod revisions;
mod scaling;
mod turns;
mod undoing;
mod views;
mod waiting;
mod waves;

//! `fedhub check` over real HTTP, against API servers in memory, with no fedhub process anywhere (U4).

#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

mod admissions;
mod faults;
mod front;
mod hurried;
mod kubeconfigs;
mod planes;
mod rotations;
mod uninstalls;

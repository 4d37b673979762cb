//! `fedhub explain`, `planes` and `audit` over real HTTP, against API servers in memory, with no fedhub process anywhere (U4).

#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

mod audits;
mod discoveries;
mod elsewhere;
mod faults;
mod objects;
mod planes;
mod snapshots;

//! `fedhub explain`, `planes` and `audit` over real HTTP, against API servers in memory (U4): with no fedhub
//! process anywhere, but for `running`.

#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

mod audits;
mod discoveries;
mod elsewhere;
mod endless;
mod faults;
mod hostile;
mod objects;
mod planes;
mod running;
mod snapshots;
mod strangers;
mod withdrawals;
mod workloads;

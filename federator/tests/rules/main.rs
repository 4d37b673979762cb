//! The rules of the specification as tables and properties over the pure functions `plan`, `finalize::plan` and
//! `status::desired`. Each test's name begins with the rule that it is about.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "the lints' own exemption for tests knows test functions only, not their helpers"
)]

mod carried;
mod deletion;
mod foreign;
mod make;
mod marked;
mod model;
mod policies;
mod rest;
mod states;
mod status;
mod tenants;

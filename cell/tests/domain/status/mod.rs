//! The words of the cell's controllers: pure functions, by tables and by random worlds.

mod arbitrary;
mod claims;
mod debounce;
mod deployments;
mod instances;
mod networks;
mod sizes;
pub(crate) mod support;
mod teardowns;
mod terminations;
mod updates;
mod verdicts;

//! Chains for tests, and what the decision makes of them.

mod causes;
mod fixtures;
mod property;
mod rollouts;
mod turns;
mod verdicts;

pub use causes::chain_of;

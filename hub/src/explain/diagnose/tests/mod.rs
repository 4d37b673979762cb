//! Chains for tests, and what the decision makes of them.

mod causes;
mod fixtures;
mod property;

pub use causes::chain_of;
use fixtures::instance;

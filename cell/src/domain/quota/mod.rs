//! Quota of an Instance: one `ResourceClaim` in its project's plane, and what its answer means.

pub mod claim;
pub mod sizing;
pub mod verdict;

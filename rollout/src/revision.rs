//! The revision of a template, and why a city is not healthy on one.

/// The number of a revision of the Workload's template (W10). A newer one is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

/// Why a city is not healthy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// The reason, as in the deployment's condition.
    pub reason: Box<str>,
    /// The message, bounded.
    pub message: Box<str>,
}

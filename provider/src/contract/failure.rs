//! How a call of a provider fails.

use std::time::Duration;

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// What kind of failure it is: what follows from it.
    pub kind: FailureKind,
    /// The provider's words, bounded to 512 bytes.
    pub message: String,
    /// How long not to ask again, where the provider says so.
    pub after: Option<Duration>,
    /// Whether the order may have been carried out although it failed: its answer was lost.
    pub may_have_acted: bool,
}

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
pub enum FailureKind {
    /// It may work the next time: a limit on requests, or a fault of the service.
    Retry,
    /// The provider refuses fedhub: its credentials or rights. The operator acts.
    Denied,
    /// Quota is used up. The user or the operator acts.
    Quota,
    /// The server cannot be had as it is asked for. Asking again changes nothing.
    Invalid,
    /// Something of that name stands, or it is not in a state for that.
    Conflict,
    /// The region is away, or its circuit breaker is open.
    Unavailable,
}

/// Why an Instance cannot be translated into a server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// Whether the user of the project has to act, in place of the platform's operator.
    pub by_user: bool,
    /// What is wrong, and what to do.
    pub message: String,
}

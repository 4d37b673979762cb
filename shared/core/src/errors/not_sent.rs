//! Why a request was not sent.

/// Why a request was not sent, or a write refused for the same reason by a plane that knew of it first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSent {
    /// The process does not lead, or its lease is about to end.
    #[error("this process does not hold the lease")]
    Fenced,
    /// The hub fails, and this pass is none of those that try it.
    #[error("not asked: its circuit breaker is open")]
    CircuitOpen,
    /// The project is suspended: its plane is read and not written.
    #[error("the project is suspended")]
    Suspended,
    /// An operator paused the plane of the object (`fedhub pause`), or it is not known yet what is paused.
    #[error("paused by an operator")]
    Paused,
    /// The plane may be another cluster than its name stands for.
    #[error("the plane is not recognised")]
    IdentityUnknown,
    /// The plane was disengaged, or its client replaced, while a pass over one of its objects was under way.
    #[error("the plane was disengaged")]
    PlaneDisengaged,
}

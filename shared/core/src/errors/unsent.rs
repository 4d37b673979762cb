//! Why a request was not sent: each is the source of a [`kube::Error::Service`].

/// The process does not lead, or its lease is about to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this process does not hold the lease")]
pub struct Fenced;

/// The hub fails, and this pass is none of those that try it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not asked: its circuit breaker is open")]
pub struct CircuitOpen;

/// The project is suspended: its plane is read and not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the project is suspended")]
pub struct Suspended;

/// An operator paused the plane that the object is of (`fedhub pause`), or it is not known yet which planes are paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("paused by an operator")]
pub struct Paused;

/// The plane may be another cluster than its name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the plane is not recognised")]
pub struct IdentityUnknown;

/// The plane was disengaged, or its client replaced, while a pass over one of its objects was under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the plane was disengaged")]
pub struct PlaneDisengaged;

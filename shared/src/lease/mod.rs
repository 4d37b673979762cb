//! Leadership: of several replicas one writes. It holds a Lease on the management plane.
//!
//! Every replica engages, watches and keeps its stores warm; only the leader's queues give keys out ([`follow`]), and
//! every write passes the [`Fence`]. [`Election`] decides what to do next from what was seen and from the process's own
//! monotonic clock; [`Elector`] does it.
//!
//! Two replicas never compare their clocks. A leader counts its lease from the moment *before* it sent its last
//! successful renewal, and stops writing a margin before that lease ends; a standby counts from the moment it *saw* the
//! Lease change. What is sent is seen later than it is sent, so the standby's count ends last.

mod election;
mod elector;
mod fence;
mod gate;

use std::time::Duration;

pub use election::{Claimed, Election, Record, Source, Step};
pub use elector::{Elector, Leadership, LeaseError};
pub use fence::{Fence, Fenced, Term, in_epoch};
pub use gate::follow;

/// How a process takes part in the election.
#[derive(Clone, Debug)]
pub struct LeaseConfig {
    /// Namespace of the Lease: the process's own.
    pub namespace: String,
    /// Name of the Lease.
    pub name: String,
    /// Who this process is. Has to differ from every other process, earlier ones of the same name included.
    pub identity: String,
    /// How long a lease lasts that is not renewed.
    pub duration: Duration,
    /// How often the leader renews.
    pub renew: Duration,
}

impl LeaseConfig {
    /// How long before the end of its lease a leader stops to write. It covers what a write that has left takes to
    /// arrive, and clocks that do not run at the same speed.
    pub fn margin(&self) -> Duration {
        self.duration / 5
    }

    /// When something that failed is tried again.
    fn retry(&self) -> Duration {
        (self.renew / 5).clamp(Duration::from_millis(50), Duration::from_secs(1))
    }

    /// How long a request may take: a hanging one leaves time for others before the lease ends.
    fn patience(&self) -> Duration {
        self.renew / 2
    }
}

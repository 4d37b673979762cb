//! How a process takes part in the election.

use std::time::Duration;

/// How a process takes part in the election.
#[derive(Clone, Debug)]
pub struct LeaseConfig {
    /// Namespace of the Lease: the process's own.
    pub namespace: String,
    /// Name of the Lease.
    pub name: String,
    /// The identity of this process. It must differ from that of every other process, earlier ones of the
    /// same name included.
    pub identity: String,
    /// How long a lease lasts that is not renewed.
    pub duration: Duration,
    /// How often the leader renews.
    pub renew: Duration,
    /// How long a process that is not in sync yet leaves a free lease to others, which may be: until it is in
    /// sync itself it could do nothing with it.
    pub warm_up: Duration,
}

impl LeaseConfig {
    /// How long before the end of its lease a leader stops to write. It covers what a write that has left
    /// takes to arrive, and clocks that do not run at the same speed.
    pub fn margin(&self) -> Duration {
        self.duration / 5
    }

    /// When something that failed is tried again.
    pub(crate) fn retry(&self) -> Duration {
        (self.renew / 5).clamp(Duration::from_millis(50), Duration::from_secs(1))
    }

    /// How long a request may take: a hanging one leaves time for others before the lease ends.
    pub(crate) fn patience(&self) -> Duration {
        self.renew / 2
    }
}

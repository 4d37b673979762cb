//! What bounds a deployment in time.

use std::time::Duration;

use jiff::Timestamp;

/// The time now, and how long a deployment has.
pub(crate) struct Clock {
    /// The time now.
    pub now: Timestamp,
    /// How long it has to be healthy.
    pub soak: Duration,
    /// How long it may take to become so.
    pub deadline: Duration,
}

impl Clock {
    /// How much of a span that began at a time is left.
    pub fn left(&self, since: Timestamp, span: Duration) -> Duration {
        let passed = Duration::try_from(self.now.duration_since(since)).unwrap_or_default();
        span.saturating_sub(passed)
    }
}

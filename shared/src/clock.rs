//! Wall-clock time, given and never taken, so that tests run on a clock of their own.
//!
//! Spans of time come from tokio's clock, which tests pause; this is for stamps that are stored.

use std::sync::Arc;

use jiff::Timestamp;
use tokio::time::Instant;

/// Where stored times (conditions, ages) come from.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The machine's clock.
    pub fn system() -> Self {
        Self(Arc::new(Timestamp::now))
    }

    /// A clock that starts at `start` and moves with tokio's time, paused or not.
    pub fn from_tokio(start: Timestamp) -> Self {
        let zero = Instant::now();
        Self(Arc::new(move || start + zero.elapsed()))
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

/// `time` as Kubernetes stores it: whole seconds, UTC.
pub fn stamp(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

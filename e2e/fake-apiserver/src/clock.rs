//! The server's clock: given, never taken.

use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Where the default clock starts: 2026-01-01T00:00:00Z.
const EPOCH_SECONDS: i64 = 1_767_225_600;

/// The time of a server. Give clones of one clock to servers that have to agree.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clock({})", self.now())
    }
}

impl Default for Clock {
    /// 2026-01-01T00:00:00Z now, then on with tokio's time, paused or not.
    fn default() -> Self {
        Self::starting_at(Timestamp::from_second(EPOCH_SECONDS).unwrap_or(Timestamp::UNIX_EPOCH))
    }
}

impl Clock {
    /// `start` now, then on with tokio's time. Make it inside the runtime whose time it is to follow.
    pub fn starting_at(start: Timestamp) -> Self {
        let base = Instant::now();
        Self::from_fn(move || {
            let elapsed = SignedDuration::try_from(base.elapsed()).unwrap_or(SignedDuration::ZERO);
            start.checked_add(elapsed).unwrap_or(start)
        })
    }

    /// Whatever the closure says.
    pub fn from_fn(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }

    /// The time now as `metadata` has it: whole seconds.
    pub(crate) fn stamp(&self) -> String {
        self.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }
}

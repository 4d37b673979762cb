//! Whether a connection still carries answers. One that hangs may answer pings all the same: a proxy answers
//! them for the server behind it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

/// Tells the connection that carries a request whether the request has timed out. Travels with the request,
/// as one of its extensions.
#[derive(Clone, Debug, Default)]
pub struct Overdue(Arc<AtomicBool>);

impl Overdue {
    /// The request has timed out.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it has.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counts what was received on a connection: headers, and parts of bodies.
#[derive(Debug, Default)]
pub struct Liveness {
    heard: AtomicU64,
    silent: AtomicBool,
}

impl Liveness {
    /// Notes that something was received.
    pub fn heard(&self) {
        self.heard.fetch_add(1, Ordering::Relaxed);
        self.silent.store(false, Ordering::Relaxed);
    }

    /// How much came so far: to be asked when a request leaves.
    pub fn so_far(&self) -> u64 {
        self.heard.load(Ordering::Relaxed)
    }

    /// A request has timed out that left when so much had come. Where nothing came since, not for it and not
    /// for any other, the connection is silent until something comes.
    pub fn timed_out(&self, so_far: u64) {
        if self.so_far() == so_far {
            self.silent.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a request has timed out and nothing came since it left. Such a connection gets no more
    /// requests.
    pub fn is_silent(&self) -> bool {
        self.silent.load(Ordering::Relaxed)
    }
}

/// How long a connection has been silent while others of the same server answered.
#[derive(Debug, Default)]
pub struct Retirement(Option<Instant>);

impl Retirement {
    /// Another connection has answered. Returns whether this one, which is silent or not, has been so for
    /// `patience` since another one did so first: its watches would have had a bookmark.
    pub fn is_due(&mut self, silent: bool, now: Instant, patience: Duration) -> bool {
        if !silent {
            self.0 = None;
            return false;
        }
        now.duration_since(*self.0.get_or_insert(now)) >= patience
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i8_a_connection_is_silent_only_where_nothing_at_all_came_since_the_request_left() {
        let connection = Liveness::default();
        let left = connection.so_far();
        connection.heard();
        connection.timed_out(left);
        assert!(!connection.is_silent(), "another request was answered, or a watch had news");
        connection.timed_out(connection.so_far());
        assert!(connection.is_silent());
        connection.heard();
        assert!(!connection.is_silent());
    }

    #[tokio::test(start_paused = true)]
    async fn i8_a_silent_connection_is_retired_after_others_have_answered_for_long() {
        let patience = Duration::from_secs(72);
        let mut retirement = Retirement::default();
        let start = Instant::now();
        for (seconds, silent, due) in [
            (0, true, false),
            (71, true, false),
            (71, false, false),
            (80, true, false),
            (151, true, false),
            (152, true, true),
        ] {
            let now = start + Duration::from_secs(seconds);
            assert_eq!(retirement.is_due(silent, now, patience), due, "after {seconds} s");
        }
    }
}

//! Keys that change without end: each write answers so many changes at once as have come since the last one.

use std::time::Duration;

use fedhub_core::object::Key;
use tokio::time::Instant;

use super::expiring::Expiring;

/// The average time between two passes of one key that write: it bounds what a plane that floods may cost the
/// others (I8).
pub(super) const APART: Duration = Duration::from_secs(1);
/// How many passes that write may follow each other at once: a new object changes a few times in a moment.
const AT_ONCE: u32 = 3;
/// How long after a write the next pass is a repeat.
const MOMENT: Duration = Duration::from_millis(500);

/// When which key may have its next turn: the generic cell rate algorithm.
#[derive(Default)]
pub(super) struct WriteThrottle {
    /// When a key will be as if it had never written.
    quiet_at: Expiring<Key>,
}

impl WriteThrottle {
    /// A pass of this key has written, whatever became of that and however the pass ended.
    pub fn wrote(&mut self, key: &Key, now: Instant) {
        let since = self.quiet_at.get(key, now).unwrap_or(now);
        self.quiet_at.set(key.clone(), since + APART, now);
    }

    /// Whether this key has just written: half a second ago at most, and for each write before that a second
    /// more.
    pub fn is_repeat(&self, key: &Key, now: Instant) -> bool {
        self.quiet_at.get(key, now).is_some_and(|at| at + MOMENT > now + APART)
    }

    /// When its turn may come, if that is not now.
    pub fn not_before(&self, key: &Key, now: Instant) -> Option<Instant> {
        let at = self.quiet_at.get(key, now)?.checked_sub(APART * (AT_ONCE - 1))?;
        (at > now).then_some(at)
    }
}

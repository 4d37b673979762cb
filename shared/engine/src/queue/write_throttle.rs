//! Keys that change without end: each write answers so many changes at once as have come since the last one.

use std::collections::BTreeMap;
use std::time::Duration;

use fedhub_core::object::Key;
use tokio::time::Instant;

/// Between two passes of one key that write, in the long run: what a plane that floods may cost the others (I8).
const APART: Duration = Duration::from_millis(500);
/// So many may follow each other at once: an object that comes to life changes a few times in a moment.
const AT_ONCE: u32 = 5;
/// Keys that are remembered before it is seen which of them are quiet again.
const FEW: usize = 1024;

/// When which key may have its next turn: the generic cell rate algorithm.
#[derive(Default)]
pub(super) struct WriteThrottle {
    /// When a key will be as if it had never written.
    quiet_at: BTreeMap<Key, Instant>,
    look_at: usize,
}

impl WriteThrottle {
    /// A pass of this key has written.
    pub fn wrote(&mut self, key: &Key, now: Instant) {
        if self.quiet_at.len() >= self.look_at.max(FEW) {
            self.quiet_at.retain(|_, at| *at > now);
            self.look_at = self.quiet_at.len() * 2;
        }
        let quiet_at = self.quiet_at.entry(key.clone()).or_insert(now);
        *quiet_at = (*quiet_at).max(now) + APART;
    }

    /// When its turn may come, if that is not now.
    pub fn not_before(&self, key: &Key, now: Instant) -> Option<Instant> {
        let at = self.quiet_at.get(key)?.checked_sub(APART * (AT_ONCE - 1))?;
        (at > now).then_some(at)
    }
}

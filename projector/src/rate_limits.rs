//! How many deletions each project plane may see in a minute (I4).

use std::collections::BTreeMap;
use std::time::Duration;

use fedhub_core::names::PlaneName;
use fedhub_core::object::Key;
use fedhub_core::rate_limit::TokenBucket;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

/// A token bucket for each plane that has taken tokens lately.
pub(crate) struct DeleteLimits {
    per_minute: u32,
    buckets: Mutex<BTreeMap<PlaneName, TokenBucket>>,
}

impl DeleteLimits {
    /// Creates limits of `per_minute` deletions in a minute for each plane.
    pub(crate) fn new(per_minute: u32) -> Self {
        Self { per_minute, buckets: Mutex::default() }
    }

    /// Takes a token of `plane` for `key`, or returns the time until there is one.
    pub(crate) fn take(&self, plane: &PlaneName, key: &Key) -> Result<(), Duration> {
        let now = Instant::now();
        let mut buckets = self.lock();
        buckets.retain(|of, bucket| of == plane || !bucket.is_full(now));
        buckets.entry(plane.clone()).or_insert_with(|| TokenBucket::new(self.per_minute, now)).take(key, now)
    }

    /// Forgets the buckets that are full.
    pub(crate) fn forget_full(&self) {
        let now = Instant::now();
        self.lock().retain(|_, bucket| !bucket.is_full(now));
    }

    /// The number of buckets.
    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PlaneName, TokenBucket>> {
        self.buckets.lock()
    }
}

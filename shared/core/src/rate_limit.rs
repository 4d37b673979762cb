//! How many deletions after a gap, of what was not seen to go, one plane may see (I4).

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::object::Key;

/// A token bucket: holds `capacity`, filled at `capacity` a minute. Who comes to an empty one is promised a
/// token of its own, so that those who wait come one after another and not all for each token.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    capacity: f64,
    /// Below zero by the tokens that are promised and not filled in yet.
    tokens: f64,
    filled: Instant,
    /// When the token that a key was promised is available.
    promised: BTreeMap<Key, Instant>,
}

const MINUTE: f64 = 60.0;
/// How long a promised token is kept for who does not come.
const KEPT: Duration = Duration::from_mins(1);

impl TokenBucket {
    /// A full bucket of that many deletions a minute.
    pub fn new(per_minute: u32, now: Instant) -> Self {
        let capacity = f64::from(per_minute);
        Self { capacity, tokens: capacity, filled: now, promised: BTreeMap::new() }
    }

    /// Takes one token for `key`, or returns how long until there is one for it.
    pub fn take(&mut self, key: &Key, now: Instant) -> Result<(), Duration> {
        let rate = self.capacity / MINUTE;
        self.fill(rate, now);
        if let Some(at) = self.promised.get(key).copied() {
            if at > now {
                return Err(at - now);
            }
            self.promised.remove(key);
            return Ok(());
        }
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return Ok(());
        }
        if rate <= 0.0 {
            return Err(Duration::from_hours(1));
        }
        self.tokens -= 1.0;
        let wait = Duration::from_secs_f64(-self.tokens / rate);
        self.promised.insert(key.clone(), now + wait);
        Err(wait)
    }

    /// Whether it is as good as a new one.
    pub fn is_full(&mut self, now: Instant) -> bool {
        self.fill(self.capacity / MINUTE, now);
        self.promised.is_empty() && self.tokens >= self.capacity
    }

    fn fill(&mut self, rate: f64, now: Instant) {
        let gained = now.saturating_duration_since(self.filled).as_secs_f64() * rate;
        self.filled = now;
        let before = self.promised.len();
        self.promised.retain(|_, at| now.saturating_duration_since(*at) < KEPT);
        let returned = u32::try_from(before - self.promised.len()).unwrap_or(u32::MAX);
        self.tokens = (self.tokens + gained + f64::from(returned)).min(self.capacity);
    }
}

#[cfg(test)]
mod tests {
    use crate::object::{Kind, PlaneId};

    use super::*;

    fn key(n: u32) -> Key {
        let plane = PlaneId::Hub;
        let kind = Kind::Instance;
        Key { plane, kind, namespace: "ns".into(), name: format!("wd-{n}").into() }
    }

    #[tokio::test(start_paused = true)]
    async fn i4_at_most_the_capacity_at_once_and_the_rate_after() {
        let mut bucket = TokenBucket::new(20, Instant::now());
        for n in 0..20 {
            assert!(bucket.take(&key(n), Instant::now()).is_ok());
        }
        let wait = bucket.take(&key(20), Instant::now()).unwrap_err();
        assert!((2.9..=3.1).contains(&wait.as_secs_f64()), "{wait:?}");
        tokio::time::advance(Duration::from_millis(3_100)).await;
        assert!(bucket.take(&key(20), Instant::now()).is_ok());
        assert!(bucket.take(&key(21), Instant::now()).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn i4_who_waits_waits_for_a_token_of_its_own() {
        let mut bucket = TokenBucket::new(60, Instant::now());
        for n in 0..60 {
            assert!(bucket.take(&key(n), Instant::now()).is_ok());
        }
        for n in 60..65 {
            let wait = bucket.take(&key(n), Instant::now()).unwrap_err();
            assert_eq!((wait.as_millis() + 500) / 1000, u128::from(n - 59));
            assert_eq!(bucket.take(&key(n), Instant::now()), Err(wait), "asking again costs nothing");
        }
        tokio::time::advance(Duration::from_millis(2_010)).await;
        assert!(bucket.take(&key(62), Instant::now()).is_err());
        assert!(bucket.take(&key(99), Instant::now()).is_err(), "a newcomer takes nobody's place");
        assert!(bucket.take(&key(60), Instant::now()).is_ok());
        assert!(bucket.take(&key(61), Instant::now()).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn i4_a_promise_that_nobody_comes_for_is_no_extra_token() {
        let mut bucket = TokenBucket::new(10, Instant::now());
        for n in 0..30 {
            let _promised = bucket.take(&key(n), Instant::now());
        }
        tokio::time::advance(Duration::from_hours(1)).await;
        let given = (100..200).filter(|n| bucket.take(&key(*n), Instant::now()).is_ok()).count();
        assert_eq!(given, 10);
    }

    #[tokio::test(start_paused = true)]
    async fn an_empty_bucket_never_gives() {
        let mut bucket = TokenBucket::new(0, Instant::now());
        tokio::time::advance(Duration::from_secs(1_000)).await;
        assert!(bucket.take(&key(0), Instant::now()).is_err());
    }
}

//! How many deletions after a gap one plane may see (I4).

use std::time::Duration;

use tokio::time::Instant;

/// A token bucket: holds `capacity`, filled at `capacity` a minute.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    capacity: f64,
    tokens: f64,
    filled: Instant,
}

const MINUTE: f64 = 60.0;

impl Bucket {
    /// A full bucket of that many deletions a minute.
    pub fn new(per_minute: u32, now: Instant) -> Self {
        let capacity = f64::from(per_minute);
        Self { capacity, tokens: capacity, filled: now }
    }

    /// Takes one token, or says how long until there is one.
    pub fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let rate = self.capacity / MINUTE;
        let gained = now.saturating_duration_since(self.filled).as_secs_f64() * rate;
        self.tokens = (self.tokens + gained).min(self.capacity);
        self.filled = now;
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return Ok(());
        }
        if rate <= 0.0 {
            return Err(Duration::from_secs(3600));
        }
        Err(Duration::from_secs_f64((1.0 - self.tokens) / rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn i4_at_most_the_capacity_at_once_and_the_rate_after() {
        let mut bucket = Bucket::new(20, Instant::now());
        for _ in 0..20 {
            assert!(bucket.take(Instant::now()).is_ok());
        }
        let wait = bucket.take(Instant::now()).unwrap_err();
        assert!((2.9..=3.1).contains(&wait.as_secs_f64()), "{wait:?}");
        tokio::time::advance(Duration::from_millis(3_100)).await;
        assert!(bucket.take(Instant::now()).is_ok());
        assert!(bucket.take(Instant::now()).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn an_empty_bucket_never_gives() {
        let mut bucket = Bucket::new(0, Instant::now());
        tokio::time::advance(Duration::from_secs(1_000)).await;
        assert!(bucket.take(Instant::now()).is_err());
    }
}

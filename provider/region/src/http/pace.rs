//! How many requests a second are sent. Pure: the caller brings the time.
//!
//! The bucket of `shared/core` promises tokens by object and by the minute, for deletions; here callers are
//! many, short-lived and without a name.

use std::time::Duration;

use tokio::time::Instant;

/// A token bucket that holds what one second fills. Nobody waits in it: who comes in vain hears when to come
/// again, each one later than the one before, so that they do not all come again at once.
#[derive(Clone, Debug)]
pub struct Pace {
    per_second: f64,
    tokens: f64,
    /// Who came in vain and is still to come again, about.
    waiting: f64,
    filled: Instant,
}

impl Pace {
    /// A full bucket.
    pub fn new(per_second: u32, now: Instant) -> Self {
        let per_second = f64::from(per_second.max(1));
        Self { per_second, tokens: per_second, waiting: 0.0, filled: now }
    }

    /// Takes a token, or returns after how long to come again.
    pub fn take(&mut self, now: Instant) -> Result<(), Duration> {
        let gained = now.saturating_duration_since(self.filled).as_secs_f64() * self.per_second;
        self.filled = now;
        self.tokens = (self.tokens + gained).min(self.per_second);
        self.waiting = (self.waiting - gained).max(0.0);
        if self.tokens >= 1.0 {
            self.tokens -= 1.0;
            return Ok(());
        }
        let after = (1.0 - self.tokens + self.waiting) / self.per_second;
        self.waiting += 1.0;
        Err(Duration::from_secs_f64(after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(pace: &mut Pace, times: usize, now: Instant) -> usize {
        std::iter::repeat_with(|| pace.take(now)).take(times).flatten().count()
    }

    #[test]
    fn v7_no_more_than_the_rate_however_many_come() {
        let start = Instant::now();
        let mut pace = Pace::new(20, start);
        let mut sent = 0;
        for millisecond in 0..10_000 {
            let now = start + Duration::from_millis(millisecond);
            sent += taken(&mut pace, 3, now);
        }
        assert!((210..=221).contains(&sent), "{sent}: one second's at once, and ten seconds' after");
    }

    #[test]
    fn who_comes_in_vain_comes_again_one_after_the_other() {
        let start = Instant::now();
        let mut pace = Pace::new(10, start);
        assert_eq!(taken(&mut pace, 10, start), 10);
        let mut again: Vec<Instant> = (0..30).map(|_| start + pace.take(start).unwrap_err()).collect();
        again.sort_unstable();
        again.dedup();
        assert_eq!(again.len(), 30);
        assert!(again.iter().all(|at| pace.take(*at + Duration::from_millis(1)).is_ok()));
    }
}

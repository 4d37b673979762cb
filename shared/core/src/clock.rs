//! Wall-clock time, given and never taken, so that tests run on a clock of their own.
//!
//! Spans of time come from tokio's clock, which tests pause; this is for stamps that are stored.

use std::sync::Arc;
use std::time::Duration;

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

/// A span of time as people write it: a number and `ms`, `s`, `m` or `h`. The error is for them too.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let wrong =
        || format!("{text:?} is no span of time: expected a number and ms, s, m or h, such as 500ms or 15m");
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let millis = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(wrong()),
    };
    number.checked_mul(millis).map(Duration::from_millis).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_with_their_unit() {
        for (text, expected) in
            [("500ms", Some(500)), ("9s", Some(9_000)), ("15m", Some(900_000)), ("1h", Some(3_600_000))]
        {
            assert_eq!(parse_duration(text).ok(), expected.map(Duration::from_millis), "{text}");
        }
        for text in ["", "5", "s", "1 s", "-1s", "99999999999999999999s"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}

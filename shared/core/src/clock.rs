//! Wall-clock time, given and never taken, so that tests run on a clock of their own.
//!
//! Spans of time come from tokio's clock, which tests pause; this is for stamps that are stored.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::friendly::SpanParser;
use tokio::time::Instant;

/// The source of stored times, such as of conditions and ages.
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

/// Parses a duration as Go and Kubernetes write it: `500ms`, `15m`, `1h30m`.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let parsed = SpanParser::new().parse_unsigned_duration(text).ok();
    parsed.filter(|_| !text.contains(char::is_whitespace)).ok_or_else(|| {
        format!("{text:?} is not a valid duration: expected numbers with the units ms, s, m or h, such as 500ms or 1h30m")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_with_their_unit() {
        for (text, expected) in [
            ("500ms", Some(500)),
            ("9s", Some(9_000)),
            ("15m", Some(900_000)),
            ("1h", Some(3_600_000)),
            ("1h30m", Some(5_400_000)),
            ("0s", Some(0)),
        ] {
            assert_eq!(parse_duration(text).ok(), expected.map(Duration::from_millis), "{text}");
        }
        for text in ["", "5", "s", "1 s", "-1s", "1s ago", "1d", "P1D", "PT1H", "99999999999999999999s"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}

//! For how long a service asks to be left alone.

use std::time::Duration;

use http::{HeaderMap, header};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;

/// However long a service says: longer ones may be a mistake, and a minute of requests too early is none.
const LONGEST: Duration = Duration::from_mins(5);

/// Returns what `Retry-After` says, in seconds or as a date (RFC 9110, section 10.2.3). A date is read by the
/// clock of the service where it says what time it has, for clocks differ.
pub fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let said = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    if !said.is_empty() && said.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than fit are very long.
        return Some(said.parse().map_or(LONGEST, Duration::from_secs).min(LONGEST));
    }
    let until = date(said)?;
    let now = headers.get(header::DATE).and_then(|date_of| date(date_of.to_str().ok()?)).unwrap_or(now);
    Some(Duration::try_from(until.duration_since(now)).unwrap_or_default().min(LONGEST))
}

fn date(text: &str) -> Option<Timestamp> {
    DateTimeParser::new().parse_timestamp(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(retry_after_text: &str, date: Option<&str>) -> Option<u64> {
        let mut headers = HeaderMap::new();
        headers.insert(header::RETRY_AFTER, retry_after_text.parse().unwrap());
        if let Some(date) = date {
            headers.insert(header::DATE, date.parse().unwrap());
        }
        let now = "2026-11-28T12:00:00Z".parse().unwrap();
        retry_after(&headers, now).map(|after| after.as_secs())
    }

    #[test]
    fn seconds_and_dates_are_read_and_bounded() {
        for (text, expected) in [
            ("0", Some(0)),
            ("7", Some(7)),
            ("86400", Some(300)),
            ("99999999999999999999999", Some(300)),
            ("Sat, 28 Nov 2026 12:00:30 GMT", Some(30)),
            ("Sat, 28 Nov 2026 11:00:00 GMT", Some(0)),
            ("Sun, 29 Nov 2026 12:00:00 GMT", Some(300)),
            ("-1", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(said(text, None), expected, "{text}");
        }
    }

    #[test]
    fn a_date_is_read_by_the_clock_of_who_says_it() {
        let ahead = "Sat, 28 Nov 2026 14:00:00 GMT";
        assert_eq!(said("Sat, 28 Nov 2026 14:00:05 GMT", Some(ahead)), Some(5));
    }
}

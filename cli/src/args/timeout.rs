//! How long commands wait: one flag with one meaning.

use std::time::Duration;

use fedhub_core::clock::parse_duration;

/// The longest wait that can be asked for: ten years of hours, which every clock can add to the time now.
const LONGEST: Duration = Duration::from_hours(10 * 8760);

/// A span of time, such as `90s`; `0` alone is one, too.
pub fn parse(text: &str) -> Result<Duration, String> {
    let span = if text == "0" { Duration::ZERO } else { parse_duration(text)? };
    if span <= LONGEST {
        return Ok(span);
    }
    Err(format!("at most {}h can be waited for; 0 waits for as long as it takes", LONGEST.as_secs() / 3600))
}

/// When a wait ends by itself: after that span; `None` for never, which zero stands for.
pub fn limit(span: Duration) -> Option<Duration> {
    Some(span).filter(|span| !span.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_no_limit_and_no_span_overflows() {
        for (text, expected) in [
            ("0", Ok(None)),
            ("0s", Ok(None)),
            ("90s", Ok(Some(Duration::from_secs(90)))),
            ("87600h", Ok(Some(LONGEST))),
            ("87600h1s", Err("at most 87600h can be waited for; 0 waits for as long as it takes".to_owned())),
            (
                "18446744073709551615s",
                Err("at most 87600h can be waited for; 0 waits for as long as it takes".to_owned()),
            ),
        ] {
            assert_eq!(parse(text).map(limit), expected, "{text}");
        }
        assert!(parse("1").unwrap_err().contains("not a valid duration"));
    }
}

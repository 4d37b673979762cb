//! The rules of `deploy/`, made faster for the test.

use std::fmt::Write;
use std::path::PathBuf;

/// By how much every `for:` is divided: a cell's alert fires after 30 s in place of a minute. The order in
/// which alerts fire stays as it is, for what follows from the cell's failure has to be inhibited in time.
pub const FASTER: u32 = 2;
/// The directory of the rules.
pub fn directory() -> PathBuf {
    crate::repository().join("deploy/components/alerts")
}

/// The rules with every `for:` divided. Fails on one that it does not understand, so that none stays slow
/// unnoticed.
pub fn faster(rules: &str, by: u32) -> Result<String, String> {
    let mut fast = String::new();
    for line in rules.lines() {
        let (indent, rest) = line.split_at(line.len() - line.trim_start().len());
        match rest.strip_prefix("for: ") {
            Some(span) => {
                let seconds = seconds(span).ok_or_else(|| format!("`{line}` is no whole duration"))?;
                let _ = write!(fast, "{indent}for: {}s", seconds.div_ceil(by));
            }
            None => fast.push_str(line),
        }
        fast.push('\n');
    }
    Ok(fast)
}

fn seconds(span: &str) -> Option<u32> {
    let (number, unit) = span.split_at_checked(span.len().checked_sub(1)?)?;
    let unit = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return None,
    };
    number.parse::<u32>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_is_divided_and_nothing_else_changes() {
        let rules = "  - alert: A\n    expr: x > 300\n    for: 5m\n  - alert: B\n    for: 2h\n  - alert: C\n    for: 10s\n";
        let expected = "  - alert: A\n    expr: x > 300\n    for: 100s\n  - alert: B\n    for: 2400s\n  - alert: C\n    for: 4s\n";
        assert_eq!(faster(rules, 3).unwrap(), expected);
        assert_eq!(faster(rules, 1).unwrap().matches("for: ").count(), 3);
    }

    #[test]
    fn a_duration_that_is_not_understood_is_an_error() {
        for span in ["", "1m30s", "5", "m", "five"] {
            assert!(faster(&format!("for: {span}"), 3).is_err(), "{span:?}");
        }
    }
}

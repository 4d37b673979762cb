//! Numbers out of numbers.

/// The middle value, or the mean of the two in the middle.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    Some(f64::midpoint(*sorted.get(middle - 1)?, upper))
}

/// The smallest value that at least `percent` of the values do not exceed.
pub fn percentile(values: &[f64], percent: usize) -> Option<f64> {
    let sorted = sorted(values);
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// A count as a number to calculate with. Benchmarks count to some millions.
pub fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Rounds to `digits` digits after the point, for people.
pub fn rounded(value: f64, digits: i32) -> f64 {
    let unit = 10_f64.powi(digits);
    (value * unit).round() / unit
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "numbers that are exact")]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle_however_the_values_come() {
        for (values, expected) in [
            (vec![], None),
            (vec![3.0], Some(3.0)),
            (vec![9.0, 1.0, 2.0], Some(2.0)),
            (vec![4.0, 1.0, 3.0, 2.0], Some(2.5)),
        ] {
            assert_eq!(median(&values), expected, "{values:?}");
        }
    }

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        for (percent, expected) in [(0, 1.0), (1, 1.0), (50, 50.0), (99, 99.0), (100, 100.0)] {
            assert_eq!(percentile(&hundred, percent), Some(expected), "{percent}");
        }
        assert_eq!(percentile(&[7.0, 8.0], 99), Some(8.0));
        assert_eq!(percentile(&[], 50), None);
    }

    #[test]
    fn numbers_for_people_are_short() {
        assert_eq!(rounded(0.123_456, 3), 0.123);
        assert_eq!(rounded(1234.5, 0), 1235.0);
    }
}

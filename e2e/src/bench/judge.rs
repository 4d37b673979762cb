//! Whether a bar holds, by laps: pure.
//!
//! Laps of fedhub and of what it is compared with alternate, so that whatever else the machine does weighs on
//! both. The ratio of such a pair is one sample. Its interval is Student's t on the logarithms: ratios of
//! times are skewed and their logarithms hardly are. A bootstrap would not do, because it never leaves the
//! range of the samples, which is far too narrow for as few as three of them.

use std::fmt;

use distrs::StudentsT;
use serde::{Deserialize, Serialize};

use super::stats::number;

/// The answer to whether a bar holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The whole interval is on the right side of the bar.
    #[serde(rename = "holds")]
    Holds,
    /// The whole interval is on the wrong side of the bar.
    #[serde(rename = "missed")]
    Missed,
    /// The bar is within the interval: the machine is too noisy for the laps that were run.
    #[serde(rename = "cannot tell here")]
    CannotTell,
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Holds => "holds",
            Self::Missed => "**missed**",
            Self::CannotTell => "cannot tell here",
        })
    }
}

/// The side of its limit on which a figure has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Side {
    AtLeast,
    AtMost,
}

/// A bar that a figure has to meet.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    side: Side,
    limit: f64,
}

impl Bar {
    /// The figure has to be `limit` or more.
    pub fn at_least(limit: f64) -> Self {
        Self { side: Side::AtLeast, limit }
    }

    /// The figure has to be `limit` or less.
    pub fn at_most(limit: f64) -> Self {
        Self { side: Side::AtMost, limit }
    }

    /// Whether a value meets the bar. What is not a number does not.
    pub fn is_met(self, value: f64) -> bool {
        match self.side {
            Side::AtLeast => value >= self.limit,
            Side::AtMost => value <= self.limit,
        }
    }

    /// The verdict on a figure that is exact, such as a count.
    pub fn exactly(self, value: f64) -> Verdict {
        if self.is_met(value) { Verdict::Holds } else { Verdict::Missed }
    }

    /// The verdict on a figure that is known to be within an interval, if there is one.
    pub fn within(self, interval: Option<[f64; 2]>) -> Verdict {
        match interval.map(|ends| ends.map(|end| self.is_met(end))) {
            Some([true, true]) => Verdict::Holds,
            Some([false, false]) => Verdict::Missed,
            _ => Verdict::CannotTell,
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let relation = match self.side {
            Side::AtLeast => "at least",
            Side::AtMost => "at most",
        };
        write!(formatter, "{relation} {}", self.limit)
    }
}

/// The scale on which samples are symmetric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// The scale of the samples: sizes, and times that may be zero.
    #[default]
    Plain,
    /// The scale of their logarithms: ratios, and percentiles of times.
    Logarithmic,
}

impl Scale {
    /// The mean of the samples: the geometric one on the scale of logarithms. Not a number without samples.
    pub fn mean(self, samples: &[f64]) -> f64 {
        let values = self.values(samples);
        self.back(values.iter().sum::<f64>() / number(values.len()))
    }

    /// Where the mean of what was sampled is, either end with at most the given probability of being wrong.
    /// None with fewer than two samples, and where one of them is not on the scale.
    pub fn interval(self, samples: &[f64], error: f64) -> Option<[f64; 2]> {
        let values = self.values(samples);
        if values.len() < 2 || values.iter().any(|value| !value.is_finite()) {
            return None;
        }
        let count = number(values.len());
        let mean = values.iter().sum::<f64>() / count;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
        let margin = StudentsT::ppf(1.0 - error, count - 1.0) * (variance / count).sqrt();
        Some([mean - margin, mean + margin].map(|end| self.back(end)))
    }

    fn values(self, samples: &[f64]) -> Vec<f64> {
        match self {
            Self::Plain => samples.to_vec(),
            Self::Logarithmic => samples.iter().map(|sample| sample.ln()).collect(),
        }
    }

    fn back(self, value: f64) -> f64 {
        match self {
            Self::Plain => value,
            Self::Logarithmic => value.exp(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_bar_is_judged_by_the_whole_interval() {
        use Verdict::{CannotTell, Holds, Missed};
        let nan = f64::NAN;
        for (bar, interval, verdict) in [
            (Bar::at_least(0.9), Some([0.91, 1.1]), Holds),
            (Bar::at_least(0.9), Some([0.9, 0.9]), Holds),
            (Bar::at_least(0.9), Some([0.8, 0.89]), Missed),
            (Bar::at_least(0.9), Some([0.89, 0.91]), CannotTell),
            (Bar::at_most(2.0), Some([1.0, 1.99]), Holds),
            (Bar::at_most(2.0), Some([2.01, 9.0]), Missed),
            (Bar::at_most(2.0), Some([1.99, 2.01]), CannotTell),
            (Bar::at_most(2.0), None, CannotTell),
        ] {
            assert_eq!(bar.within(interval), verdict, "{bar} {interval:?}");
        }
        for (bar, value, verdict) in [
            (Bar::at_most(0.0), 0.0, Holds),
            (Bar::at_most(0.0), 1.0, Missed),
            (Bar::at_least(0.8), 0.79, Missed),
            (Bar::at_least(0.8), nan, Missed),
            (Bar::at_most(0.8), nan, Missed),
        ] {
            assert_eq!(bar.exactly(value), verdict, "{bar} {value}");
        }
    }

    /// The quantiles are those of the tables in textbooks: 2.920 for two degrees of freedom, 6.314 for one.
    #[test]
    fn an_interval_is_students() {
        for (scale, samples, expected) in [
            (Scale::Plain, vec![1.0, 2.0, 3.0], Some([2.0 - 1.6859, 2.0 + 1.6859])),
            (Scale::Plain, vec![1.0, 3.0], Some([2.0 - 6.3138, 2.0 + 6.3138])),
            (Scale::Plain, vec![5.0, 5.0], Some([5.0, 5.0])),
            (Scale::Logarithmic, vec![0.5, 2.0], Some([0.012_57, 79.532])),
            (Scale::Plain, vec![5.0], None),
            (Scale::Plain, vec![], None),
            (Scale::Logarithmic, vec![1.0, 0.0, 2.0], None),
            (Scale::Logarithmic, vec![1.0, -1.0], None),
            (Scale::Plain, vec![1.0, f64::NAN], None),
        ] {
            let found = scale.interval(&samples, 0.05);
            let agrees = match (found, expected) {
                (Some(found), Some(expected)) => {
                    found.iter().zip(expected).all(|(found, expected)| (found / expected - 1.0).abs() < 1e-3)
                }
                (found, expected) => found.is_none() && expected.is_none(),
            };
            assert!(agrees, "{scale:?} {samples:?}: {found:?}, not {expected:?}");
        }
    }

    proptest! {
        #[test]
        fn an_interval_is_around_the_mean_and_narrows_with_the_error(
            samples in prop::collection::vec(0.01_f64..100.0, 2..13),
            error in 0.001_f64..0.4,
        ) {
            for scale in [Scale::Plain, Scale::Logarithmic] {
                let mean = scale.mean(&samples);
                let [low, high] = scale.interval(&samples, error).unwrap();
                let [wide_low, wide_high] = scale.interval(&samples, error / 2.0).unwrap();
                prop_assert!(low <= mean * 1.000_001 && mean <= high * 1.000_001);
                prop_assert!(wide_low <= low && high <= wide_high);
            }
        }

        #[test]
        fn verdicts_do_not_depend_on_which_side_is_divided_by_which(
            samples in prop::collection::vec(0.1_f64..10.0, 2..13),
            limit in 0.2_f64..5.0,
        ) {
            let inverse: Vec<_> = samples.iter().map(|sample| 1.0 / sample).collect();
            let judged = |samples: &[f64], bar: Bar| bar.within(Scale::Logarithmic.interval(samples, 0.05));
            prop_assert_eq!(judged(&samples, Bar::at_least(limit)), judged(&inverse, Bar::at_most(1.0 / limit)));
        }

        #[test]
        fn at_most_one_of_opposite_bars_holds(
            samples in prop::collection::vec(0.1_f64..10.0, 2..13),
            limit in 0.2_f64..5.0,
        ) {
            let interval = Scale::Logarithmic.interval(&samples, 0.05);
            let verdicts = [Bar::at_least(limit), Bar::at_most(limit)].map(|bar| bar.within(interval));
            let both = verdicts == [Verdict::Holds; 2] || verdicts == [Verdict::Missed; 2];
            prop_assert!(!both, "{:?}", interval);
        }
    }
}

//! A figure of a benchmark: a number with its unit, the laps that it was made from, and its bar.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::judge::{Bar, Scale, Verdict};
use super::stats::rounded;

/// Digits after the point that a report keeps.
const DIGITS: i32 = 4;

/// A number of a report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The quantity, if the unit does not say it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub what: String,
    /// The number: with laps, their mean.
    pub value: f64,
    /// Its unit.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// The number of each lap.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub laps: Vec<f64>,
    /// The bar for the number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bar: Option<Bar>,
    /// Where the mean is, at the level of the look that ended the laps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// Whether the bar holds. A figure may have a bar and no verdict: laps from before verdicts were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    #[serde(skip)]
    scale: Scale,
}

impl Figure {
    /// A figure that needs no laps, such as a count.
    pub fn exact(what: &str, unit: &str, value: f64) -> Self {
        Self {
            what: what.to_owned(),
            value,
            unit: unit.to_owned(),
            laps: Vec::new(),
            bar: None,
            interval: None,
            verdict: None,
            scale: Scale::Plain,
        }
    }

    /// The mean of laps.
    pub fn mean(what: &str, unit: &str, laps: &[f64]) -> Self {
        Self::sampled(what, unit, laps, Scale::Plain)
    }

    /// The geometric mean of laps: of ratios, and of percentiles of times.
    pub fn ratio(what: &str, unit: &str, laps: &[f64]) -> Self {
        Self::sampled(what, unit, laps, Scale::Logarithmic)
    }

    fn sampled(what: &str, unit: &str, laps: &[f64], scale: Scale) -> Self {
        Self { laps: laps.to_vec(), scale, ..Self::exact(what, unit, scale.mean(laps)) }
    }

    /// Judges an exact figure.
    #[must_use]
    pub fn exactly(mut self, bar: Bar) -> Self {
        self.verdict = Some(bar.exactly(self.value));
        self.bar = Some(bar);
        self
    }

    /// Judges a figure by its laps, either way with at most this probability of being wrong.
    #[must_use]
    pub fn within(mut self, bar: Bar, error: f64) -> Self {
        let interval = self.scale.interval(&self.laps, error);
        self.verdict = Some(bar.within(interval));
        self.bar = Some(bar);
        self.interval = interval;
        self
    }

    /// The number with its unit.
    pub fn amount(&self) -> String {
        let is_whole = self.laps.is_empty() && self.value.fract() == 0.0;
        let value = if is_whole { format!("{:.0}", self.value) } else { short(self.value) };
        format!("{value} {}", self.unit).trim_end().to_owned()
    }

    /// As a report keeps it.
    #[must_use]
    pub fn rounded(self) -> Self {
        let short = |value| rounded(value, DIGITS);
        Self {
            value: short(self.value),
            laps: self.laps.into_iter().map(short).collect(),
            interval: self.interval.map(|ends| ends.map(short)),
            ..self
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.what.is_empty() {
            write!(formatter, "{}: ", self.what)?;
        }
        formatter.write_str(&self.amount())
    }
}

/// A number for people, with about three digits.
pub fn short(value: f64) -> String {
    let digits = match value.abs() {
        large if large >= 100.0 => 0,
        middle if middle >= 10.0 => 1,
        small if small >= 0.1 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

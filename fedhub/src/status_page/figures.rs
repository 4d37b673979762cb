//! Figures out of gathered metrics.

use prometheus::proto::{Metric, MetricFamily};

/// The value of a label, such as a reason, and how often.
pub type Count = (String, u64);

/// The series of a metric.
pub fn series<'a>(families: &'a [MetricFamily], name: &str) -> &'a [Metric] {
    families.iter().find(|family| family.name() == name).map_or(&[], MetricFamily::get_metric)
}

/// The value of a label.
pub fn label<'a>(series: &'a Metric, name: &str) -> &'a str {
    series.get_label().iter().find(|label| label.name() == name).map_or("", |label| label.value())
}

/// The values of a gauge or a counter by one label, without those that are zero.
pub fn counts(families: &[MetricFamily], name: &str, by: &str) -> Vec<Count> {
    let value = |series: &Metric| {
        let value = series.get_gauge().get_value() + series.get_counter().get_value();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // Counts, and not negative.
        let value = value.max(0.0) as u64;
        (label(series, by).to_owned(), value)
    };
    series(families, name).iter().map(value).filter(|(_, value)| *value > 0).collect()
}

/// A histogram: for each bucket its upper bound and how many values are not above it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Buckets(Vec<(f64, u64)>);

impl Buckets {
    /// Creates buckets, the last of which has no bound.
    #[cfg(test)]
    pub fn new(buckets: &[(f64, u64)]) -> Self {
        Self(buckets.to_vec())
    }

    /// The histogram of a series.
    pub fn read(series: &Metric) -> Self {
        let histogram = series.get_histogram();
        let buckets = histogram.get_bucket().iter().map(|it| (it.upper_bound(), it.cumulative_count()));
        Self(buckets.chain([(f64::INFINITY, histogram.get_sample_count())]).collect())
    }

    /// Returns what was added since `before`.
    pub fn since(&self, before: &Self) -> Self {
        let earlier = |at: usize| before.0.get(at).map_or(0, |(_, count)| *count);
        Self(
            self.0
                .iter()
                .enumerate()
                .map(|(at, (bound, count))| (*bound, count.saturating_sub(earlier(at))))
                .collect(),
        )
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.0.last().map_or(0, |(_, count)| *count)
    }

    /// The value that this part of all is not above, estimated as Prometheus does: evenly within a bucket,
    /// and never above the last bound.
    #[allow(clippy::cast_precision_loss)] // Counts are far from 2^52.
    pub fn quantile(&self, part: f64) -> Option<f64> {
        let rank = self.count() as f64 * part;
        if self.count() == 0 {
            return None;
        }
        let mut lower = 0.0;
        let mut below = 0;
        for &(bound, count) in &self.0 {
            if count as f64 >= rank {
                if bound.is_infinite() {
                    return Some(lower);
                }
                let inside = (count - below) as f64;
                let share = if inside > 0.0 { (rank - below as f64) / inside } else { 1.0 };
                return Some((bound - lower).mul_add(share, lower));
            }
            (lower, below) = (bound, count);
        }
        Some(lower)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fedhub_core::metrics::{Hop, Metrics};

    use super::*;

    #[test]
    fn figures_are_read_from_what_is_gathered() {
        let metrics = Metrics::new().unwrap();
        metrics.quarantined.with_label_values(&["ambiguous"]).set(2);
        metrics.quarantined.with_label_values(&["none_any_more"]).set(0);
        metrics.deletes_withheld.with_label_values(&["hub_restored"]).inc();
        (0..99).for_each(|_| metrics.propagated(Hop::CellToHub, Duration::from_millis(30)));
        metrics.propagated(Hop::CellToHub, Duration::from_secs(4));
        let families = metrics.gather(|_| true);
        assert_eq!(counts(&families, "fedhub_quarantined_objects", "reason"), [("ambiguous".to_owned(), 2)]);
        let deletes = counts(&families, "fedhub_deletes_withheld_total", "reason");
        assert_eq!(deletes, [("hub_restored".to_owned(), 1)]);
        let hops = series(&families, "fedhub_propagation_seconds");
        let buckets = hops.iter().find(|it| label(it, "hop") == Hop::CellToHub.as_ref()).map(Buckets::read);
        let buckets = buckets.unwrap();
        assert_eq!(buckets.count(), 100);
        let p50 = buckets.quantile(0.5).unwrap();
        assert!(p50 > 0.025 && p50 < 0.05, "{p50}");
        let highest = buckets.quantile(1.0).unwrap();
        assert!(highest > 2.5 && highest <= 10.0, "{highest}");
        assert_eq!(buckets.since(&buckets).quantile(0.5), None);
        assert!(series(&families, "fedhub_none").is_empty());
    }

    #[test]
    fn quantiles_are_those_of_prometheus() {
        let buckets = Buckets::new(&[(1.0, 0), (2.0, 10), (4.0, 10), (f64::INFINITY, 12)]);
        for (part, expected) in [(0.5, 1.6), (1.0, 4.0)] {
            let estimated = buckets.quantile(part).unwrap();
            assert!((estimated - expected).abs() < 1e-9, "{part}: {estimated}");
        }
        assert_eq!(Buckets::default().quantile(0.5), None);
    }
}

//! How the kills went.

use std::time::Duration;

/// How the kills went.
#[derive(Debug, Clone)]
pub struct Report {
    seed: u64,
    kills: usize,
    rollout: Duration,
    /// The times from each kill that was recovered from to the end of its rollout.
    pub times: Vec<Duration>,
    /// The failure that ended the run, if any.
    pub failure: Option<String>,
}

impl Report {
    /// Creates the report of a run that has not killed anything yet, of `kills` kills. A rollout without a
    /// kill takes `rollout`.
    pub fn new(seed: u64, kills: usize, rollout: Duration) -> Self {
        Self { seed, kills, rollout, times: Vec::new(), failure: None }
    }

    /// Summarizes the report in one line.
    pub fn summary(&self) -> String {
        let mut times = self.times.clone();
        times.sort();
        let [median, most] = [times.get(times.len() / 2), times.last()]
            .map(|time| time.copied().unwrap_or_default().as_secs_f64());
        let Self { seed, kills, .. } = self;
        let begun = if self.failure.is_some() { (times.len() + 1).min(*kills) } else { *kills };
        let rollout = self.rollout.as_secs_f64();
        format!(
            "{begun} kills, {} recovered, seed {seed}; a rollout takes {rollout:.1} s, from a kill to its end {median:.1} s in the median, {most:.1} s at most",
            times.len(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_counts_what_was_recovered_from() {
        let mut report = Report::new(7, 50, Duration::from_secs(8));
        report.times = vec![Duration::from_secs(9), Duration::from_secs(3), Duration::from_secs(5)];
        report.failure = Some("no".to_owned());
        let summary = report.summary();
        assert!(summary.starts_with("4 kills, 3 recovered, seed 7; "), "{summary}");
        assert!(
            summary.contains("8.0 s") && summary.contains("5.0 s in the median, 9.0 s at most"),
            "{summary}"
        );
        report.times = vec![Duration::ZERO; 50];
        assert!(report.summary().starts_with("50 kills, 50 recovered"), "the end did not stay");
    }
}

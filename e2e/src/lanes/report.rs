//! How everything went: what failed, what passed only when it was run again alone, what took long, and how
//! much of the time only passed.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::{Duration, Instant};

use super::idle::{Idle, Share};

/// How many of what took longest are listed.
const SLOWEST: usize = 10;

/// A suite or a check that came to its end.
#[derive(Debug, Clone)]
pub struct Done {
    /// Its name.
    pub name: String,
    /// Whether it is a chainsaw suite.
    pub is_suite: bool,
    /// Whether it passed.
    pub passed: bool,
    /// When it began.
    pub begun: Instant,
    /// How long it took.
    pub time: Duration,
    /// What it says at the end of the run.
    pub lines: Vec<String>,
}

/// How it went in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It passed.
    Passed,
    /// It failed, and passed when it was run again alone.
    Flaky,
    /// It failed twice, or could not be run again.
    Failed,
}

/// How everything went.
#[derive(Debug)]
pub struct Report {
    done: Vec<Done>,
    /// What failed and passed when it was run again.
    recovered: BTreeSet<String>,
    begun: Instant,
}

impl Report {
    /// From the first run of everything, and from the second run of what failed in it.
    pub fn new(begun: Instant, done: Vec<Done>, again: &[Done]) -> Self {
        let recovered = again.iter().filter(|done| done.passed).map(|done| done.name.clone()).collect();
        Self { done, recovered, begun }
    }

    /// The names of what ended so, in the order in which it ended.
    pub fn ended(&self, outcome: Outcome) -> impl Iterator<Item = &str> {
        self.done.iter().filter(move |done| self.outcome(done) == outcome).map(|done| &*done.name)
    }

    /// Whether it is good: with `strict`, nothing may be flaky.
    pub fn passed(&self, strict: bool) -> bool {
        self.ended(Outcome::Failed).next().is_none()
            && !(strict && self.ended(Outcome::Flaky).next().is_some())
    }

    fn outcome(&self, done: &Done) -> Outcome {
        if done.passed {
            Outcome::Passed
        } else if self.recovered.contains(&done.name) {
            Outcome::Flaky
        } else {
            Outcome::Failed
        }
    }

    /// What took longest, with the share of its time in which the machine was idle; then the same of the
    /// whole run.
    pub fn times(&self, idle: &Idle) -> String {
        let mut slowest: Vec<_> = self.done.iter().collect();
        slowest.sort_by_key(|done| std::cmp::Reverse(done.time));
        let mut text = format!("{:<36} {:>8}  all cores idle  idle in the mean\n", "the slowest", "seconds");
        for done in slowest.into_iter().take(SLOWEST) {
            line(&mut text, &done.name, done.time, idle.share(done.begun, done.begun + done.time));
        }
        let suites = self.done.iter().filter(|done| done.is_suite);
        let sum = suites.map(|done| done.time).sum();
        line(&mut text, "all suites, one after the other", sum, None);
        let end = Instant::now();
        line(&mut text, "this run", end - self.begun, idle.share(self.begun, end));
        text
    }

    /// The last lines of a run: what checks say of themselves, what failed, what is flaky, and the counts.
    pub fn closing(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        for line in self.done.iter().flat_map(|done| &done.lines) {
            text.push_str(line);
            text.push('\n');
        }
        for (word, outcome) in [("failed", Outcome::Failed), ("flaky", Outcome::Flaky)] {
            let names: Vec<_> = self.ended(outcome).collect();
            if !names.is_empty() {
                let _ = writeln!(text, "{word}: {}", names.join(", "));
            }
        }
        let suites = || self.done.iter().filter(|done| done.is_suite);
        let failed = suites().filter(|done| self.outcome(done) == Outcome::Failed).count();
        let _ = writeln!(text, "{} passed, {failed} failed", suites().count() - failed);
        text
    }
}

fn line(text: &mut String, name: &str, time: Duration, idle: Option<Share>) {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let [all, mean] = idle.map_or_else(Default::default, |Share { all, mean }| [percent(all), percent(mean)]);
    let line = format!("{name:<36} {:>8.1}  {all:>14}  {mean:>16}", time.as_secs_f64());
    text.push_str(line.trim_end());
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(name: &str, passed: bool, seconds: u64) -> Done {
        Done {
            name: name.to_owned(),
            is_suite: name != "alerts",
            passed,
            begun: Instant::now(),
            time: Duration::from_secs(seconds),
            lines: Vec::new(),
        }
    }

    #[test]
    fn what_fails_once_is_flaky_and_what_fails_twice_has_failed() {
        let first = vec![done("a", true, 1), done("b", false, 1), done("c", false, 1)];
        let again = [done("b", true, 1), done("c", false, 1)];
        let report = Report::new(Instant::now(), first, &again);
        assert_eq!(report.ended(Outcome::Flaky).collect::<Vec<_>>(), ["b"]);
        assert_eq!(report.closing(), "failed: c\nflaky: b\n2 passed, 1 failed\n");
        assert!(!report.passed(false));
    }

    #[test]
    fn flaky_fails_where_it_is_taken_strictly() {
        let report = Report::new(Instant::now(), vec![done("b", false, 1)], &[done("b", true, 1)]);
        assert!(report.passed(false) && !report.passed(true));
        let report = Report::new(Instant::now(), vec![done("b", true, 1)], &[]);
        assert!(report.passed(true));
        let report = Report::new(Instant::now(), vec![done("b", false, 1)], &[]);
        assert!(!report.passed(false), "it was not run again");
    }

    #[test]
    fn a_check_has_its_own_line_and_is_not_counted_as_a_suite() {
        let mut alerts = done("alerts", true, 1);
        alerts.lines = vec!["alerts and dashboards: passed".to_owned()];
        let report = Report::new(Instant::now(), vec![alerts, done("a", true, 1)], &[]);
        assert_eq!(report.closing(), "alerts and dashboards: passed\n1 passed, 0 failed\n");
        let report = Report::new(Instant::now(), vec![done("alerts", false, 1)], &[]);
        assert_eq!(report.closing(), "failed: alerts\n0 passed, 0 failed\n");
        assert!(!report.passed(false));
    }

    #[tokio::test]
    async fn the_ten_slowest_are_listed_slowest_first() {
        let many = (0..12).map(|number| done(&format!("suite-{number}"), true, number)).collect();
        let times = Report::new(Instant::now(), many, &[]).times(&Idle::sample());
        let listed: Vec<_> = times.lines().filter(|line| line.starts_with("suite-")).collect();
        assert_eq!(listed.len(), SLOWEST);
        assert!(listed[0].starts_with("suite-11 ") && listed[9].starts_with("suite-2 "), "{times}");
        assert!(times.contains("all suites, one after the other") && times.contains("66.0"), "{times}");
    }
}

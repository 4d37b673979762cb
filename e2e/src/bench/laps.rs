//! How many laps a benchmark runs: until its bars are decided.
//!
//! A test that looks after every lap and stops as soon as it likes is wrong far more often than its level
//! says. So the looks are fixed before the first lap ([`LOOKS`]), and each of them spends an equal part of
//! [`ERROR`]: by the union bound, a bar that does not hold is said to hold in one run of twenty at most,
//! wherever the laps stop, and likewise a bar that holds is said to be missed.

use std::time::Instant;

use super::figure::Figure;
use super::judge::Verdict;
use super::stats::number;

/// After how many laps the bars are judged. What is not decided by then goes on to the next look.
pub const LOOKS: [usize; 4] = [3, 5, 8, 12];
/// The probability that a run ends with a wrong verdict on a bar, over all looks.
pub const ERROR: f64 = 0.05;

/// The laps of a benchmark: how many there are, and when they end.
#[derive(Debug)]
pub struct Laps {
    looks: Vec<usize>,
    deadline: Option<Instant>,
    begun: usize,
    is_over: bool,
    figures: Vec<Figure>,
}

impl Laps {
    /// Laps go on until every bar is decided, up to this number.
    pub fn at_most(most: usize) -> Self {
        let looks = LOOKS.into_iter().filter(|look| *look < most).chain([most]);
        Self { looks: looks.collect(), deadline: None, begun: 0, is_over: false, figures: Vec::new() }
    }

    /// No lap but the first begins after the deadline. The look at that moment comes in place of those that
    /// there is no time for, and depends on how long laps take, not on how they compare: it spends no error
    /// of its own.
    #[must_use]
    pub fn until(self, deadline: Option<Instant>) -> Self {
        Self { deadline, ..self }
    }

    /// The number of the next lap, if there is to be one. Each lap has to be followed by [`Self::judge`].
    pub fn begin(&mut self) -> Option<usize> {
        if self.is_over {
            return None;
        }
        self.begun += 1;
        Some(self.begun - 1)
    }

    /// Judges the figures of all laps so far, if it is time for that. The closure gets the error that this
    /// look may spend.
    pub fn judge(&mut self, figures: impl FnOnce(f64) -> Vec<Figure>) {
        let is_late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if !is_late && !self.looks.contains(&self.begun) {
            return;
        }
        self.figures = figures(ERROR / number(self.looks.len()));
        let is_last = self.looks.last().is_none_or(|last| self.begun >= *last);
        self.is_over = is_late
            || is_last
            || !self.figures.iter().any(|figure| figure.verdict == Some(Verdict::CannotTell));
    }

    /// The figures of the last look.
    pub fn figures(self) -> Vec<Figure> {
        self.figures
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{Rng, SeedableRng};

    use super::super::judge::Bar;
    use super::*;

    #[test]
    fn looks_share_the_error_and_are_fixed_before_the_first_lap() {
        for (mut laps, looks, share) in [
            (Laps::at_most(12), vec![3, 5, 8, 12], 0.0125),
            (Laps::at_most(20), vec![3, 5, 8, 12, 20], 0.01),
            (Laps::at_most(5), vec![3, 5], 0.025),
            (Laps::at_most(2), vec![2], 0.05),
        ] {
            let mut seen = Vec::new();
            while laps.begin().is_some() {
                let begun = laps.begun;
                laps.judge(|error| {
                    assert!((error - share).abs() < 1e-12, "{looks:?}: {error}");
                    seen.push(begun);
                    vec![Figure::ratio("", "", &[]).within(Bar::at_most(1.0), error)]
                });
            }
            assert_eq!(seen, looks);
        }
    }

    #[test]
    fn laps_end_once_every_bar_is_decided() {
        for (ratios, expected) in [
            (vec![1.0, 1.01, 0.99], 3),
            (vec![0.5, 0.51, 0.49], 3),
            (vec![1.10, 1.00, 0.96, 0.95, 1.06], 5),
            (vec![0.9, 0.7, 1.2, 0.8, 1.0, 0.9, 0.7, 1.2, 0.8, 1.0, 0.9, 0.95], 12),
        ] {
            let mut laps = Laps::at_most(12);
            while let Some(lap) = laps.begin() {
                laps.judge(|error| {
                    let ratios = Figure::ratio("", "", &ratios[..=lap]).within(Bar::at_least(0.9), error);
                    vec![ratios, Figure::exact("", "", 9.0).exactly(Bar::at_most(0.0))]
                });
            }
            assert_eq!(laps.begun, expected, "{ratios:?}");
            assert_eq!(laps.figures()[0].laps.len(), expected);
        }
    }

    #[test]
    fn a_deadline_ends_laps_with_a_look_but_never_before_the_first() {
        let now = Instant::now();
        for (deadline, expected) in [(now, 1), (now + std::time::Duration::from_hours(1), 12)] {
            let mut laps = Laps::at_most(12).until(Some(deadline));
            while laps.begin().is_some() {
                laps.judge(|error| vec![Figure::ratio("", "", &[1.0]).within(Bar::at_most(1.0), error)]);
            }
            assert_eq!((laps.begun, laps.figures().len()), (expected, 1));
        }
    }

    /// A ratio of laps whose logarithm is normal around that of `ratio`, by the sum of twelve uniform
    /// numbers.
    fn lap(random: &mut SmallRng, ratio: f64, deviation: f64) -> f64 {
        let normal = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
        ratio * (normal * deviation).exp()
    }

    fn verdict(random: &mut SmallRng, ratio: f64, deviation: f64, bar: Bar) -> Option<Verdict> {
        let mut laps = Laps::at_most(12);
        let mut ratios = Vec::new();
        while laps.begin().is_some() {
            ratios.push(lap(random, ratio, deviation));
            laps.judge(|error| vec![Figure::ratio("", "", &ratios).within(bar, error)]);
        }
        laps.figures()[0].verdict
    }

    /// On the bar itself neither verdict is right beyond chance, so each has to be rare although there are
    /// four looks.
    #[test]
    fn looking_again_does_not_inflate_the_error() {
        const RUNS: u32 = 4_000;
        let mut random = SmallRng::seed_from_u64(7);
        for bar in [Bar::at_least(0.9), Bar::at_most(0.9)] {
            let verdicts: Vec<_> = (0..RUNS).map(|_| verdict(&mut random, 0.9, 0.2, bar)).collect();
            for wrong in [Verdict::Holds, Verdict::Missed] {
                let runs = number(verdicts.iter().filter(|verdict| **verdict == Some(wrong)).count());
                assert!(runs / f64::from(RUNS) < ERROR, "{bar}: {runs} of {RUNS} say {wrong}");
                assert!(runs > 0.0, "{bar}: {wrong} is never said");
            }
        }
    }

    #[test]
    fn what_is_far_from_the_bar_is_decided() {
        let mut random = SmallRng::seed_from_u64(8);
        for (ratio, expected) in [(1.2, Verdict::Holds), (0.65, Verdict::Missed)] {
            let verdicts = (0..200).map(|_| verdict(&mut random, ratio, 0.15, Bar::at_least(0.9)));
            let decided = verdicts.filter(|verdict| *verdict == Some(expected)).count();
            assert!(decided > 190, "{ratio}: {decided} of 200");
        }
    }
}

//! A short history of a few totals, for sparklines.
//!
//! The series are those of the hops and the controllers of the process, never of a plane: their number is
//! fixed, and each keeps [`KEPT`] numbers of four bytes. With four hops and seven controllers that is about
//! 11 kB, whatever the number of planes.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::Mutex;

use super::figures::Buckets;

/// The time from one sample to the next.
pub const EVERY: Duration = Duration::from_secs(10);
/// How many samples are kept: half an hour.
pub const KEPT: usize = 180;
/// How many of them are the last minute.
const MINUTE: usize = 6;

/// Samples, the oldest first; none where there was nothing to measure.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trend(pub Vec<Option<f32>>);

impl Trend {
    /// The last measure of the last minute.
    pub fn latest(&self) -> Option<f32> {
        self.0.iter().rev().take(MINUTE).find_map(|sample| *sample)
    }

    /// The highest sample.
    pub fn highest(&self) -> Option<f32> {
        self.0.iter().flatten().copied().reduce(f32::max)
    }
}

/// The values of one moment.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Each hop with its histogram so far.
    pub hops: Vec<(&'static str, Buckets)>,
    /// Each controller with the age of its oldest change in seconds.
    pub controllers: Vec<(&'static str, f32)>,
}

/// The samples of the process.
#[derive(Debug, Default)]
pub struct Samples(Mutex<Kept>);

/// The samples of one hop.
#[derive(Debug, Default)]
struct Hop {
    /// Its histogram at the last sample.
    before: Buckets,
    p95: Ring<Option<f32>>,
    counts: Ring<u32>,
}

#[derive(Debug, Default)]
struct Kept {
    hops: Vec<(&'static str, Hop)>,
    controllers: Vec<(&'static str, Ring<Option<f32>>)>,
}

/// The last [`KEPT`] values.
#[derive(Debug)]
struct Ring<T>(VecDeque<T>);

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T: Clone> Ring<T> {
    fn push(&mut self, value: T) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(value);
    }

    fn all(&self) -> Vec<T> {
        self.0.iter().cloned().collect()
    }
}

/// The entry of that name, which is made where there is none.
fn entry<'a, T: Default>(entries: &'a mut Vec<(&'static str, T)>, name: &'static str) -> &'a mut T {
    let at = entries.iter().position(|(it, _)| *it == name).unwrap_or_else(|| {
        entries.push((name, T::default()));
        entries.len() - 1
    });
    &mut entries[at].1
}

impl Samples {
    /// Adds a sample.
    pub fn add(&self, measured: Measured) {
        let mut kept = self.0.lock();
        for (name, buckets) in measured.hops {
            let hop = entry(&mut kept.hops, name);
            let moved = buckets.since(&hop.before);
            #[allow(clippy::cast_possible_truncation)] // A few digits are enough.
            hop.p95.push(moved.quantile(0.95).map(|p95| p95 as f32));
            hop.counts.push(u32::try_from(moved.count()).unwrap_or(u32::MAX));
            hop.before = buckets;
        }
        for (name, oldest) in measured.controllers {
            entry(&mut kept.controllers, name).push(Some(oldest));
        }
    }

    /// The lag of a hop, and how many changes arrived in the last minute.
    pub fn hop(&self, name: &str) -> (Trend, u64) {
        let kept = self.0.lock();
        let hop = kept.hops.iter().find(|(it, _)| *it == name);
        hop.map_or_else(Default::default, |(_, hop)| {
            let counts = hop.counts.0.iter().rev().take(MINUTE);
            (Trend(hop.p95.all()), counts.map(|count| u64::from(*count)).sum())
        })
    }

    /// The age of a controller's oldest change.
    pub fn controller(&self, name: &str) -> Trend {
        let kept = self.0.lock();
        let found = kept.controllers.iter().find(|(it, _)| *it == name);
        found.map_or_else(Trend::default, |(_, ring)| Trend(ring.all()))
    }

    /// The time that the samples cover.
    pub fn covered(&self) -> Duration {
        let kept = self.0.lock();
        let samples = kept.hops.iter().map(|(_, hop)| hop.p95.0.len()).max().unwrap_or_default();
        EVERY * u32::try_from(samples).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buckets(counts: [u64; 3]) -> Buckets {
        Buckets::new(&[(0.1, counts[0]), (1.0, counts[1]), (f64::INFINITY, counts[2])])
    }

    #[test]
    fn a_sample_is_what_moved_since_the_last_one() {
        let samples = Samples::default();
        for counts in [[10, 10, 10], [10, 10, 10], [10, 30, 30], [10, 30, 31]] {
            samples
                .add(Measured { hops: vec![("up", buckets(counts))], controllers: vec![("federator", 2.0)] });
        }
        let (trend, per_minute) = samples.hop("up");
        let near =
            |sample: Option<f32>, expected: f32| sample.is_some_and(|it| (it - expected).abs() < 0.001);
        assert!(near(trend.0[0], 0.095), "{trend:?}");
        assert_eq!(trend.0[1], None, "nothing moved");
        assert!(near(trend.0[2], 0.955), "{trend:?}");
        assert!(near(trend.0[3], 1.0), "above the last bound, the bound is all that is known: {trend:?}");
        assert_eq!(per_minute, 31);
        assert_eq!(samples.controller("federator").0, [Some(2.0); 4]);
        assert_eq!(samples.covered(), EVERY * 4);
        assert_eq!((samples.hop("other").0.0.len(), samples.controller("other").0.len()), (0, 0));
    }

    #[test]
    fn samples_are_bounded_in_number_and_in_time() {
        let samples = Samples::default();
        for n in 0..KEPT as u64 * 3 {
            #[allow(clippy::cast_precision_loss)]
            let controllers = vec![("federator", n as f32)];
            samples.add(Measured { hops: vec![("up", buckets([n, n, n]))], controllers });
        }
        let kept = samples.0.lock();
        assert_eq!((kept.hops.len(), kept.controllers.len()), (1, 1));
        assert!(kept.hops[0].1.p95.0.capacity() <= 2 * KEPT && kept.hops[0].1.counts.0.len() == KEPT);
        drop(kept);
        let trend = samples.controller("federator");
        assert_eq!((trend.0.len(), trend.0[0], trend.highest()), (KEPT, Some(360.0), Some(539.0)));
        assert_eq!(trend.latest(), Some(539.0));
    }

    #[test]
    fn what_was_measured_longer_ago_than_a_minute_is_not_the_latest() {
        let mut old = vec![Some(1.0)];
        old.extend([None; MINUTE]);
        assert_eq!(Trend(old.clone()).latest(), None);
        old.remove(1);
        assert_eq!(Trend(old).latest(), Some(1.0));
    }
}

//! How to measure: how many objects, how many laps, how long.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::catalogue::BENCHMARKS;
use super::laps::Laps;
use super::stats;
use crate::Error;
use crate::progress::Progress;

/// For how long a quick run of all benchmarks begins new laps. Planes that start, first laps and what is
/// repeated in any case are not bounded by it.
const QUICK_TIME: Duration = Duration::from_mins(20);
/// The part of the usual number of objects that a quick run has.
const QUICK_SCALE: f64 = 0.1;
/// Laps of a quick run, if there is time for them: as few as an interval can be made from that is of any use.
const QUICK_LAPS: usize = 3;
/// Laps where they cannot go on until all is decided, usually and in a quick run.
const REPEATS: [usize; 2] = [3, 2];
/// Laps of what is counted, where chance has some part in it, likewise.
const COUNTS: [usize; 2] = [3, 1];

/// How to measure.
#[derive(Debug, Clone)]
pub struct Options {
    /// The program that is measured.
    pub fedhub: PathBuf,
    /// Laps of each side, at most.
    pub laps: usize,
    /// The part of the usual number of objects; 1 for figures that count.
    pub scale: f64,
    /// Minutes of doing nothing.
    pub minutes: u32,
    /// Whether figures have to come soon rather than be exact.
    pub quick: bool,
    /// When the last lap begins.
    pub deadline: Option<Instant>,
    /// Planes that run already, in place of planes of the benchmark's own.
    pub instance: Option<String>,
    /// Where it says what it does.
    pub progress: Progress,
}

impl Options {
    /// Returns options with fewer objects and laps, and less idle time.
    #[must_use]
    pub fn quick(self) -> Self {
        let laps = self.laps.min(QUICK_LAPS);
        Self { quick: true, laps, scale: self.scale.min(QUICK_SCALE), ..self }
    }

    /// Laps that go on until every bar is decided.
    pub fn laps(&self) -> Laps {
        Laps::at_most(self.laps).until(self.deadline)
    }

    /// How many laps there are where that does not depend on what they show.
    pub fn repeats(&self) -> usize {
        self.laps.min(REPEATS[usize::from(self.quick)])
    }

    /// How many laps there are of what is counted.
    pub fn counts(&self) -> usize {
        self.laps.min(COUNTS[usize::from(self.quick)])
    }

    /// The options of the benchmark at this place of the catalogue in a run that began then: in a quick run
    /// all of them share its time, and what one has left the next may take.
    #[must_use]
    pub fn in_turn(&self, began: Instant, place: usize) -> Self {
        let share = stats::number(place + 1) / stats::number(BENCHMARKS.len());
        let share = QUICK_TIME.mul_f64(share);
        Self { deadline: self.quick.then(|| began + share), ..self.clone() }
    }

    /// A time that is shorter in a quick run.
    pub fn or_quick(&self, usual: Duration, quick: Duration) -> Duration {
        if self.quick { quick } else { usual }
    }

    /// The program as the kernel names it, without symbolic links.
    pub fn fedhub(&self) -> Result<PathBuf, Error> {
        std::fs::canonicalize(&self.fedhub).map_err(Error::file("find", &self.fedhub))
    }

    /// Returns `count` objects scaled to the size of this run, at least one.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // counts
    pub fn scaled(&self, count: usize) -> usize {
        ((stats::number(count) * self.scale).round() as usize).max(1)
    }
}

#[cfg(test)]
impl Options {
    /// Options for what measures nothing.
    pub(super) fn for_tests() -> Self {
        Self {
            fedhub: PathBuf::from("fedhub"),
            laps: 12,
            scale: 1.0,
            minutes: 5,
            quick: false,
            deadline: None,
            instance: None,
            progress: Progress::stderr(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quick_run_has_fewer_objects_and_laps_and_a_deadline() {
        let usual = Options::for_tests();
        let quick = usual.clone().quick();
        assert_eq!([usual.scaled(5_000), quick.scaled(5_000)], [5_000, 500]);
        assert_eq!([usual.laps, usual.repeats(), usual.counts()], [12, 3, 3]);
        assert_eq!([quick.laps, quick.repeats(), quick.counts()], [3, 2, 1]);
        let [long, short] = [60, 20].map(Duration::from_secs);
        assert_eq!([usual.or_quick(long, short), quick.or_quick(long, short)], [long, short]);
        let began = Instant::now();
        let [first, last] =
            [0, BENCHMARKS.len() - 1].map(|place| quick.in_turn(began, place).deadline.unwrap());
        assert!(first > began && first < last);
        assert_eq!(last.duration_since(began).as_secs(), QUICK_TIME.as_secs());
        assert!(usual.in_turn(began, 0).deadline.is_none());
        let tiny = Options { laps: 1, scale: 0.01, ..usual }.quick();
        assert_eq!([tiny.laps, tiny.scaled(5_000)], [1, 50]);
    }
}

//! Benchmarks: figures of fedhub, each against a bar and, where that says more, against a baseline in the
//! same run.
//!
//! What runs is the release build of fedhub as a process of its own, on real planes. Where there is a
//! baseline, laps of fedhub and of the baseline follow each other, both measured by the same watch of the
//! benchmark's own, until [`judge`] can decide on which side of its bar each figure is. Karmada's controllers
//! are stopped, but for `rollout`, which has the whole chain. What takes more planes than a machine has room
//! for runs on planes in memory ([`fake_apiserver`]).

pub mod baseline;
pub mod documents;
pub mod environment;
pub mod fake_apiserver;
pub mod figure;
pub mod fixture;
pub mod judge;
pub mod laps;
pub mod loader;
pub mod metrics;
pub mod objects;
pub mod process;
pub mod race;
pub mod report;
pub mod stats;
pub mod table;
pub mod watch;

mod admission;
mod cli;
mod connections;
mod explain;
mod failover;
mod footprint;
mod idle;
mod latency;
mod machine;
mod memory;
mod noisy_neighbor;
mod onboarding;
mod projection;
mod recovery;
mod requests;
mod restart;
mod rollout;
mod scaling;
mod throughput;
mod workload;

use std::path::PathBuf;
use std::time::{Duration, Instant};

pub use environment::clear_up;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use self::environment::Environment;
use self::figure::Figure;
use self::laps::Laps;
use self::report::{Findings, Report};
use crate::Error;
use crate::progress::Progress;

/// What the benchmarks are called and what they are about, in the order of the table.
pub const BENCHMARKS: [(&str, &str); 19] = [
    ("throughput", "5,000 WDs over 50 namespaces: WDs a second, against a bare client"),
    ("projection", "10,000 hub Instances of 500 WDs: Instances a second, against a bare client"),
    (
        "workload",
        "1,000 Workloads in two cities each: Workloads a second to both WDs on the hub, against a bare client; requests",
    ),
    ("latency", "20 WDs a second for a minute: event to event, against a bare client"),
    ("requests", "API requests for a WD, for a status change, for a no-op"),
    ("memory", "RSS with 20,000 WDs and 100,000 Instances over 1,000 planes, and with fewer on real planes"),
    (
        "footprint",
        "10,000 planes, in sync and idle: RSS for each, without objects and with a WD in order; series",
    ),
    ("restart", "20,000 objects: start to in sync, against a bare list; writes; an edit at the start"),
    ("recovery", "300 planes behind a server that is killed: how soon they are in sync again, log lines"),
    (
        "onboarding",
        "300 planes that become Ready together, and behind a server that starts slowly: how soon they are in sync",
    ),
    ("noisy-neighbor", "one of 100 planes hangs or floods: how long the others' WDs take"),
    ("idle", "1,000 planes, 20,000 objects, and nothing happens: CPU and requests"),
    ("explain", "1,000 planes, 20,000 objects, no fedhub: explain, audit of one plane and of all"),
    ("scaling", "own CPU for a WD with 10, 100, 1,000 and 10,000 planes"),
    ("connections", "TCP connections for 1,000 planes behind one host, and under load to real planes"),
    (
        "failover",
        "two replicas: the gap after SIGTERM, after SIGKILL, and what a leader that was stopped does",
    ),
    (
        "rollout",
        "200 WDs of 3 replicas over two real cells: the time of each hop, requests for an Instance's life",
    ),
    (
        "admission",
        "200 reviews of Workloads a second for a minute, with a real plane that is asked about users",
    ),
    (
        "cli",
        "500 Workloads in two cities: the users' `status` against kubectl's lists, and the time of its help",
    ),
];

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
    /// With fewer objects and laps, and less time of doing nothing.
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

    /// So many objects at this scale.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // counts
    pub fn scaled(&self, count: usize) -> usize {
        ((stats::number(count) * self.scale).round() as usize).max(1)
    }
}

/// The day, anywhere on Earth the same.
pub fn today() -> Date {
    jiff::Timestamp::now().to_zoned(TimeZone::UTC).date()
}

/// The names of the benchmarks.
pub fn names() -> impl Iterator<Item = &'static str> {
    BENCHMARKS.into_iter().map(|(name, _)| name)
}

/// Runs one benchmark, on planes that are there for nothing else. `command` is what the user typed.
pub async fn run(name: &str, command: &str, options: &Options) -> Result<Report, Error> {
    let findings = Box::pin(measure(name, options)).await;
    let cleared = environment::clear_up().await;
    let Findings { figures, details } = findings?;
    cleared?;
    Ok(Report {
        name: name.to_owned(),
        measured: machine::measured(command, options),
        figures: figures.into_iter().map(Figure::rounded).collect(),
        note: String::new(),
        details,
    })
}

async fn measure(name: &str, options: &Options) -> Result<Findings, Error> {
    let in_memory = match name {
        "noisy-neighbor" => return Box::pin(noisy_neighbor::run(options)).await,
        "recovery" => return Box::pin(recovery::run(options)).await,
        "onboarding" => return Box::pin(onboarding::run(options)).await,
        "idle" => return Box::pin(idle::run(options)).await,
        "footprint" => return Box::pin(footprint::run(options)).await,
        "explain" => return Box::pin(explain::run(options)).await,
        "scaling" => return Box::pin(scaling::run(options)).await,
        "memory" => Some(Box::pin(memory::fake(options)).await?),
        "restart" => Some(Box::pin(restart::fake(options)).await?),
        "connections" => Some(Box::pin(connections::fake(options)).await?),
        _ => None,
    };
    environment::clear_up().await?;
    if name == "rollout" {
        return Box::pin(rollout::run(&Environment::whole(options).await?, options)).await;
    }
    let environment = Environment::up(options).await?;
    let on_real_planes = match name {
        "throughput" => Box::pin(throughput::run(&environment, options)).await,
        "projection" => Box::pin(projection::run(&environment, options)).await,
        "workload" => Box::pin(workload::run(&environment, options)).await,
        "latency" => Box::pin(latency::run(&environment, options)).await,
        "requests" => Box::pin(requests::run(&environment, options)).await,
        "admission" => Box::pin(admission::run(&environment, options)).await,
        "cli" => Box::pin(cli::run(&environment, options)).await,
        "failover" => Box::pin(failover::run(&environment, options)).await,
        "memory" => Box::pin(memory::real(&environment, options)).await,
        "restart" => Box::pin(restart::real(&environment, options)).await,
        "connections" => Box::pin(connections::real(&environment, options)).await,
        _ => {
            let known = names().collect::<Vec<_>>().join(", ");
            Err(Error::Unknown { kind: "benchmark", name: name.to_owned(), known })
        }
    }?;
    Ok(match in_memory {
        Some(in_memory) => in_memory.and(on_real_planes),
        None => on_real_planes,
    })
}

#[cfg(test)]
impl Options {
    /// Options for what measures nothing.
    fn for_tests() -> Self {
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

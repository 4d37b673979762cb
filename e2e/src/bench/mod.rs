//! Benchmarks: figures of fedhub, each against a bar and, where that says more, against a baseline in the same run.
//!
//! What runs is the release build of fedhub as a process of its own, on real planes. Where there is a baseline, laps of
//! fedhub and of the baseline follow each other, both judged by the same watch of the benchmark's own, and the median of
//! the laps counts. Karmada's controllers are stopped, but for `rollout`, which has the whole chain. What takes more
//! planes than a machine has room for runs on planes in memory ([`fake_apiserver`]).

pub mod baseline;
pub mod environment;
pub mod fake_apiserver;
pub mod fixture;
pub mod loader;
pub mod metrics;
pub mod objects;
pub mod process;
pub mod report;
pub mod stats;
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
mod projection;
mod recovery;
mod requests;
mod restart;
mod rollout;
mod scaling;
mod throughput;
mod workload;

use std::path::PathBuf;

pub use environment::clear_up;

use self::environment::Environment;
use self::report::Report;
use crate::Error;
use crate::progress::Progress;

/// What the benchmarks are called and what they are about, in the order of the table.
pub const BENCHMARKS: [(&str, &str); 18] = [
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

/// How to measure.
#[derive(Debug, Clone)]
pub struct Options {
    /// The program that is measured.
    pub fedhub: PathBuf,
    /// Laps of each side.
    pub repetitions: usize,
    /// The part of the usual number of objects; 1 for figures that count.
    pub scale: f64,
    /// Minutes of doing nothing.
    pub minutes: u32,
    /// Planes that run already, in place of planes of the benchmark's own.
    pub instance: Option<String>,
    /// Where it says what it does.
    pub progress: Progress,
}

impl Options {
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

/// The names of the benchmarks.
pub fn names() -> impl Iterator<Item = &'static str> {
    BENCHMARKS.into_iter().map(|(name, _)| name)
}

/// Runs one benchmark, on planes that are there for nothing else.
pub async fn run(name: &str, options: &Options) -> Result<Report, Error> {
    let report = Box::pin(measure(name, options)).await;
    let cleared = environment::clear_up().await;
    let report = report?;
    cleared?;
    let date = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    Ok(report.measured(&machine::words(), &date, options.scale, options.repetitions))
}

async fn measure(name: &str, options: &Options) -> Result<Report, Error> {
    let in_memory = match name {
        "noisy-neighbor" => return Box::pin(noisy_neighbor::run(options)).await,
        "recovery" => return Box::pin(recovery::run(options)).await,
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
    match (name, in_memory) {
        ("throughput", _) => Box::pin(throughput::run(&environment, options)).await,
        ("projection", _) => Box::pin(projection::run(&environment, options)).await,
        ("workload", _) => Box::pin(workload::run(&environment, options)).await,
        ("latency", _) => Box::pin(latency::run(&environment, options)).await,
        ("requests", _) => Box::pin(requests::run(&environment, options)).await,
        ("admission", _) => Box::pin(admission::run(&environment, options)).await,
        ("cli", _) => Box::pin(cli::run(&environment, options)).await,
        ("failover", _) => Box::pin(failover::run(&environment, options)).await,
        ("memory", Some(fake)) => {
            Ok(Report::of(name, "MB", fake, Box::pin(memory::real(&environment, options)).await?))
        }
        ("restart", Some(fake)) => Ok(Report::of(
            name,
            "times the bare list",
            fake,
            Box::pin(restart::real(&environment, options)).await?,
        )),
        ("connections", Some(fake)) => Ok(Report::of(
            name,
            "connections",
            fake,
            Box::pin(connections::real(&environment, options)).await?,
        )),
        _ => {
            let known = names().collect::<Vec<_>>().join(", ");
            Err(Error::Unknown { kind: "benchmark", name: name.to_owned(), known })
        }
    }
}

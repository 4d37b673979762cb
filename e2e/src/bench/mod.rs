//! Benchmarks: figures of fedhub, each against a bar and, where that says more, against a yardstick in the same run.
//!
//! What runs is the release build of fedhub as a process of its own, on real planes. Where there is a yardstick, laps of
//! fedhub and of the yardstick follow each other, both judged by the same watch of the benchmark's own, and the median of
//! the laps counts. Karmada's controllers are stopped.

pub mod estate;
pub mod loader;
pub mod metrics;
pub mod objects;
pub mod process;
pub mod report;
pub mod stage;
pub mod stats;
pub mod watch;
pub mod yardstick;

mod projection;
mod requests;
mod throughput;

use std::path::PathBuf;

use self::{report::Report, stage::Stage};
use crate::{Error, progress::Progress};
pub use stage::clear_up;

/// What the benchmarks are called, in the order of the table.
pub const NAMES: [&str; 3] = ["throughput", "projection", "requests"];

/// How to measure.
#[derive(Debug, Clone)]
pub struct Options {
    /// The program that is measured.
    pub fedhub: PathBuf,
    /// Laps of each side.
    pub repetitions: usize,
    /// The part of the usual number of objects; 1 for figures that count.
    pub scale: f64,
    /// Planes that run already, in place of planes of the benchmark's own.
    pub instance: Option<String>,
    /// Where it says what it does.
    pub progress: Progress,
}

impl Options {
    /// So many objects at this scale.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // counts
    pub fn scaled(&self, count: usize) -> usize {
        ((stats::number(count) * self.scale).round() as usize).max(1)
    }
}

/// What a benchmark is about, in a line.
pub fn about(name: &str) -> &'static str {
    match name {
        "throughput" => "5,000 WDs over 50 namespaces: WDs a second, against a bare client",
        "projection" => "10,000 hub Instances of 500 WDs: Instances a second, against a bare client",
        "requests" => "API requests per WD, per status change, per no-op",
        _ => "",
    }
}

/// Runs one benchmark on planes that are there for nothing else.
pub async fn run(name: &str, options: &Options) -> Result<Report, Error> {
    stage::clear_up().await?;
    let stage = Stage::up(options).await?;
    let report = match name {
        "throughput" => throughput::run(&stage, options).await,
        "projection" => projection::run(&stage, options).await,
        "requests" => requests::run(&stage, options).await,
        _ => Err(Error::Unknown { kind: "benchmark", name: name.to_owned(), known: NAMES.join(", ") }),
    };
    let cleared = stage::clear_up().await;
    let report = report?;
    cleared?;
    Ok(report)
}

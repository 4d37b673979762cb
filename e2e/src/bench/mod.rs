//! Benchmarks: figures of fedhub, each against a bar and, where that says more, against a baseline in the
//! same run.
//!
//! What runs is the release build of fedhub as a process of its own, on real planes. Where there is a
//! baseline, laps of fedhub and of the baseline follow each other, both measured by the same watch of the
//! benchmark's own, until [`judge`] can decide on which side of its bar each figure is. Karmada's controllers
//! are stopped, but for `rollout`, which has the whole chain. What takes more planes than a machine has room
//! for runs on planes in memory ([`fake_apiserver`]).

pub mod baseline;
pub mod catalogue;
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
pub mod options;
pub mod process;
pub mod race;
pub mod report;
pub mod stats;
pub mod table;
pub mod watch;

mod admission;
mod cli;
mod connections;
mod course;
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
mod rollout_requests;
mod scaling;
mod throughput;
mod workload;

pub use catalogue::{BENCHMARKS, names};
pub use environment::clear_up;
pub use machine::today;
pub use options::Options;

use self::environment::Environment;
use self::figure::Figure;
use self::report::{Findings, Report};
use crate::Error;
use crate::topology::planes::Cells;

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
        return Box::pin(rollout::run(&Environment::whole(options, Cells::Two).await?, options)).await;
    }
    let cells = if name == "rollout-requests" { Cells::Four } else { Cells::Two };
    let environment = Environment::up(options, cells).await?;
    let on_real_planes = match name {
        "throughput" => Box::pin(throughput::run(&environment, options)).await,
        "projection" => Box::pin(projection::run(&environment, options)).await,
        "workload" => Box::pin(workload::run(&environment, options)).await,
        "latency" => Box::pin(latency::run(&environment, options)).await,
        "requests" => Box::pin(requests::run(&environment, options)).await,
        "rollout-requests" => Box::pin(rollout_requests::run(&environment, options)).await,
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

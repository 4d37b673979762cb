//! `fedhub-bench`: what fedhub costs and how fast it is.

// Printing with the macros ends a program whose reader has gone away.
#![deny(clippy::print_stdout, clippy::print_stderr)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context;
use clap::Parser;
use clap::builder::PossibleValuesParser;
use fedhub_e2e::bench::table::{self, Now};
use fedhub_e2e::bench::{self, BENCHMARKS, Options, documents, report};
use fedhub_e2e::output::{complain, say};
use fedhub_e2e::progress::Progress;
use fedhub_e2e::{fedhub, repository};
use tokio::signal::unix::{SignalKind, signal};

/// What there is beside the benchmarks.
const OTHERS: [&str; 4] = ["all", "list", "show", "table"];
/// Where the reports are, unless another directory is named.
const REPORTS: &str = "target/bench";

/// Measures fedhub, which runs as a process of its own beside real planes.
#[derive(Parser)]
#[command(name = "fedhub-bench", max_term_width = 110)]
struct Arguments {
    /// A benchmark; `all` runs every one and writes its report, `list` names them, `show` prints reports,
    /// `table` writes the tables of README.md and docs/benchmarks.md from the reports in docs/benchmarks.
    #[arg(value_parser = names())]
    what: String,
    /// With `all` and `show`: the directory of the reports [default: target/bench].
    directory: Option<PathBuf>,
    /// Print the report as one line of JSON.
    #[arg(long)]
    json: bool,
    /// With `all`: exit with 1 where a bar is missed. One that cannot be told from the noise here is not.
    #[arg(long)]
    strict: bool,
    /// Fewer objects and laps, and with `all` no new laps after twenty minutes. The figures are marked as
    /// such.
    #[arg(long)]
    quick: bool,
    /// With `table`: change nothing, and exit with 1 where the documents are not what would be written.
    #[arg(long)]
    check: bool,
    /// With `table`: take the reports of this directory over into docs/benchmarks first.
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "check")]
    adopt: Option<PathBuf>,
    /// Laps of each side at most. They end as soon as every bar is decided.
    #[arg(long, default_value_t = 12, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=99))]
    laps: u8,
    /// The part of the usual number of objects, for a quick try. Figures at another scale than 1 prove
    /// nothing.
    #[arg(long, default_value_t = 1.0, value_name = "PART")]
    scale: f64,
    /// With `idle`: for how many minutes nothing happens.
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=600))]
    minutes: u32,
    /// The fedhub to measure [default: the one beside this program].
    #[arg(long, value_name = "PATH")]
    fedhub: Option<PathBuf>,
    /// An instance of the planes that runs already and is good for nothing else afterwards.
    #[arg(long, value_name = "NAME")]
    instance: Option<String>,
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(bench::names().chain(OTHERS))
}

// More threads than a small machine has cores: what is measured does not wait for what else is being decoded
// here.
#[tokio::main(worker_threads = 4)]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // What a benchmark started ends with its future.
    let done = tokio::select! {
        done = run(&arguments) => done,
        interrupted = interruption() => interrupted,
    };
    if let Err(error) = bench::clear_up().await {
        complain(format_args!("fedhub-bench: {error}"));
    }
    match done {
        Ok(code) => code,
        Err(error) => {
            complain(format_args!("fedhub-bench: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let directory = arguments.directory.clone().unwrap_or_else(|| PathBuf::from(REPORTS));
    match arguments.what.as_str() {
        "list" => {
            for (name, about) in BENCHMARKS {
                say(format_args!("{name:<16} {about}"));
            }
        }
        "show" => say(table::whole(&report::load(&directory)?, now())),
        "table" => write_documents(arguments)?,
        "all" => return all(arguments, &directory).await,
        name => {
            let report = bench::run(name, &command(), &options(arguments)).await?;
            if arguments.json {
                say(report.line()?);
            } else {
                say(table::whole(std::slice::from_ref(&report), now()));
                say(format_args!("{:#}", report.details));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs every benchmark, also after one that could not run.
async fn all(arguments: &Arguments, directory: &Path) -> anyhow::Result<ExitCode> {
    let options = options(arguments);
    let command = command();
    let began = Instant::now();
    let mut reports = Vec::new();
    let mut broken = Vec::new();
    for (place, name) in bench::names().enumerate() {
        options.progress.step(format!("benchmark {name}"));
        match bench::run(name, &command, &options.in_turn(began, place)).await {
            Ok(report) => {
                report.save(directory)?;
                reports.push(report);
            }
            Err(error) => {
                options.progress.warn(format!("benchmark {name} could not run: {error}"));
                broken.push(name);
            }
        }
    }
    say(table::whole(&reports, now()));
    options.progress.step(format!("all benchmarks took {:.1} minutes", began.elapsed().as_secs_f64() / 60.0));
    if !broken.is_empty() {
        anyhow::bail!("could not run: {}", broken.join(", "));
    }
    let missed = reports.iter().any(report::Report::misses);
    Ok(if missed && arguments.strict { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn options(arguments: &Arguments) -> Options {
    let options = Options {
        fedhub: arguments.fedhub.clone().unwrap_or_else(|| fedhub::Options::new().program),
        laps: usize::from(arguments.laps),
        scale: arguments.scale,
        minutes: arguments.minutes,
        quick: false,
        deadline: None,
        instance: arguments.instance.clone(),
        progress: Progress::stderr(),
    };
    if arguments.quick { options.quick() } else { options }
}

/// What the user typed, with the program by its name alone: where it was is a fact of the machine.
fn command() -> String {
    let arguments = std::env::args().skip(1);
    std::iter::once("fedhub-bench".to_owned()).chain(arguments).collect::<Vec<_>>().join(" ")
}

fn now() -> Now<'static> {
    Now { today: bench::today(), version: env!("CARGO_PKG_VERSION") }
}

/// Writes the tables of the documents, or checks them.
fn write_documents(arguments: &Arguments) -> Result<(), fedhub_e2e::Error> {
    let repository = repository();
    if arguments.check {
        return documents::check(&repository, bench::today());
    }
    if let Some(directory) = &arguments.adopt {
        documents::adopt(&repository, directory)?;
    }
    for document in documents::write(&repository, bench::today())? {
        say(document);
    }
    Ok(())
}

/// Ends when the user or the system asks for it.
async fn interruption<T>() -> anyhow::Result<T> {
    let asked = |kind| signal(kind).context("cannot listen for signals");
    let mut interrupt = asked(SignalKind::interrupt())?;
    let mut terminate = asked(SignalKind::terminate())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    anyhow::bail!("interrupted")
}

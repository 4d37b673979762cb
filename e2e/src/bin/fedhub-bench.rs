//! `fedhub-bench`: what fedhub costs and how fast it is.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use clap::builder::PossibleValuesParser;
use fedhub_e2e::bench::{self, BENCHMARKS, Options, report};
use fedhub_e2e::fedhub;
use fedhub_e2e::progress::Progress;
use tokio::signal::unix::{SignalKind, signal};

/// What there is beside the benchmarks.
const OTHERS: [&str; 3] = ["all", "list", "table"];
/// Where the reports are, unless another directory is named.
const REPORTS: &str = "target/bench";

/// Measures fedhub, which runs as a process of its own beside real planes.
#[derive(Parser)]
#[command(name = "fedhub-bench", max_term_width = 110)]
struct Arguments {
    /// A benchmark; `all` runs every one and writes its report, `list` names them, `table` prints the table of
    /// docs/benchmarks.md from reports.
    #[arg(value_parser = names())]
    what: String,
    /// With `all` and `table`: the directory of the reports [default: target/bench].
    directory: Option<PathBuf>,
    /// Print the report as one line of JSON.
    #[arg(long)]
    json: bool,
    /// With `all`: exit with 1 where a bar is missed.
    #[arg(long)]
    strict: bool,
    /// Laps of each side; the median counts.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=99))]
    repetitions: u8,
    /// The part of the usual number of objects, for a quick try. Figures at another scale than 1 prove nothing.
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

// More threads than a small machine has cores: what is measured does not wait for what else is being decoded here.
#[tokio::main(worker_threads = 4)]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // What a benchmark started ends with its future.
    let done = tokio::select! {
        done = run(&arguments) => done,
        interrupted = interruption() => interrupted,
    };
    if let Err(error) = bench::clear_up().await {
        eprintln!("fedhub-bench: {error}");
    }
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("fedhub-bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let directory = arguments.directory.clone().unwrap_or_else(|| PathBuf::from(REPORTS));
    match arguments.what.as_str() {
        "list" => {
            for (name, about) in BENCHMARKS {
                println!("{name:<14} {about}");
            }
        }
        "table" => print_table(&directory)?,
        "all" => return all(arguments, &directory).await,
        name => {
            let report = bench::run(name, &options(arguments)).await?;
            if arguments.json {
                println!("{}", report.line()?);
            } else {
                println!("{}", report::table(std::slice::from_ref(&report)));
                println!("{:#}", report.details);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs every benchmark, also after one that could not run.
async fn all(arguments: &Arguments, directory: &Path) -> anyhow::Result<ExitCode> {
    let options = options(arguments);
    let (mut reports, mut broken) = (Vec::new(), Vec::new());
    for name in bench::names() {
        options.progress.step(format!("benchmark {name}"));
        match bench::run(name, &options).await {
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
    println!("{}", report::table(&reports));
    if !broken.is_empty() {
        anyhow::bail!("could not run: {}", broken.join(", "));
    }
    let missed = reports.iter().any(|report| !report.pass);
    Ok(if missed && arguments.strict { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn options(arguments: &Arguments) -> Options {
    Options {
        fedhub: arguments.fedhub.clone().unwrap_or_else(|| fedhub::Options::new().program),
        repetitions: usize::from(arguments.repetitions),
        scale: arguments.scale,
        minutes: arguments.minutes,
        instance: arguments.instance.clone(),
        progress: Progress::stderr(),
    }
}

fn print_table(directory: &Path) -> anyhow::Result<()> {
    let reports = report::load(directory, &bench::names().collect::<Vec<_>>())?;
    println!("{}\n\n{}", report::table(&reports), report::footnotes(&reports));
    Ok(())
}

/// Ends when the user or the system asks for it.
async fn interruption<T>() -> anyhow::Result<T> {
    let asked = |kind| signal(kind).context("cannot listen for signals");
    let (mut interrupt, mut terminate) = (asked(SignalKind::interrupt())?, asked(SignalKind::terminate())?);
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    anyhow::bail!("interrupted")
}

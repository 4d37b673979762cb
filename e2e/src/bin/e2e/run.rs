//! `e2e` without a command: runs the suites. `e2e all`: these, and everything else that runs on real planes.

use std::process::ExitCode;
use std::time::Duration;

use fedhub_e2e::interruption::interruption;
use fedhub_e2e::lanes::{self, Check};
use fedhub_e2e::output::{complain, say};
use fedhub_e2e::topology::planes::Cells;
use fedhub_e2e::{servers, suites};

use crate::chaos::Rounds;
use crate::target::{self, Target};

/// Which suites, against what.
#[derive(clap::Args)]
pub struct Run {
    /// Run this suite only; may be given more than once.
    #[arg(long = "suite", value_name = "NAME")]
    suites: Vec<String>,
    #[command(flatten)]
    target: Target,
    /// One more flag of `fedhub run`; may be given more than once.
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    fedhub_arg: Vec<String>,
    /// On how many instances of the planes suites run side by side; each takes about 2.3 GiB of memory.
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=8))]
    lanes: u8,
    /// How many suites run at once on an instance.
    #[arg(long, default_value_t = 6, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    parallel: u16,
    /// How many seconds an operation of a suite may take before it counts as failed.
    #[arg(long, default_value_t = 90, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=600))]
    timeout: u64,
    /// Fail, too, where a suite failed and passed when it was run again alone.
    #[arg(long)]
    strict: bool,
    /// Use the instance that `--keep` left, and the fedhub that runs there unless one is given; leave them
    /// running. There is one lane, and nothing is run again.
    #[arg(long, requires = "name")]
    reuse: bool,
    /// List the suites.
    #[arg(long)]
    list: bool,
}

/// Everything that runs on real planes.
#[derive(clap::Args)]
pub struct All {
    #[command(flatten)]
    run: Run,
    #[command(flatten)]
    rounds: Rounds,
}

/// Runs the suites, and beside them alerts, status page and kills.
pub async fn all(arguments: All) -> anyhow::Result<ExitCode> {
    let checks = vec![arguments.rounds.check(), Check::Alerts, Check::Page];
    run(arguments.run, checks).await
}

/// Runs suites, and these checks beside them. Exit code 2 for a suite that there is not.
pub async fn run(arguments: Run, checks: Vec<Check>) -> anyhow::Result<ExitCode> {
    let suites = match suites::choose(&arguments.suites) {
        Ok(suites) => suites,
        Err(error @ fedhub_e2e::Error::Unknown { .. }) => {
            complain(format_args!("e2e: {error}"));
            return Ok(ExitCode::from(2));
        }
        Err(error) => return Err(error.into()),
    };
    if arguments.list {
        for suite in suites {
            let alone = if suite.alone { " (alone)" } else { "" };
            let cells = if suite.cells == Cells::Four { " (four cells)" } else { "" };
            say(format_args!("{}{alone}{cells}", suite.name));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let target = arguments.target;
    let servers = servers::Options {
        replace: target.fedhub.is_some() || !arguments.fedhub_arg.is_empty(),
        fedhub_arguments: arguments.fedhub_arg,
        reuse: arguments.reuse,
        ..target.servers()
    };
    let options = lanes::Options {
        suites,
        checks,
        // What runs before this in an instance that is reused is in its audit logs too, and only adds to what
        // is used.
        all: arguments.suites.is_empty(),
        servers,
        lanes: if arguments.reuse { 1 } else { usize::from(arguments.lanes) },
        keep: target.keep || arguments.reuse,
        parallel: usize::from(arguments.parallel),
        timeout: Duration::from_secs(arguments.timeout),
    };
    let found = tokio::select! {
        found = lanes::run(&options) => found.map_err(anyhow::Error::from),
        interrupted = interruption() => interrupted,
    };
    let passed = found
        .as_ref()
        .is_ok_and(|found| found.complaints.is_empty() && found.report.passed(arguments.strict));
    // An instance without a name of its own, and without failures to look into, leaves nothing behind.
    let evidence = target.name.is_some() || !passed;
    for name in options.instances() {
        let servers = servers::Options { name, ..options.servers.clone() };
        target::leave(&servers, target.keep || arguments.reuse, evidence).await?;
    }
    let found = found?;
    target::print(&found.complaints);
    say(format!("\n{}\n{}", found.times, found.report.closing()).trim_end());
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

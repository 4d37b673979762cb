//! `e2e` without a command: runs the suites.

use std::process::ExitCode;
use std::time::Duration;

use fedhub_e2e::{servers, suites};

use crate::interruption;
use crate::target::Target;

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
    /// How many suites run at once.
    #[arg(long, default_value_t = 6, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    parallel: u16,
    /// How many seconds an operation of a suite may take before it counts as failed.
    #[arg(long, default_value_t = 90, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=600))]
    timeout: u64,
    /// Use the instance that `--keep` left, and the fedhub that runs there unless one is given; leave them running.
    #[arg(long, requires = "name")]
    reuse: bool,
    /// List the suites.
    #[arg(long)]
    list: bool,
}

/// Runs the suites. Exit code 2 for a suite that there is not.
pub async fn run(arguments: Run) -> anyhow::Result<ExitCode> {
    let suites = match suites::choose(&arguments.suites) {
        Ok(suites) => suites,
        Err(error @ fedhub_e2e::Error::Unknown { .. }) => {
            eprintln!("e2e: {error}");
            return Ok(ExitCode::from(2));
        }
        Err(error) => return Err(error.into()),
    };
    if arguments.list {
        for suite in suites {
            println!("{}{}", suite.name, if suite.alone { " (alone)" } else { "" });
        }
        return Ok(ExitCode::SUCCESS);
    }
    // What runs before this in an instance that is reused is in its audit logs too, and only adds to what is used.
    let all = arguments.suites.is_empty();
    let target = arguments.target;
    let servers = servers::Options {
        replace: target.fedhub.is_some() || !arguments.fedhub_arg.is_empty(),
        fedhub_arguments: arguments.fedhub_arg,
        reuse: arguments.reuse,
        ..target.servers()
    };
    let options = suites::Options {
        suites,
        servers,
        parallel: usize::from(arguments.parallel),
        timeout: Duration::from_secs(arguments.timeout),
    };
    let done = tokio::select! {
        done = suites::run(&options) => done.map_err(anyhow::Error::from),
        interrupted = interruption() => interrupted,
    };
    let (discreet, allowed) =
        (crate::kept_its_secrets(&options.servers)?, crate::had_its_rights(&options.servers)?);
    let mut passed =
        discreet && allowed && done.as_ref().is_ok_and(|results| results.iter().all(|result| result.passed));
    if passed && all {
        passed = crate::used_its_rights(&options.servers).await?;
    }
    // An instance without a name of its own, and without failures to look into, leaves nothing behind.
    crate::leave(&options.servers, target.keep || arguments.reuse, target.name.is_some() || !passed).await?;
    let results = done?;
    let failed: Vec<_> = results.iter().filter(|result| !result.passed).map(|result| &*result.name).collect();
    if !failed.is_empty() {
        println!("failed: {}", failed.join(", "));
    }
    println!("{} passed, {} failed", results.len() - failed.len(), failed.len());
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

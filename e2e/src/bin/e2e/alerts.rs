//! `e2e alerts`: the alerts and dashboards of `deploy/` on a real Prometheus and a real Alertmanager.

use std::path::PathBuf;
use std::process::ExitCode;

use fedhub_e2e::progress::Progress;
use fedhub_e2e::{alerts, fedhub, servers};

use crate::interruption;

/// How far to go.
#[derive(clap::Args)]
pub struct Alerts {
    /// Check and test the rules with promtool only, without planes.
    #[arg(long, conflicts_with_all = ["name", "keep", "fedhub"])]
    rules: bool,
    /// The instance of the planes [default: a name of this run's own].
    #[arg(long, value_name = "INSTANCE")]
    name: Option<String>,
    /// Leave planes, fedhub, Prometheus and Alertmanager running, for a look; `e2e down` ends them.
    #[arg(long)]
    keep: bool,
    /// The fedhub to test [default: the one beside this program].
    #[arg(long, value_name = "PATH")]
    fedhub: Option<PathBuf>,
}

/// Tests. Exit code 1 where an alert or a dashboard is not as expected.
pub async fn run(arguments: Alerts) -> anyhow::Result<ExitCode> {
    let progress = Progress::stderr();
    if arguments.rules {
        alerts::check(&progress).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let named = arguments.name.is_some();
    let servers = servers::Options {
        name: arguments.name.unwrap_or_else(|| format!("e2e-{}", std::process::id())),
        fedhub: arguments.fedhub.unwrap_or_else(|| fedhub::Options::new().program),
        fedhub_arguments: Vec::new(),
        reuse: false,
        replace: false,
        progress,
    };
    let done = tokio::select! {
        done = alerts::run(&servers) => done.map_err(anyhow::Error::from),
        interrupted = interruption() => interrupted,
    };
    let passed = crate::kept_its_secrets(&servers)? && done.is_ok();
    crate::leave(&servers, arguments.keep, named || !passed).await?;
    done?;
    println!("alerts and dashboards: {}", if passed { "passed" } else { "failed" });
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

//! `e2e alerts`: the alerts and dashboards of `deploy/` on a real Prometheus and a real Alertmanager.

use std::process::ExitCode;

use fedhub_e2e::interruption::interruption;
use fedhub_e2e::output::say;
use fedhub_e2e::progress::Progress;
use fedhub_e2e::topology::Layout;
use fedhub_e2e::{alerts, evidence};

use crate::target::{self, Target};

/// How far to go.
#[derive(clap::Args)]
pub struct Alerts {
    /// Check and test the rules with promtool only, without planes.
    #[arg(long, conflicts_with_all = ["name", "keep", "fedhub"])]
    rules: bool,
    #[command(flatten)]
    target: Target,
}

/// Tests. Exit code 1 where an alert or a dashboard is not as expected.
pub async fn run(arguments: Alerts) -> anyhow::Result<ExitCode> {
    if arguments.rules {
        alerts::check(&Progress::stderr()).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let target = arguments.target;
    let servers = target.servers();
    let done = tokio::select! {
        done = alerts::run(&servers) => done.map_err(anyhow::Error::from),
        interrupted = interruption() => interrupted,
    };
    let leaks = evidence::leaks(&[Layout::from_name(&servers.name)?])?;
    let passed = leaks.is_empty() && done.is_ok();
    target::leave(&servers, target.keep, target.name.is_some() || !passed).await?;
    target::print(&leaks);
    done?;
    say(format_args!("alerts and dashboards: {}", if passed { "passed" } else { "failed" }));
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

//! `fedhub-processes`: the provider of a cell whose servers are processes on this machine, until SIGTERM or
//! SIGINT. The processes go on.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use fedhub_core::clock::Clock;
use fedhub_core::metrics::Metrics;
use fedhub_core::telemetry::{self, LogFormat};
use fedhub_planes::discovery::credentials::Source;
use fedhub_processes::Processes;
use fedhub_provider::{ProviderSettings, Standalone};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Runs the Instances of a cell as processes on this machine, for tests and demonstrations: whoever may write
/// Workloads has commands run as the user of this program.
#[derive(Debug, Parser)]
#[command(name = "fedhub-processes", version, max_term_width = 110)]
struct Arguments {
    /// Kubeconfig of the cell.
    #[arg(long, value_name = "FILE")]
    cell_kubeconfig: PathBuf,
    /// Directory for what is known of the processes, their logs, and where they work.
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// Namespace of the Lease in the cell: of several programs for one cell, its holder acts.
    #[arg(long, default_value = "fedhub-cells", value_name = "NAMESPACE")]
    lease_namespace: String,
    /// Log filter, such as `info` or `info,fedhub_provider=debug`.
    #[arg(long, default_value = "info", value_name = "FILTER")]
    log: String,
    /// Log format: `text` or `json`.
    #[arg(long, default_value = "text")]
    log_format: LogFormat,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    telemetry::start(&arguments.log, arguments.log_format).map_err(anyhow::Error::msg)?;
    let installed = rustls::crypto::ring::default_provider().install_default();
    installed.map_err(|_| anyhow::anyhow!("another TLS provider is installed"))?;
    let clock = Clock::system();
    let state = &arguments.state;
    let processes = Processes::new(state, clock.clone()).with_context(|| {
        format!("--state {} cannot be used, or another fedhub-processes uses it", state.display())
    })?;
    let started = clock.now().as_nanosecond();
    let options = Standalone {
        lease_namespace: arguments.lease_namespace,
        lease_name: "fedhub-processes".to_owned(),
        identity: format!("fedhub-processes_{}_{started}", std::process::id()),
        seed: u64::try_from(started).unwrap_or_default(),
        metrics: Metrics::new()?,
        clock,
        // What is asked of this machine has happened when it is answered.
        settings: ProviderSettings { settle: Duration::from_secs(1), ..ProviderSettings::default() },
    };
    let stop = CancellationToken::new();
    let stopping = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        stopping.cancel();
    });
    let cell = Source::file(&arguments.cell_kubeconfig, None);
    fedhub_provider::run(cell, options, Arc::new(processes), stop).await?;
    Ok(())
}

//! `fedhub-simulate`: simulated services, for tests and demonstrations, until SIGTERM or SIGINT.

// Printing with the macros ends a program whose reader has gone away.
#![deny(clippy::print_stdout, clippy::print_stderr)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;
use fedhub_core::clock::{Clock, parse_duration};
use fedhub_core::errors;
use fedhub_core::telemetry;
use fedhub_core::telemetry::LogFormat;
use fedhub_simulate::{Part, Times, metrics};
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::signal::unix::{SignalKind, signal};

/// Exit code for a bad flag or configuration: nothing was started.
const MISUSE: u8 = 2;

/// Simulated services (hypervisor, network, metrics, quota), for tests and demonstrations, until SIGTERM or
/// SIGINT.
#[derive(Debug, Parser)]
#[command(name = "fedhub-simulate", version, about, max_term_width = 110)]
struct Args {
    /// Simulate the hypervisor's provider on the cell: bring Instances up.
    #[arg(long)]
    provider: bool,
    /// Simulate the network service on the cell: bind networks, hand out subnets.
    #[arg(long)]
    network: bool,
    /// Simulate the metrics service on the cell, for autoscalers: a Pod for each Instance that runs, and what
    /// it uses.
    #[arg(long)]
    metrics: bool,
    /// Simulate the quota service on the project planes: grant claims.
    #[arg(long)]
    quota: bool,
    /// Kubeconfig of the cell. Required with --provider, --network and --metrics.
    #[arg(long, value_name = "FILE")]
    cell_kubeconfig: Option<PathBuf>,
    /// Name and kubeconfig of a project plane; may be given more than once. Required with --quota.
    #[arg(long = "project-kubeconfig", value_name = "NAME=FILE", value_parser = named_file)]
    project_kubeconfigs: Vec<(String, PathBuf)>,
    /// How long an Instance or a network takes to come up.
    #[arg(long, default_value = "500ms", value_parser = parse_duration, value_name = "DURATION")]
    start_time: Duration,
    /// How long the teardown of an Instance takes; with `0s`, it goes at once.
    #[arg(long, default_value = "0s", value_parser = parse_duration, value_name = "DURATION")]
    teardown_time: Duration,
    /// Log filter, such as `info` or `info,fedhub_simulate=debug`.
    #[arg(long, default_value = "info", value_name = "FILTER")]
    log: String,
    /// Log format: `text` or `json`.
    #[arg(long, default_value = "text")]
    log_format: LogFormat,
}

impl Args {
    /// What is wrong with the arguments taken together, a line for each fault.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if !(self.provider || self.network || self.metrics || self.quota) {
            faults.push("no part is chosen: give --provider, --network, --metrics or --quota".to_owned());
        }
        let cell = self.cell_kubeconfig.is_some();
        let projects = !self.project_kubeconfigs.is_empty();
        for (part, chosen, flag, given) in [
            ("--provider", self.provider, "--cell-kubeconfig", cell),
            ("--network", self.network, "--cell-kubeconfig", cell),
            ("--metrics", self.metrics, "--cell-kubeconfig", cell),
            ("--quota", self.quota, "--project-kubeconfig", projects),
        ] {
            if chosen && !given {
                faults.push(format!("{part} needs {flag}"));
            }
        }
        let cell = self.cell_kubeconfig.iter().map(|file| ("--cell-kubeconfig", file));
        let projects = self.project_kubeconfigs.iter().map(|(_, file)| ("--project-kubeconfig", file));
        for (flag, file) in cell.chain(projects) {
            if let Err(error) = std::fs::File::open(file) {
                faults.push(format!("{flag} {}: {error}", file.display()));
            }
        }
        faults
    }
}

/// A name and a file, as `NAME=FILE`.
fn named_file(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => {
            Ok((name.to_owned(), PathBuf::from(file)))
        }
        _ => Err(format!("{text:?} is no NAME=FILE")),
    }
}

/// Tells a fault on standard error; where nobody reads that, the exit code tells it.
fn complain(fault: &str) {
    let _gone = writeln!(std::io::stderr(), "fedhub-simulate: {fault}");
}

/// Checks the arguments, then simulates.
fn main() -> ExitCode {
    let args = Args::parse();
    let mut faults = args.faults();
    if let Err(fault) = telemetry::start(&args.log, args.log_format) {
        faults.push(fault);
    }
    if !faults.is_empty() {
        for fault in faults {
            complain(&fault);
        }
        return ExitCode::from(MISUSE);
    }
    let ended = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(anyhow::Error::from)
        .and_then(|runtime| runtime.block_on(simulate(args)));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&errors::chain(error.as_ref()));
            ExitCode::from(MISUSE)
        }
    }
}

async fn simulate(args: Args) -> anyhow::Result<()> {
    // Asked for first: a signal that comes while the process starts must not be lost.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let installed = rustls::crypto::ring::default_provider().install_default();
    installed.map_err(|_| anyhow::anyhow!("another TLS provider is installed"))?;
    let mut parts = Vec::new();
    let mut measured = None;
    if let Some(file) = &args.cell_kubeconfig {
        let cell = client(file).await?;
        if args.provider {
            parts.push(Part::Provider(cell.clone()));
        }
        if args.network {
            parts.push(Part::Network(cell.clone()));
        }
        if args.metrics {
            parts.push(Part::Metrics(cell.clone()));
            measured = Some(cell);
        }
    }
    if args.quota {
        for (name, file) in args.project_kubeconfigs {
            parts.push(Part::Quota(name, client(&file).await?));
        }
    }
    let times = Times { start: args.start_time, teardown: args.teardown_time };
    tokio::select! {
        () = fedhub_simulate::run(parts, times, Clock::system()) => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    if let Some(cell) = measured {
        metrics::withdraw(&cell).await.context("the cell still believes that there are metrics")?;
    }
    tracing::info!("stopped");
    Ok(())
}

async fn client(file: &Path) -> anyhow::Result<Client> {
    let load = async {
        let kubeconfig = Kubeconfig::read_from(file)?;
        let options = KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?;
        anyhow::Ok(Client::try_from(config)?)
    };
    load.await.with_context(|| format!("the kubeconfig {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_named_one_by_one() {
        let own = std::env::current_exe().unwrap();
        let own = own.to_str().unwrap();
        let cell = format!("--cell-kubeconfig={own}");
        let project = format!("--project-kubeconfig=a={own}");
        let cell = cell.as_str();
        let project = project.as_str();
        for (flags, expected) in [
            (&[][..], &["no part is chosen"][..]),
            (&[cell], &["no part is chosen"]),
            (
                &["--provider", "--network", "--metrics"],
                &["--provider needs --cell", "--network needs --cell", "--metrics needs --cell"],
            ),
            (&["--provider", "--cell-kubeconfig=/nowhere"], &["--cell-kubeconfig /nowhere"]),
            (&["--quota", cell], &["--quota needs --project-kubeconfig"]),
            (&["--quota", project, "--project-kubeconfig=b=/nowhere"], &["--project-kubeconfig /nowhere"]),
            (&["--provider", "--network", "--quota", cell, project], &[]),
        ] {
            let all = ["fedhub-simulate"].iter().chain(flags).copied();
            let faults = Args::try_parse_from(all).unwrap().faults();
            let fits = faults.iter().zip(expected).all(|(fault, start)| fault.starts_with(start));
            assert!(fits && faults.len() == expected.len(), "{flags:?}: {faults:?}");
        }
    }
}

//! `e2e`: the chainsaw suites against real planes, and what their scripts need.

// Printing with the macros ends a program whose reader has gone away.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod alerts;
mod chaos;
mod fedhub;
mod hostile;
mod killer;
mod page;
mod propagation;
mod run;
mod target;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use fedhub_e2e::gateway::Gateway;
use fedhub_e2e::interruption::interruption;
use fedhub_e2e::link::Link;
use fedhub_e2e::output::{complain, say};
use fedhub_e2e::progress::Progress;
use fedhub_e2e::suites::writes;
use fedhub_e2e::topology::{Layout, Options, Planes, write_servers};
use fedhub_e2e::{Error, chart, conformance, servers};
use jiff::Timestamp;

use crate::target::Instance;

/// Brings real planes and fedhub up, runs the suites, and takes everything down again.
#[derive(Parser)]
#[command(name = "e2e", args_conflicts_with_subcommands = true, max_term_width = 110)]
struct Arguments {
    #[command(flatten)]
    run: run::Run,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Run the suites, and beside them the alerts, the status page and the kills, each on planes of its own.
    All(run::All),
    /// Kill processes at random moments of rollouts: planes, fedhub and the cells are brought up for it.
    #[command(alias = "storm")]
    Chaos(chaos::Chaos),
    /// Test the alerts and dashboards of `deploy/` on a real Prometheus and Alertmanager: planes, fedhub and
    /// the cells are brought up for it.
    Alerts(alerts::Alerts),
    /// Look at the status page in a real browser: planes, fedhub and the cells are brought up for it.
    Page(page::Page),
    /// Compare what Helm renders of `deploy/chart` with what kubectl builds of the overlays, field by field,
    /// for each component; without planes.
    Chart,
    /// Do something to the fedhub of an instance, such as from a suite's script.
    Fedhub(fedhub::Fedhub),
    /// Serve the planes of projects below paths of one server, as Milo does, until SIGTERM.
    Gateway {
        /// Whose requests it passes on: a directory with a kubeconfig for each plane, `PLANE.yaml`, with a
        /// token [default: fedhub's].
        #[arg(long, value_name = "DIRECTORY")]
        callers: Option<PathBuf>,
        /// The kubeconfig to write for the caller, once it serves.
        #[arg(long, value_name = "FILE")]
        kubeconfig: PathBuf,
        /// A project and the plane that is its control plane, or the namespace of a plane that is; may be
        /// given more than once.
        #[arg(long = "project", value_name = "NAME=PLANE[/NAMESPACE]", value_parser = project)]
        projects: Vec<(String, String)>,
        /// After how many seconds it ends by itself.
        #[arg(long = "for", default_value_t = 900, value_name = "SECONDS")]
        seconds: u64,
        #[command(flatten)]
        instance: Instance,
    },
    /// Forward connections between a process and a plane until SIGTERM. While this is paused (SIGSTOP), the
    /// connection is cut.
    Link {
        /// The kubeconfig that names the plane.
        #[arg(long, value_name = "FILE")]
        from: PathBuf,
        /// Where to write the same kubeconfig with the address of this connection.
        #[arg(long, value_name = "FILE")]
        kubeconfig: PathBuf,
        /// After how many seconds it ends by itself.
        #[arg(long = "for", default_value_t = 900, value_name = "SECONDS")]
        seconds: u64,
    },
    /// Serve a plane that plays tricks until SIGTERM: what is sent in place of its answers is chosen by
    /// requests to the URL that is printed.
    Hostile(hostile::Hostile),
    /// Serve a webhook that kills fedhub (SIGKILL) at one of the writes that planes ask it about, until
    /// SIGTERM; prints its URL.
    Killer(killer::Killer),
    /// Run the conformance script of the in-memory API servers against a plane and against one of those, and
    /// print how each step went; fails unless both gave the answers that are expected.
    Conformance {
        /// The plane.
        #[arg(long, default_value = "project-a")]
        plane: String,
        #[command(flatten)]
        instance: Instance,
    },
    /// Time changes on their way from a project to the hub.
    Propagation {
        /// What is done.
        #[command(subcommand)]
        command: propagation::Propagation,
    },
    /// Print the writes of fedhub and of the cells' to the planes that are federated, from their audit logs.
    /// Dry runs are none, nor are leases and Events.
    Writes {
        /// Since this instant, such as `2026-01-02T03:04:05.678Z`.
        #[arg(long)]
        since: Timestamp,
        /// On this plane only; may be given more than once.
        #[arg(long = "plane", default_values = ["hub", "project-a", "project-b"])]
        planes: Vec<String>,
        /// In this namespace only; may be given more than once.
        #[arg(long = "namespace")]
        namespaces: Vec<String>,
        #[command(flatten)]
        instance: Instance,
    },
    /// End, kill, pause or start one process of the planes, such as `kube-controller-manager-hub`.
    Process {
        /// What.
        action: ProcessAction,
        /// The process, as `planes status` names it.
        process: String,
        #[command(flatten)]
        instance: Instance,
    },
    /// Lose the hub's state and set the hub up again, empty. Cells that are stopped are not waited for.
    RebuildHub {
        #[command(flatten)]
        instance: Instance,
    },
    /// Write a new CA and certificates of it for servers on this machine: `ca.crt`, `1/tls.crt`, `1/tls.key`
    /// and so on.
    Certificates {
        /// Where.
        #[arg(value_name = "DIRECTORY")]
        directory: PathBuf,
        /// How many certificates.
        #[arg(long, default_value_t = 1, value_name = "N")]
        count: usize,
        /// A plane whose API server shows one, too, as `planes/<PLANE>.crt` and `.key`; any number of times.
        #[arg(long = "plane", value_name = "PLANE")]
        planes: Vec<String>,
    },
    /// Print the time, as `writes --since` takes it.
    Now,
    /// End what `--keep` left. Logs and audit logs stay.
    Down {
        #[command(flatten)]
        instance: Instance,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum ProcessAction {
    /// Start it as it was started before, and wait until it serves.
    Start,
    /// End it until it is started again.
    Stop,
    /// Kill it (SIGKILL); it is gone until it is started again.
    Kill,
    /// Pause it (SIGSTOP).
    Pause,
    /// Let it go on (SIGCONT).
    Resume,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.command {
        Some(command) => help(command).await,
        None => run::run(arguments.run, Vec::new()).await,
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            complain(format_args!("e2e: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

async fn help(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::All(arguments) => return run::all(arguments).await,
        Command::Alerts(arguments) => return alerts::run(arguments).await,
        Command::Chaos(arguments) => return chaos::run(arguments).await,
        Command::Page(arguments) => return page::run(arguments).await,
        Command::Chart => chart::check(&Progress::stderr()).await?,
        Command::Gateway { callers, kubeconfig, projects, seconds, instance } => {
            let projects = projects.into_iter().collect();
            let layout = Layout::from_name(&instance.instance)?;
            let gateway = Gateway::listen(&layout, &projects, callers.as_deref(), &kubeconfig).await?;
            tokio::select! {
                () = gateway.serve() => {}
                () = tokio::time::sleep(Duration::from_secs(seconds)) => {}
                ended = interruption::<()>() => drop(ended),
            }
        }
        Command::Link { from, kubeconfig, seconds } => {
            let link = Link::listen(&from, &kubeconfig).await?;
            tokio::select! {
                () = link.serve() => {}
                () = tokio::time::sleep(Duration::from_secs(seconds)) => {}
                ended = interruption::<()>() => drop(ended),
            }
        }
        Command::Hostile(arguments) => hostile::run(arguments).await?,
        Command::Killer(arguments) => killer::run(arguments).await?,
        Command::Propagation { command } => propagation::run(command).await?,
        Command::Fedhub(arguments) => fedhub::run(arguments).await?,
        Command::Conformance { plane, instance } => conform(&plane, &instance.instance).await?,
        Command::Writes { since, planes, namespaces, instance } => {
            let layout = Layout::from_name(&instance.instance)?;
            for plane in planes {
                for event in writes::since(&layout, &plane, since, &namespaces)? {
                    say(event.line(&plane));
                }
            }
        }
        Command::Process { action, process, instance } => {
            on_process(&Planes::load(&instance.instance)?, action, &process).await?;
        }
        Command::RebuildHub { instance } => {
            Planes::load(&instance.instance)?.rebuild_hub(&Options::new(&instance.instance)).await?;
        }
        Command::Certificates { directory, count, planes } => write_servers(&directory, count, &planes)?,
        Command::Now => say(Timestamp::now()),
        Command::Down { instance } => {
            servers::down(&instance.instance, true).await?;
            Progress::stderr().step(format!("instance `{}` is down", instance.instance));
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn on_process(planes: &Planes, action: ProcessAction, process: &str) -> Result<(), Error> {
    match action {
        ProcessAction::Start => planes.start_process(process).await,
        ProcessAction::Stop => planes.stop_process(process).await,
        ProcessAction::Kill => planes.kill_process(process).await,
        ProcessAction::Pause => planes.pause_process(process).await,
        ProcessAction::Resume => planes.resume_process(process).await,
    }
}

async fn conform(plane: &str, instance: &str) -> anyhow::Result<()> {
    let steps = conformance::run(&Layout::from_name(instance)?, plane).await?;
    for step in &steps {
        say(step.line());
    }
    let failed = steps.iter().filter(|step| !step.passed()).count();
    anyhow::ensure!(failed == 0, "{failed} of {} steps failed", steps.len());
    Ok(())
}

fn project(text: &str) -> Result<(String, String), String> {
    let (name, plane) = text.split_once('=').ok_or("expected NAME=PLANE[/NAMESPACE]")?;
    Ok((name.to_owned(), plane.to_owned()))
}

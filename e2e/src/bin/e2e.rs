//! `e2e`: the chainsaw suites against real planes, and what their scripts need.

use std::{path::PathBuf, process::ExitCode, time::Duration};

use anyhow::Context;
use clap::{Parser, Subcommand, ValueEnum};
use fedhub_e2e::{
    conformance,
    fedhub::{self, Fedhub},
    front::Front,
    link::Link,
    planes::{Layout, Planes},
    progress::Progress,
    suites::{self, writes},
};
use jiff::Timestamp;
use tokio::signal::unix::{SignalKind, signal};

/// Brings real planes and fedhub up, runs the suites, and takes everything down again.
#[derive(Parser)]
#[command(name = "e2e", args_conflicts_with_subcommands = true, max_term_width = 110)]
struct Arguments {
    #[command(flatten)]
    run: Run,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(clap::Args)]
struct Run {
    /// Run this suite only; may be given more than once.
    #[arg(long = "suite", value_name = "NAME")]
    suites: Vec<String>,
    /// The instance of the planes [default: a name of this run's own].
    #[arg(long, value_name = "INSTANCE")]
    name: Option<String>,
    /// The fedhub to test [default: the one beside this program].
    #[arg(long, value_name = "PATH")]
    fedhub: Option<PathBuf>,
    /// One more flag of `fedhub run`; may be given more than once.
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true)]
    fedhub_arg: Vec<String>,
    /// How many suites run at once.
    #[arg(long, default_value_t = 6, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    parallel: u16,
    /// How many seconds an operation of a suite may take before it counts as failed.
    #[arg(long, default_value_t = 90, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=600))]
    timeout: u64,
    /// Leave planes and fedhub running, for a look or for `--reuse`; `e2e down` ends them.
    #[arg(long)]
    keep: bool,
    /// Use the instance that runs already, and the fedhub that runs there unless one is given; leave them running.
    #[arg(long, requires = "name")]
    reuse: bool,
    /// List the suites.
    #[arg(long)]
    list: bool,
}

#[derive(clap::Args)]
struct Instance {
    /// The instance.
    #[arg(long = "name", env = "E2E_INSTANCE")]
    instance: String,
}

#[derive(Subcommand)]
enum Command {
    /// Do something to the fedhub of an instance, such as from a suite's script.
    Fedhub {
        /// What.
        action: Action,
        /// With `start` or `attend`: a flag of `fedhub run` for this once, in place of the one of its name; may be given more than
        /// once.
        #[arg(long = "with", value_name = "FLAG", allow_hyphen_values = true)]
        flags: Vec<String>,
        /// Do it to a second replica beside the usual one.
        #[arg(long)]
        second: bool,
        /// Do it to the fedhub of this cell.
        #[arg(long, value_name = "CELL", conflicts_with = "second")]
        cell: Option<String>,
        /// Do it to what plays that cell's services: provider and network.
        #[arg(long, requires = "cell")]
        services: bool,
        #[command(flatten)]
        instance: Instance,
    },
    /// Serve the planes of projects below paths of one server, as Milo does, until SIGTERM.
    Front {
        /// The kubeconfig to write for fedhub, once it serves.
        #[arg(long, value_name = "FILE")]
        kubeconfig: PathBuf,
        /// A project and the plane that is its control plane, or the namespace of a plane that is; may be given more
        /// than once.
        #[arg(long = "project", value_name = "NAME=PLANE[/NAMESPACE]", value_parser = project)]
        projects: Vec<(String, String)>,
        /// After how many seconds it ends by itself, in case nobody ends it.
        #[arg(long = "for", default_value_t = 900, value_name = "SECONDS")]
        seconds: u64,
        #[command(flatten)]
        instance: Instance,
    },
    /// Be the line between a process and a plane, until SIGTERM: while this is paused (SIGSTOP), the line is cut.
    Link {
        /// The kubeconfig that names the plane.
        #[arg(long, value_name = "FILE")]
        from: PathBuf,
        /// The same kubeconfig by way of this line, to be written.
        #[arg(long, value_name = "FILE")]
        kubeconfig: PathBuf,
        /// After how many seconds it ends by itself, in case nobody ends it.
        #[arg(long = "for", default_value_t = 900, value_name = "SECONDS")]
        seconds: u64,
    },
    /// Run the conformance script of the in-memory API servers against a plane and against one of those, and print how
    /// each step went; fails unless both gave the answers that are expected.
    Conformance {
        /// The plane.
        #[arg(long, default_value = "project-a")]
        plane: String,
        #[command(flatten)]
        instance: Instance,
    },
    /// Print the writes of fedhub and of the cells' to the planes that are federated, from their audit logs. Dry runs
    /// are none, nor are leases and Events.
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
    /// End or start one process of the planes, such as `kube-controller-manager-hub`.
    Process {
        /// What.
        action: ProcessAction,
        /// The process, as `planes status` names it.
        process: String,
        #[command(flatten)]
        instance: Instance,
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
}

#[derive(Clone, Copy, ValueEnum)]
enum Action {
    /// Start it again and wait until it has engaged every plane.
    Start,
    /// Start it and stay until it ends; fails unless it ends well.
    Attend,
    /// Ask it to end (SIGTERM) and wait until it has.
    Stop,
    /// Kill it (SIGKILL).
    Kill,
    /// Pause it (SIGSTOP).
    Pause,
    /// Let it go on (SIGCONT).
    Resume,
    /// Stop and start.
    Restart,
    /// Wait until it leads and has nothing left to do, and neither have the cells' that run beside it.
    Settle,
    /// Print its metrics.
    Metrics,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.command {
        Some(command) => help(command).await.map(|()| ExitCode::SUCCESS),
        None => run(arguments.run).await,
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("e2e: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Run) -> anyhow::Result<ExitCode> {
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
    let named = arguments.name.is_some();
    let name = arguments.name.unwrap_or_else(|| format!("e2e-{}", std::process::id()));
    let options = suites::Options {
        suites,
        name,
        replace: arguments.fedhub.is_some() || !arguments.fedhub_arg.is_empty(),
        fedhub: arguments.fedhub.unwrap_or_else(|| fedhub::Options::new().program),
        fedhub_arguments: arguments.fedhub_arg,
        parallel: usize::from(arguments.parallel),
        timeout: Duration::from_secs(arguments.timeout),
        reuse: arguments.reuse,
        progress: Progress::stderr(),
    };
    let done = tokio::select! {
        done = suites::run(&options) => done.map_err(anyhow::Error::from),
        interrupted = interruption() => interrupted,
    };
    let passed = done.as_ref().is_ok_and(|results| results.iter().all(|result| result.passed));
    if arguments.keep || arguments.reuse {
        options
            .progress
            .step(format!("instance `{0}` keeps running; `e2e down --name {0}` ends it", options.name));
    } else {
        // Of an instance that nobody named and that has nothing to tell, nothing stays.
        suites::down(&options.name, named || !passed).await?;
        options.progress.step(format!("instance `{}` is down", options.name));
    }
    let results = done?;
    let failed: Vec<_> = results.iter().filter(|result| !result.passed).map(|result| &*result.name).collect();
    if !failed.is_empty() {
        println!("failed: {}", failed.join(", "));
    }
    println!("{} passed, {} failed", results.len() - failed.len(), failed.len());
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn help(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Front { kubeconfig, projects, seconds, instance } => {
            let projects = projects.into_iter().collect();
            let front = Front::listen(&Layout::of(&instance.instance)?, &projects, &kubeconfig).await?;
            tokio::select! {
                () = front.serve() => {}
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
        Command::Fedhub { action, flags, second, cell, services, instance } => {
            let layout = Layout::of(&instance.instance)?;
            let fedhub = match cell {
                Some(cell) if services => Fedhub::services(&layout, &cell)?,
                Some(cell) => Fedhub::cell(&layout, &cell)?,
                None if second => Fedhub::second(&layout)?,
                None => Fedhub::load(&layout)?,
            };
            act(&fedhub, action, &flags).await?;
        }
        Command::Conformance { plane, instance } => {
            let steps = conformance::run(&Layout::of(&instance.instance)?, &plane).await?;
            for step in &steps {
                println!("{}", step.line());
            }
            let failed = steps.iter().filter(|step| !step.passed()).count();
            anyhow::ensure!(failed == 0, "{failed} of {} steps failed", steps.len());
        }
        Command::Writes { since, planes, namespaces, instance } => {
            let layout = Layout::of(&instance.instance)?;
            for plane in planes {
                for event in writes::since(&layout, &plane, since, &namespaces)? {
                    println!("{}", event.line(&plane));
                }
            }
        }
        Command::Process { action, process, instance } => {
            let planes = Planes::load(&instance.instance)?;
            match action {
                ProcessAction::Start => planes.start_process(&process).await?,
                ProcessAction::Stop => planes.stop_process(&process).await?,
            }
        }
        Command::Now => println!("{}", Timestamp::now()),
        Command::Down { instance } => {
            suites::down(&instance.instance, true).await?;
            Progress::stderr().step(format!("instance `{}` is down", instance.instance));
        }
    }
    Ok(())
}

async fn act(fedhub: &Fedhub, action: Action, flags: &[String]) -> anyhow::Result<()> {
    match action {
        Action::Start if flags.is_empty() => fedhub.start_again().await?,
        Action::Start => fedhub.start_with(flags).await?,
        Action::Attend => {
            let status = fedhub.attend(flags).await?;
            anyhow::ensure!(status.success(), "fedhub ended with {status}");
        }
        Action::Stop => fedhub.stop().await?,
        Action::Kill => fedhub.kill().await?,
        Action::Pause => fedhub.pause()?,
        Action::Resume => fedhub.resume()?,
        Action::Restart => fedhub.restart().await?,
        Action::Settle => fedhub.settled().await?,
        Action::Metrics => print!("{}", fedhub.metrics().await?),
    }
    Ok(())
}

fn project(text: &str) -> Result<(String, String), String> {
    let (name, plane) = text.split_once('=').ok_or("expected NAME=PLANE[/NAMESPACE]")?;
    Ok((name.to_owned(), plane.to_owned()))
}

/// Ends when the user or the system asks for it.
async fn interruption<T>() -> anyhow::Result<T> {
    let asked = |kind| signal(kind).context("cannot listen for signals");
    let (mut interrupt, mut terminate, mut hangup) =
        (asked(SignalKind::interrupt())?, asked(SignalKind::terminate())?, asked(SignalKind::hangup())?);
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
    anyhow::bail!("interrupted")
}

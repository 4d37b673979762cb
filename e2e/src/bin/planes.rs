//! `planes`: real planes on this machine, up and down.

// Printing with the macros ends a program whose reader has gone away.
#![deny(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use anyhow::Context;
use clap::{Parser, Subcommand};
use fedhub_e2e::fedhub;
use fedhub_e2e::interruption::interruption;
use fedhub_e2e::output::{complain, say};
use fedhub_e2e::progress::Progress;
use fedhub_e2e::tools::{self, Tool};
use fedhub_e2e::topology::planes::Cells;
use fedhub_e2e::topology::{self, DEFAULT_NAME, Layout, Options, Planes};

/// Runs real planes (a hub with Karmada, two or four cells, two project planes, a management plane) as plain
/// processes.
#[derive(Parser)]
#[command(name = "planes")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Args)]
struct Instance {
    /// The instance: any number run beside each other.
    #[arg(long, default_value = DEFAULT_NAME)]
    name: String,
}

#[derive(Subcommand)]
enum Command {
    /// Build what is missing and start a fresh instance; it keeps running until `down`.
    Up {
        #[command(flatten)]
        instance: Instance,
        /// The kustomization with the compute CRDs [default: deploy/crds].
        #[arg(long)]
        crds: Option<std::path::PathBuf>,
        /// How many cells there are: in DFW and ORD, or in AMS and SJC, too.
        #[arg(long, value_enum, default_value_t)]
        cells: Cells,
    },
    /// End an instance, also what a killed `up` left of it. Logs and audit logs stay.
    Down {
        #[command(flatten)]
        instance: Instance,
    },
    /// Show an instance's processes. Fails unless all run.
    Status {
        #[command(flatten)]
        instance: Instance,
    },
    /// Print the path of a kubeconfig: `KUBECONFIG=$(planes kubeconfig hub)`.
    Kubeconfig {
        #[command(flatten)]
        instance: Instance,
        /// The plane.
        plane: String,
        /// That of fedhub itself instead of the administrator's.
        #[arg(long)]
        fedhub: bool,
    },
    /// End one process of an instance, such as `kube-apiserver-cell-dfw`.
    Stop {
        #[command(flatten)]
        instance: Instance,
        /// The process, as `status` names it.
        process: String,
    },
    /// Start a stopped process again and wait until it serves.
    Start {
        #[command(flatten)]
        instance: Instance,
        /// The process, as `status` names it.
        process: String,
    },
    /// Lose the hub's state and set the hub up again, empty.
    RebuildHub {
        #[command(flatten)]
        instance: Instance,
    },
    /// Only build the programs; prints their directories.
    Build {
        /// The tools to build; all of them by default.
        tools: Vec<String>,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // Whatever an `up` had started ends with its future.
    let done = tokio::select! {
        done = run(&arguments.command) => done,
        interrupted = interruption() => interrupted,
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            complain(format_args!("planes: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

async fn run(command: &Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Up { instance, crds, cells } => {
            let mut options = Options { cells: *cells, ..Options::new(&instance.name) };
            if let Some(crds) = crds {
                options.crds.clone_from(crds);
            }
            let planes = Planes::up(&options, fedhub::end).await?;
            options.progress.step(format!("instance `{}` is up", instance.name));
            say(topology::summary(&planes));
        }
        Command::Down { instance } => {
            let progress = Progress::stderr();
            let ended = topology::down(&instance.name, fedhub::end).await?;
            progress.step(format!("instance `{}` is down: {ended} processes ended", instance.name));
        }
        Command::Status { instance } => return Ok(status(&Planes::load(&instance.name)?)),
        Command::Kubeconfig { instance, plane, fedhub } => {
            let layout = Layout::from_name(&instance.name)?;
            let administrator = topology::kubeconfig_of(&layout, plane)?;
            let path = if *fedhub { layout.fedhub_kubeconfig(plane) } else { administrator };
            anyhow::ensure!(path.is_file(), "{} is not there: is the instance up?", path.display());
            say(path.display());
        }
        Command::Stop { instance, process } => Planes::load(&instance.name)?.stop_process(process).await?,
        Command::Start { instance, process } => Planes::load(&instance.name)?.start_process(process).await?,
        Command::RebuildHub { instance } => {
            let options = Options::new(&instance.name);
            Planes::load(&instance.name)?.rebuild_hub(&options).await?;
            options.progress.step("the hub is up again");
        }
        Command::Build { tools } => build(tools).await?,
    }
    Ok(ExitCode::SUCCESS)
}

fn status(planes: &Planes) -> ExitCode {
    let processes = planes.processes();
    for process in &processes {
        let how = match (process.pid, process.stopped) {
            (Some(pid), _) => format!("runs, PID {pid}"),
            (None, true) => "stopped".to_owned(),
            (None, false) => format!("ENDED, see {}", planes.layout().log(&process.name).display()),
        };
        say(format_args!("{:<36} {how}", process.name));
    }
    say(topology::summary(planes));
    let all_run = processes.iter().all(|process| process.pid.is_some());
    if all_run { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn build(names: &[String]) -> anyhow::Result<()> {
    let progress = Progress::stderr();
    let find = |name: &String| {
        let known = Tool::ALL.map(Tool::name).join(", ");
        let found = Tool::ALL.into_iter().find(|tool| tool.name() == name);
        found.with_context(|| format!("no tool is called `{name}`; known: {known}"))
    };
    let chosen: Vec<_> = if names.is_empty() {
        Tool::ALL.to_vec()
    } else {
        names.iter().map(find).collect::<Result<_, _>>()?
    };
    for tool in chosen {
        let built = tools::ensure(tool, &progress).await?;
        say(format_args!("{:<24} {}", tool.name(), built.dir().display()));
    }
    Ok(())
}

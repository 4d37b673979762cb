//! `e2e fedhub`: something done to the fedhub of an instance.

use std::path::PathBuf;

use anyhow::Context;
use clap::ValueEnum;
use fedhub_e2e::fedhub::{self, Once};
use fedhub_e2e::output::say;
use fedhub_e2e::topology::Layout;

use crate::target::Instance;

/// What is done, and to which fedhub.
#[derive(clap::Args)]
pub struct Fedhub {
    /// What.
    action: Action,
    #[command(flatten)]
    once: OnceArgs,
    /// Do it to a second replica beside the usual one.
    #[arg(long)]
    second: bool,
    /// Do it to the fedhub of this cell.
    #[arg(long, value_name = "CELL", conflicts_with = "second")]
    cell: Option<String>,
    /// Do it to that cell's simulated services, such as its provider.
    #[arg(long, requires = "cell")]
    services: bool,
    /// Do it to a simulated region service for that cell.
    #[arg(long, requires = "cell", conflicts_with = "services")]
    region: bool,
    /// Do it to the provider for that cell that runs Instances as processes of this machine.
    #[arg(long, requires = "cell", conflicts_with_all = ["services", "region"])]
    processes: bool,
    #[command(flatten)]
    instance: Instance,
}

/// How fedhub is started for once.
#[derive(clap::Args)]
struct OnceArgs {
    /// With `start` or `attend`: a component of `deploy/` for this once; may be given more than once.
    #[arg(long = "component", value_name = "NAME")]
    components: Vec<String>,
    /// With `start` or `attend`: the plane that its Deployment is on for this once.
    #[arg(long, value_name = "PLANE")]
    plane: Option<String>,
    /// With `start` or `attend`: a flag of `fedhub run` for this once, in place of the one of its name; may
    /// be given more than once. Only some may be: what is tested is `deploy/`.
    #[arg(long = "with", value_name = "FLAG", allow_hyphen_values = true)]
    flags: Vec<String>,
    /// With `start` or `attend`: a variable of OpenTelemetry for this once; may be given more than once.
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = variable)]
    variables: Vec<(String, String)>,
    /// With `start` or `attend`: another program for this once.
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

impl From<OnceArgs> for Once {
    fn from(arguments: OnceArgs) -> Self {
        let OnceArgs { components, plane, flags, variables, program } = arguments;
        Self { components, plane, flags, variables, program }
    }
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
    /// Print its PID; fails unless it runs.
    Pid,
    /// Print the address at which it serves.
    Url,
}

/// Does it.
pub async fn run(arguments: Fedhub) -> anyhow::Result<()> {
    let Fedhub { action, once, second, cell, services, region, processes, instance } = arguments;
    let layout = Layout::from_name(&instance.instance)?;
    let fedhub = match cell {
        Some(cell) if region => fedhub::Fedhub::region(&layout, &cell)?,
        Some(cell) if processes => fedhub::Fedhub::processes(&layout, &cell)?,
        Some(cell) if services => fedhub::Fedhub::services(&layout, &cell)?,
        Some(cell) => fedhub::Fedhub::cell(&layout, &cell)?,
        None if second => fedhub::Fedhub::second(&layout)?,
        None => fedhub::Fedhub::load(&layout)?,
    };
    act(&fedhub, action, &once.into()).await
}

async fn act(fedhub: &fedhub::Fedhub, action: Action, once: &Once) -> anyhow::Result<()> {
    match action {
        Action::Start if *once == Once::default() => fedhub.start_again().await?,
        Action::Start => fedhub.start_with(once).await?,
        Action::Attend => {
            let status = fedhub.attend(once).await?;
            anyhow::ensure!(status.success(), "fedhub ended with {status}");
        }
        Action::Stop => fedhub.stop().await?,
        Action::Kill => fedhub.kill().await?,
        Action::Pause => fedhub.pause()?,
        Action::Resume => fedhub.resume()?,
        Action::Restart => fedhub.restart().await?,
        Action::Settle => fedhub.settled().await?,
        Action::Metrics => say(fedhub.metrics().await?.trim_end()),
        Action::Url => say(fedhub.url()),
        Action::Pid => say(fedhub.pid().context("it does not run")?),
    }
    Ok(())
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

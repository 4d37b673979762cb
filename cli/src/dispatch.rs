//! From a parsed command line to the command.

use fedhub_terminal::Terminal;

use crate::args::{Cli, Command, Global};
use crate::exit::Exit;
use crate::host::environment::Environment;
use crate::host::program::Program;
use crate::host::{completion, environment};
use crate::problem::Problem;
use crate::session::Session;
use crate::{
    access, cities, deploy, destroy, events, explain, instance_types, instances, manual, quota, restart,
    rollout, runtime, scale, status, workloads,
};

/// Runs a command, tells what went wrong, and says how it ended.
pub fn run(program: Program, environment: &Environment, cli: Cli, terminal: Terminal) -> Exit {
    let verbose = cli.global.verbose;
    let ended = match cli.command {
        Command::Completion { shell } => completion::script(&shell),
        Command::Man { dir } => manual::man(program, dir.as_deref()),
        command => connected(program, environment, cli.global, terminal, command),
    };
    ended.map_or_else(|problem| problem.tell(verbose), |()| Exit::Done)
}

/// Runs a command that needs the project.
fn connected(
    program: Program,
    environment: &environment::Environment,
    global: Global,
    terminal: Terminal,
    command: Command,
) -> Result<(), Problem> {
    runtime::run(async {
        if let Command::Deploy(args) = &command {
            // Faults of a file are reported before a login is required.
            let asked = deploy::asked(args, |rest| global.command(program, rest)).await?;
            let session = Session::connect(program, global, environment, terminal).await?;
            return deploy::run(&session, args, &asked).await;
        }
        let session = Session::connect(program, global, environment, terminal).await?;
        if !matches!(command, Command::Access(_)) {
            access::gate(&session, command.writes()).await?;
        }
        match command {
            Command::Access(args) => access::run(&session, &args).await,
            Command::Status(args) => status::run(&session, &args).await,
            Command::Workloads(args) => workloads::run(&session, &args).await,
            Command::Instances(args) => instances::run(&session, &args).await,
            Command::Explain(args) => explain::run(&session, &args).await,
            Command::Events(args) => events::run(&session, &args).await,
            Command::Quota(args) => quota::run(&session, &args).await,
            Command::Cities(args) => cities::run(&session, &args).await,
            Command::InstanceTypes(args) => instance_types::run(&session, &args).await,
            Command::Destroy(args) => destroy::run(&session, &args).await,
            Command::Restart(args) => restart::run(&session, &args).await,
            Command::Rollout(args) => rollout::command::run(&session, &args).await,
            Command::Scale(args) => scale::run(&session, &args).await,
            Command::Deploy(_) | Command::Completion { .. } | Command::Man { .. } => Ok(()),
        }
    })
}

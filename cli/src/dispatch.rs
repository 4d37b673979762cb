//! From a parsed command line to the command.

use std::future::Future;

use fedhub_terminal::Terminal;

use crate::args::{Cli, Command, Global};
use crate::exit::Exit;
use crate::host::environment::Environment;
use crate::host::program::Program;
use crate::host::{completion, environment};
use crate::problem::Problem;
use crate::session::Session;
use crate::{access, deploy, destroy, manual, restart, rollout, scale};

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
    in_runtime(async {
        let session = Session::connect(program, global, environment, terminal).await?;
        if !matches!(command, Command::Access(_)) {
            access::gate(&session).await?;
        }
        match command {
            Command::Access(args) => access::run(&session, &args).await,
            Command::Deploy(args) => deploy::run(&session, &args).await,
            Command::Destroy(args) => destroy::run(&session, &args).await,
            Command::Restart(args) => restart::run(&session, &args).await,
            Command::Rollout(args) => rollout::run(&session, &args).await,
            Command::Scale(args) => scale::run(&session, &args).await,
            Command::Completion { .. } | Command::Man { .. } => Ok(()),
        }
    })
}

/// Runs a future to its end on this thread, or until Ctrl-C. A command that has something to say of Ctrl-C awaits it
/// itself, and is polled first.
pub fn in_runtime(command: impl Future<Output = Result<(), Problem>>) -> Result<(), Problem> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Problem::failed(format!("Could not start: {error}.")))?;
    let ended = runtime.block_on(async {
        tokio::select! {
            biased;
            ended = command => ended,
            _ = tokio::signal::ctrl_c() => Err(Problem::interrupted()),
        }
    });
    // A helper that still runs is not waited for.
    runtime.shutdown_background();
    ended
}

//! `rollout` and the commands below it.

use clap::{Args, Subcommand};

use super::args::{
    AbortArgs, ApproveArgs, HistoryArgs, PauseArgs, ResumeArgs, RetryArgs, StatusArgs, UndoArgs,
};
use super::{abort, approve, history, pause, status, undo};
use crate::args::examples;
use crate::problem::Problem;
use crate::restart::{self, RestartArgs};
use crate::session::Session;

/// Flags of `rollout`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub struct RolloutArgs {
    /// What to do; to watch, where there is only a name.
    #[command(subcommand)]
    pub command: Option<RolloutCommand>,
    /// The flags of `rollout status`.
    #[command(flatten)]
    pub status: Option<StatusArgs>,
}

/// The commands below `rollout`.
#[derive(Debug, Subcommand)]
pub enum RolloutCommand {
    /// Watch a rollout until it is done or blocked.
    #[command(after_help = examples::ROLLOUT_STATUS)]
    Status(StatusArgs),
    /// List the revisions of a workload.
    #[command(after_help = examples::ROLLOUT_HISTORY)]
    History(HistoryArgs),
    /// Go back to an earlier revision of a workload.
    #[command(after_help = examples::ROLLOUT_UNDO)]
    Undo(UndoArgs),
    /// Replace the instances of a workload one by one: the same as `restart`.
    #[command(after_help = examples::RESTART)]
    Restart(RestartArgs),
    /// Hold back changes of a workload's template, and its new cities, until the rollout is resumed.
    #[command(after_help = examples::ROLLOUT_PAUSE)]
    Pause(PauseArgs),
    /// Let a paused rollout go on, and watch it.
    #[command(after_help = examples::ROLLOUT_PAUSE)]
    Resume(ResumeArgs),
    /// Approve a wave of cities that the rollout waits for.
    #[command(after_help = examples::ROLLOUT_APPROVE)]
    Approve(ApproveArgs),
    /// Give up a rollout over waves: every city that can be reached ends on one revision.
    #[command(after_help = examples::ROLLOUT_ABORT)]
    Abort(AbortArgs),
    /// Let a rollout over waves go on that was aborted or paused, and watch it.
    #[command(after_help = examples::ROLLOUT_ABORT)]
    Retry(RetryArgs),
}

impl RolloutArgs {
    /// Whether something is changed: a dry run changes nothing.
    pub fn writes(&self) -> bool {
        match &self.command {
            Some(RolloutCommand::Undo(args)) => !args.dry_run,
            Some(
                RolloutCommand::Restart(_)
                | RolloutCommand::Pause(_)
                | RolloutCommand::Resume(_)
                | RolloutCommand::Approve(_)
                | RolloutCommand::Abort(_)
                | RolloutCommand::Retry(_),
            ) => true,
            Some(RolloutCommand::Status(_) | RolloutCommand::History(_)) | None => false,
        }
    }
}

/// Runs `rollout`.
pub async fn run(session: &Session, args: &RolloutArgs) -> Result<(), Problem> {
    match (&args.command, &args.status) {
        (Some(RolloutCommand::Status(args)), _) | (None, Some(args)) => status(session, args).await,
        (Some(RolloutCommand::History(args)), _) => history::run(session, args).await,
        (Some(RolloutCommand::Undo(args)), _) => undo::run(session, args).await,
        (Some(RolloutCommand::Restart(args)), _) => restart::run(session, args).await,
        (Some(RolloutCommand::Pause(args)), _) => pause::pause(session, args).await,
        (Some(RolloutCommand::Resume(args)), _) => pause::resume(session, args).await,
        (Some(RolloutCommand::Approve(args)), _) => approve::run(session, args).await,
        (Some(RolloutCommand::Abort(args)), _) => abort::abort(session, args).await,
        (Some(RolloutCommand::Retry(args)), _) => abort::retry(session, args).await,
        (None, None) => Err(Problem::usage("The name of a workload is missing.")
            .remedy(format!("{} lists them.", session.command("workloads")))),
    }
}

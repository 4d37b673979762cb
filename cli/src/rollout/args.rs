//! The flags of rollouts.

use std::time::Duration;

use clap::{ArgAction, Args};

use crate::args::{names, timeout};

/// Flags of commands that change a workload, and wait for the rollout.
#[derive(Clone, Copy, Debug, Args)]
pub struct WaitArgs {
    /// Return as soon as the change is stored.
    #[arg(long)]
    pub no_wait: bool,
    /// How long to wait for the rollout, such as 90s or 10m; 0 for as long as it takes. It goes on
    /// afterwards.
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = timeout::parse)]
    pub timeout: Duration,
}

/// Flags of `rollout status`.
#[derive(Clone, Debug, Args)]
pub struct StatusArgs {
    /// Name of the workload.
    #[arg(value_name = "WORKLOAD", value_parser = names::existing)]
    pub name: String,
    /// Wait for the end; with --watch=false show how far it is, and exit with 3 where it is not done.
    #[arg(long, value_name = "BOOL", action = ArgAction::Set, default_value_t = true, require_equals = true,
        num_args = 0..=1, default_missing_value = "true", hide_possible_values = true)]
    pub watch: bool,
    /// How long to wait, such as 90s or 10m; 0 for as long as it takes.
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = timeout::parse)]
    pub timeout: Duration,
}

/// Flags of `rollout history`.
#[derive(Clone, Debug, Args)]
pub struct HistoryArgs {
    /// Name of the workload.
    #[arg(value_name = "WORKLOAD", value_parser = names::existing)]
    pub name: String,
    /// Show the template of that revision in full.
    #[arg(long, value_name = "REV")]
    pub revision: Option<u64>,
}

/// Flags of `rollout pause`.
#[derive(Clone, Debug, Args)]
pub struct PauseArgs {
    /// Name of the workload.
    #[arg(value_name = "WORKLOAD", value_parser = names::existing)]
    pub name: String,
}

/// Flags of `rollout resume`.
#[derive(Clone, Debug, Args)]
pub struct ResumeArgs {
    /// Name of the workload.
    #[arg(value_name = "WORKLOAD", value_parser = names::existing)]
    pub name: String,
    /// Whether to wait for the rollout.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// Flags of `rollout undo`.
#[derive(Clone, Debug, Args)]
pub struct UndoArgs {
    /// Name of the workload.
    #[arg(value_name = "WORKLOAD", value_parser = names::existing)]
    pub name: String,
    /// The revision to go back to; 0 is the one before the current one.
    #[arg(long, value_name = "REV", default_value_t = 0)]
    pub to_revision: u64,
    /// Show what would change, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Whether to wait for the rollout.
    #[command(flatten)]
    pub wait: WaitArgs,
}

/// Flags of `rollout approve`.
#[derive(Clone, Debug, Args)]
pub struct ApproveArgs {
    /// Name of the workload.
    #[arg(value_name = "WORKLOAD", value_parser = names::existing)]
    pub name: String,
    /// The wave that is approved.
    #[arg(long, value_name = "WAVE")]
    pub wave: String,
    /// Approve that the wave starts; without a flag, the side that requires approval is approved.
    #[arg(long, conflicts_with = "after")]
    pub before: bool,
    /// Approve what the wave has come to, so that the next one starts.
    #[arg(long)]
    pub after: bool,
}

/// Flags of `rollout abort`.
#[derive(Clone, Debug, Args)]
pub struct AbortArgs {
    /// Name of the workload.
    #[arg(value_name = "WORKLOAD", value_parser = names::existing)]
    pub name: String,
    /// Do not ask. Without a terminal, nothing is aborted unless this is given.
    #[arg(short, long)]
    pub yes: bool,
}

/// Flags of `rollout retry`.
#[derive(Clone, Debug, Args)]
pub struct RetryArgs {
    /// Name of the workload.
    #[arg(value_name = "WORKLOAD", value_parser = names::existing)]
    pub name: String,
    /// Whether to wait for the rollout.
    #[command(flatten)]
    pub wait: WaitArgs,
}

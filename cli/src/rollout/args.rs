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

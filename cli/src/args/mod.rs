//! The command line.

pub mod examples;
mod global;
pub mod names;
pub mod timeout;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
pub use global::Global;

use crate::access::AccessArgs;
use crate::deploy::DeployArgs;
use crate::destroy::DestroyArgs;
use crate::host::program::Program;
use crate::restart::RestartArgs;
use crate::rollout::command::RolloutArgs;
use crate::scale::args::ScaleArgs;
use crate::{cities, events, explain, instance_types, instances, quota, status, workloads};

/// Deploy workloads to cities, watch them come up, and see why they do not.
#[derive(Debug, Parser)]
#[command(
    name = "datumctl-compute",
    bin_name = "datumctl compute",
    version,
    about,
    max_term_width = 110,
    after_help = examples::TOP
)]
pub struct Cli {
    /// The flags of every command.
    #[command(flatten)]
    pub global: Global,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show whether compute is enabled in the project, or ask for it.
    #[command(after_help = examples::ACCESS)]
    Access(AccessArgs),
    /// Deploy workloads by flags or from files, and watch them come up.
    #[command(after_help = examples::DEPLOY)]
    Deploy(Box<DeployArgs>),
    /// Show the project at a glance: each workload, and in which cities something is the matter.
    #[command(after_help = status::EXAMPLES)]
    Status(status::StatusArgs),
    /// List the workloads, or describe one.
    #[command(after_help = workloads::EXAMPLES, visible_alias = "workload")]
    Workloads(workloads::WorkloadsArgs),
    /// List the instances, describe one, or stop, start and restart some.
    #[command(after_help = instances::EXAMPLES, visible_alias = "instance")]
    Instances(instances::InstancesArgs),
    /// Say why a workload is as it is, city by city, and who has to act.
    #[command(after_help = explain::EXAMPLES)]
    Explain(explain::ExplainArgs),
    /// List what happened to a workload, in its cities and to its instances; newest last.
    #[command(after_help = events::EXAMPLES)]
    Events(events::EventsArgs),
    /// Show what the project may use, what it uses, and what was refused.
    #[command(after_help = quota::EXAMPLES)]
    Quota(quota::QuotaArgs),
    /// List the cities that workloads can run in.
    #[command(after_help = cities::EXAMPLES)]
    Cities(cities::CitiesArgs),
    /// List what instances can be made of.
    #[command(after_help = instance_types::EXAMPLES)]
    InstanceTypes(instance_types::InstanceTypesArgs),
    /// Delete a workload and all that runs of it.
    #[command(after_help = examples::DESTROY)]
    Destroy(DestroyArgs),
    /// Replace the instances of a workload one by one.
    #[command(after_help = examples::RESTART)]
    Restart(RestartArgs),
    /// Watch the rollout of a workload, list its revisions, and go back to one.
    #[command(after_help = examples::ROLLOUT)]
    Rollout(RolloutArgs),
    /// Change how many instances a workload has in each city.
    #[command(after_help = examples::SCALE)]
    Scale(ScaleArgs),
    /// Print the completions of a shell, for its start-up file.
    #[command(after_help = examples::COMPLETION)]
    Completion {
        /// The shell: bash, zsh or fish.
        #[arg(value_parser = ["bash", "zsh", "fish"])]
        shell: String,
    },
    /// Print the manual page, for `man -l -`, or write the pages of all commands.
    #[command(after_help = examples::MAN)]
    Man {
        /// Directory to write a page for each command to; it is created.
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

impl Command {
    /// Whether it changes workloads. What only reads leaves a project as it is, and does not enable compute
    /// in it.
    pub fn writes(&self) -> bool {
        match self {
            Self::Deploy(args) => args.writes(),
            Self::Rollout(args) => args.writes(),
            Self::Instances(args) => args.writes(),
            Self::Destroy(_) | Self::Restart(_) | Self::Scale(_) => true,
            Self::Access(_)
            | Self::Status(_)
            | Self::Workloads(_)
            | Self::Explain(_)
            | Self::Events(_)
            | Self::Quota(_)
            | Self::Cities(_)
            | Self::InstanceTypes(_)
            | Self::Completion { .. }
            | Self::Man { .. } => false,
        }
    }
}

/// Parses what follows the program's name.
pub fn parse(program: Program, arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let name = OsString::from(program.name());
    let mut command = command(program);
    let matches =
        command.try_get_matches_from_mut(std::iter::once(&name).chain(arguments)).map_err(nearest_first)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// clap names what is most alike last.
fn nearest_first(mut error: clap::Error) -> clap::Error {
    let kinds = [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::SuggestedValue];
    for kind in kinds {
        if let Some(ContextValue::Strings(names)) = error.get(kind) {
            let names = names.iter().rev().cloned().collect();
            error.insert(kind, ContextValue::Strings(names));
        }
    }
    error
}

/// The command line as that program's users type it.
pub fn command(program: Program) -> clap::Command {
    renamed(Cli::command(), program).bin_name(program.name())
}

/// Examples name the program as it was called.
fn renamed(command: clap::Command, program: Program) -> clap::Command {
    let examples = command
        .get_after_help()
        .map(|help| help.to_string().replace(Program::Datumctl.name(), program.name()));
    let command = match examples {
        Some(examples) => command.after_help(examples),
        None => command,
    };
    command.mut_subcommands(|inner| renamed(inner, program))
}

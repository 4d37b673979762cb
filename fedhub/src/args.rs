//! The command line. Every flag of `run` is an environment variable too.

mod examples;
mod faults;
mod renamed;
mod run;

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

use crate::audit::AuditArgs;
use crate::cells::CellsArgs;
use crate::check::flags::{AFTER_HELP, CheckArgs, shown};
use crate::explain::ExplainArgs;
use crate::history::HubCommand;
use crate::kubeconfig::args::KubeconfigCommand;
use crate::pause::{PauseArgs, ResumeArgs};
use crate::planes::PlanesArgs;
use crate::snapshot::SnapshotArgs;
use crate::uninstall::UninstallArgs;

pub(crate) use renamed::Renamed;
pub(crate) use run::InstanceTypesSource;
pub use run::RunArgs;

/// Federation hub: bridges project planes with a Karmada hub.
#[derive(Debug, Parser)]
// Examples are long, and are copied: their lines stay whole.
#[command(name = "fedhub", version, about, term_width = 0)]
pub struct Args {
    /// Accept servers that are reached by plain HTTP on other machines: anyone on the way has the credentials
    /// then.
    #[arg(long, global = true, env = "FEDHUB_INSECURE_HTTP")]
    pub insecure_http: bool,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

impl Args {
    /// Parses the command line of the process, and returns the former names of flags that it uses.
    pub(crate) fn of_process() -> (Self, Vec<Renamed>) {
        let (line, renamed) =
            renamed::translate(std::env::args_os().collect(), |name| std::env::var_os(name));
        (Self::parse_from(line), renamed)
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the controllers until SIGTERM or SIGINT.
    #[command(after_help = examples::RUN, next_line_help = true)]
    Run(Box<RunArgs>),
    /// Print the `CustomResourceDefinition`s of `compute.datumapis.com`, for `kubectl apply -f -`.
    #[command(after_help = examples::CRDS)]
    Crds,
    /// Show or change whether the hub is considered restored from a backup.
    #[command(subcommand)]
    Hub(HubCommand),
    /// List the cells that the hub knows: city, state, and what they hold. Reads only; `fedhub cells admit`
    /// enters a cell.
    Cells(CellsArgs),
    /// Explain where a WorkloadDeployment or an Instance is on its way, and why it is held up. Reads only.
    Explain(Box<ExplainArgs>),
    /// Check what an installation needs: connections, rights, CRDs, Karmada, cells, credentials. Reads only.
    #[command(mut_args(shown), after_help = AFTER_HELP)]
    Check {
        /// Its own flags.
        #[command(flatten)]
        check: CheckArgs,
        /// The process that is to run.
        #[command(flatten)]
        run: Box<RunArgs>,
    },
    /// List the project planes, and how each answers. Reads only; `fedhub planes withdraw` decides on a
    /// missing entitlement.
    Planes(PlanesArgs),
    /// Write what `fedhub explain` reads of all planes into a file, to explain offline. Reads only.
    Snapshot(Box<SnapshotArgs>),
    /// Write nothing for a project plane, or for all of them, until it is resumed.
    Pause(PauseArgs),
    /// End a pause: everything that has changed meanwhile is reconciled.
    Resume(ResumeArgs),
    /// Compare the project planes with the hub, and name what differs, orphans and leftovers. Reads only,
    /// unless --reclaim.
    Audit(Box<AuditArgs>),
    /// Make kubeconfigs with tokens of `ServiceAccount`s, store them where fedhub reads them, and renew them.
    #[command(subcommand)]
    Kubeconfig(KubeconfigCommand),
    /// Take fedhub away from planes: its finalizers, and what it keeps on the hub. Instances keep running.
    Uninstall(Box<UninstallArgs>),
    /// Print the completions of a shell, for its start-up file.
    #[command(after_help = examples::COMPLETIONS)]
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the manual page of fedhub, for `man -l -`, or write the pages of all commands.
    #[command(after_help = examples::MAN)]
    Man {
        /// Directory to write a page for each command to; it is created.
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

#[cfg(test)]
mod tests;

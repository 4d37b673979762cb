//! The command line of `fedhub check`: flags of its own, beside those of `fedhub run`.

use std::time::Duration;

use fedhub_core::clock::parse_duration;

use fedhub_terminal::output::OutputArgs;

/// The flags that are shown: those that say what runs, and where planes are. The others of `fedhub run` are
/// accepted as well, so that a check takes the arguments and the environment of a Pod as they are.
const SHOWN: [&str; 23] = [
    "pre",
    "concurrency",
    "timeout",
    "output",
    "json",
    "help",
    "enable_management_controllers",
    "enable_cell_controllers",
    "hub_kubeconfig",
    "hub_context",
    "management_kubeconfig",
    "management_context",
    "cell_kubeconfig",
    "cell_context",
    "cell_name",
    "cell_city",
    "write_back",
    "referenced_data",
    "quota_kubeconfig",
    "discovery",
    "discovery_kubeconfig",
    "discovery_context",
    "namespace",
];

/// What follows the list of flags.
pub const AFTER_HELP: &str = "\
Example:
  fedhub check --enable-management-controllers --discovery=kubeconfigs --management-kubeconfig management.yaml
      --hub-kubeconfig hub.yaml

Every other flag and variable of `fedhub run` is accepted too, so that it runs with those of a Pod.

Exit codes: 0: all is in order, or skipped; 1: it could not be done; 2: misuse; 3: a check failed; 4: there are
            warnings, and no check failed.";

/// The flags of `fedhub check`.
#[derive(Debug, clap::Args)]
pub struct CheckArgs {
    /// Check what has to be there before an installation: without CRDs, interpreter, policies and cell
    /// identities.
    #[arg(long)]
    pub pre: bool,
    /// How many planes are asked at a time.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024), value_name = "N")]
    pub concurrency: u16,
    /// How long each read may take.
    #[arg(long, default_value = "5s", value_parser = parse_duration, value_name = "DURATION")]
    pub timeout: Duration,
    /// The format.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Hides the flags that do not matter to it.
pub fn shown(arg: clap::Arg) -> clap::Arg {
    let shown = SHOWN.contains(&arg.get_id().as_str());
    arg.hide(!shown)
}

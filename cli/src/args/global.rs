//! Flags of every command.

use std::path::PathBuf;

use fedhub_terminal::output::Format;

/// Flags that every command takes.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Project to work in, in place of the one that is chosen in datumctl.
    #[arg(long, global = true, value_name = "PROJECT")]
    pub project: Option<String>,
    /// Organization, as datumctl passes it on; a project is enough.
    #[arg(long, global = true, value_name = "ORG", hide = true)]
    pub org: Option<String>,
    /// Kubeconfig to connect with, in place of datumctl's login.
    #[arg(long, global = true, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context in the kubeconfig.
    #[arg(long, global = true, value_name = "NAME")]
    pub context: Option<String>,
    /// Namespace in the project.
    #[arg(short, long, global = true, value_name = "NAME")]
    pub namespace: Option<String>,
    /// Output format: table, wide, json or yaml.
    #[arg(
        short,
        long,
        global = true,
        value_enum,
        default_value = "table",
        value_name = "FORMAT",
        hide_possible_values = true
    )]
    pub output: Format,
    /// Print tables without their header.
    #[arg(long, global = true)]
    pub no_headers: bool,
    /// Show the server's own words with an error.
    #[arg(short, long, global = true)]
    pub verbose: bool,
}

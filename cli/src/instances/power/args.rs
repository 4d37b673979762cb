//! The flags of `instances stop`, `start` and `restart`.

use std::time::Duration;

use clap::Args;

use crate::args::{names, timeout};

/// Flags of an order about the power of instances.
#[derive(Clone, Debug, Args)]
pub struct PowerArgs {
    /// Names of the instances; or select them with --workload and --city.
    #[arg(value_name = "INSTANCE", value_parser = names::existing, required_unless_present_any = ["workload", "city"],
        conflicts_with_all = ["workload", "city"])]
    pub names: Vec<String>,
    /// Select the instances of this workload.
    #[arg(short, long, value_name = "WORKLOAD", value_parser = names::existing)]
    pub workload: Option<String>,
    /// Select the instances in these cities.
    #[arg(long, alias = "location", value_name = "CITY", value_delimiter = ',')]
    pub city: Vec<String>,
    /// Do not ask. Without a terminal, what is selected by flags is not stopped or restarted unless this is
    /// given.
    #[arg(short, long)]
    pub yes: bool,
    /// Return as soon as the order is stored.
    #[arg(long)]
    pub no_wait: bool,
    /// How long to wait for the instances, such as 90s or 10m; 0 for as long as it takes. The order stands
    /// afterwards.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = timeout::parse)]
    pub timeout: Duration,
}

/// Shown after the help of `stop`.
pub const STOP: &str = "\
Examples:
  datumctl compute instances stop web-default-dfw-0
  datumctl compute instances stop --workload web --city DFW --yes
  datumctl compute instances stop web-default-dfw-0 --no-wait -o json";

/// Shown after the help of `start`.
pub const START: &str = "\
Examples:
  datumctl compute instances start web-default-dfw-0
  datumctl compute instances start --workload web --timeout 10m";

/// Shown after the help of `restart`.
pub const RESTART: &str = "\
Examples:
  datumctl compute instances restart web-default-dfw-0
  datumctl compute instances restart web-default-dfw-0 web-default-ord-0
  datumctl compute instances restart --workload web --city DFW --yes";

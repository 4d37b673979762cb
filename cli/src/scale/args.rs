//! The flags of `scale`.

use clap::ArgGroup;

use crate::args::names;
use crate::rollout::WaitArgs;

/// The flags of which at least one is needed.
const NUMBERS: [&str; 4] = ["min", "max", "cpu_percent", "memory_percent"];

/// Flags of `scale`.
#[derive(Clone, Debug, clap::Args)]
#[command(group(ArgGroup::new("numbers").required(true).multiple(true).args(NUMBERS)))]
pub struct ScaleArgs {
    /// Name of the workload.
    #[arg(value_name = "WORKLOAD", value_parser = names::existing)]
    pub name: String,
    /// Instances that each city has at least.
    #[arg(long, value_name = "COUNT")]
    pub min: Option<u32>,
    /// Instances that each city has at most, by how busy they are; 0 for as many as --min.
    #[arg(long, value_name = "COUNT")]
    pub max: Option<u32>,
    /// Percentage of its CPU that an instance is to use, with --max.
    #[arg(long, value_name = "PERCENT")]
    pub cpu_percent: Option<u32>,
    /// Percentage of its memory that an instance is to use, with --max.
    #[arg(long, value_name = "PERCENT")]
    pub memory_percent: Option<u32>,
    /// The placements to scale, in place of all.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub placement: Vec<String>,
    /// Whether to wait for the rollout.
    #[command(flatten)]
    pub wait: WaitArgs,
}

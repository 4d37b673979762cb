//! The flags of `scale`.

use clap::ArgGroup;

use super::settings::Numbers;
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
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(i32).range(0..))]
    pub min: Option<i32>,
    /// Instances that each city has at most, by how busy they are; 0 turns scaling off.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(i32).range(0..))]
    pub max: Option<i32>,
    /// Percentage of its CPU that an instance is to use, with --max; 0 removes it.
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(i32).range(0..))]
    pub cpu_percent: Option<i32>,
    /// Percentage of its memory that an instance is to use, with --max; 0 removes it.
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(i32).range(0..))]
    pub memory_percent: Option<i32>,
    /// The placements to scale, in place of all.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub placement: Vec<String>,
    /// Whether to wait for the rollout.
    #[command(flatten)]
    pub wait: WaitArgs,
}

impl ScaleArgs {
    /// The numbers.
    pub fn numbers(&self) -> Numbers {
        Numbers {
            min: self.min,
            max: self.max,
            cpu_percent: self.cpu_percent,
            memory_percent: self.memory_percent,
        }
    }
}

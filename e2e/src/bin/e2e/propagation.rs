//! `e2e propagation`: how long changes take from a project to the hub.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use fedhub_e2e::output::say;
use fedhub_e2e::propagation;
use fedhub_e2e::topology::Layout;

use crate::target::Instance;

/// What is done.
#[derive(clap::Subcommand)]
pub enum Propagation {
    /// Change each WD of a namespace once, and print the milliseconds that each change took to the hub.
    Measure {
        /// The plane of the project.
        #[arg(long)]
        plane: String,
        /// The namespace of the WDs.
        #[arg(long)]
        namespace: String,
        #[command(flatten)]
        instance: Instance,
    },
    /// Compare the p99 of what was measured without and with something; fails where the second is too long.
    Compare {
        /// A file with what `measure` printed, any number of times.
        without: PathBuf,
        /// Another one.
        with: PathBuf,
        /// How many times as long it may be.
        #[arg(long, value_name = "TIMES")]
        at_most: f64,
    },
}

/// Does it.
pub async fn run(arguments: Propagation) -> anyhow::Result<()> {
    match arguments {
        Propagation::Measure { plane, namespace, instance } => {
            let layout = Layout::from_name(&instance.instance)?;
            for took in propagation::measure(&layout, &plane, &namespace).await? {
                say(format!("{took:.3}"));
            }
        }
        Propagation::Compare { without, with, at_most } => {
            say(propagation::compare(&read(&without)?, &read(&with)?, at_most)?);
        }
    }
    Ok(())
}

fn read(file: &Path) -> anyhow::Result<Vec<f64>> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let numbers: Result<Vec<f64>, _> = text.lines().map(str::parse).collect();
    numbers.with_context(|| format!("{} has what is no number", file.display()))
}

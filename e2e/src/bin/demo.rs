//! `demo`: fedhub at work on real planes, step by step.

// Printing with the macros ends a program whose reader has gone away.
#![deny(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

use clap::Parser;
use fedhub_e2e::demo::{self, DEFAULT_NAME, Error, Options};
use fedhub_e2e::output::complain;

/// Shows fedhub at work: two projects, a Karmada hub and two cells as real processes on this machine.
#[derive(Parser)]
#[command(name = "demo")]
struct Arguments {
    /// The instance of the planes.
    #[arg(long, default_value = DEFAULT_NAME)]
    name: String,
    /// Take everything down after the last step. Exit code 0 only if every step was seen.
    #[arg(long)]
    once: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Arguments { name, once } = Arguments::parse();
    match demo::run(&Options { name, once }).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(Error::Interrupted) => ExitCode::from(130),
        Err(error) => {
            complain(format_args!("demo: {error}"));
            ExitCode::FAILURE
        }
    }
}

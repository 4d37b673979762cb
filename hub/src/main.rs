//! The federation hub: one process that bridges project planes with a Karmada hub.

mod args;
mod crds;
mod preflight;
mod run;
mod status;

use std::process::ExitCode;

use args::{Args, Command};
use clap::Parser;

fn main() -> ExitCode {
    match Args::parse().command {
        Command::Run(args) => run::main(*args),
        Command::Crds => crds::main(),
    }
}

//! The federation hub: one process that bridges project planes with a Karmada hub.

mod admin;
mod args;
mod cells;
mod common;
mod crds;
#[cfg(test)]
mod deploy;
mod history;
mod preflight;
mod run;
mod status;

use std::process::ExitCode;

use args::{Args, Command};
use clap::Parser;

/// Objects come and go in bursts: a list, a flood. What they took is given back to the machine when they are gone.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    match Args::parse().command {
        Command::Run(args) => run::main(*args),
        Command::Crds => crds::main(),
        Command::Hub(command) => history::main(&command),
        Command::Cells(args) => cells::main(&args),
    }
}

//! `fedhub`, the federation hub: one process that bridges project planes with a Karmada hub, or runs in a
//! cell. A library, so that tests beside it reach what `deploy/` has to fit: only those modules are public.
//!
//! # The way through
//!
//! 1. `args` is the command line; each command has a module: `run`, `crds`, `history` (`fedhub hub`),
//!    `cells`, `check`, `explain`, `planes`, `pause` (`fedhub pause` and `resume`), `snapshot`, `audit`,
//!    `kubeconfig`, `uninstall`, of which `operator` is what the last nine share; `manual` (`fedhub
//!    completions` and `man`).
//! 2. `run` wires the roles: `runtime` is what they share (connections, discovery, election, shutdown),
//!    `management` the federator and the projector, `cell` the controllers of a cell.
//! 3. `admin` serves `/livez`, `/readyz` and `/metrics`, which `status` answers, and the pages of
//!    `status_page`; `secure` serves the pages to callers on other hosts, `webhooks` answers admission
//!    reviews; `preflight` checks at the start what has to stand on the hub.

// What others wrote reaches a terminal by `fedhub_terminal::output` alone, which lets nothing of it steer
// (I15).
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod admin;
pub mod args;
mod audit;
mod cells;
mod check;
mod common;
mod connections;
mod crds;
mod discovery;
mod explain;
mod history;
pub mod kubeconfig;
mod log_filter;
mod manual;
mod operator;
mod pause;
mod places;
mod planes;
mod preflight;
mod process_metrics;
pub mod run;
mod secure;
mod snapshot;
mod status;
mod status_page;
mod traces;
mod uninstall;
pub mod webhooks;

use std::process::ExitCode;

use args::{Args, Command};
use fedhub_planes::discovery::credentials;

/// Runs the command line of the process, and returns its exit code.
pub fn main() -> ExitCode {
    let (args, renamed) = Args::of_process();
    if args.insecure_http {
        credentials::accept_plain_http();
    }
    match args.command {
        Command::Run(args) => run::main(*args, &renamed),
        Command::Crds => crds::main(),
        Command::Hub(command) => history::main(&command),
        Command::Cells(args) => cells::main(&args),
        Command::Check { check, run } => check::main(&check, &run),
        Command::Explain(args) => explain::main(&args),
        Command::Planes(args) => planes::main(&args),
        Command::Snapshot(args) => snapshot::main(&args),
        Command::Pause(args) => pause::pause(&args),
        Command::Resume(args) => pause::resume(&args),
        Command::Audit(args) => audit::main(&args),
        Command::Kubeconfig(command) => kubeconfig::main(&command),
        Command::Uninstall(args) => uninstall::main(&args),
        Command::Completions { shell } => manual::completions(shell),
        Command::Man { dir } => manual::man(dir.as_deref()),
    }
}

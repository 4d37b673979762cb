//! `datumctl-compute`, the command line of a project's users: a plugin of `datumctl`, by another name one of
//! `kubectl`, and a program of its own. It speaks to the plane of one project, and knows nothing of the hub
//! and the cells.
//!
//! # The way through
//!
//! 1. [`run`] answers what needs no plane (the manifest, completion, help, the manual), then parses
//!    [`args::Cli`].
//! 2. [`host`] is the contract with what starts the program: `datumctl`'s variables, the manifest, cobra's
//!    completion.
//! 3. [`session::Session`] is the connection to the project, which every command gets; its tokens come from
//!    the host and are renewed there.
//! 4. [`access::gate`] makes sure that compute is enabled in the project.
//! 5. Each command is a module: `run(&Session, &Args)`, its decisions and texts in pure files beside it. What
//!    goes wrong is a [`problem::Problem`]: a sentence, a remedy and an [`exit::Exit`].

// Foreign text reaches a terminal through `fedhub_terminal` alone, which neutralizes control sequences (I15).
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod access;
pub mod args;
pub mod changes;
pub mod cities;
pub mod deploy;
pub mod destroy;
pub mod dispatch;
pub mod events;
pub mod exit;
pub mod explain;
pub mod host;
pub mod instance_types;
pub mod instances;
pub mod manual;
pub mod model;
pub mod problem;
pub mod quota;
pub mod reading;
pub mod restart;
pub mod rollout;
pub mod runtime;
pub mod scale;
pub mod session;
pub mod status;
pub mod url;
pub mod view;
pub mod workloads;

use std::ffi::OsString;

use exit::Exit;
use fedhub_terminal::Terminal;
use host::environment::Environment;
use host::program::Program;

/// Runs a command line of the process, program included, and says how it ended.
pub fn run(line: Vec<OsString>, environment: &Environment) -> Exit {
    let (program, arguments) = Program::from_line(line);
    if host::manifest::is_asked(&arguments) {
        return manual::print(&host::manifest::manifest());
    }
    if let Some(words) = host::completion::asked(program, &arguments) {
        return host::completion::answer(program, environment, words);
    }
    let cli = match args::parse(program, &arguments) {
        Ok(cli) => cli,
        Err(error) => return manual::usage(&error),
    };
    dispatch::run(program, environment, cli, Terminal::of_process())
}

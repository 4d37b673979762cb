//! `fedhub completions` and `fedhub man`: what a shell and a manual need, made of the command line itself.

use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Args;
use crate::common::complain;

/// Prints the completions of a shell.
pub fn completions(shell: Shell) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "fedhub", &mut script);
    print(&script)
}

/// Prints the manual page of the program, or writes one for each command into a directory.
pub fn man(directory: Option<&Path>) -> ExitCode {
    let Some(directory) = directory else {
        let mut page = Vec::new();
        let rendered = clap_mangen::Man::new(Args::command().disable_help_subcommand(true)).render(&mut page);
        return rendered.map_or_else(|error| failed("the manual page", &error), |()| print(&page));
    };
    let written = std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(Args::command(), directory));
    written.map_or_else(|error| failed(&directory.display().to_string(), &error), |()| ExitCode::SUCCESS)
}

/// A reader that stops reading early is no error.
fn print(text: &[u8]) -> ExitCode {
    match io::stdout().lock().write_all(text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => failed("standard output", &error),
    }
}

fn failed(what: &str, error: &io::Error) -> ExitCode {
    complain(&format!("failed to write {what}: {}", fedhub_core::errors::chain(error)));
    ExitCode::FAILURE
}

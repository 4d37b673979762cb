//! The output that needs no connection: help, completions, manual pages.

use std::path::Path;

use clap_mangen::Man;
use fedhub_core::errors::chain;
use fedhub_terminal::output;

use crate::args;
use crate::exit::Exit;
use crate::host::program::Program;
use crate::problem::Problem;

/// Prints a text, and ends well if that can be done.
pub fn print(text: &str) -> Exit {
    match output::print_verbatim(text) {
        Ok(()) => Exit::Done,
        Err(error) => failed("standard output", &error).tell(false),
    }
}

/// Prints what the parser says: help on standard output, faults on standard error.
pub fn usage(error: &clap::Error) -> Exit {
    // A reader that has gone away needs no help.
    let _printed = error.print();
    if error.use_stderr() { Exit::Usage } else { Exit::Done }
}

/// Prints the manual page of the program, or writes one for each command into a directory.
pub fn man(program: Program, directory: Option<&Path>) -> Result<(), Problem> {
    let command = args::command(program).disable_help_subcommand(true);
    let Some(directory) = directory else {
        let mut page = Vec::new();
        Man::new(command).render(&mut page).map_err(|error| failed("the manual page", &error))?;
        return output::print_verbatim(String::from_utf8_lossy(&page).trim_end())
            .map_err(|error| failed("standard output", &error));
    };
    std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(command, directory))
        .map_err(|error| failed(&directory.display().to_string(), &error))
}

fn failed(what: &str, error: &std::io::Error) -> Problem {
    Problem::failed(format!("Could not write {what}: {}.", chain(error)))
}

//! `fedhub crds`.

use std::process::ExitCode;

/// Prints the CRDs. A reader that stops reading early is no error.
pub fn main() -> ExitCode {
    match fedhub_shared::api::crds::print(&mut std::io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fedhub: {}", fedhub_shared::errors::chain(&error));
            ExitCode::FAILURE
        }
    }
}

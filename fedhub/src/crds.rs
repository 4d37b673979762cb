//! `fedhub crds`.

use std::io::ErrorKind;
use std::process::ExitCode;

use fedhub_api::crds::{CrdError, print};

use crate::common::complain;

/// Prints the CRDs. A reader that stops reading early is no error.
pub fn main() -> ExitCode {
    match print(&mut std::io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(CrdError::Write(error)) if error.kind() == ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error.to_string());
            ExitCode::FAILURE
        }
    }
}

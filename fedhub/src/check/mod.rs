//! `fedhub check`: whether an installation has what it needs. Reads only, and asks no fedhub (U4).
//!
//! `gather` reads facts; `decide` makes findings of them, and is pure; `report` prints those.

mod carried;
mod decide;
mod facts;
mod finding;
pub mod flags;
mod gather;
mod report;
mod rights;
mod schema;

use std::process::ExitCode;

use crate::args::RunArgs;
use crate::common::{misuse, perform};
use finding::{Finding, State};
use flags::CheckArgs;
use report::Checked;

/// The exit code where a check failed.
const FAILED: u8 = 3;
/// The exit code where there are warnings, and no check failed.
const WARNINGS: u8 = 4;

/// Reads, decides and prints.
pub fn main(args: &CheckArgs, run: &RunArgs) -> ExitCode {
    if let Some(code) = misuse(&run.validate()) {
        return code;
    }
    perform(async {
        let checked = Checked(decide::decide(&Box::pin(gather::gather(args, run)).await?));
        args.output.print(&checked)?;
        Ok(ExitCode::from(code(&checked.0)))
    })
}

fn code(findings: &[Finding]) -> u8 {
    let any = |state: State| findings.iter().any(|finding| finding.state == state);
    match (any(State::Failed), any(State::Warning)) {
        (true, _) => FAILED,
        (false, true) => WARNINGS,
        (false, false) => 0,
    }
}

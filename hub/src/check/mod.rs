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

use fedhub_core::errors;

use crate::args::RunArgs;
use crate::common::{install_tls_provider, misuse};
use fedhub_terminal::output::colours;
use finding::{Finding, State};
use flags::CheckArgs;

/// The exit code where a check failed.
const FAILED: u8 = 3;
/// The exit code where there are warnings, and no check failed.
const WARNINGS: u8 = 4;

/// Reads, decides and prints.
pub fn main(args: &CheckArgs, run: &RunArgs) -> ExitCode {
    if let Some(code) = misuse(&run.validate()) {
        return code;
    }
    let facts = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(anyhow::Error::from)
        .and_then(|runtime| {
            install_tls_provider()?;
            runtime.block_on(gather::gather(args, run))
        });
    match facts {
        Ok(facts) => {
            let findings = decide::decide(&facts);
            println!("{}", report::print(&findings, args.output.format(), colours()));
            ExitCode::from(code(&findings))
        }
        Err(error) => {
            eprintln!("fedhub: {}", errors::chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

fn code(findings: &[Finding]) -> u8 {
    let any = |state: State| findings.iter().any(|finding| finding.state == state);
    match (any(State::Failed), any(State::Warning)) {
        (true, _) => FAILED,
        (false, true) => WARNINGS,
        (false, false) => 0,
    }
}

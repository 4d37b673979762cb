//! `fedhub kubeconfig`: kubeconfigs with tokens of `ServiceAccount`s, made, stored where fedhub reads them,
//! and renewed.
//!
//! `purpose` says what `deploy/` has of each; `plan` decides on what a Secret holds, `render` writes a
//! kubeconfig, and `requests` asks the planes. A token is in no output but that of `--print`.

pub mod args;
mod mint;
mod plan;
mod purpose;
mod render;
mod report;
mod requests;
mod rotate;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use crate::common::{complain, misuse, perform};
use args::KubeconfigCommand;
use fedhub_terminal::output::OutputArgs;
#[cfg(test)]
pub use purpose::Account;
use report::Kubeconfigs;

/// The exit code where a kubeconfig failed.
const FAILED: u8 = 3;

/// Mints or rotates, and prints.
pub fn main(command: &KubeconfigCommand) -> ExitCode {
    let faults = match command {
        KubeconfigCommand::Mint(args) => args.validate(),
        KubeconfigCommand::Rotate(args) => args.validate(),
    };
    misuse(&faults).unwrap_or_else(|| perform(report(command)))
}

async fn report(command: &KubeconfigCommand) -> anyhow::Result<ExitCode> {
    match command {
        KubeconfigCommand::Mint(args) if args.print => match mint::printed(args).await {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(error) => {
                complain(&error);
                Ok(ExitCode::from(FAILED))
            }
        },
        KubeconfigCommand::Mint(args) => finish(&mint::stored(args).await?, args.common.output),
        KubeconfigCommand::Rotate(args) => finish(&rotate::all(args).await?, args.common.output),
    }
}

fn finish(report: &Kubeconfigs, output: OutputArgs) -> anyhow::Result<ExitCode> {
    output.print(report)?;
    Ok(if report.is_in_order() { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

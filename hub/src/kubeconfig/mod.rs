//! `fedhub kubeconfig`: kubeconfigs with tokens of `ServiceAccount`s, made, stored where fedhub reads them, and renewed.
//!
//! `purpose` says what `deploy/` has of each; `plan` decides on what a Secret holds, `render` writes a kubeconfig, and
//! `requests` asks the planes. A token is in no output but that of `--print`.

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

use fedhub_core::errors;

use crate::common::{MISUSE, install_tls_provider};
use args::KubeconfigCommand;
use fedhub_terminal::output::{OutputArgs, colours};
#[cfg(test)]
pub use purpose::Account;
use report::Report;

/// The exit code where a kubeconfig failed.
const FAILED: u8 = 3;

/// Mints or rotates, and prints.
pub fn main(command: &KubeconfigCommand) -> ExitCode {
    let faults = match command {
        KubeconfigCommand::Mint(args) => args.validate(),
        KubeconfigCommand::Rotate(args) => args.validate(),
    };
    if !faults.is_empty() {
        for fault in faults {
            eprintln!("fedhub: {fault}");
        }
        return ExitCode::from(MISUSE);
    }
    let done = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(anyhow::Error::from)
        .and_then(|runtime| runtime.block_on(perform(command)));
    done.unwrap_or_else(|error| {
        eprintln!("fedhub: {}", errors::chain(error.as_ref()));
        ExitCode::FAILURE
    })
}

async fn perform(command: &KubeconfigCommand) -> anyhow::Result<ExitCode> {
    install_tls_provider()?;
    match command {
        KubeconfigCommand::Mint(args) if args.print => match mint::printed(args).await {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(error) => {
                eprintln!("fedhub: {error}");
                Ok(ExitCode::from(FAILED))
            }
        },
        KubeconfigCommand::Mint(args) => Ok(finish(&mint::stored(args).await?, args.common.output)),
        KubeconfigCommand::Rotate(args) => Ok(finish(&rotate::all(args).await?, args.common.output)),
    }
}

fn finish(report: &Report, output: OutputArgs) -> ExitCode {
    println!("{}", report.print(output.format(), colours()));
    if report.is_in_order() { ExitCode::SUCCESS } else { ExitCode::from(FAILED) }
}

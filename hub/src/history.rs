//! `fedhub hub`: what is remembered of the hub, for operators.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Subcommand;
use fedhub_core::errors;
use fedhub_planes::discovery::credentials::Source;
use fedhub_planes::identity::hub;
use kube::Client;

use crate::common::{MANAGEMENT_NAMESPACE, install_tls_provider};

/// What `fedhub hub` is to do.
#[derive(Debug, Subcommand)]
pub enum HubCommand {
    /// Tell whether the hub is held to be restored from a backup, so that no deletion is inferred on it.
    Status(MemoryArgs),
    /// Infer deletions again on a hub that was restored from a backup, although not every cell in use has written back.
    AcceptRestore(MemoryArgs),
}

/// Where fedhub remembers it.
#[derive(Debug, clap::Args)]
pub struct MemoryArgs {
    /// Kubeconfig of the management plane; without it, the service account of the pod.
    #[arg(long, env = "FEDHUB_MANAGEMENT_KUBECONFIG", value_name = "FILE")]
    pub management_kubeconfig: Option<PathBuf>,
    /// Context in the management kubeconfig, in place of its current one.
    #[arg(long, env = "FEDHUB_MANAGEMENT_CONTEXT", value_name = "NAME")]
    pub management_context: Option<String>,
    /// fedhub's own namespace on the management plane.
    #[arg(long, env = "FEDHUB_NAMESPACE", default_value = MANAGEMENT_NAMESPACE)]
    pub namespace: String,
}

/// Does it, and says what is so now.
pub fn main(command: &HubCommand) -> ExitCode {
    let told = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(anyhow::Error::from)
        .and_then(|runtime| runtime.block_on(perform(command)));
    match told {
        Ok(told) => {
            println!("{told}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("fedhub: {}", errors::chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

async fn perform(command: &HubCommand) -> anyhow::Result<String> {
    install_tls_provider()?;
    match command {
        HubCommand::Status(args) => {
            let remembered = hub::remembered(&client(args)?, &args.namespace).await;
            let remembered = remembered.context("failed to read what is remembered of the hub")?;
            Ok(match remembered.map(|it| (it.highest, it.restored_at)) {
                None => "nothing is remembered of the hub".to_owned(),
                Some((highest, None)) => format!("in order; highest resourceVersion seen: {highest}"),
                Some((_, Some(at))) => format!(
                    "restored from a backup, at resourceVersion {at}: no deletion is inferred until every cell in use has \
                     written back, or until `fedhub hub accept-restore`"
                ),
            })
        }
        HubCommand::AcceptRestore(args) => {
            let accepted = hub::accept_restore(&client(args)?, &args.namespace).await;
            Ok(if accepted.context("failed to accept the restore")? {
                "accepted: deletions are inferred again, and cells that were declared lost before count as lost".to_owned()
            } else {
                "nothing to accept: the hub is not held to be restored".to_owned()
            })
        }
    }
}

fn client(args: &MemoryArgs) -> anyhow::Result<Client> {
    let source = Source::of(args.management_kubeconfig.as_deref(), args.management_context.as_deref());
    Ok(Client::try_from(source.read()?.config)?)
}

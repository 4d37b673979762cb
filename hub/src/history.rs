//! `fedhub hub`: the stored state of the hub, for operators.

use std::process::ExitCode;

use anyhow::Context;
use clap::Subcommand;
use fedhub_planes::history::Remembered;
use fedhub_planes::identity::hub;
use fedhub_terminal::output::print;
use kube::Client;

use crate::common::{ManagementArgs, OwnNamespaceArgs, formerly_namespace, perform};

const STATUS: &str = "\
Example:
  fedhub hub status --management-kubeconfig management.yaml

Exit codes: 0: done; 1: the management plane cannot be read; 2: misuse.";

const ACCEPT: &str = "\
Example:
  fedhub hub accept-restore --management-kubeconfig management.yaml

Exit codes: 0: done; 1: the management plane cannot be read or written; 2: misuse.";

/// The commands of `fedhub hub`.
#[derive(Debug, Subcommand)]
pub enum HubCommand {
    /// Show whether the hub is considered restored from a backup, so that no deletion is inferred on it.
    #[command(after_help = STATUS)]
    Status(MemoryArgs),
    /// Infer deletions again on a hub that was restored from a backup, although not every cell in use has written back.
    #[command(after_help = ACCEPT)]
    AcceptRestore(MemoryArgs),
}

/// Where the state of the hub is stored.
#[derive(Debug, clap::Args)]
#[command(mut_arg("management_namespace", formerly_namespace))]
pub struct MemoryArgs {
    /// The management plane.
    #[command(flatten)]
    pub management: ManagementArgs,
    /// fedhub's own namespace there.
    #[command(flatten)]
    pub own: OwnNamespaceArgs,
}

/// Runs the command, and prints its result.
pub fn main(command: &HubCommand) -> ExitCode {
    perform(async {
        print(&report(command).await?)?;
        Ok(ExitCode::SUCCESS)
    })
}

async fn report(command: &HubCommand) -> anyhow::Result<String> {
    match command {
        HubCommand::Status(args) => {
            let remembered = hub::remembered(&client(args)?, &args.own.management_namespace).await;
            let remembered = remembered.context("failed to read the state of the hub")?;
            Ok(status(remembered.as_ref()))
        }
        HubCommand::AcceptRestore(args) => {
            let accepted = hub::accept_restore(&client(args)?, &args.own.management_namespace).await;
            Ok(outcome(accepted.context("failed to accept the restore")?).to_owned())
        }
    }
}

/// The output of `fedhub hub status`.
fn status(remembered: Option<&Remembered>) -> String {
    match remembered.map(|it| (it.highest, it.restored_at)) {
        None => "no state of the hub is stored".to_owned(),
        Some((highest, None)) => format!("in order; highest resourceVersion seen: {highest}"),
        Some((_, Some(at))) => format!(
            "restored from a backup, at resourceVersion {at}: no deletion is inferred until every cell in use has written \
             back or `fedhub hub accept-restore` is run"
        ),
    }
}

/// The output of `fedhub hub accept-restore`.
fn outcome(accepted: bool) -> &'static str {
    if accepted {
        "accepted: deletions are inferred again, and cells that were declared lost before count as lost"
    } else {
        "nothing to accept: the hub is not considered restored"
    }
}

fn client(args: &MemoryArgs) -> anyhow::Result<Client> {
    let source = args.management.source();
    Ok(Client::try_from(source.read()?.config)?)
}

#[cfg(test)]
mod tests {
    use fedhub_testing::{Messages, assert_messages};

    use super::*;

    #[test]
    fn the_state_of_the_hub_reads_well() {
        let hub = Remembered { highest: 4711, ..Remembered::default() };
        let restored = Remembered { restored_at: Some(815), ..hub };
        let states = [("nothing stored", None), ("in order", Some(&hub)), ("restored", Some(&restored))];
        let mut messages = Messages::default();
        messages.section("fedhub hub status", states.map(|(label, state)| (label, status(state)))).section(
            "fedhub hub accept-restore",
            [true, false].map(|accepted| (accepted, outcome(accepted))),
        );
        assert_messages!("hub", messages);
    }
}

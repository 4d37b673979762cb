//! `fedhub hub`: the stored state of the hub, for operators.

mod cities;

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Subcommand;
use fedhub_core::object::{Kind, Object};
use fedhub_planes::history::Remembered;
use fedhub_planes::identity::hub;
use fedhub_terminal::consent::{agrees, can_ask};
use fedhub_terminal::output::{print, print_error};
use jiff::Timestamp;
use kube::Client;

use crate::common::{HubArgs, ManagementArgs, OwnNamespaceArgs, formerly_namespace, misuse, perform};
use crate::operator::connect::of_source;
use crate::operator::read::Read;
use crate::operator::requests::{Part, Query, each, list};
use cities::Cities;

/// How long a read of the hub may take, of a list each page.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The exit code where nothing was accepted, as it was answered.
const DECLINED: u8 = 3;

const STATUS: &str = "\
Example:
  fedhub hub status --management-kubeconfig management.yaml

Exit codes: 0: done; 1: the management plane cannot be read; 2: misuse.";

const ACCEPT: &str = "\
Example:
  fedhub hub accept-restore --management-kubeconfig management.yaml --hub-kubeconfig hub.yaml

Shows which cells have not written back since the restore, and asks.

Exit codes: 0: done; 1: the management plane cannot be read or written, or the hub cannot be read; 2: misuse;
            3: nothing was accepted.";

/// The commands of `fedhub hub`.
#[derive(Debug, Subcommand)]
pub enum HubCommand {
    /// Show whether the hub is considered restored from a backup, so that no deletion is inferred on it.
    #[command(after_help = STATUS)]
    Status(MemoryArgs),
    /// Infer deletions again on a hub that was restored from a backup, although not every cell in use has
    /// written back.
    #[command(after_help = ACCEPT)]
    AcceptRestore(AcceptArgs),
}

/// The flags of `fedhub hub accept-restore`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("hub_kubeconfig", |arg| arg.required(true)))]
pub struct AcceptArgs {
    /// Where the state is stored.
    #[command(flatten)]
    pub memory: MemoryArgs,
    /// The hub, which shows the cells that have not written back.
    #[command(flatten)]
    pub hub: HubArgs,
    /// Do not ask.
    #[arg(long)]
    pub yes: bool,
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
    match command {
        HubCommand::Status(args) => perform(async {
            print(&status(remembered(args).await?.as_ref()))?;
            Ok(ExitCode::SUCCESS)
        }),
        HubCommand::AcceptRestore(args) if !args.yes && !can_ask() => {
            let fault = "accept-restore asks, and there is no terminal; --yes does without asking";
            misuse(&[fault.to_owned()]).unwrap_or(ExitCode::FAILURE)
        }
        HubCommand::AcceptRestore(args) => perform(accept(args)),
    }
}

async fn remembered(args: &MemoryArgs) -> anyhow::Result<Option<Remembered>> {
    let remembered = hub::remembered(&client(args)?, &args.own.management_namespace).await;
    remembered.context("failed to read the state of the hub")
}

/// Shows what accepting means, asks, and accepts.
async fn accept(args: &AcceptArgs) -> anyhow::Result<ExitCode> {
    let remembered = remembered(&args.memory).await?;
    let Some(remembered) = remembered.filter(|it| it.restored_at.is_some() || !it.is_accepted()) else {
        print(outcome(false))?;
        return Ok(ExitCode::SUCCESS);
    };
    print_error(&cells(args, &remembered).await?);
    let question =
        "Infer deletions from what the hub lacks, although it may lack what the backup did not have?";
    if !args.yes && !agrees(question, "accept") {
        print("nothing was accepted")?;
        return Ok(ExitCode::from(DECLINED));
    }
    let accepted = hub::accept_restore(&client(&args.memory)?, &args.memory.own.management_namespace).await;
    print(outcome(accepted.context("failed to accept the restore")?))?;
    Ok(ExitCode::SUCCESS)
}

/// How the cities take an object in.
type Visit = fn(&mut Cities, &Object);

/// Describes the state of the hub's cells since the restore.
async fn cells(args: &AcceptArgs, remembered: &Remembered) -> anyhow::Result<String> {
    let hub = Read::Found(of_source(&args.hub.required()?, TIMEOUT).context("failed to connect to the hub")?);
    let failed = |what: &str| format!("failed to list {what} on the hub");
    let clusters = list(&hub, Kind::Cluster.resource(), "", "").await.required(|| failed("clusters"))?;
    let clusters: Vec<_> = clusters.into_iter().map(Arc::new).collect();
    let mut cities = Cities::default();
    let visits: [(Kind, &str, Visit); 2] = [
        (Kind::WorkloadDeployment, "workloaddeployments", Cities::deployment),
        (Kind::Instance, "instances", Cities::copy),
    ];
    for (kind, what, visit) in visits {
        let query = Query { kind: kind.resource(), namespace: "", labels: "", fields: "" };
        let read = each(&hub, query, Part::Metadata, |object| {
            visit(&mut cities, &object);
            ControlFlow::Continue(())
        });
        read.await.required(|| failed(what))?;
    }
    Ok(cities.describe(remembered, &clusters, Timestamp::now()))
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
    Ok(of_source(&args.management.source(), TIMEOUT)?.client)
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

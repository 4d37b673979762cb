//! `fedhub cells`: the cells that the hub knows, how they are, and what they hold. Reads only, and asks no
//! fedhub; `fedhub cells admit`, in `admit`, enters a cell.

mod admit;
pub mod entries;
mod report;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use fedhub_core::names::SOURCE_CLUSTER;
use fedhub_core::object::{Kind, Object};
use fedhub_planes::discovery::credentials::Source;
use fedhub_terminal::output::OutputArgs;
use jiff::Timestamp;

use crate::common::{HubArgs, perform};
use crate::operator::connect::{Connection, of_source};
use crate::operator::named_file;
use crate::operator::read::Read;
use crate::operator::requests::{Part, Query, each, list};
use admit::AdmitArgs;
use report::{Cells, Counts};

/// The exit code where the cells were read and one of them is not Ready.
const NOT_READY: u8 = 3;
/// How long all reads may take together.
const PATIENCE: Duration = Duration::from_mins(2);
/// How long each of them may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The flags of `fedhub cells`.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("hub_kubeconfig", |arg| arg.required(true)),
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:\n  fedhub cells --hub-kubeconfig hub.yaml\n  \
                  fedhub cells --hub-kubeconfig hub.yaml --project-kubeconfig project-a=project-a.yaml --json\n\n\
                  Exit codes: 0: every cell is Ready; 1: the hub or a project plane cannot be read; 2: misuse; \
                        3: a cell is not Ready, is lost, or is not known to the hub."
)]
pub struct CellsArgs {
    /// What else is done with cells.
    #[command(subcommand)]
    pub command: Option<CellsCommand>,
    /// The hub.
    #[command(flatten)]
    pub hub: HubArgs,
    /// Name and kubeconfig of a project plane whose quota claims are to be counted; may be given more than
    /// once.
    #[arg(long = "project-kubeconfig", value_name = "NAME=FILE", value_parser = named_file)]
    pub project_kubeconfigs: Vec<(String, PathBuf)>,
    /// The format.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The commands of `fedhub cells`.
#[derive(Debug, clap::Subcommand)]
pub enum CellsCommand {
    /// Give a cell its identity on the hub: a `ServiceAccount` of its own, and the entry by which the hub's
    /// policies know it.
    Admit(Box<AdmitArgs>),
}

/// Admits a cell, or reads and prints.
pub fn main(args: &CellsArgs) -> ExitCode {
    if let Some(CellsCommand::Admit(args)) = &args.command {
        return admit::main(args);
    }
    perform(async {
        let report = read(args).await?;
        args.output.print(&report)?;
        Ok(if report.is_in_order() { ExitCode::SUCCESS } else { ExitCode::from(NOT_READY) })
    })
}

async fn read(args: &CellsArgs) -> anyhow::Result<Cells> {
    let read = async {
        let hub = Read::Found(of_source(&args.hub.required()?, TIMEOUT)?);
        let on_hub = |what| format!("failed to list {what} on the hub");
        let clusters = list(&hub, Kind::Cluster.resource(), "", "").await;
        let clusters = done(clusters, || on_hub("clusters"))?.into_iter().map(Arc::new).collect::<Vec<_>>();
        let mut counts = Counts::default();
        let deployments = visit(&hub, Kind::WorkloadDeployment, "", |wd| counts.deployment(wd)).await;
        done(deployments, || on_hub("workloaddeployments"))?;
        let instances = visit(&hub, Kind::Instance, "", |copy| counts.instance(copy)).await;
        done(instances, || on_hub("instances"))?;
        for (name, file) in &args.project_kubeconfigs {
            let project = Read::Found(of_source(&Source::file(file, None), TIMEOUT)?);
            counts.with_claims();
            let claims =
                visit(&project, Kind::ResourceClaim, SOURCE_CLUSTER, |claim| counts.claim(claim)).await;
            done(claims, || format!("failed to list resourceclaims in project {name}"))?;
        }
        Ok(Cells::new(&clusters, &counts, Timestamp::now()))
    };
    tokio::time::timeout(PATIENCE, read)
        .await
        .context("the hub or a project plane did not respond in time")?
}

/// What was read. Where one of the reads fails there is no report.
fn done<T: Default>(read: Read<T>, doing: impl FnOnce() -> String) -> anyhow::Result<T> {
    match read {
        Read::Found(it) => Ok(it),
        Read::Absent | Read::Skipped => Ok(T::default()),
        Read::Failed(error) => Err(anyhow!("{}: {}", doing(), error.message)),
    }
}

/// Calls `count` with the metadata of each object.
async fn visit(
    plane: &Connection,
    kind: Kind,
    labels: &str,
    mut count: impl FnMut(&Object) + Send,
) -> Read<()> {
    let query = Query { kind: kind.resource(), namespace: "", labels, fields: "" };
    each(plane, query, Part::Metadata, |object| {
        count(&object);
        ControlFlow::Continue(())
    })
    .await
}

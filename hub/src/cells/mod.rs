//! `fedhub cells`: the cells that the hub knows, how they are, and what they hold. Reads only, and asks no fedhub.

mod report;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use fedhub_core::errors;
use fedhub_core::names::SOURCE_CLUSTER;
use fedhub_core::object::{Kind, Object, bare};
use fedhub_planes::discovery::credentials;
use kube::api::{Api, ListParams};
use kube::core::ObjectMeta;

use crate::common::install_tls_provider;
use crate::operator::named_file;
use report::{Counts, Report};

/// The exit code where the cells were read and one of them is not Ready.
const NOT_READY: u8 = 3;
/// How long all reads may take together.
const PATIENCE: Duration = Duration::from_mins(2);
/// How many objects a page of a list has.
const PAGE: u32 = 500;

/// The flags of `fedhub cells`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit codes: 0: every cell is Ready; 1: the hub or a project plane cannot be read; 2: misuse; \
                        3: a cell is not Ready, is lost, or is not known to the hub."
)]
pub struct CellsArgs {
    /// Kubeconfig of the hub (the Karmada API server).
    #[arg(long, env = "FEDHUB_HUB_KUBECONFIG", value_name = "FILE")]
    pub hub_kubeconfig: PathBuf,
    /// Context in the hub kubeconfig, in place of its current one.
    #[arg(long, env = "FEDHUB_HUB_CONTEXT", value_name = "NAME")]
    pub hub_context: Option<String>,
    /// Name and kubeconfig of a project plane whose quota claims are to be counted; may be given more than once.
    #[arg(long = "project-kubeconfig", value_name = "NAME=FILE", value_parser = named_file)]
    pub project_kubeconfigs: Vec<(String, PathBuf)>,
    /// Print JSON in place of a table.
    #[arg(long)]
    pub json: bool,
}

/// Reads, and prints.
pub fn main(args: &CellsArgs) -> ExitCode {
    let read = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(anyhow::Error::from)
        .and_then(|runtime| runtime.block_on(read(args)));
    match read {
        Ok(report) => {
            if args.json {
                println!("{:#}", report.json());
            } else {
                println!("{report}");
            }
            if report.is_in_order() { ExitCode::SUCCESS } else { ExitCode::from(NOT_READY) }
        }
        Err(error) => {
            eprintln!("fedhub: {}", errors::chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

async fn read(args: &CellsArgs) -> anyhow::Result<Report> {
    install_tls_provider()?;
    let read = async {
        let hub = client(credentials::Source::file(&args.hub_kubeconfig, args.hub_context.as_deref()))?;
        let clusters = Api::<Object>::all_with(hub.clone(), Kind::Cluster.resource());
        let clusters =
            clusters.list(&ListParams::default()).await.context("failed to list clusters on the hub")?;
        let clusters: Vec<_> = clusters.items.into_iter().map(Arc::new).collect();
        let mut counts = Counts::default();
        let deployments = each(&hub, Kind::WorkloadDeployment, "", |wd| counts.deployment(wd)).await;
        deployments.context("failed to list workloaddeployments on the hub")?;
        let instances = each(&hub, Kind::Instance, "", |copy| counts.instance(copy)).await;
        instances.context("failed to list instances on the hub")?;
        for (name, file) in &args.project_kubeconfigs {
            let project = client(credentials::Source::file(file, None))?;
            counts.with_claims();
            let claims =
                each(&project, Kind::ResourceClaim, SOURCE_CLUSTER, |claim| counts.claim(claim)).await;
            claims.with_context(|| format!("failed to list resourceclaims in project {name}"))?;
        }
        Ok(Report::of(&clusters, &counts))
    };
    tokio::time::timeout(PATIENCE, read)
        .await
        .context("the hub or a project plane did not respond in time")?
}

fn client(source: credentials::Source) -> anyhow::Result<kube::Client> {
    Ok(kube::Client::try_from(source.read()?.config)?)
}

/// Calls `visit` with the metadata of each object, page by page.
async fn each(
    client: &kube::Client,
    kind: Kind,
    selector: &str,
    mut visit: impl FnMut(&Object),
) -> kube::Result<()> {
    let api = Api::<Object>::all_with(client.clone(), kind.resource());
    let mut params = ListParams::default().limit(PAGE).labels(selector);
    loop {
        let page = api.list_metadata(&params).await?;
        let object = |metadata: ObjectMeta| Object { metadata, ..bare(kind, "", "") };
        page.items.into_iter().for_each(|item| visit(&object(item.metadata)));
        params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
        if params.continue_token.is_none() {
            return Ok(());
        }
    }
}

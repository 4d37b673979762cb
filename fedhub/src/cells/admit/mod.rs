//! `fedhub cells admit`: gives a cell its identity on the hub, a `ServiceAccount` of its own and the entry by
//! which the hub's policies know it. It may be run again: it writes only what is missing or has changed.

mod plan;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, anyhow};
use fedhub_api::cells::KUBE_SYSTEM;
use fedhub_core::clock::parse_duration;
use fedhub_core::errors;
use fedhub_core::object::{Kind, ObjectView};
use fedhub_planes::discovery::credentials::Source;
use fedhub_terminal::output::print;
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;

use super::entries::CELLS;
use crate::common::{CELL_NAMESPACE, HubArgs, complain, misuse, perform};
use crate::operator::connect::{Connection, Plane, of_source};
use crate::operator::read::Read;
use crate::operator::requests::{get, get_metadata, list};
use plan::{Admission, Facts, admit, cluster_name};

/// The exit code where the cell is refused.
const REFUSED: u8 = 3;
/// What is said of a write without an answer.
const LATE: &str = "the hub did not answer a write in time; run the command again";
/// The field manager of the writes.
const MANAGER: &str = "fedhub-cells";

/// The flags of `fedhub cells admit`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedhub cells admit cell-dfw --hub-context HUB --cell-context CELL
  fedhub cells admit cell-dfw --hub-kubeconfig hub.yaml --cell-kubeconfig cell-dfw.yaml --dry-run

The UID is the one that Karmada recorded when the cell was joined (spec.id of the Cluster), the city that of the Cluster's
label topology.datum.net/city-code. Run it again where the cell was rebuilt and joined anew, or serves another city.

Exit codes: 0: the cell is entered; 1: the hub or the cell cannot be read or written; 2: misuse; 3: the cell is refused.")]
pub struct AdmitArgs {
    /// Name of the cell's Cluster on the hub, which is also that of its `ServiceAccount` there.
    #[arg(value_name = "CLUSTER", value_parser = cluster_name)]
    pub cluster: String,
    /// The hub.
    #[command(flatten)]
    pub hub: HubArgs,
    /// Kubeconfig of the cell.
    #[arg(long, env = "FEDHUB_CELL_KUBECONFIG", value_name = "FILE")]
    pub cell_kubeconfig: Option<PathBuf>,
    /// Context in the cell kubeconfig, in place of its current one; without a kubeconfig, in kubectl's.
    #[arg(long, env = "FEDHUB_CELL_CONTEXT", value_name = "NAME")]
    pub cell_context: Option<String>,
    /// Show what would be written, and write nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// How long each request may take.
    #[arg(long, default_value = "10s", value_parser = parse_duration, value_name = "DURATION")]
    pub timeout: Duration,
}

impl AdmitArgs {
    fn hub(&self) -> Option<Source> {
        Source::named(self.hub.kubeconfig.as_deref(), self.hub.context.as_deref())
    }

    fn cell(&self) -> Option<Source> {
        Source::named(self.cell_kubeconfig.as_deref(), self.cell_context.as_deref())
    }

    /// A line for each fault.
    fn faults(&self) -> Vec<String> {
        let needed = [
            (self.hub().is_none(), "fedhub cells admit needs --hub-kubeconfig or --hub-context"),
            (self.cell().is_none(), "fedhub cells admit needs --cell-kubeconfig or --cell-context"),
        ];
        needed.into_iter().filter(|(missing, _)| *missing).map(|(_, fault)| fault.to_owned()).collect()
    }
}

/// Admits the cell, and says what became of it.
pub fn main(args: &AdmitArgs) -> ExitCode {
    misuse(&args.faults()).unwrap_or_else(|| {
        perform(async {
            match report(args).await? {
                Outcome::Entered(done) => {
                    print(&done)?;
                    Ok(ExitCode::SUCCESS)
                }
                Outcome::Refused(refused) => {
                    complain(&format!("cell {} is refused: {refused}", args.cluster));
                    Ok(ExitCode::from(REFUSED))
                }
            }
        })
    })
}

/// What became of the cell.
enum Outcome {
    /// It is entered, or would be: in words.
    Entered(String),
    /// It is not, for this reason.
    Refused(String),
}

async fn report(args: &AdmitArgs) -> anyhow::Result<Outcome> {
    let connect = |source: Option<Source>, what: &str| {
        let source = source.with_context(|| format!("{what} is not named"))?;
        of_source(&source, args.timeout).with_context(|| format!("failed to connect to {what}"))
    };
    let hub = connect(args.hub(), "the hub")?;
    let cell: Connection = Read::Found(connect(args.cell(), "the cell")?);
    let of_hub = Read::Found(hub.clone());
    let clusters = list(&of_hub, Kind::Cluster.resource(), "", "").await;
    let clusters = clusters.required(|| "failed to list clusters on the hub".to_owned())?;
    let map = match get(&of_hub, Kind::ConfigMap.resource(), CELL_NAMESPACE, CELLS).await {
        Read::Found(map) => map,
        Read::Failed(error) => return Err(anyhow!("failed to get ConfigMap {CELLS}: {}", error.message)),
        Read::Absent | Read::Skipped => {
            return Err(anyhow!(
                "the hub has no ConfigMap {CELLS} in namespace {CELL_NAMESPACE}: apply deploy/components/hub-for-cells"
            ));
        }
    };
    let shown = match get_metadata(&cell, Kind::Namespace.resource(), "", KUBE_SYSTEM).await {
        Read::Found(namespace) => namespace.uid().to_owned(),
        Read::Absent | Read::Skipped => String::new(),
        Read::Failed(error) => {
            return Err(anyhow!("failed to get namespace {KUBE_SYSTEM} of the cell: {}", error.message));
        }
    };
    let facts = Facts { cluster: &args.cluster, clusters: &clusters, map: &map, shown: &shown };
    let admission = match admit(facts) {
        Ok(admission) => admission,
        Err(refused) => return Ok(Outcome::Refused(refused)),
    };
    if !args.dry_run {
        write(&hub, &args.cluster, &admission, map.version()).await?;
    }
    Ok(Outcome::Entered(words(&args.cluster, &admission, args.dry_run)))
}

/// Creates what is missing. The entry is changed only where the `ConfigMap` is as it was read.
async fn write(hub: &Plane, name: &str, admission: &Admission, version: &str) -> anyhow::Result<()> {
    let accounts: Api<ServiceAccount> = Api::namespaced(hub.client.clone(), CELL_NAMESPACE);
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let account = ServiceAccount { metadata, ..ServiceAccount::default() };
    let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
    let created = tokio::time::timeout(hub.timeout, accounts.create(&params, &account)).await;
    match created.context(LATE)? {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.is_already_exists() => {}
        Err(error) => {
            return Err(error)
                .with_context(|| format!("failed to create ServiceAccount {CELL_NAMESPACE}/{name}"));
        }
    }
    if admission.stands() {
        return Ok(());
    }
    let maps: Api<ConfigMap> = Api::namespaced(hub.client.clone(), CELL_NAMESPACE);
    let data = json!({name: admission.entry.to_string()});
    let patch = Patch::Merge(json!({"metadata": {"resourceVersion": version}, "data": data}));
    let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    let patched = tokio::time::timeout(hub.timeout, maps.patch(CELLS, &params, &patch)).await;
    match patched.context(LATE)? {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.is_conflict() => {
            Err(anyhow!("ConfigMap {CELLS} changed meanwhile; run the command again"))
        }
        Err(error) => Err(anyhow!("failed to write ConfigMap {CELLS}: {}", errors::chain(&error))),
    }
}

/// What was done, or would be.
fn words(name: &str, admission: &Admission, dry_run: bool) -> String {
    let entry = &admission.entry;
    let would = if dry_run { "would be " } else { "" };
    match &admission.former {
        _ if admission.stands() => format!("{name}: entered as {entry}"),
        None => format!("{name}: {would}entered as {entry}"),
        Some(former) => format!("{name}: {would}entered as {entry}, in place of {former:?}"),
    }
}

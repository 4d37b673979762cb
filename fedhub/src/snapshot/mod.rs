//! `fedhub snapshot`: writes what `fedhub explain` reads of all planes into one file. Reads only, and asks no
//! fedhub (U4).

mod file;
mod strip;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::LazyLock;

use fedhub_core::errors::{self, ApiError};
use fedhub_core::names::IDENTITIES;
use fedhub_core::object::{Kind, Object, ObjectView};
use fedhub_planes::ProjectNamespace;
use fedhub_planes::identity::hub::NAME as HUB_HISTORY;
use fedhub_planes::pauses::stored::NAME as PAUSED;
use kube::core::{ApiResource, GroupVersionKind, Status};

use crate::common::{complain, misuse, perform};
use crate::operator::concurrent;
use crate::operator::connect::{Connection, Plane, in_time};
use crate::operator::fleet::discover;
use crate::operator::karmada::WORK;
use crate::operator::planes::IDENTIFYING;
use crate::operator::read::{Failure, Read, ReadError};
use crate::operator::recording::{Failed, Listed, Recording, Snapshot};
use crate::operator::requests::{Part, get};
use crate::operator::sources::SourceArgs;
use fedhub_terminal::output::print;
use fedhub_terminal::table::counted;

/// The exit code where a plane could not be read whole.
const INCOMPLETE: u8 = 3;

/// Where a recording has the `ConfigMaps`.
const CONFIG_MAPS: &str = "v1/configmaps";
/// Where a recording has the namespaces.
const NAMESPACES: &str = "v1/namespaces";

static LEASE: LazyLock<ApiResource> = LazyLock::new(|| {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("coordination.k8s.io", "v1", "Lease"), "leases")
});

/// The flags of `fedhub snapshot`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("hub_kubeconfig", |arg| arg.required(true)),
    mut_arg("timeout", |arg| arg.default_value("30s")), after_help = "\
The file has metadata and status of WorkloadDeployments, Instances and what Karmada makes of them, of namespaces and
Clusters, and fedhub's own ConfigMaps and Lease. It has no Secret, no credential and no template of a workload.

Example:
  fedhub snapshot --management-kubeconfig management.yaml --hub-kubeconfig hub.yaml --file snapshot.json
  fedhub explain wd web -n shop --plane project-a --from snapshot.json

Exit codes: 0: written; 1: it could not be written, or the management plane cannot be read; 2: misuse;
            3: written, and a plane could not be read whole: standard error and the file say why.")]
pub struct SnapshotArgs {
    /// The file to write, for its owner alone; it is replaced.
    #[arg(long, value_name = "FILE")]
    pub file: PathBuf,
    /// The planes that are read.
    #[command(flatten)]
    pub sources: SourceArgs,
    /// How many planes are read at a time.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024), value_name = "N")]
    pub concurrency: u16,
}

/// Reads, and writes the file.
pub fn main(args: &SnapshotArgs) -> ExitCode {
    if let Some(code) = misuse(&args.sources.faults()) {
        return code;
    }
    perform(async {
        let snapshot = take(args).await?;
        file::write(&args.file, &serde_json::to_vec(&snapshot)?)?;
        let gaps = snapshot.gaps();
        for gap in &gaps {
            complain(&format!("not read: {gap}"));
        }
        print(&format!(
            "{}: {}, {}, as of {:.0}",
            args.file.display(),
            counted(snapshot.projects.len(), "project plane"),
            counted(snapshot.cells.len(), "cell"),
            snapshot.taken_at
        ))?;
        Ok(if gaps.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(INCOMPLETE) })
    })
}

async fn take(args: &SnapshotArgs) -> anyhow::Result<Snapshot> {
    let sources = &args.sources;
    let management = sources.management(!sources.project_kubeconfigs.is_empty())?;
    let namespace = &sources.own.management_namespace;
    let projects = projects(sources, &management).await?;
    let mut snapshot = Snapshot::new(
        namespace,
        of_management(&management, namespace).await,
        record(&sources.hub()?, &on_hub()).await,
    );
    let on_the_hub = on_the_hub(&snapshot.hub);
    let of_project = |name: &str, connection: Connection| {
        let known = on_the_hub.get(name).cloned().unwrap_or_default();
        async move {
            let recorded = in_time(&connection, record_project(&connection, known)).await;
            recorded.unwrap_or_else(|error| failed(&error))
        }
    };
    snapshot.projects = all(projects, of_project, "planes", args.concurrency).await?;
    snapshot.cells = all(
        sources.cells()?,
        |_, connection| async move {
            let recorded = in_time(&connection, record(&connection, &on_cell())).await;
            recorded.unwrap_or_else(|error| failed(&error))
        },
        "cells",
        args.concurrency,
    )
    .await?;
    Ok(snapshot)
}

/// The namespaces of each project plane that have one on the hub.
fn on_the_hub(hub: &Recording) -> BTreeMap<String, BTreeSet<String>> {
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for home in hub.listed(NAMESPACES).iter().filter_map(ProjectNamespace::from_hub_namespace) {
        known.entry(home.plane.to_string()).or_default().insert(home.namespace);
    }
    known
}

/// A list to record of a plane: a kind, and the namespace if it is in one.
type Wanted = (ApiResource, String);

fn everywhere(kinds: &[Kind]) -> Vec<Wanted> {
    kinds.iter().map(|kind| (kind.resource().clone(), String::new())).collect()
}

fn on_project() -> Vec<Wanted> {
    everywhere(&[Kind::Namespace, Kind::WorkloadDeployment, Kind::Instance])
}

fn on_cell() -> Vec<Wanted> {
    everywhere(&[Kind::WorkloadDeployment, Kind::Instance])
}

fn on_hub() -> Vec<Wanted> {
    let mut wanted = everywhere(&[
        Kind::Namespace,
        Kind::WorkloadDeployment,
        Kind::Instance,
        Kind::PropagationPolicy,
        Kind::Cluster,
        Kind::ResourceBinding,
    ]);
    wanted.push((WORK.clone(), String::new()));
    wanted
}

/// The management plane: of `ConfigMaps` fedhub's own alone, and no Secret.
async fn of_management(management: &Connection, namespace: &str) -> Recording {
    let kinds = [Kind::ConfigMap.resource().clone(), LEASE.clone()];
    let mut recording = record(management, &kinds.map(|kind| (kind, namespace.to_owned()))).await;
    if let Some(Listed::Objects(maps)) = recording.resources.get_mut(CONFIG_MAPS) {
        let is_state = |map: &Object| [HUB_HISTORY, PAUSED].contains(&map.name());
        maps.retain(|map| is_state(map) || map.label(IDENTITIES.0) == Some(IDENTITIES.1));
    }
    recording
}

/// The project planes: those given, and those found.
async fn projects(
    sources: &SourceArgs,
    management: &Connection,
) -> anyhow::Result<BTreeMap<String, Connection>> {
    let source = sources.planes(management)?;
    let (found, _) = discover(&source, management, &sources.own.management_namespace).await?;
    let mut planes = sources.projects()?;
    for plane in found {
        if !planes.contains_key(&plane.name) {
            planes.insert(plane.name.clone(), plane.connection(sources.timeout));
        }
    }
    Ok(planes)
}

async fn all<F>(
    planes: BTreeMap<String, Connection>,
    read: impl Fn(&str, Connection) -> F,
    what: &'static str,
    concurrency: u16,
) -> anyhow::Result<BTreeMap<String, Recording>>
where
    F: Future<Output = Recording> + Send + 'static,
{
    let recorded = concurrent::all(what, planes, concurrency.into(), |(name, connection)| {
        let reading = read(&name, connection);
        async move { (name, reading.await) }
    });
    Ok(recorded.await?.into_iter().collect())
}

/// Reads a project plane. fedhub's own credentials may get its namespaces and not list them: then those are
/// read that have something in them, there or on the hub, which are `known`, and those by which the plane is
/// identified.
async fn record_project(connection: &Connection, mut known: BTreeSet<String>) -> Recording {
    let mut recording = record(connection, &on_project()).await;
    let is_forbidden =
        matches!(recording.resources.get(NAMESPACES), Some(Listed::Refused(it)) if it.code == 403);
    if !is_forbidden {
        return recording;
    }
    known.extend(IDENTIFYING.map(str::to_owned));
    for kind in [Kind::WorkloadDeployment, Kind::Instance] {
        let objects = recording.listed(&resource(kind.resource()));
        known.extend(objects.iter().map(|object| object.namespace().to_owned()));
    }
    let kind = Kind::Namespace.resource();
    let mut namespaces = Vec::new();
    for name in known {
        match get(connection, kind, "", &name).await {
            Read::Found(namespace) => namespaces.push(strip::strip(kind, namespace)),
            Read::Absent | Read::Skipped => {}
            // The answer to the list says why.
            Read::Failed(_) => return recording,
        }
    }
    recording.resources.insert(NAMESPACES.to_owned(), Listed::Objects(namespaces));
    recording
}

/// Returns the name of a kind in a recording.
fn resource(kind: &ApiResource) -> String {
    format!("{}/{}", kind.api_version, kind.plural)
}

/// A plane that could not be read.
fn failed(error: &ReadError) -> Recording {
    Recording { failed: Some(Failed::from(error)), ..Recording::default() }
}

/// Reads a plane. One that does not answer is recorded as that.
async fn record(connection: &Connection, wanted: &[Wanted]) -> Recording {
    let plane = match connection {
        Read::Found(plane) => plane,
        Read::Failed(error) => return failed(error),
        Read::Absent | Read::Skipped => return Recording::default(),
    };
    let mut recording = Recording::default();
    for (kind, namespace) in wanted {
        let listed = match listed(plane, kind, namespace).await {
            Ok(objects) => Listed::Objects(objects),
            Err(Refusal::Answered(status)) => Listed::Refused(status),
            Err(Refusal::Failed(error)) => return failed(&error),
        };
        recording.resources.insert(resource(kind), listed);
    }
    recording
}

/// Why a list was not read.
enum Refusal {
    /// The server refused it by an answer.
    Answered(Box<Status>),
    /// Without one.
    Failed(ReadError),
}

async fn listed(plane: &Plane, kind: &ApiResource, namespace: &str) -> Result<Vec<Object>, Refusal> {
    let mut objects = Vec::new();
    let mut pages = plane.source().pages(kind, namespace, Part::Whole, plane.limits);
    // Objects that are not written to the file are not kept in memory either.
    let mut visit = |object: Object| {
        objects.push(strip::strip(kind, object));
        ControlFlow::Continue(())
    };
    loop {
        let page = tokio::time::timeout(plane.timeout, Box::pin(pages.next(&mut visit))).await;
        match page {
            Ok(Ok(ControlFlow::Continue(()))) => {}
            Ok(Ok(ControlFlow::Break(()))) => return Ok(objects),
            Ok(Err(ApiError::Server(status))) => return Err(Refusal::Answered(status)),
            Ok(Err(error)) => {
                let too_large = matches!(error, ApiError::TooLarge(_));
                let failure = if too_large { Failure::TooLarge } else { Failure::Unreachable };
                return Err(Refusal::Failed(ReadError { failure, message: errors::chain(&error) }));
            }
            Err(_) => {
                let message = format!("no answer within {} s", plane.timeout.as_secs_f64());
                return Err(Refusal::Failed(ReadError { failure: Failure::Unreachable, message }));
            }
        }
    }
}

//! `fedhub planes`: the project planes of discovery `kubeconfigs`, and how each answers. Reads only, and asks no fedhub
//! (U4).

mod report;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use fedhub_core::clock::parse_duration;
use fedhub_core::errors;
use fedhub_core::names::{FEDERATOR_FINALIZER, IDENTITIES, PLANE_NAME, PLANE_SECRET, PlaneName};
use fedhub_core::object::{Kind, Object, ObjectView};
use fedhub_planes::discovery::credentials::Source;
use fedhub_planes::identity::IdentityEntry;
use kube::api::{Api, ListParams};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::common::{MANAGEMENT_NAMESPACE, install_tls_provider};
use crate::explain::Cause;
use crate::operator::connect::{Connection, Plane, of_source};
use crate::operator::output::{OutputArgs, colours};
use crate::operator::planes::of_secret;
use crate::operator::progress::Progress;
use crate::operator::read::{Failure, Read, ReadError};
use crate::operator::requests::{get, list, within};
use report::{Counts, PlaneLine, Problem, Report};

/// The exit code where planes were read and one of them has a problem.
const PROBLEM: u8 = 3;
/// How many objects a page of a list has.
const PAGE: u32 = 500;

/// The flags of `fedhub planes`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  fedhub planes --management-kubeconfig management.yaml -o wide

Exit codes: 0: every plane answers; 1: the management plane cannot be read; 2: misuse; 3: a plane has a problem.")]
pub struct PlanesArgs {
    /// Kubeconfig of the management plane, which has the Secrets of project planes; without it, the service account of the
    /// pod.
    #[arg(long, env = "FEDHUB_MANAGEMENT_KUBECONFIG", value_name = "FILE")]
    pub management_kubeconfig: Option<PathBuf>,
    /// Context in the management kubeconfig, in place of its current one.
    #[arg(long, env = "FEDHUB_MANAGEMENT_CONTEXT", value_name = "NAME")]
    pub management_context: Option<String>,
    /// fedhub's own namespace on the management plane.
    #[arg(long, env = "FEDHUB_NAMESPACE", default_value = MANAGEMENT_NAMESPACE, value_name = "NAME")]
    pub management_namespace: String,
    /// How many planes are asked at a time.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=1024), value_name = "N")]
    pub concurrency: u16,
    /// How long each read may take.
    #[arg(long, default_value = "5s", value_parser = parse_duration, value_name = "DURATION")]
    pub timeout: Duration,
    /// The format.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Reads, and prints.
pub fn main(args: &PlanesArgs) -> ExitCode {
    let report = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(anyhow::Error::from)
        .and_then(|runtime| runtime.block_on(read(args)));
    match report {
        Ok(report) => {
            println!("{}", report.print(args.output.format(), colours()));
            if report.is_in_order() { ExitCode::SUCCESS } else { ExitCode::from(PROBLEM) }
        }
        Err(error) => {
            eprintln!("fedhub: {}", errors::chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

async fn read(args: &PlanesArgs) -> anyhow::Result<Report> {
    install_tls_provider()?;
    let source = Source::of(args.management_kubeconfig.as_deref(), args.management_context.as_deref());
    let management = of_source(&source, args.timeout).context("failed to connect to the management plane")?;
    let management = Read::Found(management);
    let all = |kind: Kind, label: (&str, &str)| {
        let (label, management) = (format!("{}={}", label.0, label.1), &management);
        async move { list(management, kind.resource(), &args.management_namespace, &label).await }
    };
    let (secrets, identities) =
        tokio::join!(all(Kind::Secret, PLANE_SECRET), all(Kind::ConfigMap, IDENTITIES));
    let secrets = required(secrets, "secrets")?;
    let remembered = remembered(&required(identities, "configmaps")?);
    let mut progress = Progress::new("planes", secrets.len());
    let (mut asked, room) = (JoinSet::new(), Arc::new(Semaphore::new(args.concurrency.into())));
    for secret in secrets {
        let (room, timeout) = (room.clone(), args.timeout);
        asked.spawn(async move {
            // It is never closed.
            let _room = room.acquire().await;
            ask(&secret, timeout).await
        });
    }
    let mut lines = Vec::new();
    while let Some(line) = asked.join_next().await {
        lines.push(line.context("a plane was not asked to the end")?);
        progress.done(lines.len());
    }
    progress.finish();
    Ok(Report::of(lines, &remembered))
}

fn required(read: Read<Vec<Object>>, what: &str) -> anyhow::Result<Vec<Object>> {
    match read {
        Read::Found(objects) => Ok(objects),
        Read::Absent | Read::Skipped => Ok(Vec::new()),
        Read::Failed(error) => {
            Err(anyhow!("failed to list {what} on the management plane: {}", error.message))
        }
    }
}

/// The identities that fedhub remembers, by plane.
fn remembered(maps: &[Object]) -> BTreeMap<String, String> {
    let entries = maps.iter().filter_map(|map| map.data["data"].as_object()).flatten();
    let identity = |value: &serde_json::Value| IdentityEntry::read(value.as_str()?).map(|it| it.identity);
    entries.filter_map(|(plane, value)| Some((plane.clone(), identity(value)?))).collect()
}

/// What a plane answers.
async fn ask(secret: &Object, timeout: Duration) -> PlaneLine {
    let name = secret.annotation(PLANE_NAME).unwrap_or(secret.name()).to_owned();
    let mut line = PlaneLine::new(&name, secret.name());
    if let Err(error) = PlaneName::new(&name) {
        line.problem = Some(Problem { cause: Cause::PlaneSecretInvalid, message: error.to_string() });
        return line;
    }
    let connection = of_secret(secret, timeout);
    let plane = match &connection {
        Read::Found(plane) => plane,
        Read::Failed(error) => return line.with(error),
        Read::Absent | Read::Skipped => return line,
    };
    line.server.clone_from(&plane.server);
    let began = Instant::now();
    let identities = identities(&connection).await;
    match identities {
        Read::Found(uids) => line.identities = uids,
        Read::Failed(error) => return line.with(&error),
        Read::Absent | Read::Skipped => {}
    }
    line.latency = Some(began.elapsed());
    match count(plane).await {
        Ok(counts) => line.counts = Some(counts),
        Err(error) => return line.with(&error),
    }
    line
}

/// The UIDs by which a plane is identified: of `kube-system`, and of `default`.
async fn identities(plane: &Connection) -> Read<Vec<String>> {
    let kind = Kind::Namespace.resource();
    let (system, default) =
        tokio::join!(get(plane, kind, "", "kube-system"), get(plane, kind, "", "default"));
    // A right that is missing is shown by what is counted.
    let unanswered = |read: &Read<Object>| {
        let failure =
            |error: &&ReadError| matches!(error.failure, Failure::Unreachable | Failure::Unauthorized);
        read.failure().filter(failure).cloned()
    };
    if let Some(error) = unanswered(&system) {
        return Read::Failed(error);
    }
    Read::Found([system, default].iter().filter_map(|it| it.found().map(|it| it.uid().to_owned())).collect())
}

/// Counts the WDs of a plane by their metadata, page by page.
async fn count(plane: &Plane) -> Result<Counts, ReadError> {
    let api = Api::<Object>::all_with(plane.client.clone(), Kind::WorkloadDeployment.resource());
    let (mut params, mut counts) = (ListParams::default().limit(PAGE), Counts::default());
    loop {
        let page = match within(plane.timeout, api.list_metadata(&params)).await {
            Read::Found(page) => page,
            Read::Failed(error) => return Err(error),
            Read::Absent | Read::Skipped => return Ok(counts),
        };
        for wd in &page.items {
            let held = wd.metadata.finalizers.iter().flatten().any(|it| it == FEDERATOR_FINALIZER);
            counts.add(held, wd.metadata.deletion_timestamp.is_some());
        }
        params.continue_token = page.metadata.continue_.filter(|token| !token.is_empty());
        if params.continue_token.is_none() {
            return Ok(counts);
        }
    }
}

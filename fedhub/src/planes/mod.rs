//! `fedhub planes`: the project planes that discovery finds, and how each answers. Reads only, and asks no
//! fedhub (U4); `fedhub planes withdraw`, in `withdraw`, decides on a project whose entitlement is missing.

mod count;
mod report;
mod service;
mod withdraw;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use fedhub_core::clock::parse_duration;
use fedhub_planes::entitlement::Grant;

use crate::common::{ManagementArgs, OwnNamespaceArgs, misuse, perform};
use crate::discovery::{DiscoveryArgs, of_operators};
use crate::operator::concurrent::all;
use crate::operator::connect::{Connection, in_time, of_source};
use crate::operator::discovery::{Found, PlaneSource};
use crate::operator::fleet::discover;
use crate::operator::planes::{entries, identities, paused};
use crate::operator::read::Read;
use count::count;
use fedhub_terminal::output::OutputArgs;
use report::{PlaneLine, Planes};
use service::{Service, shown};
use withdraw::WithdrawArgs;

/// The exit code where planes were read and one of them has a problem.
const PROBLEM: u8 = 3;

/// The flags of `fedhub planes`.
#[derive(Debug, clap::Args)]
#[command(
    mut_arg("discovery", of_operators),
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  fedhub planes --management-kubeconfig management.yaml -o wide
  fedhub planes --management-kubeconfig management.yaml --discovery milo --discovery-kubeconfig milo.yaml

Exit codes: 0: every plane answers; 1: the management plane cannot be read; 2: misuse; 3: a plane has a problem, or
            the entitlement of its project is missing."
)]
pub struct PlanesArgs {
    /// What else is done with planes.
    #[command(subcommand)]
    pub command: Option<PlanesCommand>,
    /// The management plane.
    #[command(flatten)]
    pub management: ManagementArgs,
    /// Where fedhub is on it.
    #[command(flatten)]
    pub own: OwnNamespaceArgs,
    /// Where project planes are found.
    #[command(flatten)]
    pub discovery: DiscoveryArgs,
    /// How many planes are asked at a time.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=1024), value_name = "N")]
    pub concurrency: u16,
    /// How long each read may take, of a list each page; all reads of a plane may take 24 times as long.
    #[arg(long, default_value = "5s", value_parser = parse_duration, value_name = "DURATION")]
    pub timeout: Duration,
    /// WDs that a plane may have, as `fedhub run` has it; one with more has a problem.
    #[arg(long, env = "FEDHUB_MAX_OBJECTS", default_value_t = 50_000, value_parser = clap::value_parser!(u32).range(1..), value_name = "N")]
    pub max_objects: u32,
    /// The format.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// The commands of `fedhub planes`.
#[derive(Debug, clap::Subcommand)]
pub enum PlanesCommand {
    /// Withdraw the service from a project whose entitlement is missing, and was not seen to be deleted.
    Withdraw(Box<WithdrawArgs>),
}

/// Withdraws, or reads and prints.
pub fn main(args: &PlanesArgs) -> ExitCode {
    if let Some(PlanesCommand::Withdraw(args)) = &args.command {
        return withdraw::main(args);
    }
    if let Some(code) = misuse(&args.discovery.faults(&args.management)) {
        return code;
    }
    perform(async {
        let report = read(args).await?;
        args.output.print(&report)?;
        Ok(if report.is_in_order() { ExitCode::SUCCESS } else { ExitCode::from(PROBLEM) })
    })
}

async fn read(args: &PlanesArgs) -> anyhow::Result<Planes> {
    let management = of_source(&args.management.source(), args.timeout)
        .context("failed to connect to the management plane")?;
    let management = Read::Found(management);
    let namespace = &args.own.management_namespace;
    let source =
        PlaneSource::from_args(&args.discovery, (&args.management, &management), namespace, args.timeout)?;
    let (fleet, paused, entries) = tokio::join!(
        discover(&source, &management, namespace),
        paused(&management, namespace),
        entries(&management, namespace)
    );
    let (found, remembered) = fleet?;
    let entries = entries.required(|| "failed to list configmaps on the management plane".to_owned())?;
    let paused = paused.required(|| "failed to read pauses on the management plane".to_owned())?;
    let timeout = args.timeout;
    let labels = source.deployments();
    let max_objects = usize::try_from(args.max_objects).unwrap_or(usize::MAX);
    let lines = all("planes", found, args.concurrency.into(), |plane| {
        let labels = labels.clone();
        let grant = entries.get(&plane.name).and_then(|entry| entry.grant);
        async move { ask(plane, grant, &labels, timeout, max_objects).await }
    });
    Ok(Planes::new(lines.await?, &remembered, &paused))
}

/// What a plane answers whose project was granted that.
async fn ask(
    found: Found,
    grant: Option<Grant>,
    labels: &str,
    timeout: Duration,
    max_objects: usize,
) -> PlaneLine {
    let mut line = PlaneLine::new(&found.name, found.secret.as_deref());
    line.service = grant.map(|grant| Service::judge(grant, None));
    let connection = found.connection(timeout).map(|mut plane| {
        plane.limits.objects = max_objects;
        plane
    });
    match &connection {
        Read::Found(plane) => line.server.clone_from(&plane.server),
        Read::Failed(error) => return line.with(error),
        Read::Absent | Read::Skipped => return line,
    }
    match in_time(&connection, answered(line.clone(), grant, &connection, labels)).await {
        Ok(line) => line,
        Err(error) => line.with(&error),
    }
}

async fn answered(
    mut line: PlaneLine,
    grant: Option<Grant>,
    connection: &Connection,
    labels: &str,
) -> PlaneLine {
    let began = Instant::now();
    match identities(connection).await {
        Read::Found(uids) => line.identities = uids,
        Read::Failed(error) => return line.with(&error),
        Read::Absent | Read::Skipped => {}
    }
    line.latency = Some(began.elapsed());
    if let Some(grant) = grant {
        line.service = Some(Service::judge(grant, shown(connection).await.found().copied()));
    }
    match count(connection, labels).await {
        Ok(counts) => line.counts = Some(counts),
        Err(error) => return line.with(&error),
    }
    line
}

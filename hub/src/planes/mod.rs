//! `fedhub planes`: the project planes of discovery `kubeconfigs`, and how each answers. Reads only, and asks no fedhub
//! (U4).

mod report;

use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use fedhub_core::clock::parse_duration;
use fedhub_core::errors;
use fedhub_core::names::{FEDERATOR_FINALIZER, PLANE_NAME, PlaneName};
use fedhub_core::object::{Kind, Object, ObjectView};

use crate::common::{ManagementArgs, OwnNamespaceArgs, install_tls_provider};
use crate::explain::Cause;
use crate::operator::concurrent::all;
use crate::operator::connect::{Connection, of_source};
use crate::operator::fleet::of_management;
use crate::operator::output::{OutputArgs, colours};
use crate::operator::planes::{identities, of_secret, paused};
use crate::operator::read::{Read, ReadError};
use crate::operator::requests::{Part, Query, each};
use report::{Counts, PlaneLine, Problem, Report};

/// The exit code where planes were read and one of them has a problem.
const PROBLEM: u8 = 3;

/// The flags of `fedhub planes`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  fedhub planes --management-kubeconfig management.yaml -o wide

Exit codes: 0: every plane answers; 1: the management plane cannot be read; 2: misuse; 3: a plane has a problem.")]
pub struct PlanesArgs {
    /// The management plane, which has the Secrets of project planes.
    #[command(flatten)]
    pub management: ManagementArgs,
    /// Where fedhub is on it.
    #[command(flatten)]
    pub own: OwnNamespaceArgs,
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
    let management = of_source(&args.management.source(), args.timeout)
        .context("failed to connect to the management plane")?;
    let management = Read::Found(management);
    let namespace = &args.own.management_namespace;
    let (fleet, paused) = tokio::join!(of_management(&management, namespace), paused(&management, namespace));
    let (secrets, remembered) = fleet?;
    let paused = paused.required(|| "failed to read pauses on the management plane".to_owned())?;
    let timeout = args.timeout;
    let lines =
        all("planes", secrets, args.concurrency.into(), |secret| async move { ask(&secret, timeout).await });
    Ok(Report::of(lines.await?, &remembered, &paused))
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
    match count(&connection).await {
        Ok(counts) => line.counts = Some(counts),
        Err(error) => return line.with(&error),
    }
    line
}

/// Counts the WDs of a plane by their metadata, page by page.
async fn count(plane: &Connection) -> Result<Counts, ReadError> {
    let all = Query { kind: Kind::WorkloadDeployment.resource(), namespace: "", labels: "" };
    let mut counts = Counts::default();
    let counted = each(plane, all, Part::Metadata, |wd| {
        counts.add(wd.has_finalizer(FEDERATOR_FINALIZER), wd.is_terminating());
        ControlFlow::Continue(())
    });
    match counted.await {
        Read::Failed(error) => Err(error),
        Read::Found(()) | Read::Absent | Read::Skipped => Ok(counts),
    }
}

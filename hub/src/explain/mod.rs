//! `fedhub explain`: where a WD or an Instance is on its way, and why. Reads only, and asks no fedhub (U4).
//!
//! `read` reads the objects of the chain into a plain struct (`chain`); `diagnose` decides on it alone; `rows` and `output`
//! print it.

mod cause;
mod chain;
mod diagnose;
mod hop;
mod output;
mod read;
mod rows;

use std::path::PathBuf;
use std::process::ExitCode;

use crate::common::{misuse, perform};
use crate::operator::recording::Snapshot;
use crate::operator::sources::SourceArgs;
pub use cause::Cause;
pub use chain::{Chain, Subject, SubjectKind};
pub use diagnose::{State, diagnose};
use fedhub_terminal::output::{OutputArgs, colours};
pub use hop::Hop;
pub use output::{verdict, words};
pub use read::{ProjectPlane, Request, is_plane_name, read};
pub use rows::{Row, rows};

/// Chains that were read, for tests of what shows them.
#[cfg(test)]
pub mod fixtures {
    pub use super::diagnose::tests::chain_of;
}

/// The exit code where the WD is blocked or stuck.
const BLOCKED: u8 = 3;

/// What is explained, on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum KindArg {
    /// A WorkloadDeployment.
    #[value(name = "wd", aliases = ["workloaddeployment", "workloaddeployments"])]
    WorkloadDeployment,
    /// An Instance.
    #[value(name = "instance", alias = "instances")]
    Instance,
}

/// The flags of `fedhub explain`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("hub_kubeconfig", |arg| arg.required_unless_present("from")), after_help = "\
Example:
  fedhub explain wd web -n shop --plane project-a --management-kubeconfig management.yaml --hub-kubeconfig hub.yaml
  fedhub explain wd web -n shop --plane project-a --from snapshot.json

Exit codes: 0: in sync, or on its way within its deadlines; 1: what it needs cannot be read; 2: misuse;
            3: blocked or stuck.")]
pub struct ExplainArgs {
    /// What to explain: `wd` or `instance`.
    #[arg(value_name = "KIND", hide_possible_values = true)]
    pub kind: KindArg,
    /// Its name.
    pub name: String,
    /// Its namespace in the project.
    #[arg(short, long, value_name = "NAMESPACE")]
    pub namespace: String,
    /// The name of its project plane.
    #[arg(long, value_name = "PLANE", value_parser = plane_name)]
    pub plane: String,
    /// The planes that are read.
    #[command(flatten)]
    pub sources: SourceArgs,
    /// A file of `fedhub snapshot`, which is read in place of all planes.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["hub_kubeconfig", "management_kubeconfig", "project_kubeconfigs", "cell_kubeconfigs"])]
    pub from: Option<PathBuf>,
    /// Name of fedhub's Lease.
    #[arg(long, env = "FEDHUB_LEASE_NAME", default_value = "fedhub", value_name = "NAME")]
    pub lease_name: String,
    /// The format.
    #[command(flatten)]
    pub output: OutputArgs,
}

fn plane_name(text: &str) -> Result<String, String> {
    is_plane_name(text).map(|()| text.to_owned())
}

/// Reads, decides and prints.
pub fn main(args: &ExplainArgs) -> ExitCode {
    if args.from.is_none()
        && let Some(code) = misuse(&args.sources.faults())
    {
        return code;
    }
    perform(async {
        let chain = read_chain(args).await?;
        let diagnosis = diagnose(&chain);
        println!("{}", output::print(&chain, &diagnosis, args.output.format(), colours()));
        Ok(match diagnosis.state.is_trouble() {
            _ if diagnose::is_unreadable(&chain) => ExitCode::FAILURE,
            true => ExitCode::from(BLOCKED),
            false => ExitCode::SUCCESS,
        })
    })
}

async fn read_chain(args: &ExplainArgs) -> anyhow::Result<Chain> {
    let kind = match args.kind {
        KindArg::WorkloadDeployment => SubjectKind::WorkloadDeployment,
        KindArg::Instance => SubjectKind::Instance,
    };
    let (plane, namespace) = (args.plane.clone(), args.namespace.clone());
    let subject = Subject { kind, plane, namespace, name: args.name.clone() };
    let lease = args.lease_name.clone();
    let request = match &args.from {
        Some(file) => Request::recorded(subject, lease, &Snapshot::read(file)?),
        None => live(&args.sources, subject, lease)?,
    };
    Ok(Box::pin(read(request)).await)
}

fn live(sources: &SourceArgs, subject: Subject, lease: String) -> anyhow::Result<Request> {
    let given = sources.projects()?.remove(&subject.plane);
    let management = sources.management(given.is_some())?;
    let project = match given {
        Some(given) => ProjectPlane::Given(given),
        None => ProjectPlane::In(Box::new(sources.planes(&management)?)),
    };
    Ok(Request {
        now: None,
        subject,
        management,
        namespace: sources.own.management_namespace.clone(),
        lease,
        project,
        hub: sources.hub()?,
        cells: sources.cells()?,
        works: true,
        timeout: sources.timeout,
    })
}

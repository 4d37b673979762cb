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

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use fedhub_core::clock::parse_duration;
use fedhub_core::errors;
use fedhub_planes::discovery::credentials::Source;

use crate::common::{HubArgs, ManagementArgs, OwnNamespaceArgs, install_tls_provider};
use crate::operator::connect::{Connection, of_source};
use crate::operator::named_file;
use crate::operator::output::{OutputArgs, colours};
use crate::operator::read::Read;
pub use cause::Cause;
pub use chain::{Chain, Subject, SubjectKind};
pub use diagnose::{State, diagnose};
pub use hop::Hop;
pub use output::{age, verdict, words};
pub use read::{Request, is_plane_name, read};
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
#[command(mut_arg("hub_kubeconfig", |arg| arg.required(true)), after_help = "\
Example:
  fedhub explain wd web -n shop --plane project-a --management-kubeconfig management.yaml --hub-kubeconfig hub.yaml

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
    /// The hub.
    #[command(flatten)]
    pub hub: HubArgs,
    /// The management plane, which has the Secrets of project planes and fedhub's Lease.
    #[command(flatten)]
    pub management: ManagementArgs,
    /// Where fedhub is on it.
    #[command(flatten)]
    pub own: OwnNamespaceArgs,
    /// Name of fedhub's Lease.
    #[arg(long, env = "FEDHUB_LEASE_NAME", default_value = "fedhub", value_name = "NAME")]
    pub lease_name: String,
    /// Name and kubeconfig of a project plane, in place of its Secret; may be given more than once.
    #[arg(long = "project-kubeconfig", value_name = "NAME=FILE", value_parser = named_file)]
    pub project_kubeconfigs: Vec<(String, PathBuf)>,
    /// Name, as Karmada has it, and kubeconfig of a cell, which is read too then; may be given more than once.
    #[arg(long = "cell-kubeconfig", value_name = "NAME=FILE", value_parser = named_file)]
    pub cell_kubeconfigs: Vec<(String, PathBuf)>,
    /// How long each read may take.
    #[arg(long, default_value = "5s", value_parser = parse_duration, value_name = "DURATION")]
    pub timeout: Duration,
    /// The format.
    #[command(flatten)]
    pub output: OutputArgs,
}

fn plane_name(text: &str) -> Result<String, String> {
    is_plane_name(text).map(|()| text.to_owned())
}

/// Reads, decides and prints.
pub fn main(args: &ExplainArgs) -> ExitCode {
    let chain = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(anyhow::Error::from)
        .and_then(|runtime| runtime.block_on(read_chain(args)));
    let chain = match chain {
        Ok(chain) => chain,
        Err(error) => {
            eprintln!("fedhub: {}", errors::chain(error.as_ref()));
            return ExitCode::FAILURE;
        }
    };
    let diagnosis = diagnose(&chain);
    println!("{}", output::print(&chain, &diagnosis, args.output.format(), colours()));
    if diagnose::is_unreadable(&chain) {
        return ExitCode::FAILURE;
    }
    if diagnosis.state.is_trouble() { ExitCode::from(BLOCKED) } else { ExitCode::SUCCESS }
}

async fn read_chain(args: &ExplainArgs) -> anyhow::Result<Chain> {
    install_tls_provider()?;
    let project = args.project_kubeconfigs.iter().find(|(name, _)| *name == args.plane);
    let project = match project {
        Some((_, file)) => Some(Read::Found(of_source(&Source::file(file, None), args.timeout)?)),
        None => None,
    };
    let hub = args.hub.required()?;
    let mut cells = BTreeMap::new();
    for (name, file) in &args.cell_kubeconfigs {
        cells.insert(name.clone(), Read::Found(of_source(&Source::file(file, None), args.timeout)?));
    }
    let kind = match args.kind {
        KindArg::WorkloadDeployment => SubjectKind::WorkloadDeployment,
        KindArg::Instance => SubjectKind::Instance,
    };
    let (plane, namespace) = (args.plane.clone(), args.namespace.clone());
    let request = Request {
        subject: Subject { kind, plane, namespace, name: args.name.clone() },
        management: management(args, project.is_some())?,
        namespace: args.own.management_namespace.clone(),
        lease: args.lease_name.clone(),
        project,
        hub: Read::Found(of_source(&hub, args.timeout)?),
        cells,
        works: true,
        timeout: args.timeout,
    };
    Ok(Box::pin(read(request)).await)
}

/// The management plane. Where the project's kubeconfig is given it may do without.
fn management(args: &ExplainArgs, optional: bool) -> anyhow::Result<Connection> {
    let source = args.management.source();
    match of_source(&source, args.timeout) {
        Ok(plane) => Ok(Read::Found(plane)),
        Err(_) if optional && args.management.kubeconfig.is_none() => Ok(Read::Skipped),
        Err(error) => Err(error).context("failed to connect to the management plane"),
    }
}

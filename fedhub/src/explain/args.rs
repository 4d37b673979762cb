//! The flags of `fedhub explain`, and what they have read.

use std::path::PathBuf;
use std::process::ExitCode;

use fedhub_terminal::output::OutputArgs;

use super::chain::{Subject, SubjectKind};
use super::read::{ProjectPlane, Request, RolloutSource, is_plane_name};
use crate::operator::recording::Snapshot;
use crate::operator::sources::SourceArgs;

/// The exit code where the WD is blocked or stuck.
const BLOCKED: u8 = 3;

/// The exit code by whether all could be read, and whether anything is blocked or stuck.
pub fn exit_code(unreadable: bool, trouble: bool) -> ExitCode {
    match trouble {
        _ if unreadable => ExitCode::FAILURE,
        true => ExitCode::from(BLOCKED),
        false => ExitCode::SUCCESS,
    }
}

/// What is explained, on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum KindArg {
    /// A Workload.
    #[value(name = "workload", alias = "workloads")]
    Workload,
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
Examples:
  fedhub explain workload web -n shop --plane project-a --management-kubeconfig management.yaml --hub-kubeconfig hub.yaml
  fedhub explain wd web -n shop --plane project-a --management-kubeconfig management.yaml --hub-kubeconfig hub.yaml
  fedhub explain wd web -n shop --plane project-a --from snapshot.json

Exit codes: 0: in sync, or on its way within its deadlines; 1: what it needs cannot be read; 2: misuse;
            3: blocked or stuck.")]
pub struct ExplainArgs {
    /// What to explain: `workload`, `wd` or `instance`.
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

/// What is asked, and the file that answers where one is given.
pub struct Asked<'a> {
    /// The flags.
    pub args: &'a ExplainArgs,
    /// The file.
    pub snapshot: Option<Snapshot>,
}

impl Asked<'_> {
    /// What is to be read of a WD or an Instance.
    pub fn request(&self, kind: SubjectKind, name: &str) -> anyhow::Result<Request> {
        let plane = self.args.plane.clone();
        let namespace = self.args.namespace.clone();
        let subject = Subject { kind, plane, namespace, name: name.to_owned() };
        let lease = self.args.lease_name.clone();
        match &self.snapshot {
            Some(snapshot) => Ok(Request::recorded(subject, lease, snapshot)),
            None => live(&self.args.sources, subject, lease),
        }
    }
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
        rollout: RolloutSource::Planes,
        works: true,
        timeout: sources.timeout,
    })
}

//! The command line of `fedhub kubeconfig`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use fedhub_core::clock::parse_duration;
use fedhub_core::names::PlaneName;
use fedhub_planes::discovery::credentials::Source;

use super::purpose::{Account, Purpose, Server};
use crate::common::{CELL_NAMESPACE, HubArgs, ManagementArgs, OwnNamespaceArgs};
use crate::operator::{named_file, plane_name};
use fedhub_terminal::output::OutputArgs;

/// The least that a Kubernetes API server grants.
const SHORTEST: Duration = Duration::from_mins(10);

/// The commands of `fedhub kubeconfig`.
#[derive(Debug, clap::Subcommand)]
pub enum KubeconfigCommand {
    /// Create a token of a `ServiceAccount`, and store a kubeconfig with it in the Secret where fedhub reads
    /// it.
    #[command(after_help = "\
Examples:
  fedhub kubeconfig mint --for hub --hub-context HUB --management-context MANAGEMENT
  fedhub kubeconfig mint --for project --project-context project-a=PROJECT --management-context MANAGEMENT
  fedhub kubeconfig mint --for cell --cell-name cell-dfw --hub-context HUB --cell-context CELL
  fedhub kubeconfig mint --for hub --hub-context HUB --duration 1h --print

A context without a kubeconfig is one of kubectl's kubeconfig: of $KUBECONFIG, else of ~/.kube/config.

Exit codes: 0: done; 1: the plane of the Secrets cannot be reached or read; 2: misuse; 3: a kubeconfig failed.")]
    Mint(Box<MintArgs>),
    /// Renew the tokens in Secrets that have less than a third of their life left.
    #[command(after_help = "\
Examples:
  fedhub kubeconfig rotate --for hub,project --management-context MANAGEMENT
  fedhub kubeconfig rotate --for project --plane project-a --project-context project-a=PROJECT --management-context MANAGEMENT
  fedhub kubeconfig rotate --for cell --cell-name cell-dfw --hub-context HUB --cell-context CELL --all

Each token is renewed by itself, which needs deploy/components/own-token on its plane, unless a kubeconfig or a context of
that plane is given. A Secret that names another ServiceAccount, or another server than that context, is refused: what a
Secret says never decides whose token is created, nor who is sent it.

Exit codes: 0: done; 1: the plane of the Secrets cannot be reached or read; 2: misuse; 3: a kubeconfig failed.")]
    Rotate(Box<RotateArgs>),
}

/// The flags of `fedhub kubeconfig mint`.
#[derive(Debug, clap::Args)]
pub struct MintArgs {
    /// What the kubeconfig is for.
    #[arg(long = "for", value_name = "PURPOSE")]
    pub purpose: Purpose,
    /// Print the kubeconfig, and write no Secret.
    #[arg(long, conflicts_with_all = ["dry_run", "force", "output", "json"])]
    pub print: bool,
    /// Overwrite a Secret that holds anything but an earlier token of the same `ServiceAccount` for the same
    /// server.
    #[arg(long)]
    pub force: bool,
    /// Where planes are.
    #[command(flatten)]
    pub common: CommonArgs,
}

/// The flags of `fedhub kubeconfig rotate`.
#[derive(Debug, clap::Args)]
pub struct RotateArgs {
    /// Which kubeconfigs, by what they are for; of project planes, those of all labelled Secrets.
    #[arg(long = "for", value_name = "PURPOSE", value_delimiter = ',', required = true)]
    pub purposes: Vec<Purpose>,
    /// Renew that of this project plane alone; may be given more than once.
    #[arg(long = "plane", value_name = "PLANE", value_parser = plane_name)]
    pub planes: Vec<PlaneName>,
    /// Renew every token, however long it lasts.
    #[arg(long)]
    pub all: bool,
    /// Where planes are.
    #[command(flatten)]
    pub common: CommonArgs,
}

/// The flags that both have.
#[derive(Debug, clap::Args)]
pub struct CommonArgs {
    /// The hub.
    #[command(flatten)]
    pub hub: HubArgs,
    /// The management plane.
    #[command(flatten)]
    pub management: ManagementArgs,
    /// Where fedhub is on it.
    #[command(flatten)]
    pub own: OwnNamespaceArgs,
    /// Name and kubeconfig of a project plane; may be given more than once.
    #[arg(long = "project-kubeconfig", value_name = "PLANE=FILE", value_parser = named_file)]
    pub project_kubeconfigs: Vec<(String, PathBuf)>,
    /// Name and context of a project plane, of kubectl's kubeconfig; may be given more than once.
    #[arg(long = "project-context", value_name = "PLANE=CONTEXT", value_parser = named_context)]
    pub project_contexts: Vec<(String, String)>,
    /// `ServiceAccount` in place of that of `deploy/`.
    #[arg(long, value_name = "NAMESPACE/NAME", value_parser = Account::parse)]
    pub service_account: Option<Account>,
    /// Address of the server in the kubeconfig, in place of the one by which it is reached from here.
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,
    /// Kubeconfig of the cell.
    #[arg(long, env = "FEDHUB_CELL_KUBECONFIG", value_name = "FILE")]
    pub cell_kubeconfig: Option<PathBuf>,
    /// Context in the cell kubeconfig, in place of its current one.
    #[arg(long, env = "FEDHUB_CELL_CONTEXT", value_name = "NAME")]
    pub cell_context: Option<String>,
    /// Name of the cell: that of its `ServiceAccount` on the hub.
    #[arg(long, env = "FEDHUB_CELL_NAME", value_name = "NAME")]
    pub cell_name: Option<String>,
    /// Namespace of the cell role: where Secrets for cells are.
    #[arg(long, default_value = CELL_NAMESPACE, value_name = "NAME")]
    pub cell_namespace: String,
    /// How long the token is to last. The server may shorten it.
    #[arg(long, default_value = "2160h", value_parser = lifetime, value_name = "DURATION")]
    pub duration: Duration,
    /// Show what would be written, and write nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// How many planes are asked at a time.
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024), value_name = "N")]
    pub concurrency: u16,
    /// How long each request may take.
    #[arg(long, default_value = "10s", value_parser = parse_duration, value_name = "DURATION")]
    pub timeout: Duration,
    /// The format.
    #[command(flatten)]
    pub output: OutputArgs,
}

fn named_context(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, context)) if !name.is_empty() && !context.is_empty() => {
            Ok((name.to_owned(), context.to_owned()))
        }
        _ => Err(format!("{text:?} is not PLANE=CONTEXT")),
    }
}

fn lifetime(text: &str) -> Result<Duration, String> {
    let duration = parse_duration(text)?;
    if duration < SHORTEST { Err(format!("{text} is shorter than 10m")) } else { Ok(duration) }
}

impl CommonArgs {
    /// The project planes that are named, and where they are.
    pub fn projects(&self) -> BTreeMap<String, Source> {
        let files = self.project_kubeconfigs.iter().map(|(name, file)| (name, Source::file(file, None)));
        let kubectl = |context: &String| Source::Kubectl { context: context.clone() };
        let contexts = self.project_contexts.iter().map(|(name, context)| (name, kubectl(context)));
        files.chain(contexts).map(|(name, source)| (name.clone(), source)).collect()
    }

    /// The server of a kubeconfig that is not of a project plane, where it is named.
    pub fn target(&self, purpose: Purpose) -> Option<Source> {
        match purpose.server() {
            Server::Hub => Source::named(self.hub.kubeconfig.as_deref(), self.hub.context.as_deref()),
            Server::Management => Some(self.management.source()),
            Server::Project => None,
        }
    }

    /// Where the Secrets are.
    pub fn store(&self, purpose: Purpose) -> Option<Source> {
        if purpose.is_stored_in_cell() {
            Source::named(self.cell_kubeconfig.as_deref(), self.cell_context.as_deref())
        } else {
            Some(self.management.source())
        }
    }

    /// The namespace of the Secrets.
    pub fn namespace(&self, purpose: Purpose) -> &str {
        if purpose.is_of_cells() { &self.cell_namespace } else { &self.own.management_namespace }
    }

    /// The `ServiceAccount` that a kubeconfig acts as.
    pub fn account(&self, purpose: Purpose) -> Account {
        self.service_account
            .clone()
            .unwrap_or_else(|| purpose.account(self.cell_name.as_deref().unwrap_or_default()))
    }

    /// The server that the flags name for the kubeconfig, as a kubeconfig has it.
    pub fn named_server(&self) -> Option<String> {
        self.server.as_ref().map(|url| url.trim_end_matches('/').to_owned())
    }

    /// What is missing of the cell's account on the hub.
    fn account_fault(&self, purpose: Purpose) -> Option<String> {
        let missing = purpose == Purpose::Cell && self.cell_name.is_none() && self.service_account.is_none();
        missing.then(|| "--for cell needs --cell-name".to_owned())
    }

    /// What is missing of where the Secrets are.
    fn store_fault(&self, purpose: Purpose) -> Option<String> {
        let missing = self.store(purpose).is_none();
        missing.then(|| format!("--for {purpose} needs --cell-kubeconfig or --cell-context"))
    }
}

impl MintArgs {
    /// A line for each fault.
    pub fn validate(&self) -> Vec<String> {
        let common = &self.common;
        let purpose = self.purpose;
        let mut faults = Vec::new();
        let projects = common.projects();
        let of_project = purpose.server() == Server::Project;
        if of_project && projects.is_empty() {
            faults.push(format!("--for {purpose} needs --project-kubeconfig or --project-context"));
        }
        if !of_project && common.target(purpose).is_none() {
            faults.push(format!("--for {purpose} needs --hub-kubeconfig or --hub-context"));
        }
        faults.extend(common.account_fault(purpose));
        if self.print && of_project && projects.len() > 1 {
            faults.push("--print is for one kubeconfig".to_owned());
        }
        if common.server.is_some() && of_project && projects.len() > 1 {
            faults.push("--server is for one kubeconfig".to_owned());
        }
        faults.extend(
            projects
                .keys()
                .filter_map(|name| PlaneName::new(name).err().map(|error| format!("{name:?}: {error}"))),
        );
        faults.extend(common.store_fault(purpose).filter(|_| !self.print));
        faults
    }
}

impl RotateArgs {
    /// A line for each fault.
    pub fn validate(&self) -> Vec<String> {
        let common = &self.common;
        let mut faults: Vec<String> = self
            .purposes
            .iter()
            .flat_map(|purpose| [common.store_fault(*purpose), common.account_fault(*purpose)])
            .flatten()
            .collect();
        if common.service_account.is_some() && self.purposes.len() > 1 {
            faults.push("--service-account is for one purpose".to_owned());
        }
        let is_one = match self.purposes.as_slice() {
            [purpose] => purpose.server() != Server::Project || self.planes.len() == 1,
            _ => false,
        };
        if common.server.is_some() && !is_one {
            faults.push("--server is for one kubeconfig".to_owned());
        }
        faults
    }

    /// Whether the kubeconfig of a project plane is to be renewed.
    pub fn includes(&self, plane: &str) -> bool {
        self.planes.is_empty() || self.planes.iter().any(|it| it.as_str() == plane)
    }
}

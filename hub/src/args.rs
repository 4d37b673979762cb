//! The command line. Every flag of `run` is an environment variable too.
//!
//! Decides C14.

mod renamed;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand};
use clap_complete::Shell;
use fedhub_cache::budget::bytes;
use fedhub_core::clock::parse_duration;
use fedhub_core::names::is_label_value;
use fedhub_core::telemetry::LogFormat;
use fedhub_planes::discovery::Discovery;

use crate::audit::AuditArgs;
use crate::cells::CellsArgs;
use crate::check::flags::{AFTER_HELP, CheckArgs, shown};
use crate::common::{CELL_NAMESPACE, HubArgs, MANAGEMENT_NAMESPACE, ManagementArgs};
use crate::explain::ExplainArgs;
use crate::history::HubCommand;
use crate::kubeconfig::args::KubeconfigCommand;
use crate::pause::{PauseArgs, ResumeArgs};
use crate::planes::PlanesArgs;
use crate::secure::args::MetricsArgs;
use crate::snapshot::SnapshotArgs;
use crate::uninstall::UninstallArgs;
use crate::webhooks::args::WebhookArgs;

pub use renamed::Renamed;

/// Federation hub: bridges project planes with a Karmada hub.
#[derive(Debug, Parser)]
#[command(name = "fedhub", version, about, max_term_width = 110)]
pub struct Args {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

impl Args {
    /// Parses the command line of the process, and returns the former names of flags that it uses.
    pub fn of_process() -> (Self, Vec<Renamed>) {
        let (line, renamed) =
            renamed::translate(std::env::args_os().collect(), |name| std::env::var_os(name));
        (Self::parse_from(line), renamed)
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the controllers until SIGTERM or SIGINT.
    Run(Box<RunArgs>),
    /// Print the `CustomResourceDefinition`s of `compute.datumapis.com`, for `kubectl apply -f -`.
    Crds,
    /// Show or change whether the hub is considered restored from a backup.
    #[command(subcommand)]
    Hub(HubCommand),
    /// List the cells that the hub knows: city, state, and what they hold. Reads only.
    Cells(CellsArgs),
    /// Explain where a WorkloadDeployment or an Instance is on its way, and why it is held up. Reads only.
    Explain(Box<ExplainArgs>),
    /// Check what an installation needs: connections, rights, CRDs, Karmada, cells, credentials. Reads only.
    #[command(mut_args(shown), after_help = AFTER_HELP)]
    Check {
        /// Its own flags.
        #[command(flatten)]
        check: CheckArgs,
        /// The process that is to run.
        #[command(flatten)]
        run: Box<RunArgs>,
    },
    /// List the project planes of discovery `kubeconfigs`, and how each answers. Reads only.
    Planes(PlanesArgs),
    /// Write what `fedhub explain` reads of all planes into a file, to explain offline. Reads only.
    Snapshot(Box<SnapshotArgs>),
    /// Write nothing for a project plane, or for all of them, until it is resumed.
    Pause(PauseArgs),
    /// End a pause: everything that has changed meanwhile is reconciled.
    Resume(ResumeArgs),
    /// Compare the project planes with the hub, and name what differs, orphans and leftovers. Reads only, unless --reclaim.
    Audit(Box<AuditArgs>),
    /// Make kubeconfigs with tokens of `ServiceAccount`s, store them where fedhub reads them, and renew them.
    #[command(subcommand)]
    Kubeconfig(KubeconfigCommand),
    /// Take fedhub away from planes: its finalizers, and what it keeps on the hub. Instances keep running.
    Uninstall(Box<UninstallArgs>),
    /// Print the completions of a shell, for its start-up file.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the manual page of fedhub, for `man -l -`, or write the pages of all commands.
    Man {
        /// Directory to write a page for each command to; it is created.
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
}

/// The flags of `fedhub run`.
#[derive(Debug, clap::Args)]
pub struct RunArgs {
    /// Run the federator and the projector. Needs --hub-kubeconfig.
    #[arg(long, env = "FEDHUB_ENABLE_MANAGEMENT_CONTROLLERS")]
    pub enable_management_controllers: bool,
    /// Run the controllers of a cell: Instances, their readiness, their copies on the hub. Needs --cell-name, and
    /// --hub-kubeconfig unless --write-back=false.
    #[arg(long, env = "FEDHUB_ENABLE_CELL_CONTROLLERS")]
    pub enable_cell_controllers: bool,

    /// The hub.
    #[command(flatten)]
    pub hub: HubArgs,
    /// The management plane.
    #[command(flatten)]
    pub management: ManagementArgs,

    /// Kubeconfig of the cell; without it, that of the management plane: the cluster that the process runs in.
    #[arg(long, env = "FEDHUB_CELL_KUBECONFIG", value_name = "FILE")]
    pub cell_kubeconfig: Option<PathBuf>,
    /// Context in the cell kubeconfig, in place of its current one.
    #[arg(long, env = "FEDHUB_CELL_CONTEXT", value_name = "NAME")]
    pub cell_context: Option<String>,
    /// Name of the cell, in the mark of its copies on the hub and of its quota claims. Required with
    /// --enable-cell-controllers.
    #[arg(long, env = "FEDHUB_CELL_NAME", value_name = "NAME")]
    pub cell_name: Option<String>,
    /// City code of the cell: with it, only the hub objects of that city are watched.
    #[arg(long, env = "FEDHUB_CELL_CITY", value_name = "CODE")]
    pub cell_city: Option<String>,
    /// Have the cell copy its Instances to the hub, without which no project sees them. With `false` nothing is copied,
    /// no deletion waits for a copy, and the cell needs no hub.
    #[arg(long, env = "FEDHUB_WRITE_BACK", default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    pub write_back: bool,
    /// Have the cell bind networks and claim subnets before Instances start (networking.datumapis.com).
    #[arg(long, env = "FEDHUB_NETWORKING")]
    pub networking: bool,
    /// Have Instances wait for what their templates refer to: `ConfigMap`s and Secrets.
    #[arg(long, env = "FEDHUB_REFERENCED_DATA")]
    pub referenced_data: bool,
    /// Kubeconfig, with the cell's claims-only credential, of the server where project planes are found for quota
    /// claims, as --discovery says; without it, quota is off.
    #[arg(long, env = "FEDHUB_QUOTA_KUBECONFIG", value_name = "FILE")]
    pub quota_kubeconfig: Option<PathBuf>,
    /// Have Instances need quota, where there is a --quota-kubeconfig. With `false` none does, and the claims of the cell
    /// are released.
    #[arg(long, env = "FEDHUB_QUOTA", default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    pub quota: bool,

    /// How project planes are found: `single` (the management plane itself), `kubeconfigs` (labelled Secrets) or
    /// `milo` (Projects of a Milo API server).
    #[arg(long, env = "FEDHUB_DISCOVERY", default_value = "single", hide_possible_values = true)]
    pub discovery: Discovery,
    /// Kubeconfig of the server with the Projects, for discovery `milo`; without it, the management plane's.
    #[arg(long, env = "FEDHUB_DISCOVERY_KUBECONFIG", value_name = "FILE")]
    pub discovery_kubeconfig: Option<PathBuf>,
    /// Context in that kubeconfig, in place of its current one.
    #[arg(long, env = "FEDHUB_DISCOVERY_CONTEXT", value_name = "NAME")]
    pub discovery_context: Option<String>,
    /// The process's own namespace: where its Lease is, and where discovery `kubeconfigs` looks for Secrets. Without it,
    /// fedhub-system; of a process with the cell role alone, fedhub-cells.
    #[arg(long, env = "FEDHUB_NAMESPACE", value_name = "NAME")]
    namespace: Option<String>,

    /// Take part in the leader election: of several replicas one writes. `false` is for a single process.
    #[arg(long, env = "FEDHUB_LEADER_ELECT", default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    pub leader_elect: bool,
    /// Name of the Lease, in --namespace on the management plane. The cell role's is in --namespace of the cell, and ends
    /// in `-cell`.
    #[arg(long, env = "FEDHUB_LEASE_NAME", default_value = "fedhub", value_name = "NAME")]
    pub lease_name: String,
    /// How long a lease lasts without renewal: the longest time without a leader after a crash.
    #[arg(long, env = "FEDHUB_LEASE_DURATION", default_value = "15s", value_parser = parse_duration, value_name = "DURATION")]
    pub lease_duration: Duration,
    /// How often the leader renews its lease.
    #[arg(long, env = "FEDHUB_LEASE_RENEW", default_value = "5s", value_parser = parse_duration, value_name = "DURATION")]
    pub lease_renew: Duration,
    /// How long a process that is not in sync yet leaves a free lease to others.
    #[arg(long, env = "FEDHUB_LEASE_WARM_UP", default_value = "10s", value_parser = parse_duration, value_name = "DURATION")]
    pub lease_warm_up: Duration,
    /// Name of this process in the Lease, before a unique suffix; without it, the host name.
    #[arg(long, env = "FEDHUB_IDENTITY", value_name = "NAME")]
    pub identity: Option<String>,

    /// Address of /livez and /readyz, and for callers on the same host of /metrics, /log and /status.
    #[arg(long, env = "FEDHUB_ADMIN_ADDRESS", default_value = "0.0.0.0:8081", value_name = "IP:PORT")]
    pub admin_address: SocketAddr,
    /// The pages for callers on other hosts.
    #[command(flatten)]
    pub metrics: MetricsArgs,
    /// Admission of what users write.
    #[command(flatten)]
    pub webhooks: WebhookArgs,
    /// Log filter, such as `info` or `info,fedhub_planes=debug`.
    #[arg(long, env = "FEDHUB_LOG", default_value = "info", value_name = "FILTER")]
    pub log: String,
    /// Log format: `text` or `json`.
    #[arg(long, env = "FEDHUB_LOG_FORMAT", default_value = "text", hide_possible_values = true)]
    pub log_format: LogFormat,
    /// Export the way of each change as a trace, over OTLP/HTTP to where the variables `OTEL_EXPORTER_OTLP_*` say.
    #[arg(long, env = "FEDHUB_TRACES")]
    pub traces: bool,

    /// Concurrent reconciles of each controller.
    #[arg(long, env = "FEDHUB_WORKERS", default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..=1024), value_name = "N")]
    pub workers: u16,
    /// Concurrent reconciles of each controller for one project plane.
    #[arg(long, env = "FEDHUB_WORKERS_PER_PLANE", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024), value_name = "N")]
    pub workers_per_plane: u16,
    /// Concurrent requests to one plane.
    #[arg(long, env = "FEDHUB_REQUESTS_IN_FLIGHT", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=4096), value_name = "N")]
    pub requests_in_flight: u16,
    /// Concurrent lists of project planes.
    #[arg(long, env = "FEDHUB_MAX_CONCURRENT_LISTS", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=1024), value_name = "N")]
    pub max_concurrent_lists: u16,
    /// Memory for the objects of all planes that wait or are being reconciled, such as `64Mi`; of others a digest is kept.
    #[arg(long, env = "FEDHUB_MEMORY_BUDGET", default_value = "64Mi", value_parser = bytes, value_name = "BYTES")]
    pub memory_budget: usize,
    /// How long a plane may take to send response headers, and between two chunks of a body.
    #[arg(long, env = "FEDHUB_RESPONSE_HEADER_TIMEOUT", default_value = "9s", value_parser = parse_duration, value_name = "DURATION")]
    pub response_header_timeout: Duration,
    /// How long a plane may take to complete a response.
    #[arg(long, env = "FEDHUB_REQUEST_TIMEOUT", default_value = "1m", value_parser = parse_duration, value_name = "DURATION")]
    pub request_timeout: Duration,
    /// How long connecting to a plane may take.
    #[arg(long, env = "FEDHUB_CONNECT_TIMEOUT", default_value = "5s", value_parser = parse_duration, value_name = "DURATION")]
    pub connect_timeout: Duration,
    /// How often the kubeconfig files, and the files that they name, are checked for new credentials.
    #[arg(long, env = "FEDHUB_CREDENTIALS_INTERVAL", default_value = "10s", value_parser = parse_duration, value_name = "DURATION")]
    pub credentials_interval: Duration,
    /// First back-off of an object whose reconcile failed; doubled with each failure.
    #[arg(long, env = "FEDHUB_BACKOFF_FIRST", default_value = "500ms", value_parser = parse_duration, value_name = "DURATION")]
    pub backoff_first: Duration,
    /// Longest back-off of an object.
    #[arg(long, env = "FEDHUB_BACKOFF_MAX", default_value = "5m", value_parser = parse_duration, value_name = "DURATION")]
    pub backoff_max: Duration,

    /// How long a city of a hub namespace has to be unused before its PropagationPolicy is deleted.
    #[arg(long, env = "FEDHUB_POLICY_GC_DELAY", default_value = "10s", value_parser = parse_duration, value_name = "DURATION")]
    pub policy_gc_delay: Duration,
    /// How long an Instance on the hub may be without its WorkloadDeployment before it is quarantined.
    #[arg(long, env = "FEDHUB_PROJECTION_GRACE", default_value = "15m", value_parser = parse_duration, value_name = "DURATION")]
    pub projection_grace: Duration,
    /// Projections of one plane that may be deleted per minute where their absence on the hub was inferred.
    #[arg(long, env = "FEDHUB_MAX_INFERRED_DELETES_PER_MINUTE", default_value_t = 20, value_name = "N")]
    pub max_inferred_deletes_per_minute: u32,
    /// How long an Instance may take to terminate: one that takes longer is named on its WorkloadDeployment in the cell,
    /// with the finalizers that hold it.
    #[arg(long, env = "FEDHUB_TERMINATION_DEADLINE", default_value = "10m", value_parser = parse_duration, value_name = "DURATION")]
    pub termination_deadline: Duration,
    /// How long a shutdown waits for reconciles under way.
    #[arg(long, env = "FEDHUB_SHUTDOWN_TIMEOUT", default_value = "10s", value_parser = parse_duration, value_name = "DURATION")]
    pub shutdown_timeout: Duration,
}

impl RunArgs {
    /// The process's own namespace on the management plane and, of the cell role, in the cell: where the rights of
    /// `deploy/` are, unless another one is given.
    pub fn namespace(&self) -> &str {
        let usual = if self.enable_management_controllers { MANAGEMENT_NAMESPACE } else { CELL_NAMESPACE };
        self.namespace.as_deref().unwrap_or(usual)
    }

    /// Name of the cell role's Lease: another than the management role's, for both may be in one namespace.
    pub fn cell_lease_name(&self) -> String {
        format!("{}-cell", self.lease_name)
    }

    /// Whether one cluster may be management plane, project plane and cell at once, so that each role has to tell what
    /// is its own there.
    pub fn is_single_cluster(&self) -> bool {
        self.enable_management_controllers
            && self.enable_cell_controllers
            && self.discovery == Discovery::Single
    }

    /// Validates the flags together, and returns a line for each fault.
    pub fn validate(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if !self.enable_management_controllers && !self.enable_cell_controllers {
            faults.push(
                "no role is enabled: give --enable-management-controllers or --enable-cell-controllers"
                    .to_owned(),
            );
        }
        if self.enable_management_controllers && self.hub.kubeconfig.is_none() {
            faults.push(
                "--enable-management-controllers needs --hub-kubeconfig (or FEDHUB_HUB_KUBECONFIG)"
                    .to_owned(),
            );
        }
        let files = [
            ("--hub-kubeconfig", &self.hub.kubeconfig),
            ("--management-kubeconfig", &self.management.kubeconfig),
            ("--discovery-kubeconfig", &self.discovery_kubeconfig),
            ("--cell-kubeconfig", &self.cell_kubeconfig),
            ("--quota-kubeconfig", &self.quota_kubeconfig),
        ];
        for (flag, file) in files.into_iter().chain(self.metrics.files()).chain(self.webhooks.files()) {
            if let Some(file) = file
                && let Err(error) = std::fs::File::open(file)
            {
                faults.push(format!("{flag} {}: {error}", file.display()));
            }
        }
        faults.extend(self.cell_faults());
        faults.extend(self.discovery_faults());
        faults.extend(self.metrics.faults());
        faults.extend(self.webhooks.faults(self.enable_management_controllers));
        if self.lease_duration <= self.lease_renew * 2 {
            faults.push(
                "--lease-duration must be longer than twice --lease-renew: one failed renewal would end the lease"
                    .to_owned(),
            );
        }
        if self.lease_renew < Duration::from_millis(100) {
            faults.push("--lease-renew is shorter than 100ms".to_owned());
        }
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
        if self.lease_name.is_empty()
            || self.cell_lease_name().len() > 253
            || !self.lease_name.chars().all(plain)
        {
            faults.push(format!("--lease-name {:?} is not a valid object name", self.lease_name));
        }
        if self.namespace().is_empty() || !self.namespace().chars().all(|c| c != '.' && plain(c)) {
            faults.push(format!("--namespace {:?} is not a valid namespace name", self.namespace()));
        }
        if self.credentials_interval < Duration::from_millis(100) {
            faults.push("--credentials-interval is shorter than 100ms".to_owned());
        }
        if self.memory_budget < 16 << 20 {
            faults.push("--memory-budget is less than 16Mi".to_owned());
        }
        if self.backoff_first > self.backoff_max {
            faults.push("--backoff-first is longer than --backoff-max".to_owned());
        }
        faults
    }

    fn cell_faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if !self.enable_cell_controllers {
            let given = [
                ("--cell-kubeconfig", self.cell_kubeconfig.is_some()),
                ("--cell-name", self.cell_name.is_some()),
                ("--cell-city", self.cell_city.is_some()),
                ("--write-back=false", !self.write_back),
                ("--networking", self.networking),
                ("--referenced-data", self.referenced_data),
                ("--quota-kubeconfig", self.quota_kubeconfig.is_some()),
                ("--quota=false", !self.quota),
            ];
            let needless = given.into_iter().filter(|(_, given)| *given);
            return needless.map(|(flag, _)| format!("{flag} is for --enable-cell-controllers")).collect();
        }
        if self.cell_name.is_none() {
            faults.push("--enable-cell-controllers needs --cell-name (or FEDHUB_CELL_NAME)".to_owned());
        }
        if self.write_back && self.hub.kubeconfig.is_none() && !self.enable_management_controllers {
            faults.push(
                "--enable-cell-controllers needs --hub-kubeconfig (or FEDHUB_HUB_KUBECONFIG) to write its Instances \
                 back; --write-back=false runs the cell without"
                    .to_owned(),
            );
        }
        for (flag, value) in [("--cell-name", &self.cell_name), ("--cell-city", &self.cell_city)] {
            if let Some(value) = value
                && (value.is_empty() || !is_label_value(value))
            {
                faults.push(format!("{flag} {value:?} is not a valid label value"));
            }
        }
        if self.cell_context.is_some() && self.cell_kubeconfig.is_none() {
            faults.push("--cell-context needs --cell-kubeconfig: it is a context in that file".to_owned());
        }
        faults
    }

    fn discovery_faults(&self) -> Vec<String> {
        let context = self.discovery_context.is_some();
        let given = [
            ("--discovery-kubeconfig", self.discovery_kubeconfig.is_some()),
            ("--discovery-context", context),
        ];
        if self.discovery != Discovery::Milo {
            let needless = given.into_iter().filter(|(_, given)| *given);
            return needless
                .map(|(flag, _)| format!("{flag} is for --discovery milo, not for {}", self.discovery))
                .collect();
        }
        let file = self.discovery_kubeconfig.is_some() || self.management.kubeconfig.is_some();
        if context && !file {
            return vec![
                "--discovery-context needs --discovery-kubeconfig or --management-kubeconfig: it is a context in that file"
                    .to_owned(),
            ];
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests;

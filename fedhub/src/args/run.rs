//! The flags of `fedhub run`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use fedhub_cache::budget::bytes;
use fedhub_core::clock::parse_duration;
use fedhub_core::telemetry::LogFormat;
use fedhub_planes::discovery::Discovery;
use fedhub_workload::workload_controller::Strategy;

use crate::common::{CELL_NAMESPACE, HubArgs, MANAGEMENT_NAMESPACE, ManagementArgs};
use crate::discovery::DiscoveryArgs;
use crate::secure::args::MetricsArgs;
use crate::webhooks::args::WebhookArgs;

/// Where the catalogue of instance types is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, strum::Display)]
#[strum(serialize_all = "lowercase")]
pub enum InstanceTypesSource {
    /// There is none.
    Off,
    /// The management plane.
    Management,
    /// The server with the Projects.
    Discovery,
}

/// The way in which the cities of a Workload get a new template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub enum DefaultRollout {
    /// One after the other, each when the one before is complete.
    InOrder,
    /// All at once, as the Go manager does.
    AllAtOnce,
}

impl From<DefaultRollout> for Strategy {
    fn from(rollout: DefaultRollout) -> Self {
        match rollout {
            DefaultRollout::InOrder => Self::InOrder,
            DefaultRollout::AllAtOnce => Self::AllAtOnce,
        }
    }
}

/// The flags of `fedhub run`.
#[derive(Debug, clap::Args)]
pub struct RunArgs {
    /// Run the federator, the projector and the workload controller. Needs --hub-kubeconfig.
    #[arg(long, env = "FEDHUB_ENABLE_MANAGEMENT_CONTROLLERS")]
    pub enable_management_controllers: bool,
    /// Run the controllers of a cell: Instances, their readiness, their copies on the hub. Needs --cell-name,
    /// and --hub-kubeconfig unless --write-back=false.
    #[arg(long, env = "FEDHUB_ENABLE_CELL_CONTROLLERS")]
    pub enable_cell_controllers: bool,

    /// The hub.
    #[command(flatten)]
    pub hub: HubArgs,
    /// The management plane.
    #[command(flatten)]
    pub management: ManagementArgs,

    /// Kubeconfig of the cell; without it, that of the management plane: the cluster that the process runs
    /// in.
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
    /// Have the cell copy its Instances to the hub, without which no project sees them. With `false` nothing
    /// is copied, and the cell needs no hub.
    #[arg(long, env = "FEDHUB_WRITE_BACK", default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    pub write_back: bool,
    /// Have the cell bind networks and claim subnets before Instances start (networking.datumapis.com).
    #[arg(long, env = "FEDHUB_NETWORKING")]
    pub networking: bool,
    /// Run the cell's Instances as servers of a region service. Needs --provider-config. Without it another
    /// program has to run them.
    #[arg(long, env = "FEDHUB_ENABLE_PROVIDER")]
    pub enable_provider: bool,
    /// File with the region services, and what the Instances of each project are there. Files that it names
    /// are beside it.
    #[arg(long, env = "FEDHUB_PROVIDER_CONFIG", value_name = "FILE")]
    pub provider_config: Option<PathBuf>,
    /// Have Instances wait for what their templates refer to: `ConfigMap`s and Secrets.
    #[arg(long, env = "FEDHUB_REFERENCED_DATA")]
    pub referenced_data: bool,
    /// Kubeconfig, with the cell's claims-only credential, of the server where project planes are found for
    /// quota claims, as --discovery says; without it, quota is off.
    #[arg(long, env = "FEDHUB_QUOTA_KUBECONFIG", value_name = "FILE")]
    pub quota_kubeconfig: Option<PathBuf>,
    /// Have Instances need quota, where there is a --quota-kubeconfig. With `false` none does, and the claims
    /// of the cell are released.
    #[arg(long, env = "FEDHUB_QUOTA", default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    pub quota: bool,

    /// Where project planes are found.
    #[command(flatten)]
    pub discovery: DiscoveryArgs,
    /// Where the catalogue of instance types is, for hub, cells and admission: `InstanceType`s of the
    /// `management` plane, or of the server with the Projects (`discovery`, with --discovery milo). With
    /// `off` there is the built-in type.
    #[arg(
        long,
        env = "FEDHUB_INSTANCE_TYPES",
        default_value = "off",
        value_name = "WHERE",
        hide_possible_values = true
    )]
    pub instance_types: InstanceTypesSource,

    /// The process's own namespace: where its Lease is, and where discovery `kubeconfigs` looks for Secrets.
    /// Without it, fedhub-system; of a process with the cell role alone, fedhub-cells.
    #[arg(long, env = "FEDHUB_NAMESPACE", value_name = "NAME")]
    namespace: Option<String>,

    /// Take part in the leader election: of several replicas one writes. `false` is for a single process.
    #[arg(long, env = "FEDHUB_LEADER_ELECT", default_value_t = true, action = clap::ArgAction::Set, value_name = "BOOL")]
    pub leader_elect: bool,
    /// Name of the Lease, in --namespace on the management plane. The cell role's is in --namespace of the
    /// cell, and ends in `-cell`.
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
    /// Export the way of each change as a trace, over OTLP/HTTP to where the variables `OTEL_EXPORTER_OTLP_*`
    /// say.
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
    /// Objects of a kind on one project plane; a plane with more is refused as too large.
    #[arg(long, env = "FEDHUB_MAX_OBJECTS", default_value_t = 50_000, value_parser = clap::value_parser!(u32).range(1..), value_name = "N")]
    pub max_objects: u32,
    /// Memory for the objects of all planes that wait or are being reconciled, such as `64Mi`; of others a
    /// digest is kept.
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
    /// Projections of one plane that may be deleted per minute where their absence on the hub was inferred;
    /// copies of instance types likewise, and projects from which the service may be withdrawn.
    #[arg(long, env = "FEDHUB_MAX_INFERRED_DELETES_PER_MINUTE", default_value_t = 20, value_name = "N")]
    pub max_inferred_deletes_per_minute: u32,
    /// How long the service has to be withdrawn from a project before what ran of it there is removed. For
    /// discovery `milo`, where the entitlements of the project say so.
    #[arg(long, env = "FEDHUB_TEARDOWN_DELAY", default_value = "1m", value_parser = parse_duration, value_name = "DURATION")]
    pub teardown_delay: Duration,
    /// How long a city of a Workload that takes the place of another has to become available: then the other
    /// one is removed all the same.
    #[arg(long, env = "FEDHUB_MOVE_DEADLINE", default_value = "10m", value_parser = parse_duration, value_name = "DURATION")]
    pub move_deadline: Duration,
    /// The way in which the cities of a Workload get a new template, where neither its annotation
    /// `compute.datumapis.com/rollout` nor a WorkloadRollout says.
    #[arg(long, env = "FEDHUB_DEFAULT_ROLLOUT", value_enum, default_value_t = DefaultRollout::InOrder, hide_possible_values = true, value_name = "in-order|all-at-once")]
    pub default_rollout: DefaultRollout,
    /// How long an Instance may take to terminate: one that takes longer is named on its WorkloadDeployment,
    /// in the cell with the finalizers that hold it.
    #[arg(long, env = "FEDHUB_TERMINATION_DEADLINE", default_value = "10m", value_parser = parse_duration, value_name = "DURATION")]
    pub termination_deadline: Duration,
    /// How long the cell of a WorkloadDeployment that is being deleted may be out of the hub's reach: then
    /// the deletion goes on without it, and the cell deletes what it has when it is back.
    #[arg(long, env = "FEDHUB_CELL_AWAY_RELEASE", default_value = "10m", value_parser = parse_duration, value_name = "DURATION")]
    pub cell_away_release: Duration,
    /// How long a shutdown waits for reconciles under way.
    #[arg(long, env = "FEDHUB_SHUTDOWN_TIMEOUT", default_value = "10s", value_parser = parse_duration, value_name = "DURATION")]
    pub shutdown_timeout: Duration,
}

impl RunArgs {
    /// The process's own namespace on the management plane and, of the cell role, in the cell: where the
    /// rights of `deploy/` are, unless another one is given.
    pub fn namespace(&self) -> &str {
        let usual = if self.enable_management_controllers { MANAGEMENT_NAMESPACE } else { CELL_NAMESPACE };
        self.namespace.as_deref().unwrap_or(usual)
    }

    /// Name of the cell role's Lease: another than the management role's, for both may be in one namespace.
    pub fn cell_lease_name(&self) -> String {
        format!("{}-cell", self.lease_name)
    }

    /// Whether one cluster may be management plane, project plane and cell at once, so that each role has to
    /// tell what is its own there.
    pub fn is_single_cluster(&self) -> bool {
        self.enable_management_controllers
            && self.enable_cell_controllers
            && self.discovery.mode == Discovery::Single
    }
}

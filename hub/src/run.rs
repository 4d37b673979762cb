//! `fedhub run`: wires the roles together, runs them until a signal, lets what is under way finish.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use fedhub_federator::Federator;
use fedhub_projector::Projector;
use fedhub_projector::controller::ProjectorConfig;
use fedhub_shared::clock::Clock;
use fedhub_shared::engine::{Queue, QueueConfig, run_workers};
use fedhub_shared::lease::{self, Fence, Leadership, LeaseConfig, WarmUp};
use fedhub_shared::metrics::Metrics;
use fedhub_shared::object::PlaneId;
use fedhub_shared::planes::discovery::credentials::Source;
use fedhub_shared::planes::discovery::kubeconfigs::Kubeconfigs;
use fedhub_shared::planes::discovery::milo::{self, Milo};
use fedhub_shared::planes::discovery::reload::Followed;
use fedhub_shared::planes::discovery::{Discovery, single};
use fedhub_shared::planes::transport::{Server, Transport, TransportConfig};
use fedhub_shared::planes::{Identities, Planes, Settings};
use fedhub_shared::{admin, telemetry};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::args::RunArgs;
use crate::preflight;
use crate::status::Status;

/// Exit code for a bad flag or configuration: nothing was started.
pub const MISUSE: u8 = 2;

/// Checks the arguments, then runs.
pub fn main(args: RunArgs) -> ExitCode {
    let mut faults = args.faults();
    if let Err(fault) = telemetry::start(&args.log, args.log_format) {
        faults.push(fault);
    }
    if !faults.is_empty() {
        for fault in faults {
            eprintln!("fedhub: {fault}");
        }
        return ExitCode::from(MISUSE);
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("fedhub: {error}");
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(run(args)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fedhub: {error:#}");
            ExitCode::from(MISUSE)
        }
    }
}

async fn run(args: RunArgs) -> anyhow::Result<()> {
    // Asked for first: a signal that comes while the process starts must not be lost.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        anyhow::bail!("another TLS provider is installed");
    }
    let stop = CancellationToken::new();
    let tasks = TaskTracker::new();
    let management = Management::start(&args, &stop, &tasks).await?;
    tokio::select! {
        _ = terminate.recv() => tracing::info!("SIGTERM: shutting down"),
        _ = interrupt.recv() => tracing::info!("interrupt: shutting down"),
    }
    management.shut_down(&args, &stop, &tasks).await;
    Ok(())
}

/// The management role: federator and projector over one registry.
struct Management {
    planes: Arc<Planes>,
    queues: Vec<(&'static str, Arc<Queue>)>,
    leadership: Option<Leadership>,
}

impl Management {
    async fn start(args: &RunArgs, stop: &CancellationToken, tasks: &TaskTracker) -> anyhow::Result<Self> {
        let metrics = Metrics::new()?;
        let limits = TransportConfig {
            header_timeout: args.header_timeout,
            connect_timeout: args.connect_timeout,
            in_flight: usize::from(args.requests_in_flight),
        };
        let transport = Transport::new(limits, metrics.clone());
        let hub_file = args.hub_kubeconfig.as_deref().context("--hub-kubeconfig is missing")?;
        let follow = |name, source| follow(name, source, args, &transport, &metrics, stop);
        let hub = follow("hub", Source::file(hub_file, args.hub_context.as_deref()))?.client(&PlaneId::Hub);
        let management = match args.management_kubeconfig.as_deref() {
            Some(file) => Source::file(file, args.management_context.as_deref()),
            None => Source::InCluster,
        };
        let management = follow("management", management)?;
        let projects = projects_source(args).map(|source| follow("discovery", source)).transpose()?;
        let seed = seed();
        let leadership = if args.leader_elect {
            let client = management.client(&PlaneId::Management);
            Some(Leadership::start(client, lease_config(args, seed), Clock::system()))
        } else {
            None
        };
        let fence = leadership.as_ref().map_or_else(Fence::open, Leadership::fence);
        let identities = Identities::new(&args.namespace);
        let settings = Settings {
            seed,
            lists_at_once: usize::from(args.lists_at_once),
            fence: fence.clone(),
            identities: Some(identities.clone()),
            ..Settings::default()
        };
        let planes = Planes::with(hub.clone(), metrics.clone(), Clock::system(), settings);
        let memory = management.client(&PlaneId::Management);
        tokio::spawn(identities.run(memory, planes.clone(), fence, stop.clone()));
        let queue = || {
            Arc::new(Queue::new(QueueConfig {
                per_plane: usize::from(args.workers_per_plane),
                backoff_first: args.backoff_first,
                backoff_max: args.backoff_max,
                seed: planes.seed(),
            }))
        };
        let queues = vec![("federator", queue()), ("projector", queue())];
        let status =
            Arc::new(Status { planes: planes.clone(), queues: queues.clone(), transport: transport.clone() });
        let bound = admin::serve(args.admin_address, status, stop.clone())
            .await
            .with_context(|| format!("--admin-address {}", args.admin_address))?;
        tracing::info!(%bound, discovery = %args.discovery, version = env!("CARGO_PKG_VERSION"), "fedhub starts");

        let federator = Federator::new(planes.clone(), queues[0].1.clone(), args.policy_quiet_time);
        let config =
            ProjectorConfig { grace: args.projection_grace, deletes_per_minute: args.gap_deletes_per_minute };
        let projector = Projector::new(planes.clone(), queues[1].1.clone(), config);
        planes.listen(federator.clone());
        planes.listen(projector.clone());
        if let Some(leadership) = &leadership {
            let queues = queues.iter().map(|(_, queue)| queue.clone()).collect();
            planes.listen(Arc::new(WarmUp { planes: planes.clone(), warm: leadership.warm() }));
            tokio::spawn(lease::follow(leadership.terms(), planes.clone(), queues));
        }
        planes.start();
        let workers = usize::from(args.workers);
        run_workers(&federator, &queues[0].1, &metrics, workers, tasks);
        run_workers(&projector, &queues[1].1, &metrics, workers, tasks);
        tokio::spawn(preflight::interpreter(hub, stop.clone()));
        discover(args, &planes, &transport, management, projects, stop)?;
        Ok(Self { planes, queues, leadership })
    }

    /// No pass begins any more; those under way get their time; then another process may lead, and the watches end.
    async fn shut_down(self, args: &RunArgs, stop: &CancellationToken, tasks: &TaskTracker) {
        if let Some(leadership) = &self.leadership {
            leadership.retire();
        }
        for (_, queue) in &self.queues {
            queue.close();
        }
        tasks.close();
        if tokio::time::timeout(args.shutdown_time, tasks.wait()).await.is_err() {
            tracing::warn!(after = ?args.shutdown_time, unfinished = tasks.len(), "shutting down with passes under way; they are taken up again at the next start");
        }
        if let Some(leadership) = self.leadership {
            leadership.release().await;
        }
        stop.cancel();
        self.planes.stop().await;
        tracing::info!("stopped");
    }
}

/// The suffix makes it another holder than any other process, a restarted container of the same name included: none
/// may take the lease of another for its own.
fn lease_config(args: &RunArgs, seed: u64) -> LeaseConfig {
    let host = || {
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Some(name.trim().to_owned()).filter(|name| !name.is_empty()).unwrap_or_else(|| "fedhub".to_owned())
    };
    let name = args.identity.clone().unwrap_or_else(host);
    LeaseConfig {
        namespace: args.namespace.clone(),
        name: args.lease_name.clone(),
        identity: format!("{name}_{}_{seed:016x}", std::process::id()),
        duration: args.lease_duration,
        renew: args.lease_renew,
        warm_up: args.lease_warm_up,
    }
}

/// The server that `source` describes, with credentials that are followed as they change.
fn follow(
    name: &'static str,
    source: Source,
    args: &RunArgs,
    transport: &Transport,
    metrics: &Metrics,
    stop: &CancellationToken,
) -> anyhow::Result<Server> {
    let loaded = source.read()?;
    let server = transport.server(&loaded.config).with_context(|| format!("the {name} kubeconfig"))?;
    let followed = Followed::new(name, source, &loaded, &server);
    tokio::spawn(followed.run(args.credentials_interval, metrics.clone(), stop.clone()));
    Ok(server)
}

/// Where the server with the Projects is, unless it is the management plane.
fn projects_source(args: &RunArgs) -> Option<Source> {
    let context = args.discovery_context.as_deref();
    match (&args.discovery_kubeconfig, context, &args.management_kubeconfig) {
        (Some(file), context, _) | (None, context @ Some(_), Some(file)) => Some(Source::file(file, context)),
        _ => None,
    }
}

/// Starts what finds the project planes. `projects` is the server with the Projects, unless it is the management plane.
fn discover(
    args: &RunArgs,
    planes: &Arc<Planes>,
    transport: &Transport,
    management: Server,
    projects: Option<Server>,
    stop: &CancellationToken,
) -> anyhow::Result<()> {
    match args.discovery {
        Discovery::Single => {
            let plane = PlaneId::Project(fedhub_shared::names::PlaneName::new(single::NAME)?);
            single::engage(planes, management.client(&plane))?;
        }
        Discovery::Kubeconfigs => {
            let client = management.client(&PlaneId::Management);
            let discovery = Kubeconfigs::new(planes.clone(), client, &args.namespace, transport.clone());
            tokio::spawn(discovery.run(stop.clone()));
        }
        Discovery::Milo => {
            let server = projects.unwrap_or(management);
            let client = server.client(&PlaneId::Management);
            tokio::spawn(Milo::new(planes.clone(), client, milo::behind(server)).run(stop.clone()));
        }
    }
    Ok(())
}

/// Jitter that differs between replicas and starts.
fn seed() -> u64 {
    let nanos =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_nanos();
    u64::try_from(nanos % u128::from(u64::MAX)).unwrap_or_default() ^ u64::from(std::process::id())
}

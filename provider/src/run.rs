//! A provider as a program of its own, beside the fedhub of a cell.
//!
//! Of several that run for one cell, one acts: the holder of a Lease in the cell, which every write has to
//! hold as well. The others know what there is, and take over where it ends.

use std::sync::Arc;
use std::time::Duration;

use fedhub_cache::MemoryBudget;
use fedhub_core::clock::Clock;
use fedhub_core::metrics::Metrics;
use fedhub_core::object::PlaneId;
use fedhub_engine::{Queue, QueueConfig, run_workers};
use fedhub_lease::{Leadership, LeaseConfig, WarmUp};
use fedhub_planes::discovery::credentials::{CredentialsError, Source};
use fedhub_planes::discovery::reload::Followed;
use fedhub_planes::transport::{Transport, TransportConfig, UnusableConfig};
use fedhub_planes::{Planes, Settings, watched};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::contract::Provider;
use crate::controller::{ProviderController, ProviderSettings, kinds};

/// How many Instances are worked on at once.
const WORKERS: usize = 32;
/// How often it is looked whether the credentials changed.
const CREDENTIALS_INTERVAL: Duration = Duration::from_secs(10);
/// How long passes that are under way may take at the end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// What the program of a provider runs by.
pub struct Standalone {
    /// The namespace in the cell that has the Lease.
    pub lease_namespace: String,
    /// The name of the Lease: the same for all programs that are the provider of one cell.
    pub lease_name: String,
    /// The identity of this process. It must differ from that of every other process, earlier ones included.
    pub identity: String,
    /// Makes the jitter of this process differ from that of any other.
    pub seed: u64,
    /// The metrics of the process.
    pub metrics: Metrics,
    /// Its clock.
    pub clock: Clock,
    /// Times that the provider's controller goes by.
    pub settings: ProviderSettings,
}

/// Why the program cannot start.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The cell's kubeconfig cannot be read.
    #[error("the cell's kubeconfig cannot be used")]
    Credentials(#[from] CredentialsError),
    /// It describes no server.
    #[error("the cell's kubeconfig cannot be used")]
    Server(#[from] UnusableConfig),
}

/// Runs the Instances of a cell by a provider, until `stop` is cancelled. Servers stay as they are then.
///
/// # Errors
///
/// [`RunError`] where the cell's kubeconfig cannot be used. A cell that is away is none: it is waited for.
pub async fn run<P: Provider>(
    cell: Source,
    options: Standalone,
    provider: Arc<P>,
    stop: CancellationToken,
) -> Result<(), RunError> {
    let loaded = cell.read()?;
    let metrics = options.metrics.clone();
    let transport =
        Transport::new(TransportConfig::default(), metrics.clone(), MemoryBudget::from_bytes(64 << 20));
    let server = transport.server(&loaded.config)?;
    let followed = Followed::new("cell", cell, &loaded, &server);
    tokio::spawn(followed.run(CREDENTIALS_INTERVAL, metrics, stop.clone()));
    serve(server.client(&PlaneId::Cell), options, provider, stop).await;
    Ok(())
}

/// Does the same by a client of the cell.
pub async fn serve<P: Provider>(
    client: kube::Client,
    options: Standalone,
    provider: Arc<P>,
    stop: CancellationToken,
) {
    let lease = LeaseConfig {
        namespace: options.lease_namespace,
        name: options.lease_name,
        identity: options.identity,
        duration: Duration::from_secs(15),
        renew: Duration::from_secs(5),
        warm_up: Duration::from_secs(10),
    };
    let leadership = Leadership::start(client.clone(), lease, options.clock.clone(), &options.metrics);
    let settings = Settings {
        seed: options.seed,
        fence: leadership.fence(),
        anchor: PlaneId::Cell,
        anchor_kinds: watched::all(&kinds()),
        project_kinds: Vec::new(),
        ..Settings::default()
    };
    let planes = Planes::with(client, options.metrics.clone(), options.clock, settings);
    let queue = Arc::new(Queue::new(QueueConfig { seed: options.seed, ..QueueConfig::default() }));
    let controller = ProviderController::new(
        planes.clone(),
        queue.clone(),
        provider,
        options.settings,
        TaskTracker::new(),
        &stop,
    );
    planes.listen(controller.clone());
    let workers = TaskTracker::new();
    run_workers(&controller, &queue, &options.metrics, WORKERS, &workers);
    planes.listen(Arc::new(WarmUp { planes: planes.clone(), warm: leadership.warm() }));
    tokio::spawn(fedhub_lease::follow(leadership.terms(), vec![planes.clone()], vec![queue.clone()]));
    planes.start();

    stop.cancelled().await;
    leadership.retire();
    queue.close();
    workers.close();
    if tokio::time::timeout(SHUTDOWN_TIMEOUT, workers.wait()).await.is_err() {
        tracing::warn!("shutdown timeout exceeded: passes still running are resumed at the next start");
    }
    leadership.release().await;
    planes.stop().await;
}

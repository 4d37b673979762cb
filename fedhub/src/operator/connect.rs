//! Connections of the commands for operators: over the transport of `fedhub run`, which ends every wait and
//! weighs every answer (I8).

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::anyhow;
use fedhub_cache::MemoryBudget;
use fedhub_core::metrics::Metrics;
use fedhub_core::names::PlaneName;
use fedhub_core::object::PlaneId;
use fedhub_planes::discovery::credentials::Source;
use fedhub_planes::listwatch::limits::{ListLimits, OF_ALL};
use fedhub_planes::listwatch::pages;
use fedhub_planes::transport::{Transport, TransportConfig};
use kube::Config;

use super::read::{Failure, Read, ReadError};

/// The memory that large answers of all planes share while they are read.
const BUDGET: usize = 128 << 20;
/// How many times as long as a read all reads of a plane may take together.
const WHOLE: u32 = 24;
/// How much is taken of a list of the hub, or of the management plane: what all tenants have there.
const OWN: ListLimits = ListLimits { objects: OF_ALL, bytes: usize::MAX };
/// How much is taken of a list of a plane that others run: many times what a project has.
const OTHERS: ListLimits = ListLimits { objects: 1_000_000, bytes: 256 << 20 };

static TRANSPORT: LazyLock<Result<Transport, String>> = LazyLock::new(|| {
    let metrics = Metrics::new().map_err(|error| error.to_string())?;
    Ok(Transport::new(TransportConfig::default(), metrics, MemoryBudget::from_bytes(BUDGET)))
});

/// A plane that can be asked.
#[derive(Clone)]
pub struct Plane {
    /// Its client.
    pub client: kube::Client,
    /// Its server, without credentials.
    pub server: String,
    /// How long a read may take.
    pub timeout: Duration,
    /// How much is taken of a list.
    pub limits: ListLimits,
    /// The plane whose share of the memory its large answers take.
    pub id: PlaneId,
    /// The memory that they are paid for out of.
    pub budget: MemoryBudget,
}

/// A plane, or why it cannot be asked.
pub type Connection = Read<Plane>;

/// The plane of a configuration.
pub fn plane(config: Config, timeout: Duration) -> anyhow::Result<Plane> {
    let uri = &config.cluster_url;
    let server = format!("{}://{}", uri.scheme_str().unwrap_or("https"), uri.host().unwrap_or_default());
    let server = uri.port_u16().map_or_else(|| server.clone(), |port| format!("{server}:{port}"));
    let transport = TRANSPORT.as_ref().map_err(|error| anyhow!("{error}"))?;
    // Each read has its own limit of time: these are for what goes on after it.
    let limits = TransportConfig {
        response_header_timeout: timeout.saturating_mul(2),
        request_timeout: timeout.saturating_mul(2),
        connect_timeout: timeout,
        ..TransportConfig::default()
    };
    let id = next_id()?;
    let transport = transport.with_limits(limits);
    let client = transport.client(&config, &id)?;
    Ok(Plane { client, server, timeout, limits: OWN, id, budget: transport.budget().clone() })
}

/// Returns a new id: each plane has a memory share of its own, whatever its name.
fn next_id() -> anyhow::Result<PlaneId> {
    static PLANES: AtomicUsize = AtomicUsize::new(0);
    Ok(PlaneId::Project(PlaneName::new(&format!("plane-{}", PLANES.fetch_add(1, Ordering::Relaxed)))?))
}

/// The plane of a kubeconfig that the operator names, or of the pod's service account.
pub fn of_source(source: &Source, timeout: Duration) -> anyhow::Result<Plane> {
    plane(source.read()?.config, timeout)
}

impl Plane {
    /// Applies the limits of a plane that others run: a tenant, or a cell.
    #[must_use]
    pub fn of_others(self) -> Self {
        Self { limits: OTHERS, ..self }
    }

    /// What its objects are read by.
    pub fn source(&self) -> pages::BoundedClient {
        pages::BoundedClient {
            client: self.client.clone(),
            plane: self.id.clone(),
            budget: self.budget.clone(),
        }
    }

    /// How long all reads of it may take together.
    pub fn whole(&self) -> Duration {
        self.timeout.saturating_mul(WHOLE)
    }
}

/// Runs work on a plane, unless it takes longer than a plane may as a whole.
pub async fn in_time<T>(plane: &Connection, work: impl Future<Output = T>) -> Result<T, ReadError> {
    let Read::Found(plane) = plane else { return Ok(work.await) };
    let whole = plane.whole();
    tokio::time::timeout(whole, work).await.map_err(|_| ReadError {
        failure: Failure::Unreachable,
        message: format!("not done within {} s", whole.as_secs_f64()),
    })
}

//! The federator: what it is made of, and what it remembers.

use std::sync::Arc;
use std::time::Duration;

use dashmap::DashMap;
use fedhub_api::cells::is_city_lost;
use fedhub_api::facts::Digest;
use fedhub_core::names::{CITY_CODE, FEDERATOR_MANAGER};
use fedhub_core::object::{Key, ObjectRef, ObjectView};
use fedhub_engine::Queue;
use fedhub_planes::{Distrust, Pass, Plane, PlaneWriter, Planes, ProjectNamespace};
use tokio::time::Instant;

use crate::cleanup::BlockedFinalizers;
use crate::convergence::SharedConvergence;
use crate::loss::Deletion;
use crate::moving::Touches;
use crate::namespaces::{NamespaceUids, SetupLocks};
use crate::orphan::Orphans;
use crate::policy::UnusedPolicies;
use crate::progress::{Outlook, outlook};
use crate::resync::Waits;
use crate::snapshot::{Snapshot, source};
use crate::teardown::TeardownLimits;

/// The WD that something is about, and where it is.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub project: &'a Plane,
    pub home: &'a ProjectNamespace,
    pub key: &'a Key,
}

impl Target<'_> {
    /// What is known of it.
    pub fn digest(&self) -> Option<Digest> {
        self.project.store(self.key.kind).digest(&self.key.namespace, &self.key.name)
    }

    /// Its origin mark.
    pub fn source(&self) -> String {
        source(self.home, &self.key.name)
    }
}

/// How long the federator waits for what.
#[derive(Clone, Copy, Debug)]
pub struct FederatorConfig {
    /// How long a policy is unused before it goes (F7).
    pub policy_gc_delay: Duration,
    /// How long a status is waited for before a WD's progress is written by itself (U2).
    pub patience: Duration,
    /// How long the cells of a WD that is being deleted are waited for (F9).
    pub teardown: TeardownLimits,
}

/// Carries `WorkloadDeployments` to the hub and their status back.
pub struct Federator {
    pub(crate) planes: Arc<Planes>,
    pub(crate) queue: Arc<Queue>,
    /// The queues of those who make WDs.
    sources: Vec<Arc<Queue>>,
    pub(crate) unused: UnusedPolicies,
    pub(crate) config: FederatorConfig,
    pub(crate) namespaces: NamespaceUids,
    pub(crate) setups: SetupLocks,
    pub(crate) blocked: BlockedFinalizers,
    /// The hub WDs that were seen deleted, by the keys of their project WDs.
    pub(crate) seen_deleted: DashMap<Key, Deletion>,
    pub(crate) orphans: Orphans,
    pub(crate) touches: Touches,
    pub(crate) waits: Waits,
    pub(crate) convergence: SharedConvergence,
}

impl Federator {
    /// A federator over `planes`, fed through `queue`. `sources` are the queues of those who make WDs.
    pub fn new(
        planes: Arc<Planes>,
        queue: Arc<Queue>,
        sources: Vec<Arc<Queue>>,
        config: FederatorConfig,
    ) -> Arc<Self> {
        Arc::new(Self {
            planes,
            queue,
            sources,
            unused: UnusedPolicies::default(),
            config,
            namespaces: NamespaceUids::default(),
            setups: SetupLocks::default(),
            blocked: BlockedFinalizers::default(),
            seen_deleted: DashMap::new(),
            orphans: Orphans::default(),
            touches: Touches::default(),
            waits: Waits::new(config.patience),
            convergence: SharedConvergence::default(),
        })
    }

    /// How many entries each memory holds, by its name: none may grow without end.
    pub fn remembered(&self) -> [(&'static str, usize); 9] {
        [
            ("namespaces", self.namespaces.len()),
            ("setups", self.setups.len()),
            ("blocked", self.blocked.len()),
            ("unused", self.unused.len()),
            ("orphans", self.orphans.len()),
            ("touches", self.touches.len()),
            ("seen_deleted", self.seen_deleted.len()),
            ("waits", self.waits.len()),
            ("convergence", self.convergence.lock().len()),
        ]
    }

    pub(crate) fn writer<'a>(&'a self, plane: &'a Plane, pass: &'a Pass) -> PlaneWriter<'a> {
        PlaneWriter { plane, pass, manager: FEDERATOR_MANAGER, metrics: self.planes.metrics() }
    }

    /// What a pass over a WD is to come back for.
    pub(crate) fn outlook(&self, seen: &Snapshot, key: &Key) -> Outlook {
        let waited = self.waits.waited(key, seen.project.generation, false, Instant::now());
        outlook(seen, waited, self.config.patience, || {
            self.sources.iter().chain([&self.queue]).any(|queue| queue.is_behind(&key.plane))
        })
    }

    /// The Clusters that carry a city's code.
    pub(crate) fn cells_of(&self, city: &str) -> Vec<ObjectRef> {
        let mut cells = self.planes.clusters();
        cells.retain(|cell| cell.label(CITY_CODE) == Some(city));
        cells
    }

    /// Whether every cell of that city is declared lost (C11), and the hub known not to have brought that
    /// back itself.
    pub(crate) fn is_lost(&self, city: &str) -> bool {
        self.planes.distrust() != Some(Distrust::Unverified) && is_city_lost(&self.planes.clusters(), city)
    }
}

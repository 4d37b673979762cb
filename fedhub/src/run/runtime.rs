//! The state that the roles of a process share: connections, metrics, discovery, election, shutdown.

use std::sync::Arc;

use anyhow::Context;
use fedhub_cache::MemoryBudget;
use fedhub_cell::identity::Identity;
use fedhub_core::clock::Clock;
use fedhub_core::metrics::Metrics;
use fedhub_core::object::{Kind, PlaneId};
use fedhub_engine::{Queue, QueueConfig};
use fedhub_lease::{Leadership, LeaseConfig, WarmUp};
use fedhub_planes::Planes;
use fedhub_planes::discovery::credentials::Source;
use fedhub_planes::discovery::kubeconfigs::Kubeconfigs;
use fedhub_planes::discovery::milo::{self, Milo};
use fedhub_planes::discovery::reload::Followed;
use fedhub_planes::discovery::{Discovery, single};
use fedhub_planes::transport::{Server, Transport, TransportConfig};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::args::RunArgs;

/// The state that both roles share.
pub struct Runtime {
    /// The command line.
    pub args: RunArgs,
    /// The process's metrics.
    pub metrics: Metrics,
    /// Its connections.
    pub transport: Transport,
    /// The memory that objects of all planes share.
    pub budget: MemoryBudget,
    /// Ends what is not a pass over an object.
    pub stop: CancellationToken,
    /// The workers.
    pub tasks: TaskTracker,
    /// Makes the jitter of this process differ from that of any other.
    pub seed: u64,
}

/// A controller of a role.
#[derive(Clone)]
pub struct Controlled {
    /// The metric label.
    pub name: &'static str,
    /// The kind of its keys' objects, unless those are another controller's, which must not be counted twice.
    pub kind: Option<Kind>,
    /// Its queue.
    pub queue: Arc<Queue>,
}

/// A role, as far as the process's status and its end are concerned.
#[derive(Clone)]
pub struct Role {
    /// `management` or `cell`.
    pub name: &'static str,
    /// Its registries. The anchor of the first has to be in sync before the role is ready.
    pub registries: Vec<Arc<Planes>>,
    /// Its controllers.
    pub controllers: Vec<Controlled>,
    /// The identity of the cell, in the role of a cell.
    pub identity: Option<Arc<Identity>>,
}

/// A role whose workers run.
pub struct Running {
    /// The role.
    pub role: Role,
    /// Its part in the election, where there is one.
    pub leadership: Option<Leadership>,
}

impl Role {
    /// Makes the queues of this role run only while its Lease is held; always without leader election.
    pub fn led_by(&self, leadership: Option<&Leadership>) {
        let (Some(leadership), Some(planes)) = (leadership, self.registries.first()) else { return };
        let queues = self.controllers.iter().map(|controlled| controlled.queue.clone()).collect();
        planes.listen(Arc::new(WarmUp { planes: planes.clone(), warm: leadership.warm() }));
        tokio::spawn(fedhub_lease::follow(leadership.terms(), self.registries.clone(), queues));
    }

    /// Whether this process leads in it.
    pub fn leads(&self) -> bool {
        self.registries.first().is_none_or(|planes| planes.leads())
    }

    /// Whether it has a controller of that name.
    pub fn has(&self, name: &str) -> bool {
        self.controllers.iter().any(|controlled| controlled.name == name)
    }

    /// The queue of a controller of that name.
    pub fn queue(&self, name: &str) -> anyhow::Result<Arc<Queue>> {
        let found = self.controllers.iter().find(|controlled| controlled.name == name);
        found.map(|controlled| controlled.queue.clone()).with_context(|| format!("no controller {name}"))
    }
}

impl Runtime {
    /// Before any role.
    pub fn new(args: RunArgs) -> anyhow::Result<Self> {
        let metrics = Metrics::new()?;
        let limits = TransportConfig {
            response_header_timeout: args.response_header_timeout,
            request_timeout: args.request_timeout,
            connect_timeout: args.connect_timeout,
            in_flight: usize::from(args.requests_in_flight),
        };
        let budget = MemoryBudget::from_bytes(args.memory_budget);
        let transport = Transport::new(limits, metrics.clone(), budget.clone());
        let stop = CancellationToken::new();
        let tasks = TaskTracker::new();
        Ok(Self { args, metrics, transport, budget, stop, tasks, seed: seed() })
    }

    /// The server that `source` describes, with credentials that are followed as they change.
    pub fn follow(&self, name: &'static str, source: Source) -> anyhow::Result<Server> {
        let loaded = source.read()?;
        let server =
            self.transport.server(&loaded.config).with_context(|| format!("the {name} kubeconfig"))?;
        let followed = Followed::new(name, source, &loaded, &server);
        tokio::spawn(followed.run(self.args.credentials_interval, self.metrics.clone(), self.stop.clone()));
        Ok(server)
    }

    /// A controller with a queue of its own.
    pub fn controlled(
        &self,
        name: &'static str,
        kind: impl Into<Option<Kind>>,
        planes: &Planes,
    ) -> Controlled {
        self.controlled_by(name, kind, planes, usize::MAX)
    }

    /// Like [`Self::controlled`], but one plane may take all workers, where there is no other that could come
    /// short.
    pub fn controlled_alone(
        &self,
        name: &'static str,
        kind: impl Into<Option<Kind>>,
        planes: &Planes,
    ) -> Controlled {
        self.with_lanes(name, kind.into(), planes, usize::from(self.args.workers))
    }

    /// Like [`Self::controlled`], but with at most `most` workers for one plane.
    pub fn controlled_by(
        &self,
        name: &'static str,
        kind: impl Into<Option<Kind>>,
        planes: &Planes,
        most: usize,
    ) -> Controlled {
        let per_plane = usize::from(self.args.workers_per_plane).min(most);
        self.with_lanes(name, kind.into(), planes, per_plane)
    }

    fn with_lanes(
        &self,
        name: &'static str,
        kind: Option<Kind>,
        planes: &Planes,
        per_plane: usize,
    ) -> Controlled {
        let config = QueueConfig {
            per_plane,
            backoff_first: self.args.backoff_first,
            backoff_max: self.args.backoff_max,
            seed: planes.seed(),
        };
        Controlled { name, kind, queue: Arc::new(Queue::new(config)) }
    }

    /// Takes part in the election on that plane by the Lease of that name, unless the process is alone. Each
    /// role has a Lease of its own: both may be on the same plane.
    pub fn election(&self, client: kube::Client, lease: String) -> Option<Leadership> {
        self.args
            .leader_elect
            .then(|| Leadership::start(client, self.lease_config(lease), Clock::system(), &self.metrics))
    }

    /// Names the process, as holder of a Lease and in traces. The suffix makes it another than any other
    /// process, a restarted container of the same name included: none may take the lease of another for its
    /// own.
    pub fn identity(&self) -> String {
        let name = self.args.identity.clone().unwrap_or_else(|| {
            let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
            Some(name.trim().to_owned())
                .filter(|name| !name.is_empty())
                .unwrap_or_else(|| "fedhub".to_owned())
        });
        format!("{name}_{}_{:016x}", std::process::id(), self.seed)
    }

    fn lease_config(&self, lease: String) -> LeaseConfig {
        LeaseConfig {
            namespace: self.args.namespace().to_owned(),
            name: lease,
            identity: self.identity(),
            duration: self.args.lease_duration,
            renew: self.args.lease_renew,
            warm_up: self.args.lease_warm_up,
        }
    }

    /// Shuts down: no reconcile starts any more, running ones may finish, then the lease is released and the
    /// watches end.
    pub async fn shut_down(self, roles: Vec<Running>) {
        for running in &roles {
            if let Some(leadership) = &running.leadership {
                leadership.retire();
            }
            running.role.controllers.iter().for_each(|controlled| controlled.queue.close());
        }
        self.tasks.close();
        let after = self.args.shutdown_timeout;
        if tokio::time::timeout(after, self.tasks.wait()).await.is_err() {
            tracing::warn!(
                ?after,
                unfinished = self.tasks.len(),
                "shutdown timeout exceeded: reconciles still running are resumed at the next start"
            );
        }
        let mut registries = Vec::new();
        for running in roles {
            for planes in &running.role.registries {
                planes.remember().await;
            }
            if let Some(leadership) = running.leadership {
                leadership.release().await;
            }
            registries.extend(running.role.registries);
        }
        self.stop.cancel();
        for planes in registries {
            planes.stop().await;
        }
        tracing::info!("shutdown complete");
    }

    /// Starts what finds the project planes, where `home` is. `projects` is the server with the Projects,
    /// unless it is that.
    pub fn discover(
        &self,
        planes: &Arc<Planes>,
        home: Server,
        projects: Option<Server>,
    ) -> anyhow::Result<()> {
        match self.args.discovery.mode {
            Discovery::Single => {
                let plane = PlaneId::Project(fedhub_core::names::PlaneName::new(single::NAME)?);
                single::engage(planes, home.connection(&plane))?;
            }
            Discovery::Kubeconfigs => {
                let client = home.client(&PlaneId::Management);
                let transport = self.transport.clone();
                let discovery = Kubeconfigs::new(planes.clone(), client, self.args.namespace(), transport);
                tokio::spawn(discovery.run(self.stop.clone()));
            }
            Discovery::Milo => {
                let server = projects.unwrap_or(home);
                let projects = server.connection(&PlaneId::Management);
                let discovery = Milo::new(planes.clone(), projects, milo::behind(server));
                tokio::spawn(discovery.run(self.stop.clone()));
            }
        }
        Ok(())
    }
}

/// Jitter that differs between replicas and starts.
fn seed() -> u64 {
    let nanos =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_nanos();
    u64::try_from(nanos % u128::from(u64::MAX)).unwrap_or_default() ^ u64::from(std::process::id())
}

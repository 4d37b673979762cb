//! The management role: federator, projector and the workload side over one registry.

use std::sync::Arc;

use fedhub_core::clock::Clock;
use fedhub_core::fence::Fence;
use fedhub_core::names::REFERENCED_DATA;
use fedhub_core::object::{Kind, PlaneId};
use fedhub_engine::{Queue, run_workers};
use fedhub_federator::progress::PATIENCE;
use fedhub_federator::teardown::TeardownLimits;
use fedhub_federator::{Federator, FederatorConfig};
use fedhub_lease::Leadership;
use fedhub_planes::discovery::Discovery;
use fedhub_planes::events::OperatorEvents;
use fedhub_planes::transport::Server;
use fedhub_planes::watched::{self, Watched};
use fedhub_planes::{DATA_KINDS, HUB_KINDS, Identities, Pauses, Planes, Settings};
use fedhub_projector::controller::ProjectorConfig;
use fedhub_projector::{LostCells, Projector};
use fedhub_workload::instance_types::{self, Catalog, InstanceTypes};
use fedhub_workload::referenced_data::ReferencedData;
use fedhub_workload::workload_controller::{Options as WorkloadOptions, WorkloadController};

use super::runtime::{Role, Running, Runtime};
use super::sources;
use crate::args::{InstanceTypesSource, RunArgs};
use crate::preflight;
use crate::status_page::Explainer;

/// The role before its watches have begun.
pub(super) struct Management {
    /// What the process shows of it.
    pub role: Role,
    hub: kube::Client,
    home: Server,
    projects: Option<Server>,
    leadership: Option<Leadership>,
}

impl Management {
    /// Reads credentials, and takes part in the election.
    pub fn new(runtime: &Runtime) -> anyhow::Result<Self> {
        let args = &runtime.args;
        let hub = runtime.follow("hub", args.hub.required()?)?.connection(&PlaneId::Hub);
        let home = runtime.follow("management", args.management.source())?;
        let projects =
            sources::projects(args).map(|source| runtime.follow("discovery", source)).transpose()?;
        let leadership = runtime.election(home.client(&PlaneId::Management), args.lease_name.clone());
        let fence = leadership.as_ref().map_or_else(Fence::open, Leadership::fence);
        let identities = Identities::new(args.namespace());
        let pauses = Pauses::stored(home.client(&PlaneId::Management), args.namespace());
        let settings = Settings {
            seed: runtime.seed,
            max_concurrent_lists: usize::from(args.max_concurrent_lists),
            max_objects: usize::try_from(args.max_objects).unwrap_or(usize::MAX),
            fence: fence.clone(),
            identities: Some(identities.clone()),
            pauses,
            teardown_delay: args.teardown_delay,
            withdrawals_per_minute: args.max_inferred_deletes_per_minute,
            operators: Some(OperatorEvents::new(
                home.client(&PlaneId::Management),
                args.namespace(),
                &args.lease_name,
                &runtime.metrics,
            )),
            anchor_kinds: on_hub(args.instance_types != InstanceTypesSource::Off),
            project_kinds: fedhub_workload::on_projects(
                args.is_single_cluster(),
                args.discovery.mode == Discovery::Milo,
            ),
            budget: runtime.budget.clone(),
            ..Settings::default()
        };
        let planes = Planes::with(hub.clone(), runtime.metrics.clone(), Clock::system(), settings);
        let memory = home.client(&PlaneId::Management);
        tokio::spawn(planes.clone().follow_pauses(runtime.stop.clone()));
        tokio::spawn(identities.run(memory, planes.clone(), fence.clone(), runtime.stop.clone()));
        let mut controllers = vec![
            runtime.controlled("federator", Kind::WorkloadDeployment, &planes),
            runtime.controlled("projector", Kind::Instance, &planes),
            runtime.controlled("workloads", Kind::Workload, &planes),
            runtime.controlled_by("lost_cells", None, &planes, 1),
            runtime.controlled("referenced_data", None, &planes),
        ];
        let mut registries = vec![planes];
        let catalog = match args.instance_types {
            InstanceTypesSource::Off => None,
            InstanceTypesSource::Management => Some(&home),
            InstanceTypesSource::Discovery => Some(projects.as_ref().unwrap_or(&home)),
        };
        if let Some(server) = catalog {
            controllers.push(runtime.controlled(instance_types::NAME, None, &registries[0]));
            registries.push(around_catalog(runtime, server, fence));
        }
        let role = Role { name: "management", registries, controllers, identity: None };
        Ok(Self { role, hub: hub.client(), home, projects, leadership })
    }

    /// The management plane.
    pub fn home(&self) -> &Server {
        &self.home
    }

    /// The catalogue of instance types, where there is one.
    pub fn catalog(&self) -> Option<Catalog> {
        self.role.registries.get(1).cloned().map(Catalog::new)
    }

    /// Returns what explains objects with the clients of this role.
    pub fn explainer(&self, args: &RunArgs) -> Explainer {
        let management = self.home.client(&PlaneId::Management);
        Explainer::new(self.role.registries[0].clone(), management, args.namespace(), &args.lease_name)
    }

    /// Starts watches and workers.
    pub fn start(self, runtime: &Runtime) -> anyhow::Result<Running> {
        let catalog = self.catalog();
        let Self { role, hub, home, projects, leadership } = self;
        let args = &runtime.args;
        let planes = role.registries[0].clone();
        let federator_queue = role.queue("federator")?;
        let projector_queue = role.queue("projector")?;
        let workload_queue = role.queue("workloads")?;
        let teardown = TeardownLimits { deadline: args.termination_deadline, away: args.cell_away_release };
        let config = FederatorConfig { policy_gc_delay: args.policy_gc_delay, patience: PATIENCE, teardown };
        let sources = vec![workload_queue.clone()];
        let federator = Federator::new(planes.clone(), federator_queue.clone(), sources, config);
        let config = ProjectorConfig {
            grace: args.projection_grace,
            deletes_per_minute: args.max_inferred_deletes_per_minute,
        };
        let projector = Projector::new(planes.clone(), projector_queue.clone(), config);
        let lost_queue = role.queue("lost_cells")?;
        let lost = LostCells::new(planes.clone(), lost_queue.clone(), args.max_inferred_deletes_per_minute);
        planes.listen(federator.clone());
        planes.listen(projector.clone());
        planes.listen(lost.clone());
        let options = WorkloadOptions {
            move_deadline: args.move_deadline,
            default_rollout: args.default_rollout.into(),
        };
        let workloads = WorkloadController::new(planes.clone(), workload_queue.clone(), catalog, options);
        for planes in &role.registries {
            planes.listen(workloads.clone());
        }
        let data_queue = role.queue("referenced_data")?;
        let data = ReferencedData::new(planes.clone(), data_queue.clone());
        planes.listen(data.clone());
        let types = listening_catalog(runtime, &role)?;
        role.led_by(leadership.as_ref());
        for planes in &role.registries {
            planes.start();
        }
        if let Some((types, queue)) = &types {
            run_workers(types, queue, &runtime.metrics, 1, &runtime.tasks);
        }
        let workers = usize::from(args.workers);
        run_workers(&workloads, &workload_queue, &runtime.metrics, workers, &runtime.tasks);
        run_workers(&federator, &federator_queue, &runtime.metrics, workers, &runtime.tasks);
        run_workers(&projector, &projector_queue, &runtime.metrics, workers, &runtime.tasks);
        run_workers(&lost, &lost_queue, &runtime.metrics, workers.min(LOST_CELLS_WORKERS), &runtime.tasks);
        run_workers(&data, &data_queue, &runtime.metrics, workers.min(DATA_WORKERS), &runtime.tasks);
        tokio::spawn(preflight::interpreter(hub, runtime.stop.clone()));
        runtime.discover(&planes, home, projects)?;
        Ok(Running { role, leadership })
    }
}

/// A registry around where the catalogue of instance types is.
fn around_catalog(runtime: &Runtime, server: &Server, fence: Fence) -> Arc<Planes> {
    let settings = Settings {
        seed: runtime.seed,
        fence,
        anchor: PlaneId::Management,
        anchor_kinds: instance_types::watched_at_source(),
        project_kinds: Vec::new(),
        budget: runtime.budget.clone(),
        ..Settings::default()
    };
    let source = server.connection(&PlaneId::Management);
    Planes::with(source, runtime.metrics.clone(), Clock::system(), settings)
}

/// The controller of the catalogue and its queue, where there is one: it listens, and does not work yet.
fn listening_catalog(
    runtime: &Runtime,
    role: &Role,
) -> anyhow::Result<Option<(Arc<InstanceTypes>, Arc<Queue>)>> {
    let [planes, source] = role.registries.as_slice() else { return Ok(None) };
    let queue = role.queue(instance_types::NAME)?;
    let limit = runtime.args.max_inferred_deletes_per_minute;
    let types = InstanceTypes::new(planes.clone(), source.clone(), queue.clone(), limit);
    planes.listen(types.clone());
    source.listen(types.clone());
    Ok(Some((types, queue)))
}

/// How many project planes are looked through at once for what lost cells left there.
const LOST_CELLS_WORKERS: usize = 4;

/// How many WDs have their referenced data copied at once: each holds the content of one source in memory.
const DATA_WORKERS: usize = 8;

/// Returns the kinds that the role watches on the hub. A role of an older version does not let it read
/// companions: then everything that needs none goes on.
pub fn on_hub(has_catalog: bool) -> Vec<Watched> {
    let mut kinds = watched::all(&HUB_KINDS);
    kinds.extend(DATA_KINDS.map(|kind| Watched::labelled(kind, REFERENCED_DATA, "true").if_served()));
    if has_catalog {
        kinds.extend(instance_types::watched_on_hub());
    }
    kinds
}

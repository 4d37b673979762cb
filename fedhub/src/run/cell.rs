//! The cell role: makes the Instances of the cell's `WorkloadDeployments`, judges them, and copies them to
//! the hub.
//!
//! Two registries: one around the cell, and one around the hub, whose project planes are those with quota.
//! The role is ready when the cell is in sync and is who its name says: neither the hub nor a project plane
//! keeps a cell from its work.

use std::sync::Arc;

use fedhub_cell::deployment_controller::{DeploymentController, DeploymentControllerConfig};
use fedhub_cell::identity::Identity;
use fedhub_cell::instance_controller::{InstanceController, Quota};
use fedhub_cell::write_back::WriteBack;
use fedhub_core::clock::Clock;
use fedhub_core::fence::Fence;
use fedhub_core::names::{
    CITY_CODE, INSTANCE_CITY, REFERENCED_DATA, SOURCE_CLUSTER, UPSTREAM_CLUSTER, UPSTREAM_NAMESPACE,
};
use fedhub_core::object::{Kind, PlaneId};
use fedhub_engine::{Controller, run_workers};
use fedhub_lease::Leadership;
use fedhub_planes::Listener;
use fedhub_planes::transport::Server;
use fedhub_planes::watched::{self, Watched};
use fedhub_planes::{Planes, Settings};
use fedhub_provider::{ProviderController, ProviderSettings};
use fedhub_provider_region::{Config, RegionProvider};
use tokio_util::task::TaskTracker;

use super::runtime::{Role, Running, Runtime};
use super::sources;
use crate::args::RunArgs;

/// The role before its watches have begun.
pub(super) struct Cell {
    /// What the process shows of it.
    pub role: Role,
    identity: Arc<Identity>,
    /// The cell, where that is the cluster that the process runs in.
    home: Option<Server>,
    /// The server on which quota is claimed.
    quota: Option<Server>,
    /// Whether Instances are written back to the hub.
    writes_back: bool,
    /// The provider that runs the Instances, where that is this process.
    provider: Option<Arc<RegionProvider>>,
    leadership: Option<Leadership>,
}

impl Cell {
    /// Reads credentials, and takes part in the election on the cell.
    pub fn new(runtime: &Runtime) -> anyhow::Result<Self> {
        let args = &runtime.args;
        let server = runtime.follow("cell", sources::cell(args))?;
        let client = server.client(&PlaneId::Cell);
        let home = args.cell_kubeconfig.is_none().then_some(server);
        let hub = args.hub.source().filter(|_| args.write_back);
        let hub = hub.map(|source| runtime.follow("hub", source)).transpose()?;
        let quota = sources::quota(args).map(|source| runtime.follow("quota", source)).transpose()?;
        let leadership = runtime.election(client.clone(), args.cell_lease_name());
        let fence = leadership.as_ref().map_or_else(Fence::open, Leadership::fence);

        let settings = Settings {
            seed: runtime.seed,
            fence: fence.clone(),
            anchor: PlaneId::Cell,
            anchor_kinds: in_cell(args),
            project_kinds: Vec::new(),
            budget: runtime.budget.clone(),
            ..Settings::default()
        };
        let cell = Planes::with(client.clone(), runtime.metrics.clone(), Clock::system(), settings);
        let mut registries = vec![cell.clone()];
        let mut controllers = vec![
            runtime.controlled("deployments", Kind::WorkloadDeployment, &cell),
            runtime.controlled("readiness", Kind::Instance, &cell),
        ];
        // There is none without --enable-provider.
        let provider = args
            .provider_config
            .as_deref()
            .map(|file| RegionProvider::new(Config::load(file)?, runtime.seed, Clock::system()))
            .transpose()?
            .map(Arc::new);
        if provider.is_some() {
            // All Instances are on the one plane of the cell, and a pass waits for a region: with the share
            // of one plane, a region that is slow would keep the Instances of all others waiting (V7).
            controllers.push(runtime.controlled_alone("provider", Kind::Instance, &cell));
        }
        let name = args.cell_name.as_deref().unwrap_or_default();
        if hub.is_some() || quota.is_some() {
            let settings = Settings {
                seed: runtime.seed,
                max_concurrent_lists: usize::from(args.max_concurrent_lists),
                max_objects: usize::try_from(args.max_objects).unwrap_or(usize::MAX),
                fence,
                anchor_kinds: if hub.is_some() { on_hub(args.cell_city.as_deref()) } else { Vec::new() },
                project_kinds: vec![Watched::labelled(Kind::ResourceClaim, SOURCE_CLUSTER, name)],
                budget: runtime.budget.clone(),
                ..Settings::default()
            };
            let anchor = hub.as_ref().map_or(client.into(), |hub| hub.connection(&PlaneId::Hub));
            let others = Planes::with(anchor, runtime.metrics.clone(), Clock::system(), settings);
            if hub.is_some() {
                controllers.push(runtime.controlled("write_back", Kind::Instance, &others));
            }
            registries.push(others);
        }
        let around_hub = registries.get(1).filter(|_| hub.is_some()).cloned();
        let identity = Identity::new(name, cell, around_hub);
        let role = Role { name: "cell", registries, controllers, identity: Some(identity.clone()) };
        Ok(Self { role, identity, home, quota, writes_back: hub.is_some(), provider, leadership })
    }

    /// The cell, where that is the cluster that the process runs in.
    pub fn home(&self) -> Option<&Server> {
        self.home.as_ref()
    }

    /// Starts watches and workers.
    pub fn start(self, runtime: &Runtime) -> anyhow::Result<Running> {
        let Self { role, identity, home: _, quota, writes_back, provider, leadership } = self;
        let args = &runtime.args;
        let cell = role.registries[0].clone();
        let others = role.registries.get(1).cloned();
        let config = DeploymentControllerConfig {
            quota: quota.is_some() && args.quota,
            networking: args.networking,
            referenced_data: args.referenced_data,
            rebuilds: args.enable_provider,
        };
        let deployments = DeploymentController::new(cell.clone(), role.queue("deployments")?, config);
        work(runtime, &role, &deployments)?;
        let projects = others.clone().filter(|_| quota.is_some());
        let claims =
            projects.map(|projects| Quota { projects, identity: identity.clone(), enabled: args.quota });
        let deadline = args.termination_deadline;
        work(
            runtime,
            &role,
            &InstanceController::new(cell.clone(), role.queue("readiness")?, claims, deadline),
        )?;
        if let Some(provider) = provider {
            let queue = role.queue("provider")?;
            let settings = ProviderSettings { settle: provider.settle(), termination_deadline: deadline };
            // Lists of servers end when all has stopped: a shutdown waits for passes, and not for them.
            let lists = TaskTracker::new();
            let controller =
                ProviderController::new(cell.clone(), queue, provider, settings, lists, &runtime.stop);
            work(runtime, &role, &controller)?;
        }
        if let Some(hub) = others.clone()
            && writes_back
        {
            work(
                runtime,
                &role,
                &WriteBack::new(
                    cell.clone(),
                    hub,
                    identity,
                    args.max_inferred_deletes_per_minute,
                    role.queue("write_back")?,
                ),
            )?;
        } else {
            tracing::warn!(
                "write-back is disabled by --write-back=false: Instances of this cell are not visible in any project"
            );
            runtime.metrics.writeback_enabled.with_label_values::<&str>(&[]).set(0);
        }
        role.led_by(leadership.as_ref());
        for planes in &role.registries {
            planes.start();
        }
        if let (Some(server), Some(projects)) = (quota, others) {
            runtime.discover(&projects, server, None)?;
        }
        Ok(Running { role, leadership })
    }
}

/// Adds a controller as a listener to all registries of the role, and starts its workers.
fn work<C: Controller + Listener>(runtime: &Runtime, role: &Role, controller: &Arc<C>) -> anyhow::Result<()> {
    for planes in &role.registries {
        planes.listen(controller.clone());
    }
    let queue = role.queue(controller.name())?;
    run_workers(controller, &queue, &runtime.metrics, usize::from(runtime.args.workers), &runtime.tasks);
    Ok(())
}

/// Returns the kinds that the role watches in the cell. If the cell is a project plane too, a WD without the
/// label of Karmada's hub is a user's, and an Instance with the label of a project is a projection: they are
/// the management role's.
pub fn in_cell(args: &RunArgs) -> Vec<Watched> {
    let mut kinds = if args.is_single_cluster() {
        vec![
            Watched::with(Kind::WorkloadDeployment, UPSTREAM_NAMESPACE),
            Watched::without(Kind::Instance, UPSTREAM_CLUSTER),
        ]
    } else {
        watched::all(&[Kind::WorkloadDeployment, Kind::Instance])
    };
    kinds.push(Watched::all(Kind::Namespace));
    // A ClusterRole of an older version says nothing of them: a cell works on without, and what scales says
    // so.
    kinds.push(Watched::all(Kind::HorizontalPodAutoscaler).if_served());
    // W8: without a catalogue there is the built-in type.
    kinds.push(Watched::all(Kind::InstanceType).if_served());
    if args.referenced_data {
        kinds.extend(
            [Kind::ConfigMap, Kind::Secret].map(|kind| Watched::labelled(kind, REFERENCED_DATA, "true")),
        );
    }
    if args.networking {
        kinds.extend(watched::all(&[
            Kind::LocationBinding,
            Kind::NetworkBinding,
            Kind::NetworkContext,
            Kind::SubnetClaim,
            Kind::Subnet,
        ]));
    } else {
        kinds.push(Watched::all(Kind::LocationBinding).if_served());
    }
    kinds
}

/// Returns the kinds that a cell watches on the hub: the objects of its own city, if it knows that.
pub fn on_hub(city: Option<&str>) -> Vec<Watched> {
    let of = |kind, key| city.map_or_else(|| Watched::all(kind), |city| Watched::labelled(kind, key, city));
    vec![
        Watched::all(Kind::Namespace),
        // Which cells are declared lost.
        Watched::all(Kind::Cluster),
        of(Kind::WorkloadDeployment, CITY_CODE),
        of(Kind::Instance, INSTANCE_CITY),
    ]
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Args, Command};

    /// Rights may be relied on that the first version of the cell's `ClusterRole` granted, or that a flag
    /// asks for.
    #[test]
    fn c13_a_cell_upgraded_before_its_cluster_role_waits_for_no_autoscalers() {
        let parsed = Args::try_parse_from(["fedhub", "run", "--enable-cell-controllers"]).unwrap();
        let Command::Run(args) = parsed.command else { panic!("not run") };
        let watched = in_cell(&args);
        let optional = watched.iter().filter(|watched| watched.is_optional()).map(|watched| watched.kind);
        let expected = [Kind::HorizontalPodAutoscaler, Kind::InstanceType, Kind::LocationBinding];
        assert_eq!(optional.collect::<Vec<_>>(), expected);
    }
}

//! What fedhub's own plans decide of what was read: the federator's of the WD, the projector's of its
//! Instances. They are asked as the audit asks them, with what was read in the place of live reads, so that
//! no rule of theirs is decided here. Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use fedhub_core::names::PlaneName;
use fedhub_core::object::{Kind, ObjectView, PlaneId};
use fedhub_engine::{Intent, Plan};
use fedhub_federator::cleanup::CleanupBlocked;
use fedhub_federator::hub_namespace::HubNamespace;
use fedhub_federator::plan::plan;
use fedhub_federator::refusal::Refusal;
use fedhub_federator::snapshot::Snapshot;
use fedhub_planes::history::Remembered;
use fedhub_planes::pauses::stored::PausedPlanes;
use fedhub_planes::{ProjectNamespace, ServiceState, WriteState};
use fedhub_projector::verdict::ProjectionVerdict;

use super::chain::{Chain, all};
use crate::audit::compare::context::Context;
use crate::audit::compare::instances::Copy;
use crate::audit::compare::pairs::Pair;
use crate::audit::world::{Hub, Objects, Project, World};

/// How far the federator is with a WD that is being deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cleanup {
    /// It keeps the finalizer, for this reason.
    Blocked(CleanupBlocked),
    /// The hub has the WD.
    OnHub,
    /// Only the finalizer is left.
    Over,
}

/// How far the federator is with a WD that is being deleted; `None` where what its plan needs was not read.
pub fn cleanup(chain: &Chain) -> Option<Cleanup> {
    ask(chain, |_, seen| {
        let Plan { intents, verdict } = plan(&seen);
        match verdict {
            Some(Refusal::CleanupHeld(why, _)) => Cleanup::Blocked(why),
            _ if intents.iter().any(|intent| matches!(intent, Intent::Release { .. })) => Cleanup::Over,
            _ => Cleanup::OnHub,
        }
    })
}

/// What `judge` makes of the WD as the federator sees it; `None` where what that takes was not read.
pub fn ask<T>(chain: &Chain, judge: impl FnOnce(&Pair<'_>, Snapshot) -> T) -> Option<T> {
    let (home, world) = world(chain)?;
    let context = Context::from_world(&world);
    let project = world.projects.get(&home.plane)?;
    let wd = project.deployments.get(&home.namespace, &chain.deployment)?;
    let (HubNamespace::In(space) | HubNamespace::Recorded(space)) =
        context.hub_namespace_of(&home, project, wd)
    else {
        return None;
    };
    let pair = Pair { context: &context, home: &home, wd, space: &space };
    let seen = pair.snapshot(WriteState::Active, ServiceState::Active)?;
    Some(judge(&pair, seen))
}

/// Why the projector does not show the Instance of that name as the hub has it; `None` where nothing keeps it
/// from that.
pub fn projection(chain: &Chain, name: &str) -> Option<ProjectionVerdict> {
    let (home, world) = world(chain)?;
    let context = Context::from_world(&world);
    let project = world.projects.get(&home.plane)?;
    let namespace = world.hub.namespaces.iter().next()?;
    let copy = Copy { context: &context, home: &home, project, namespace, name };
    fedhub_projector::plan::plan(&copy.snapshot()).verdict
}

/// What was read, as the audit has it.
fn world(chain: &Chain) -> Option<(ProjectNamespace, World)> {
    let plane = PlaneName::new(&chain.subject.plane).ok()?;
    let home = ProjectNamespace { plane: plane.clone(), namespace: chain.subject.namespace.clone() };
    let on_hub = PlaneId::Hub;
    let in_project = PlaneId::Project(plane.clone());
    let Chain { project, hub, management, .. } = chain;
    let uid = project.namespace.found().map(|namespace| namespace.uid().to_owned());
    let shown = all(&project.instances).iter().chain(project.in_its_place.found());
    let project = Project {
        namespaces: [(home.namespace.clone(), uid)].into(),
        deployments: Objects::new(&in_project, Kind::WorkloadDeployment, project.wd.found().cloned()),
        instances: Objects::new(&in_project, Kind::Instance, shown.cloned()),
    };
    let hub = Hub {
        namespaces: Objects::new(&on_hub, Kind::Namespace, hub.namespace.found().cloned()),
        deployments: Objects::new(&on_hub, Kind::WorkloadDeployment, hub.wd.found().cloned()),
        instances: Objects::new(&on_hub, Kind::Instance, all(&hub.copies).iter().cloned()),
        policies: Objects::new(&on_hub, Kind::PropagationPolicy, all(&hub.policies).iter().cloned()),
        clusters: Objects::new(&on_hub, Kind::Cluster, all(&hub.clusters).iter().cloned()),
        history: (management.hub_restored.found() == Some(&true))
            .then(|| Remembered { restored_at: Some(0), ..Remembered::default() }),
        ..Hub::default()
    };
    let world = World {
        now: chain.now,
        grace: Duration::ZERO,
        only: None,
        paused: PausedPlanes::default(),
        hub,
        projects: [(plane, project)].into(),
        cells: BTreeMap::new(),
    };
    Some((home, world))
}

//! The world as tests set it up, in whole objects: what the federator knows of it and what it writes.

use std::time::Duration;

use fedhub_api::cells::{CellDown, Hold};
use fedhub_cache::ServerNormalization;
use fedhub_core::finalizers;
use fedhub_core::names::{FEDERATOR_FINALIZER, PlaneName};
use fedhub_core::object::{Object, ObjectRef, ObjectView, PlaneId};
use fedhub_federator::desired::Bodies;
use fedhub_federator::moving::Bound;
use fedhub_federator::plan::FederationPlan;
pub use fedhub_federator::plan::NextStep;
use fedhub_federator::progress::Progress;
use fedhub_federator::refusal::Refusal;
pub use fedhub_federator::snapshot::KnownPolicy;
use fedhub_federator::snapshot::{LiveRead, Snapshot, Wd};
use fedhub_federator::status;
use fedhub_federator::teardown::Teardown;
use fedhub_planes::{Distrust, ProjectNamespace, ServiceState, StatusWrite, Write, WriteState};
use jiff::Timestamp;
use serde_json::Value;

/// Everything that a pass over one WD may know.
#[derive(Clone, Debug)]
pub struct Observed {
    pub plane: PlaneName,
    pub project: ObjectRef,
    pub hub_namespace_name: String,
    pub hub_namespace: Option<ObjectRef>,
    pub hub: Option<ObjectRef>,
    pub policies: Vec<KnownPolicy>,
    pub cells: usize,
    pub cell_down: Option<CellDown>,
    pub cell_lost: bool,
    pub spec_normalization: Option<ServerNormalization>,
    pub status_normalization: Option<ServerNormalization>,
    pub writes: WriteState,
    pub service: ServiceState,
    pub bound: Option<Bound>,
    pub stalled: bool,
    pub held: Option<Hold>,
    pub is_due: bool,
    pub distrust: Option<Distrust>,
    pub last_restore: Option<Timestamp>,
    pub teardown: Teardown,
    pub seen_deleted: bool,
    pub waited: Duration,
    pub live: Option<Live>,
    pub now: Timestamp,
}

/// The hub as live reads show it.
#[derive(Clone, Debug, Default)]
pub struct Live {
    pub namespace: Option<ObjectRef>,
    pub deployment: Option<ObjectRef>,
}

impl Observed {
    pub fn city(&self) -> &str {
        self.project.spec().get("cityCode").and_then(Value::as_str).unwrap_or_default()
    }

    fn live(&self) -> Option<&Live> {
        let leaves = self.project.is_terminating() || self.service == ServiceState::Withdrawn;
        self.live.as_ref().filter(|_| leaves)
    }

    /// The objects that are rendered.
    pub fn bodies(&self) -> Bodies {
        let hub = self.live().map_or(&self.hub, |live| &live.deployment);
        Bodies { project: self.project.clone(), hub: hub.clone().into() }
    }

    /// What the caches say of it.
    pub fn snapshot(&self) -> Snapshot {
        self.snapshot_as(|_| (), |_| ())
    }

    /// Returns the snapshot after these changes of the project WD and of the hub WD.
    pub fn snapshot_as(&self, of_project: fn(&mut Object), of_hub: fn(&mut Object)) -> Snapshot {
        let facts = |plane: &PlaneId, wd: &ObjectRef, change: fn(&mut Object)| {
            let mut wd = wd.as_ref().clone();
            change(&mut wd);
            Wd::of(plane, &wd).unwrap()
        };
        let bodies = self.bodies();
        let arrived = |(bound, hub): (&Bound, &ObjectRef)| bound.has_arrived(hub);
        Snapshot {
            home: ProjectNamespace {
                plane: self.plane.clone(),
                namespace: self.project.namespace().to_owned(),
            },
            name: self.project.name().to_owned(),
            project: facts(&PlaneId::Project(self.plane.clone()), &self.project, of_project),
            hub_namespace_name: self.hub_namespace_name.clone(),
            hub_namespace: self.live().map_or(&self.hub_namespace, |live| &live.namespace).clone(),
            hub: bodies.hub.object().map(|hub| facts(&PlaneId::Hub, hub, of_hub)),
            policies: self.policies.clone(),
            cells: self.cells,
            cell_down: self.cell_down.clone(),
            cell_lost: self.cell_lost,
            spec_normalization: self.spec_normalization,
            status_normalization: self.status_normalization,
            writes: self.writes,
            service: self.service,
            arrived: self.bound.as_ref().zip(self.hub.as_ref()).is_some_and(arrived),
            stalled: self.stalled,
            held: self.held.clone(),
            is_due: self.is_due,
            distrust: self.distrust,
            last_restore: self.last_restore,
            teardown: self.teardown.clone(),
            seen_deleted: self.seen_deleted,
            waited: self.waited,
            live: self.live().map(|_| LiveRead { cached: self.hub.is_some() }),
            now: self.now,
        }
    }

    /// How far it has come.
    pub fn progress(&self) -> Progress {
        Progress::of(&self.snapshot(), None)
    }

    /// What a plan that was made of that snapshot writes.
    pub fn rendered(&self, seen: &Snapshot, plan: FederationPlan) -> Plan {
        let FederationPlan {
            mark,
            namespace,
            policy,
            deployment,
            moved,
            recall,
            delete,
            status,
            release,
            then,
        } = plan;
        let bodies = self.bodies();
        Plan {
            mark: mark.map(|mark| mark.render(&bodies.project)),
            namespace,
            policy,
            deployment: deployment.and_then(|change| change.render(seen, &bodies)),
            moved,
            recall,
            delete: bodies.hub.object().filter(|_| delete).cloned(),
            status: status.and_then(|intent| status::write(seen, intent.refusal.as_ref(), &bodies)),
            release: release.then(|| finalizers::without(&bodies.project, FEDERATOR_FINALIZER)),
            then,
        }
    }
}

/// The writes of one pass, in the order that they are performed in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    pub mark: Option<Value>,
    pub namespace: Option<Write>,
    pub policy: Option<Write>,
    pub deployment: Option<Write>,
    pub moved: Option<String>,
    pub recall: bool,
    pub delete: Option<ObjectRef>,
    pub status: Option<StatusWrite>,
    pub release: Option<Value>,
    pub then: NextStep,
}

/// What a pass writes.
pub fn plan(seen: &Observed) -> Plan {
    let snapshot = seen.snapshot();
    seen.rendered(&snapshot, fedhub_federator::plan::plan(&snapshot))
}

/// What a pass writes over a WD that is being deleted.
pub mod finalize {
    use super::{Observed, Plan};

    pub fn plan(seen: &Observed) -> Plan {
        let snapshot = seen.snapshot();
        seen.rendered(&snapshot, fedhub_federator::finalize::plan(&snapshot))
    }
}

/// The status that is to stand.
pub fn desired(seen: &Observed, refusal: Option<&Refusal>) -> Option<Value> {
    status::desired(&seen.snapshot(), refusal, &seen.bodies())
}

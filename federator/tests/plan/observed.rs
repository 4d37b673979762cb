//! The world as tests set it up, in whole objects: what the federator knows of it and what it writes.

use std::time::Duration;

use fedhub_api::cells::{CellDown, Hold};
use fedhub_cache::ServerNormalization;
use fedhub_core::finalizers;
use fedhub_core::names::PlaneName;
use fedhub_core::object::{Key, Kind, Object, ObjectRef, ObjectView, PlaneId};
use fedhub_engine::{Bodies, Intent, Subject};
use fedhub_federator::cleanup::CleanupBlocked;
use fedhub_federator::moving::{Bound, finished};
use fedhub_federator::plan::FederationPlan;
use fedhub_federator::progress::Progress;
use fedhub_federator::refusal::Refusal;
use fedhub_federator::render::render;
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

    /// The hub WD, as far as it is known.
    fn hub(&self) -> Option<&ObjectRef> {
        self.live().map_or(&self.hub, |live| &live.deployment).as_ref()
    }

    /// The objects that are rendered.
    fn bodies(&self) -> Bodies {
        let seen = self.snapshot();
        let hub = self.hub().map(|hub| (seen.hub_key(), hub.clone()));
        [(seen.project_key(), self.project.clone())].into_iter().chain(hub).collect()
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
            Wd::from_object(plane, &wd).unwrap()
        };
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
            hub: self.hub().map(|hub| facts(&PlaneId::Hub, hub, of_hub)),
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
        Progress::from_snapshot(&self.snapshot(), None)
    }

    /// What a plan that was made of that snapshot writes.
    pub fn rendered(&self, seen: &Snapshot, plan: FederationPlan) -> Plan {
        let bodies = self.bodies();
        let hub = bodies.get(&seen.hub_key());
        let mut rendered = Plan::default();
        for intent in plan.intents {
            let intent = match intent {
                Intent::Render(draft) => {
                    for Subject { key, stub } in &draft.from {
                        assert_eq!(bodies[key].version(), stub.version(), "{draft:?}");
                    }
                    let is_read = |key: &Key| draft.from.iter().any(|subject| subject.key == *key);
                    let read = bodies.clone().into_iter().filter(|(key, _)| is_read(key)).collect();
                    let Some(intent) = render(seen, plan.verdict.as_ref(), &draft, &read) else { continue };
                    intent
                }
                intent => intent,
            };
            assert_eq!(rendered.then, None, "nothing comes behind it: {intent:?}");
            match intent {
                Intent::Mark { finalizer, annotations, .. } => {
                    rendered.mark = Some(finalizers::mark(&self.project, finalizer, annotations));
                }
                Intent::Put { kind: Kind::Namespace, write, .. } => rendered.namespace = Some(write),
                Intent::Put { kind: Kind::PropagationPolicy, write, .. } => rendered.policy = Some(write),
                Intent::Put { write, .. } => rendered.deployment = Some(write),
                Intent::Unbind => rendered.recall = true,
                Intent::DeleteHubWd(subject) => {
                    rendered.delete = hub.filter(|hub| hub.uid() == subject.stub.uid()).cloned();
                }
                Intent::PutStatus { write, .. } => rendered.status = Some(write),
                Intent::Release { finalizer, .. } => {
                    rendered.release = Some(finalizers::without(&self.project, finalizer));
                }
                intent => rendered.then = Some(intent),
            }
        }
        let blocked = plan.verdict.as_ref().and_then(|verdict| match verdict {
            Refusal::CleanupHeld(why, _) => Some(*why),
            _ => None,
        });
        let moved = finished(seen).filter(|_| rendered.deployment.is_some());
        Plan { moved, blocked, ..rendered }
    }
}

/// The writes of one pass, in the order that they are performed in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    pub mark: Option<Value>,
    pub namespace: Option<Write>,
    pub policy: Option<Write>,
    pub deployment: Option<Write>,
    /// The city that the WD has left for good, with that write (F6).
    pub moved: Option<String>,
    pub recall: bool,
    pub delete: Option<ObjectRef>,
    pub status: Option<StatusWrite>,
    pub release: Option<Value>,
    /// What comes behind the writes.
    pub then: Option<Intent>,
    /// Why the finalizer stays.
    pub blocked: Option<CleanupBlocked>,
}

/// A plan that does only that.
pub fn only(then: Intent) -> Plan {
    Plan { then: Some(then), ..Plan::default() }
}

/// What a pass writes.
pub fn plan(seen: &Observed) -> Plan {
    let snapshot = seen.snapshot();
    seen.rendered(&snapshot, fedhub_federator::plan::plan(&snapshot))
}

/// The status that is to stand.
pub fn desired(seen: &Observed, refusal: Option<&Refusal>) -> Option<Value> {
    status::desired(&seen.snapshot(), refusal, &seen.project, seen.hub().map(AsRef::as_ref))
}

//! One reconcile of one hub Instance, for the engine's loop.

use std::ops::ControlFlow;
use std::sync::Arc;

use fedhub_api::facts::{Digest, DigestExt};
use fedhub_cache::budget::Reserved;
use fedhub_core::errors::{Error, RequestError};
use fedhub_core::metrics::Hop;
use fedhub_core::object::{Kind, ObjectRef, PlaneId};
use fedhub_core::trace::{Change, answers};
use fedhub_engine::{Controller, Job, Outcome, Reconciler, Step, reconcile};
use fedhub_planes::{Plane, ProjectNamespace};

use crate::controller::{Projector, is_synced};
use crate::intents::ProjectionPlan;
use crate::plan::plan;
use crate::quarantine::{InstanceState, Reason};
use crate::snapshot::{Confirmed, Live, Snapshot};
use crate::unreachable::too_early;

impl Controller for Projector {
    fn name(&self) -> &'static str {
        "projector"
    }

    async fn reconcile(&self, job: &Job) -> Result<Outcome, Error> {
        if (&job.key.plane, job.key.kind) != (&PlaneId::Hub, Kind::Instance) {
            return Err(Error::Bug(format!("{} is none of the projector's keys", job.key)));
        }
        let (key, hub) = (&job.key, self.planes.hub());
        if !hub.synced() {
            return Err(Error::NotEngaged(PlaneId::Hub));
        }
        let hub_namespace = hub.store(Kind::Namespace).object("", &key.namespace);
        let target = hub_namespace.as_deref().and_then(ProjectNamespace::of);
        let (Some(hub_namespace), Some(target)) = (hub_namespace.clone(), target) else {
            let instance = hub.store(Kind::Instance).digest(&key.namespace, &key.name);
            let unidentifiable = hub_namespace.is_some() && instance.is_some();
            self.seen_deleted.remove(key);
            self.set_state(key, unidentifiable.then_some(InstanceState::Quarantined(Reason::Unidentifiable)));
            return Ok(Outcome::AwaitChange);
        };
        let Some(project) = self.planes.engaged(&target.plane) else {
            self.set_state(key, None);
            return Err(Error::NotEngaged(PlaneId::Project(target.plane)));
        };
        let (live, confirmed, fetched, memory) = (None, None, Fetched::default(), None);
        let projector = self;
        let mut instance = InstanceReconciler {
            projector,
            project,
            job,
            target,
            hub_namespace,
            live,
            confirmed,
            fetched,
            memory,
        };
        let outcome = reconcile(&mut instance, job).await?;
        if outcome == Outcome::Updated {
            self.planes.metrics().propagated(Hop::HubToProjectInstance, job.since.elapsed());
        }
        Ok(outcome)
    }
}

/// The change that the hub has of an Instance's WD.
fn change(owner: &Digest, hub: &Digest) -> Option<Change> {
    Some(Change { uid: owner.uid.to_string(), generation: hub.deployment()?.generation })
}

/// Reconciles one hub Instance.
pub(crate) struct InstanceReconciler<'a> {
    pub projector: &'a Projector,
    pub project: Arc<Plane>,
    job: &'a Job,
    target: ProjectNamespace,
    hub_namespace: ObjectRef,
    /// What was read live, for the next round.
    pub live: Option<Live>,
    /// What was read live of an owner that the cache lacks, until the end.
    pub confirmed: Option<Confirmed>,
    /// The hub Instance and its projection, as fetched where the caches knew another version: until something is written.
    pub fetched: Fetched,
    memory: Option<Reserved>,
}

/// Objects that were fetched as another version than the caches know, as after a restore of their plane.
#[derive(Clone, Default)]
pub(crate) struct Fetched {
    pub instance: Option<Digest>,
    pub projection: Option<Digest>,
}

/// Why a step ends before its write.
pub(crate) enum Interrupted {
    /// What was to be written is not what the plan was made for.
    Outdated(Step),
    /// A request failed.
    Failed(Error),
}

impl From<RequestError> for Interrupted {
    fn from(error: RequestError) -> Self {
        Self::Failed(error.into())
    }
}

impl InstanceReconciler<'_> {
    /// Reserves memory for the objects of this reconcile, until it ends.
    async fn reserve(&mut self, seen: &Snapshot) {
        if self.memory.is_none() {
            let budget = self.projector.planes.budget();
            self.memory = Some(budget.working(&self.project.id, seen.object_bytes()).await);
        }
    }

    /// Sets or clears the state that follows from a plan; it stands until live reads or the rate limit tell.
    fn update_state(&self, plan: &ProjectionPlan) {
        let state = match plan {
            ProjectionPlan::ReadHub | ProjectionPlan::ConfirmOwner | ProjectionPlan::Delete { .. } => return,
            ProjectionPlan::Withhold(why) => Some(InstanceState::Withheld(why.label())),
            ProjectionPlan::Park(_) => Some(InstanceState::Parked),
            ProjectionPlan::Quarantine(reason) => Some(InstanceState::Quarantined(*reason)),
            ProjectionPlan::Synced
            | ProjectionPlan::Write { .. }
            | ProjectionPlan::WriteStatus { .. }
            | ProjectionPlan::AwaitResume => None,
        };
        self.projector.set_state(&self.job.key, state);
    }
}

impl Reconciler for InstanceReconciler<'_> {
    type Snapshot = Snapshot;
    type Plan = ProjectionPlan;

    async fn snapshot(&mut self) -> Result<ControlFlow<Outcome, Snapshot>, Error> {
        let seen = self.projector.snapshot(&self.project, &self.job.key, &self.target, &self.hub_namespace);
        if let Some(wait) = seen.down.as_ref().and_then(|down| too_early(down, seen.now)) {
            return Ok(ControlFlow::Break(Outcome::RequeueAfter(wait)));
        }
        let owner = seen.owner.clone().or_else(|| self.confirmed.as_ref()?.owner.clone());
        answers(|| change(owner.as_ref()?, seen.hub_deployment.as_ref()?));
        let (live, confirmed) = (self.live.take(), self.confirmed.clone());
        let since_event = self.job.unsettled_since.elapsed();
        let Fetched { instance, projection } = self.fetched.clone();
        let refetched = instance.is_some() || projection.is_some();
        let (instance, projection) = (instance.or(seen.instance), projection.or(seen.projection));
        Ok(ControlFlow::Continue(Snapshot {
            instance,
            owner,
            confirmed,
            projection,
            refetched,
            live,
            since_event,
            ..seen
        }))
    }

    fn is_synced(&self, seen: &Snapshot) -> bool {
        is_synced(&self.project, seen)
    }

    fn plan(&self, seen: &Snapshot) -> ProjectionPlan {
        plan(seen)
    }

    async fn apply(&mut self, seen: &Snapshot, plan: ProjectionPlan) -> Result<Step, Error> {
        let key = &self.job.key;
        self.update_state(&plan);
        if self.project.stop.is_cancelled() {
            // The plane was disengaged during this reconcile: no later one clears the state.
            self.projector.set_state(key, None);
            return Err(Error::NotEngaged(self.project.id.clone()));
        }
        if plan.fetches() {
            self.reserve(seen).await;
        }
        match self.perform(seen, plan).await {
            Ok(Step::Updated) => {
                self.fetched = Fetched::default();
                Ok(Step::Updated)
            }
            Ok(step) | Err(Interrupted::Outdated(step)) => Ok(step),
            Err(Interrupted::Failed(error)) => Err(error),
        }
    }

    fn mark_synced(&self, seen: &Snapshot) {
        self.projector.mark_synced(&self.project, seen);
    }
}
